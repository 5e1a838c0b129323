"""Expressions of rewritten code: choices, conditions, and what is read by a drawn key."""

from __future__ import annotations

import ast
from typing import Any

from refutedp.sampling.lifted.rewrite.nodes import call, name, thunk
from refutedp.sampling.lifted.rewrite.sides import is_simple_expression

_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of a function; `count` says how many."""

    def __init__(self, names: set[str]) -> None:
        """`names` are builtins that are redirected where they are called."""
        self.count = 0
        self._names = names
        self._on_side = 0
        """In how many sides of branches the expression is."""

    def visit_Call(self, node: ast.Call) -> Any:
        """Redirect `x.sort(...)`, which takes keywords only, and builtins that are read as types elsewhere.

        On sides, what is called is looked at first.
        """
        match node.func:
            case ast.Attribute(ast.Constant(str() as text), "format" | "join" as method) if _is_direct(node):
                self.generic_visit(node)
                self.count += 1
                node.func = name("__refutedp_format_text__" if method == "format" else "__refutedp_join_text__")
                node.args.insert(0, ast.Constant(text))
                return ast.fix_missing_locations(node)
            case ast.Attribute(owner, "sort") if not node.args and not self._on_side:
                self.generic_visit(node)
                self.count += 1
                return ast.copy_location(ast.Call(name("__refutedp_sort__"), [owner], node.keywords), node)
            case ast.Attribute(ast.Name(), "append") if self._on_side and len(node.args) == 1:
                owner = node.func.value
                self.count += 1
                return ast.copy_location(call("add_to", owner, self.visit(node.args[0])), node)
            case ast.Name(called) if called in self._names:
                node.func = ast.copy_location(name(helper_of(called)), node.func)
                self.count += 1
        self.generic_visit(node)
        if not self._on_side:
            return node
        redirected = call("call", node.func, *node.args)
        redirected.keywords = node.keywords
        return ast.copy_location(redirected, node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Only one side may be evaluated where the condition is not drawn."""
        sides = (node.body, node.orelse)
        node.test = self._test(node.test)
        if not all(map(is_simple_expression, sides)):
            node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
            return node
        self.count += 1
        self._on_side += 1
        thunks = [thunk(self.visit(side)) for side in sides]
        self._on_side -= 1
        return ast.copy_location(call("choose", node.test, *thunks), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """`and` and `or`: what follows may not be evaluated for nothing."""
        return self._bool_op(node, tested=False)

    def _bool_op(self, node: ast.BoolOp, *, tested: bool) -> ast.expr:
        if not all(map(is_simple_expression, node.values[1:])):
            self.generic_visit(node)
            return node
        self.count += 1
        helper = "both" if isinstance(node.op, ast.And) else "either"
        *firsts, last = node.values
        self._on_side += 1
        value: ast.expr = self._test(last) if tested else self._checked(self.visit(last))
        for number, first in reversed(list(enumerate(firsts))):
            self._on_side -= number == 0
            visited = self._test(first) if tested else self.visit(first)
            value = call(helper, visited, thunk(value))
            value.keywords = [ast.keyword("tested", ast.Constant(True))] if tested else []
        return ast.copy_location(value, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """`not` of a drawn value is drawn too."""
        if not isinstance(node.op, ast.Not):
            return self._with_operands_checked(node)
        self.count += 1
        return ast.copy_location(call("negation", self._test(node.operand)), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """`a < b < c` is `a < b and b < c`, where b is a variable."""
        inner = node.comparators[:-1]
        if inner and all(isinstance(one, (ast.Name, ast.Constant)) for one in inner):
            return self._pairwise(node, tested=False)
        return self._with_operands_checked(node)

    def _pairwise(self, node: ast.Compare, *, tested: bool) -> ast.expr:
        if not all(isinstance(op, _ORDERED) for op in node.ops):
            return self._checked(self._with_operands_checked(node))
        operands = [node.left, *node.comparators]
        parts = [
            ast.copy_location(ast.Compare(a, [op], [b]), node)
            for a, op, b in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return self._bool_op(ast.copy_location(ast.BoolOp(ast.And(), list(parts)), node), tested=tested)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Text % values; on sides, operands are looked at first."""
        match node:
            case ast.BinOp(ast.Constant(str()), ast.Mod(), values):
                self.count += 1
                return ast.copy_location(call("percent", node.left, self._checked(self.visit(values))), node)
        return self._with_operands_checked(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        """An f-string."""
        self.count += 1
        return ast.copy_location(call("formatted", *map(self._piece, node.values)), node)

    def _piece(self, part: ast.expr) -> ast.expr:
        if not isinstance(part, ast.FormattedValue):
            return part
        conversion = ast.Constant(None if part.conversion == -1 else chr(part.conversion))
        spec = ast.Constant("") if part.format_spec is None else self.visit(part.format_spec)
        pieces = [self._checked(self.visit(part.value)), conversion, spec]
        return ast.copy_location(ast.Tuple(pieces, ast.Load()), part)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """On sides, what is read from is looked at first."""
        self.generic_visit(node)
        if not self._on_side or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(call("attribute", node.value, ast.Constant(node.attr)), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """What is read by a drawn key; on sides, all that is read from."""
        plain = not isinstance(node.ctx, ast.Load) or not (self._on_side or may_be_drawn(node.slice))
        self.generic_visit(node)
        if plain:
            return node
        self.count += 1
        key = node.slice
        if isinstance(key, ast.Slice):
            key = ast.Call(
                name("slice"), [part or ast.Constant(None) for part in (key.lower, key.upper, key.step)], []
            )
        return ast.copy_location(call("item", node.value, key), node)

    def _test(self, test: ast.expr) -> ast.expr:
        """An expression of which only the truth matters."""
        if isinstance(test, ast.Compare) and len(test.ops) > 1:
            inner = test.comparators[:-1]
            if all(isinstance(one, (ast.Name, ast.Constant)) for one in inner):
                return self._pairwise(test, tested=True)
        if isinstance(test, ast.BoolOp):
            return self._bool_op(test, tested=True)
        return self._checked(self.visit(test))

    def _with_operands_checked(self, node: Any) -> Any:
        self.generic_visit(node)
        if self._on_side:
            match node:
                case ast.BinOp(left, _, right):
                    node.left, node.right = self._checked(left), self._checked(right)
                case ast.UnaryOp(_, operand):
                    node.operand = self._checked(operand)
                case ast.Compare(left, _, others):
                    node.left, node.comparators = self._checked(left), list(map(self._checked, others))
        return node

    def _checked(self, value: ast.expr) -> ast.expr:
        if not self._on_side or not isinstance(value, ast.Name):
            return value
        return ast.copy_location(call("value", value), value)


def helper_of(builtin: str) -> str:
    """The name under which rewritten code calls a builtin."""
    return f"__refutedp_builtin_{builtin}__"


def _is_direct(node: ast.Call) -> bool:
    """Whether a call gives its arguments one by one."""
    return not any(isinstance(arg, ast.Starred) for arg in node.args) and all(one.arg for one in node.keywords)


def may_be_drawn(key: ast.expr) -> bool:
    """Whether a place or a key may be drawn: constants, slices and several at a time are not."""
    match key:
        case ast.Constant() | ast.Slice() | ast.Tuple() | ast.UnaryOp(_, ast.Constant()):
            return False
    return True
