"""Branches that only choose between values, turned into choices: no split, so no second path.

    if q + noise >= threshold:            out.append(q + noise >= threshold ? True : False)
        out.append(True)            →
    else:
        out.append(False)

The lifted copy of a function is compiled from its source with such branches rewritten: `if` statements, conditional
expressions, `and`, `or` and `not`, whose sides compute, assign and append (`sides`). Each time one is reached, it is
joined only if its condition is drawn and both sides give values of one type (`joins`); in every other case the
branch is taken as it was written. The rewriting is given up unless the source can be trusted (`trusted_source`).

Calls that a stand-in cannot reach by name are redirected: `values.sort()` is a method of a real list, and `float(x)`
beside `dtype=float` needs a function in one place and a type in the other. The helpers do on columns what the call
does run by run, and hand everything else to the real one.
"""

from __future__ import annotations

import ast
import functools
import types
from collections import Counter
from typing import Any

from refutedp.sampling.lifted.columns.builtin import LIFTED_BUILTINS, lifted_sorted
from refutedp.sampling.lifted.columns.drawn_text import format_text, formatted, join_text, percent
from refutedp.sampling.lifted.rewrite import quick
from refutedp.sampling.lifted.rewrite.chosen import UNSET
from refutedp.sampling.lifted.rewrite.expressions import Expressions, helper_of, may_be_drawn
from refutedp.sampling.lifted.rewrite.harmless import HARMLESS
from refutedp.sampling.lifted.rewrite.joins import Joins
from refutedp.sampling.lifted.rewrite.nodes import call, filled, name
from refutedp.sampling.lifted.rewrite.sides import (
    assigned,
    ends,
    is_simple,
    may_be_sides,
    occurrences,
    with_returns_nested,
)
from refutedp.sampling.lifted.rewrite.trusted_source import rewritten

_RETURNED = "__refutedp_returned__"


@functools.lru_cache(maxsize=256)
def joined_code(code: types.CodeType) -> types.CodeType | None:
    """The code with simple branches joined and some calls redirected.

    None when there is nothing to rewrite, or when the source cannot be trusted.
    """

    def rewrite(function: ast.FunctionDef) -> bool:
        rewriter = _Rewriter(function)
        rewriter.visit(function)
        return rewriter.count > 0

    return rewritten(code, rewrite)


def helpers(joins: Joins) -> dict[str, Any]:
    """What rewritten code calls, by name."""
    named = {f"__refutedp_{key}__": getattr(joins, key) for key in _HELPERS}
    builtins = {helper_of(key): lifted for key, lifted in LIFTED_BUILTINS.items()}
    named |= {f"__refutedp_{one.__name__}__": one for one in (formatted, percent, format_text, join_text)}
    return {**named, **builtins, "__refutedp_sort__": sort_in_place, "__refutedp_unset__": UNSET, HARMLESS: None}


_HELPERS = (
    *("branch", "choose", "both", "either", "negation", "assign", "append", "value", "call", "attribute"),
    *("add_to", "changed", "put", "item"),
)


def sort_in_place(owner: Any, /, **keywords: Any) -> Any:
    """As `owner.sort(...)`; a list of drawn floats is sorted by column."""
    if type(owner) is not list:
        return owner.sort(**keywords)
    owner[:] = lifted_sorted(owner, **keywords)
    return None


