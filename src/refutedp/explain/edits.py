"""Changes of one expression in the mechanism's source, and the mechanism that a change makes.

The changed function is compiled from its file and put into a copy of the mechanism; nothing of the user's is touched.
What cannot be compiled to exactly the code that the mechanism has is not changed at all.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import Any

from refutedp.explain.costs import amount
from refutedp.explain.observed import CallSite, Following, WatchedDraw
from refutedp.explain.source_lines import DRAWING, node_at, tree_of
from refutedp.model.explanation import Change, Place
from refutedp.model.mechanism import Mechanism
from refutedp.sampling.lifted.rewrite.trusted_source import recompiled
from refutedp.tracing.copier import Stage, nested_codes
from refutedp.tracing.distributions import DISTRIBUTIONS
from refutedp.tracing.without_noise import NoiseFree

Spot = tuple[int, int, int, int]
"""First and last line and column of an expression, as trees have them."""
_SCALES = ("scale", "sigma", "beta")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change at one place, the code in which it is, and how the expression reads before and after it."""

    change: Change
    place: Place | None
    factor: float
    words: str
    """What is changed, as in "with twice the noise at line 7"."""
    code: CodeType | None
    apply: Callable[[ast.FunctionDef], tuple[str, str] | None] | None
    """Changes the function's tree; the source before and after, or None where it does not fit."""
    arguments: Mapping[str, Any] | None = None
    """Other arguments, where that is the change."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The changed mechanism, with the arguments for it."""

    mechanism: Mechanism
    arguments: Mapping[str, Any]
    replaced: str = ""
    replacement: str = ""


class _Unchanged(Stage):
    """A stage on which everything is what it was, but for one function's code."""

    def __init__(self, target: CodeType, made: CodeType) -> None:
        super().__init__(NoiseFree())
        self._target, self._made = target, made
        self.met = False

    def module(self, value: Any) -> Any:
        """The module itself."""
        return value

    def name(self, value: Any) -> Any:
        """The value itself."""
        return value

    def builtins(self, function: FunctionType) -> dict[str, Any]:
        """Those that the function has."""
        own = function.__globals__.get("__builtins__", __builtins__)
        return vars(own) if isinstance(own, types.ModuleType) else own

    def code(self, function: FunctionType) -> CodeType:
        """The changed code of the one, and the others' own."""
        if function.__code__ is self._target:
            self.met = True
            return self._made
        return function.__code__


def edited(mechanism: Mechanism, arguments: Mapping[str, Any], edit: Edit) -> Edited | None:
    """The mechanism after the change; None where it cannot be made."""
    if edit.apply is None or edit.code is None:
        return Edited(mechanism, {**arguments, **(edit.arguments or {})})
    found = _outermost(mechanism.function, edit.code)
    if found is None:
        return None
    target, node = found
    changed = copy.deepcopy(node)
    try:
        texts = edit.apply(changed)
    except (TypeError, ValueError, IndexError):
        return None
    if texts is None:
        return None
    made = recompiled(target, copy.deepcopy(node), ast.fix_missing_locations(changed))
    if made is None:
        return None
    stage = _Unchanged(target, made)
    function = Following(stage).copy(mechanism.function)
    if not stage.met:
        return None
    return Edited(replace(mechanism, function=function), {**arguments, **(edit.arguments or {})}, *texts)


def _outermost(function: Any, code: CodeType) -> tuple[CodeType, ast.FunctionDef] | None:
    """The function of the mechanism in whose code this code is, with its tree without decorators."""
    copier = Following(Stage(NoiseFree()))
    copier.copy(function)
    for original in copier.originals:
        if any(part is code for part in nested_codes(original.__code__)):
            tree = tree_of(original.__code__)
            for node in ast.walk(tree) if tree is not None else ():
                if isinstance(node, ast.FunctionDef) and node.name == original.__code__.co_name:
                    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                    if first == original.__code__.co_firstlineno:
                        bare = copy.deepcopy(node)
                        bare.decorator_list = []
                        return original.__code__, bare
    return None


def spot_of(site: CallSite) -> Spot:
    """Where a call stands."""
    return site.line, site.end_line, site.column, site.end_column


def _number(value: float) -> ast.Constant:
    return ast.Constant(int(value) if float(value).is_integer() else value)


def _call_at(function: ast.FunctionDef, spot: Spot) -> ast.Call | None:
    node = node_at(function, spot)
    return node if isinstance(node, ast.Call) else None


def times_words(factor: float) -> str:
    """A factor in words.

    >>> times_words(2), times_words(0.5), times_words(12)
    ('twice', 'half', '12 times')
    """
    return {2.0: "twice", 0.5: "half"}.get(float(factor)) or f"{amount(factor)} times"


