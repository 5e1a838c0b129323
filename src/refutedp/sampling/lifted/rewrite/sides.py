"""Which statements may be on a side of a branch that is joined, and how they end."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor)
MOST_NESTED = 12
"""Branches inside each other's sides."""


def may_be_sides(statements: Sequence[ast.stmt], *, returns: bool) -> bool:
    """Whether the statements compute, assign and append only; all paths through them return, or none does."""
    return all(map(is_simple, statements)) and ends(statements) is returns and _depth(statements) <= MOST_NESTED


def ends(statements: Sequence[ast.stmt]) -> bool | None:
    """Whether all paths through the statements return (True), none does (False), or some (None)."""
    for number, statement in enumerate(statements):
        if isinstance(statement, (ast.Return, ast.Raise)):
            return True if number == len(statements) - 1 else None
        if isinstance(statement, ast.If):
            both = ends(statement.body), ends(statement.orelse)
            if both == (True, True):
                return True if number == len(statements) - 1 else None
            if both != (False, False):
                return None
        elif any(isinstance(inner, ast.Return) for inner in ast.walk(statement)):
            return None
    return False


def _depth(statements: Iterable[ast.stmt]) -> int:
    return max(
        (1 + max(_depth(one.body), _depth(one.orelse)) for one in statements if isinstance(one, ast.If)), default=0
    )


def is_simple(statement: ast.stmt) -> bool:
    """Whether a statement computes, assigns, appends or returns only."""
    match statement:
        case ast.Assign([target], value):
            return _is_target(target) and is_simple_expression(value)
        case ast.AnnAssign(ast.Name(), _, value) if value is not None:
            return is_simple_expression(value)
        case ast.AugAssign(target, op, value):
            return _is_target(target) and isinstance(op, _OPERATORS) and is_simple_expression(value)
        case ast.If(test, body, orelse):
            return is_simple_expression(test) and all(map(is_simple, [*body, *orelse]))
        case ast.Return(value):
            return value is None or is_simple_expression(value)
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(), "append"), [value], [])):
            return is_simple_expression(value)
        case ast.Expr(ast.Constant()) | ast.Pass():
            return True
    return False


def _is_target(target: ast.expr) -> bool:
    match target:
        case ast.Name():
            return True
        case ast.Tuple(parts):
            return all(isinstance(part, ast.Name) for part in parts)
        case ast.Subscript(ast.Name(), index):
            return is_simple_expression(index) and not isinstance(index, ast.Slice)
    return False


def is_simple_expression(value: ast.expr) -> bool:
    """Whether an expression computes, reads and calls only; what it calls is looked at when it is called."""
    match value:
        case ast.Constant() | ast.Name():
            return True
        case ast.BinOp(left, _, right):
            return is_simple_expression(left) and is_simple_expression(right)
        case ast.UnaryOp(_, operand):
            return is_simple_expression(operand)
        case ast.BoolOp(_, values) | ast.Tuple(values) | ast.List(values) | ast.JoinedStr(values):
            return all(map(is_simple_expression, values))
        case ast.Compare(left, ops, others):
            return all(map(is_simple_expression, [left, *others])) and all(map(_sees_values, ops, others))
        case ast.IfExp(test, body, orelse):
            return all(map(is_simple_expression, [test, body, orelse]))
        case ast.Subscript(owner, index):
            return is_simple_expression(owner) and is_simple_expression(index)
        case ast.Slice(low, high, step):
            return all(part is None or is_simple_expression(part) for part in (low, high, step))
        case ast.FormattedValue(inner, _, spec):
            return is_simple_expression(inner) and (spec is None or is_simple_expression(spec))
        case ast.Attribute(owner):
            return is_simple_expression(owner)
        case ast.Call(function, args, keywords):
            named = [keyword.value for keyword in keywords]
            plain = all(keyword.arg is not None for keyword in keywords)
            return plain and all(map(is_simple_expression, [function, *args, *named]))
    return False


def _sees_values(op: ast.cmpop, other: ast.expr) -> bool:
    """Whether a comparison looks at values only: what is identical differs between a column and a number."""
    return not isinstance(op, (ast.Is, ast.IsNot)) or (isinstance(other, ast.Constant) and other.value is None)


def assigned(statements: Iterable[ast.stmt]) -> list[str]:
    """The variables that the statements assign to, in order."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return list(
        dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    )


def occurrences(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Every name in them, as often as it occurs."""
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                yield inner.id


def with_returns_nested(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The same statements, of which those after a branch one of whose sides returns are put on its other side.

    Only where all that is simple, and all paths return.
    """
    for number, statement in enumerate(statements):
        if not isinstance(statement, ast.If) or ends([statement]) is False:
            continue
        rest = statements[number + 1 :]
        body, orelse = with_returns_nested(statement.body), with_returns_nested(statement.orelse)
        if rest and ends(body) is True and ends(orelse) is not True:
            orelse = with_returns_nested([*orelse, *rest])
        elif rest and ends(orelse) is True and ends(body) is not True:
            body = with_returns_nested([*body, *rest])
        elif rest:
            return statements
        if not all(may_be_sides(side, returns=True) for side in (body, orelse)):
            return statements
        return [*statements[:number], ast.copy_location(ast.If(statement.test, body, orelse), statement)]
    return statements