class _Rewriter(Expressions):
    """Joins the branches of one function that can be joined, and redirects calls; `count` says how many."""

    def __init__(self, function: ast.FunctionDef) -> None:
        super().__init__(_also_read(function))
        self._returns = False
        """Whether the statements are on a side all of whose paths return."""
        self._numbers = 0
        self._kept: dict[int, list[str]] = {}
        """The variables that are read after a branch, by the branch."""
        self._fixed: set[str] = set()
        """Variables that nested functions see, or that are no variables of the function."""

    # Functions.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """Put what follows an early return on the other side of its branch; note functions that change nothing."""
        kept = self._kept, self._fixed, self._on_side, self._returns
        last = node.body[-1]
        ended = isinstance(last, (ast.Return, ast.Raise))
        body = node.body if ended else [*node.body, ast.copy_location(ast.Return(None), last)]
        nested = with_returns_nested(body)
        if nested is not body:
            node.body = nested
        self._fixed = _seen_by_others(node)
        self._kept = _read_after(node)
        harmless = all(map(is_simple, node.body)) and not self._fixed & set(assigned(node.body))
        self._on_side, self._returns = int(harmless), False
        self.generic_visit(node)
        if harmless:
            node.body.insert(0, ast.copy_location(ast.Expr(name(HARMLESS)), node.body[0]))
            self.count += 1
        self._kept, self._fixed, self._on_side, self._returns = kept
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """What a lambda does is done when it is called."""
        kept, self._on_side = self._on_side, 0
        self.generic_visit(node)
        self._on_side = kept
        return node

    # Statements.

    def visit_If(self, node: ast.If) -> Any:
        """Join what can be joined."""
        simple = quick.append_call(node) or quick.assign_call(node)
        returns = ends(node.body)
        join = simple is None and returns is not None and self._may_join(node, returns)
        variables = assigned([*node.body, *node.orelse])
        read = self._kept.get(id(node), [])
        node.test = self._test(node.test)
        if not join:
            self._visit_bodies(node)
            if simple is None:
                return node
            self.count += 1
            return quick.statements(node, simple)
        outer = self._on_side, self._returns
        self._on_side, self._returns = self._on_side + 1, bool(returns)
        self._visit_bodies(node)
        self._on_side, self._returns = outer
        self.count += 1
        self._numbers += 1
        kept = [_RETURNED] if returns else [variable for variable in variables if variable in read]
        captured = [*kept, *(variable for variable in variables if variable not in kept)]
        statements = _region(node, self._numbers, captured, len(kept))
        if returns and not self._returns:
            statements.append(ast.copy_location(ast.Return(name(_RETURNED)), node))
        return statements

    def _may_join(self, node: ast.If, returns: bool) -> bool:
        sides = (node.body, node.orelse)
        return all(may_be_sides(side, returns=returns) for side in sides) and not self._fixed & set(
            assigned([*node.body, *node.orelse])
        )

    def _visit_bodies(self, node: ast.If) -> None:
        for side in (node.body, node.orelse):
            new: list[ast.stmt] = []
            for statement in side:
                visited = self.visit(statement)
                new += visited if isinstance(visited, list) else [visited]
            side[:] = new

    def visit_While(self, node: ast.While) -> Any:
        """Only the truth of its test matters."""
        node.test = self._test(node.test)
        test, node.test = node.test, ast.Constant(True)
        self.generic_visit(node)
        node.test = test
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        """On a side that returns, what is returned is noted."""
        self.generic_visit(node)
        if not self._returns:
            return node
        value = node.value or ast.copy_location(ast.Constant(None), node)
        return ast.copy_location(ast.Assign([name(_RETURNED, ast.Store())], value), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Redirect what writes to drawn places, and on sides all that writes to places."""
        self.generic_visit(node)
        match node.targets:
            case [ast.Subscript(owner, key)] if self._on_side or may_be_drawn(key):
                self.count += 1
                return ast.copy_location(ast.Expr(call("put", node.value, owner, key)), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """The same for `+=`, which may change what is written to in place."""
        target = node.target
        operator = ast.Constant(type(node.op).__name__)
        if isinstance(target, ast.Name) and self._on_side:
            node.value = self._checked(self.visit(node.value))
            changed = call("changed", operator, name(target.id), node.value)
            return ast.copy_location(ast.Assign([target], changed), node)
        if isinstance(target, ast.Subscript) and (self._on_side or may_be_drawn(target.slice)):
            self._numbers += 1
            self.count += 1
            owner, key = (f"__refutedp_{part}{self._numbers}__" for part in ("owner", "key"))
            value = self._checked(self.visit(node.value))
            changed = call("changed", operator, call("item", name(owner), name(key)), value)
            return [
                ast.copy_location(statement, node)
                for statement in (
                    ast.Assign([name(owner, ast.Store())], self.visit(target.value)),
                    ast.Assign([name(key, ast.Store())], self.visit(target.slice)),
                    ast.Expr(call("put", changed, name(owner), name(key))),
                )
            ]
        self.generic_visit(node)
        return node


def _region(node: ast.If, number: int, variables: list[str], kept: int) -> list[ast.stmt]:
    """The statements that join a branch: each side is run, and the variables after it are kept."""
    branch, side = f"__refutedp_branch{number}__", f"__refutedp_side{number}__"

    def capture(then: str) -> list[str]:
        lines = []
        for place, variable in enumerate(variables):
            value = f"__refutedp_value{place}__"
            lines += ["try:", f"    {value} = {variable}", "except NameError:", f"    {value} = __refutedp_unset__"]
        return [*lines, then.format("".join(f"__refutedp_value{place}__, " for place in range(len(variables))))]

    def restore(attribute: str) -> list[str]:
        if not variables:
            return []
        lines = [f"{', '.join(variables)}, = {branch}.{attribute}"]
        for variable in variables:
            lines += [f"if {variable} is __refutedp_unset__:", f"    del {variable}"]
        return lines

    template = [
        f"{branch} = __refutedp_branch__(TEST, {kept})",
        *capture(f"{branch}.before = ({{}})"),
        f"for {side} in {branch}:",
        *(f"    {line}" for line in restore("before")),
        "    try:",
        f"        if {side}:",
        "            BODY",
        "        else:",
        "            ORELSE",
        "    except BaseException:",
        f"        if not {branch}.taken_back():",
        "            raise",
        "    else:",
        *(f"        {line}" for line in capture(f"{branch}.keep(({{}}))")),
        *restore("values"),
    ]
    return filled(template, node, {"TEST": node.test}, {"BODY": node.body, "ORELSE": node.orelse})


def _read_after(function: ast.FunctionDef) -> dict[int, list[str]]:
    """For each branch, the names that occur outside of it."""
    everywhere = Counter(occurrences(function.body))
    found = {}
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            inside = Counter(occurrences([*node.body, *node.orelse]))
            found[id(node)] = [key for key in inside if everywhere[key] > inside[key]]
    return found


def _seen_by_others(function: ast.FunctionDef) -> set[str]:
    """Names that nested functions use, or that are declared to belong to another scope."""
    names: set[str] = set()
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                names.update(node.names)
            elif isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
                names.update(occurrences([node]))
    return names


def _also_read(function: ast.FunctionDef) -> set[str]:
    """Builtins with a stand-in that the function reads without calling them, unless it has variables of that name."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return {node.id for node in names if id(node) not in called} & LIFTED_BUILTINS.keys() - bound
