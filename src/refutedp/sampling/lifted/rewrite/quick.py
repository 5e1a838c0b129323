"""Branches whose sides are simple enough to be joined by one call: nothing can raise, so no decision is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from refutedp.sampling.lifted.rewrite.nodes import call, name

_CONDITION = "__refutedp_condition__"
_JOINED = "__refutedp_joined__"

Call = tuple[ast.expr, list[str]]


def append_call(node: ast.If) -> Call | None:
    """Both sides append a simple value to the same list."""
    sides = [_appended(side) for side in (node.body, node.orelse)]
    if sides[0] is None or sides[1] is None or sides[0][0] != sides[1][0]:
        return None
    (owner, first), (_, second) = sides[0], sides[1]
    return call("append", name(_CONDITION), name(owner), first, second), []


def _appended(side: list[ast.stmt]) -> tuple[str, ast.expr] | None:
    match side:
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), "append"), [value], []))] if _is_simple(value):
            return owner, value
    return None


def assign_call(node: ast.If) -> Call | None:
    """Both sides assign simple values to variables; a variable that one side leaves alone keeps its value."""
    body, orelse = _assigned(node.body), _assigned(node.orelse)
    if not body or orelse is None:
        return None
    targets = list(dict.fromkeys([*body, *orelse]))
    sides = [_tuple([side.get(target, name(target)) for target in targets]) for side in (body, orelse)]
    return call("assign", name(_CONDITION), *sides), targets


def _assigned(side: list[ast.stmt]) -> dict[str, ast.expr] | None:
    """What each variable is after the statements, in terms of what they were before; None if not that simple."""
    values: dict[str, ast.expr] = {}
    for statement in side:
        fresh: dict[str, ast.expr] = {}
        for target, value in _assignments(statement):
            if target in fresh or any(isinstance(x, ast.Name) and x.id in values for x in ast.walk(value)):
                return None
            fresh[target] = value
        if not fresh and not isinstance(statement, ast.Pass):
            return None
        values |= fresh
    return values


def _assignments(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign([ast.Name(target)], value) if _is_simple(value):
            yield target, value
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            pairs = list(zip(targets, values, strict=True))
            if all(isinstance(t, ast.Name) and _is_simple(v) for t, v in pairs):
                yield from ((t.id, v) for t, v in pairs if isinstance(t, ast.Name))
        case ast.AugAssign(ast.Name(target), (ast.Add() | ast.Sub()) as op, ast.Constant(int() | float()) as value):
            yield target, ast.BinOp(name(target), op, value)


def _is_simple(value: ast.expr) -> bool:
    match value:
        case ast.Name() | ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant(int() | float())):
            return True
    return False


def statements(node: ast.If, simple: Call) -> list[ast.stmt]:
    """The branch, joined by the call where that gives a value, and as it is written where not."""
    expression, targets = simple
    taken = ast.If(test=name(_CONDITION), body=node.body, orelse=node.orelse)
    result: ast.stmt = ast.Pass()
    if targets:
        result = ast.Assign([_tuple([name(target, ast.Store()) for target in targets], ast.Store())], name(_JOINED))
    handler = ast.ExceptHandler(
        _tuple([name("NameError"), name("TypeError")]), None, [_set(_JOINED, ast.Constant(None))]
    )
    joined: list[ast.stmt] = [
        _set(_CONDITION, node.test),
        ast.Try([_set(_JOINED, expression)], [handler], [], []),
        ast.If(ast.Compare(name(_JOINED), [ast.Is()], [ast.Constant(None)]), [taken], [result]),
    ]
    return [ast.copy_location(statement, node) for statement in joined]


def _tuple(items: list[Any], context: ast.expr_context | None = None) -> ast.Tuple:
    return ast.Tuple(items, context or ast.Load())


def _set(target: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([name(target, ast.Store())], value)