def scaled(draws: Sequence[WatchedDraw], place: Place, factor: float) -> Edit | None:
    """So many times the noise of some draws in one function, which are added to one value."""
    changes = [_scaling(draw, factor) for draw in draws]
    if not changes or any(change is None for change in changes):
        return None
    multiplied = any(_scale_of_call(draw) is None for draw in draws)

    def apply(function: ast.FunctionDef) -> tuple[str, str] | None:
        calls = [node_at(function, spot_of(draw.site)) for draw in draws]
        # A draw whose scale is no argument of its own is multiplied, so that the expression is another one.
        own = len(calls) == 1 and calls[0] is not None and multiplied is False and _occurs_once(function, calls[0])
        whole = calls[0] if own else _around(function, calls) or calls[0]
        before = "" if whole is None else ast.unparse(whole)
        for change in changes:
            if change is None or not change(function):
                return None
        return before, "" if whole is None else ast.unparse(whole)

    words = f"with {times_words(factor)} the noise at line {place.line}"
    return Edit("scale", place, factor, words, draws[0].site.code, apply)


def _around(function: ast.FunctionDef, nodes: Sequence[ast.AST | None]) -> ast.AST | None:
    """The smallest expression around all of these whose text occurs once in the function."""
    for node in reversed([one for one in ast.walk(function) if isinstance(one, ast.expr)]):
        inside = {id(one) for one in ast.walk(node)}
        if all(id(one) in inside for one in nodes) and node not in nodes and _occurs_once(function, node):
            return node
    return None


def _occurs_once(function: ast.FunctionDef, node: ast.AST) -> bool:
    text = ast.unparse(node)
    return sum(isinstance(one, ast.expr) and ast.unparse(one) == text for one in ast.walk(function)) == 1


def _scaling(draw: WatchedDraw, factor: float) -> Callable[[ast.FunctionDef], bool] | None:
    """What changes the scale of one draw in a tree, and says whether it could."""
    known = DISTRIBUTIONS.get(draw.distribution)
    name = draw.distribution.rpartition(".")[2]
    if known is None or (known.noise.scale is None and name != "geometric") or name in ("gamma", "beta"):
        return None
    names = [parameter.partition("=")[0] for parameter in known.parameters]
    index = _scale_of_call(draw)

    def change(function: ast.FunctionDef) -> bool:
        call = _call_at(function, spot_of(draw.site))
        if call is None or any(isinstance(arg, ast.Starred) for arg in call.args):
            return False
        if index is None:
            parent = _parent(function, call)
            if parent is None:
                return False
            _replace(parent, call, ast.copy_location(ast.BinOp(_number(factor), ast.Mult(), call), call))
            return True
        wrap = _wraps(names[index], factor)
        keyword = next((one for one in call.keywords if one.arg == names[index]), None)
        if keyword is not None:
            keyword.value = wrap(keyword.value)
        elif index < len(call.args):
            call.args[index] = wrap(call.args[index])
        elif "=" in known.parameters[index]:
            call.keywords.append(ast.keyword(names[index], wrap(_number(1))))
        else:
            return False
        return True

    return change


def _scale_of_call(draw: WatchedDraw) -> int | None:
    """Which parameter of the call says how much noise there is."""
    known = DISTRIBUTIONS[draw.distribution]
    names = [parameter.partition("=")[0] for parameter in known.parameters]
    return next((i for i, one in enumerate(names) if one in (*_SCALES, "lambd", "p")), None)


def stretched(code: CodeType, place: Place, spot: Spot, factor: float) -> Edit:
    """So many times the noise that an expression is."""

    def apply(function: ast.FunctionDef) -> tuple[str, str] | None:
        node = node_at(function, spot)
        if not isinstance(node, ast.expr):
            return None
        return _swapped(function, node, ast.BinOp(_number(factor), ast.Mult(), node))

    return Edit("scale", place, factor, f"with {times_words(factor)} the noise at line {place.line}", code, apply)


def _swapped(function: ast.FunctionDef, node: ast.expr, made: ast.expr) -> tuple[str, str] | None:
    """Put an expression in the place of another; the source of what changed, before and after."""
    parent = _parent(function, node)
    if parent is None:
        return None
    whole = node if _occurs_once(function, node) else _around(function, [node])
    before = "" if whole is None else ast.unparse(whole)
    _replace(parent, node, ast.copy_location(made, node))
    for one in ast.walk(made):
        if one is not node and not hasattr(one, "lineno"):
            ast.copy_location(one, node)
    if whole is None:
        return before, ""
    return before, ast.unparse(made if whole is node else whole)


def _wraps(name: str, factor: float) -> Callable[[ast.expr], ast.expr]:
    """How a parameter is written for so many times the noise."""
    if name == "lambd":
        return lambda value: ast.BinOp(value, ast.Div(), _number(factor))
    if name == "p":  # of geometric noise, whose tail falls by 1 - p at each step
        return lambda value: ast.parse(f"1 - (1 - ({ast.unparse(value)})) ** (1 / {factor:g})", mode="eval").body
    return lambda value: _folded(value, factor)


