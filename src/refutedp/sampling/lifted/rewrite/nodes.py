"""Pieces of syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any


def name(of: str, context: ast.expr_context | None = None) -> ast.Name:
    """A variable."""
    return ast.Name(of, context or ast.Load())


def call(helper: str, *args: ast.expr) -> ast.Call:
    """A call of a helper of rewritten code."""
    return ast.Call(name(f"__refutedp_{helper}__"), list(args), [])


def thunk(value: ast.expr) -> ast.Lambda:
    """`lambda: value`."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.copy_location(ast.Lambda(nothing, value), value)


def filled(
    lines: list[str], like: ast.stmt, values: Mapping[str, ast.expr], blocks: Mapping[str, list[ast.stmt]]
) -> list[ast.stmt]:
    """The statements of a template, at the place of another statement; names in it stand for what is given."""
    tree = ast.parse("\n".join(lines))
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            ast.copy_location(node, like)
    body: list[ast.stmt] = _Filler(values, blocks).visit(tree).body
    return body


class _Filler(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr], blocks: Mapping[str, list[ast.stmt]]) -> None:
        self._values = values
        self._blocks = blocks

    def visit_Name(self, node: ast.Name) -> Any:
        return self._values.get(node.id, node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id in self._blocks:
            return self._blocks[node.value.id] or [ast.copy_location(ast.Pass(), node)]
        return self.generic_visit(node)
