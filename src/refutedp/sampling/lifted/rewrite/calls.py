"""Calls that a stand-in cannot reach by name, redirected in the lifted copy of a function.

`values.sort()` is a method of a real list, and `float(x)` beside `dtype=float` needs a function in one place and a
type in the other. The helpers do on columns what the call does run by run, and hand everything else to the real one.
"""

from __future__ import annotations

import ast
from typing import Any

from refutedp.sampling.lifted.rewrite.builtin import LIFTED_BUILTINS, lifted_sorted

SORT = "__refutedp_sort__"
_PREFIX = "__refutedp_builtin_"


def helper_of(builtin: str) -> str:
    """The name under which rewritten code calls a builtin."""
    return f"{_PREFIX}{builtin}__"


class Redirected(ast.NodeTransformer):
    """Rewrites the calls of one function; `count` says how many there were."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.count = 0
        self._names = _also_read(function)

    def visit_Call(self, node: ast.Call) -> Any:
        """Redirect `x.sort(...)`, which takes keywords only, and builtins that are read as types elsewhere."""
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(owner, "sort") if not node.args:
                self.count += 1
                return ast.copy_location(ast.Call(_name(SORT), [owner], node.keywords), node)
            case ast.Name(name) if name in self._names:
                self.count += 1
                return ast.copy_location(ast.Call(_name(helper_of(name)), node.args, node.keywords), node)
        return node


def _also_read(function: ast.FunctionDef) -> set[str]:
    """Builtins with a stand-in that the function reads without calling them, unless it has variables of that name."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return {node.id for node in names if id(node) not in called} & LIFTED_BUILTINS.keys() - bound


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def sort_in_place(owner: Any, /, **keywords: Any) -> Any:
    """As `owner.sort(...)`; a list of drawn floats is sorted by column."""
    if type(owner) is not list:
        return owner.sort(**keywords)
    owner[:] = lifted_sorted(owner, **keywords)
    return None


HELPERS: dict[str, Any] = {SORT: sort_in_place} | {helper_of(name): f for name, f in LIFTED_BUILTINS.items()}