def _folded(value: ast.expr, factor: float) -> ast.expr:
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
        return _number(float(f"{value.value * factor:.12g}"))
    return ast.BinOp(_number(factor), ast.Mult(), value)


def refreshed(draw: WatchedDraw, place: Place) -> Edit:
    """A draw that is shared, drawn afresh for each value."""
    spot = spot_of(draw.site)

    def apply(function: ast.FunctionDef) -> tuple[str, str] | None:
        call = _call_at(function, spot)
        if call is None:
            return None
        statement = next(
            (
                node
                for node in ast.walk(function)
                if isinstance(node, ast.Assign) and node.value is call and isinstance(node.targets[0], ast.Name)
            ),
            None,
        )
        if statement is not None:
            target = statement.targets[0]
            assert isinstance(target, ast.Name)
            fresh = _Fresh(target.id, call)
            for node in function.body:
                fresh.visit(node)
            return (target.id, ast.unparse(call)) if fresh.count else None
        parent = _parent(function, call)
        if isinstance(parent, ast.BinOp) and not any(one.arg == "size" for one in call.keywords):
            other = parent.right if parent.left is call else parent.left
            before = ast.unparse(call)
            call.keywords.append(ast.keyword("size", ast.Call(ast.Name("len", ast.Load()), [other], [])))
            return before, ast.unparse(call)
        return None

    return Edit(
        "fresh", place, 1.0, f"with the noise of line {place.line} drawn afresh for each value", draw.site.code, apply
    )


class _Fresh(ast.NodeTransformer):
    """Puts the draw in the place of the variable that holds it."""

    def __init__(self, name: str, call: ast.Call) -> None:
        self._name, self._call, self.count = name, call, 0

    def visit_Name(self, node: ast.Name) -> Any:
        """The variable, where it is read."""
        if node.id != self._name or not isinstance(node.ctx, ast.Load):
            return node
        self.count += 1
        return ast.copy_location(copy.deepcopy(self._call), node)


def unseeded(site: CallSite, place: Place) -> Edit:
    """A generator without its fixed seed."""
    spot = spot_of(site)

    def apply(function: ast.FunctionDef) -> tuple[str, str] | None:
        call = _call_at(function, spot)
        if call is None:
            return None
        before = ast.unparse(call)
        call.args, call.keywords = [], []
        return before, ast.unparse(call)

    return Edit("seed", place, 1.0, f"without the fixed seed at line {place.line}", site.code, apply)


def decided(code: CodeType, place: Place, outcome: bool) -> Edit:
    """A branch that goes the same way on all inputs."""

    def apply(function: ast.FunctionDef) -> tuple[str, str] | None:
        for node in ast.walk(function):
            if not isinstance(node, ast.If | ast.IfExp | ast.While):
                continue
            test = node.test
            if not test.lineno <= place.line <= (test.end_lineno or test.lineno):
                continue
            if isinstance(node, ast.While) and outcome:
                return None
            before = ast.unparse(test)
            node.test = ast.copy_location(ast.Constant(outcome), test)
            return before, repr(outcome)
        return None

    told = f"with the condition of line {place.line} always {'true' if outcome else 'false'}"
    return Edit("branch", place, 1.0, told, code, apply)


def with_noise(code: CodeType, place: Place, spot: Spot, scale: float, generator: str) -> Edit:
    """Laplace noise added to the expression at a spot."""

    def apply(function: ast.FunctionDef) -> tuple[str, str] | None:
        node = node_at(function, spot)
        if not isinstance(node, ast.expr):
            return None
        drawn = ast.parse(f"{generator}.laplace(scale={scale:.6g})", mode="eval").body
        for one in ast.walk(drawn):
            ast.copy_location(one, node)
        return _swapped(function, node, ast.BinOp(node, ast.Add(), drawn))

    return Edit(
        "noise", place, scale, f"with Laplace noise of scale {scale:.3g} added at line {place.line}", code, apply
    )


def generator_in(function: ast.AST | None, mechanism: Mechanism) -> str | None:
    """Source of what draws in a function; None where nothing is at hand."""
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in DRAWING:
            owner = ast.unparse(node.func.value)
            if owner != "random":
                return owner
    arguments = getattr(function, "args", None)
    names = {one.arg for one in (*arguments.args, *arguments.kwonlyargs)} if arguments is not None else set()
    if mechanism.rng in names and mechanism.draws_from != "python":
        return mechanism.rng
    return "__import__('numpy').random"


def _parent(function: ast.AST, child: ast.AST) -> ast.AST | None:
    return next(
        (node for node in ast.walk(function) if any(one is child for one in ast.iter_child_nodes(node))), None
    )


def _replace(parent: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(parent):
        if value is old:
            setattr(parent, name, new)
        elif isinstance(value, list):
            value[:] = [new if one is old else one for one in value]
