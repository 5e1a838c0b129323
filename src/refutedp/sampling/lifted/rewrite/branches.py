"""Branches that only choose between values, turned into choices: no split, so no second path.

    if q + noise >= threshold:            out.append(q + noise >= threshold ? True : False)
        out.append(True)            →
    else:
        out.append(False)

The lifted copy of a function is compiled from its source with such branches rewritten. Rewritten are only branches
whose two sides append, or assign to variables, constants and variables; and each time one is reached, the values
are joined only if the condition is a column of truth values and both sides give values of one type. In every other
case the branch is taken as it was written. The rewriting is given up unless the source, compiled as it stands,
gives exactly the code that the function has.

Calls that a stand-in cannot reach by name are redirected: `values.sort()` is a method of a real list, and `float(x)`
beside `dtype=float` needs a function in one place and a type in the other. The helpers do on columns what the call
does run by run, and hand everything else to the real one.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import itertools
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.builtin import LIFTED_BUILTINS, lifted_sorted
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.tracing.copier import instructions, nested_codes

ASSIGN = "__refutedp_assign__"
APPEND = "__refutedp_append__"
CHOOSE = "__refutedp_choose__"
SORT = "__refutedp_sort__"
_CONDITION = "__refutedp_condition__"
_JOINED = "__refutedp_joined__"
_FUTURE = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag, __future__.all_feature_names, 0
)
_BIG = 2**53


@functools.lru_cache(maxsize=256)
def joined_code(code: types.CodeType) -> types.CodeType | None:
    """The code with simple branches joined and some calls redirected.

    None when there is nothing to rewrite, or when the source cannot be trusted.
    """
    try:
        source = textwrap.dedent(inspect.getsource(code))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    function = tree.body[0]
    function.decorator_list = []
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    imported = next((names for names in _imports(code) if _same(code, _compiled(tree, code, names))), None)
    if imported is None:
        return None
    rewriter = _Rewriter(function)
    rewriter.visit(function)
    if not rewriter.count:
        return None
    rewritten = _compiled(tree, code, imported)
    if rewritten is None or rewritten.co_freevars != code.co_freevars:
        return None
    return rewritten


def recompiled(code: types.CodeType, function: ast.FunctionDef, edited: ast.FunctionDef) -> types.CodeType | None:
    """The code of an edited function; None unless `function`, as it was, compiles to exactly this code."""
    as_it_was = ast.Module([function], [])
    imported = next((names for names in _imports(code) if _same(code, _compiled(as_it_was, code, names))), None)
    if imported is None:
        return None
    made = _compiled(ast.Module([edited], []), code, imported)
    return made if made is not None and made.co_freevars == code.co_freevars else None


def _imports(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Names that the function's module may import: Python compiles `np.clip()` in another way where it does.

    First none, then those whose attributes are read to be called without the shortcut for methods.
    """
    yield ()
    found: dict[str, None] = {}
    for part in nested_codes(code):
        steps = [step for step in instructions(part) if step.opname not in ("CACHE", "EXTENDED_ARG")]
        for loaded, used in itertools.pairwise(steps):
            if loaded.opname == "LOAD_GLOBAL" and used.opname == "LOAD_ATTR":
                found[str(loaded.argval)] = None
    if found:
        yield tuple(found)


def _compiled(tree: ast.Module, code: types.CodeType, imported: tuple[str, ...]) -> types.CodeType | None:
    """The code of the function defined in `tree`, with the closure variables that `code` has.

    It is compiled, never run, in a module that imports these names.
    """
    function = tree.body[0]
    outer = ast.parse(f"def __outer__({', '.join(code.co_freevars)}): pass")
    shell = outer.body[0]
    assert isinstance(shell, ast.FunctionDef)
    if code.co_freevars:
        shell.body = [function]
    imports: list[ast.stmt] = [ast.Import([ast.alias(name)]) for name in imported]
    module = ast.fix_missing_locations(ast.Module([*imports, shell if code.co_freevars else function], []))
    try:
        compiled = compile(
            module, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True, optimize=-1
        )
    except (SyntaxError, ValueError):
        return None
    level: types.CodeType | None = compiled
    for name in (["__outer__"] if code.co_freevars else []) + [code.co_name]:
        constants = level.co_consts if level is not None else ()
        level = next((c for c in constants if isinstance(c, types.CodeType) and c.co_name == name), None)
    return level


def _same(a: types.CodeType, b: types.CodeType | None) -> bool:
    """Whether two pieces of code do the same, instruction by instruction; lines and names of scopes aside."""
    if b is None or a.co_code != b.co_code or len(a.co_consts) != len(b.co_consts):
        return False
    tables = ("co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_kwonlyargcount", "co_flags")
    if any(getattr(a, name) != getattr(b, name) for name in tables):
        return False
    for x, y in zip(a.co_consts, b.co_consts, strict=True):
        if isinstance(x, types.CodeType) and isinstance(y, types.CodeType):
            if not _same(x, y):
                return False
        elif type(x) is not type(y) or (repr(x) != repr(y) and not (isinstance(x, str) and "<locals>" in x)):
            return False
    return True


def helper_of(builtin: str) -> str:
    """The name under which rewritten code calls a builtin."""
    return f"__refutedp_builtin_{builtin}__"


class _Rewriter(ast.NodeTransformer):
    """Joins the branches of one function that can be joined, and redirects calls; `count` says how many."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.count = 0
        self._names = _also_read(function)

    def visit_Call(self, node: ast.Call) -> Any:
        """Redirect `x.sort(...)`, which takes keywords only, and builtins that are read as types elsewhere."""
        self.generic_visit(node)
        match node.func:
            case ast.Attribute(owner, "sort") if not node.args:
                call = ast.Call(_name(SORT), [owner], node.keywords)
            case ast.Name(name) if name in self._names:
                call = ast.Call(_name(helper_of(name)), node.args, node.keywords)
            case _:
                return node
        self.count += 1
        return ast.copy_location(call, node)

    def visit_If(self, node: ast.If) -> Any:
        """Join what can be joined; what is inside is looked at first."""
        self.generic_visit(node)
        call = _append_call(node) or _assign_call(node)
        if call is None:
            return node
        self.count += 1
        expression, targets = call
        taken = ast.If(test=_name(_CONDITION), body=node.body, orelse=node.orelse)
        result: ast.stmt = ast.Pass()
        if targets:
            result = ast.Assign([_tuple([_name(t, ast.Store()) for t in targets], ast.Store())], _name(_JOINED))
        handler = ast.ExceptHandler(
            _tuple([_name("NameError"), _name("TypeError")]), None, [_set(_JOINED, ast.Constant(None))]
        )
        statements: list[ast.stmt] = [
            _set(_CONDITION, node.test),
            ast.Try([_set(_JOINED, expression)], [handler], [], []),
            ast.If(ast.Compare(_name(_JOINED), [ast.Is()], [ast.Constant(None)]), [taken], [result]),
        ]
        return [ast.copy_location(statement, node) for statement in statements]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """`True if c else False`: both sides must be constants, because only one of them may be evaluated."""
        self.generic_visit(node)
        if not (isinstance(node.body, ast.Constant) and isinstance(node.orelse, ast.Constant)):
            return node
        self.count += 1
        return ast.copy_location(ast.Call(_name(CHOOSE), [node.test, node.body, node.orelse], []), node)


def _also_read(function: ast.FunctionDef) -> set[str]:
    """Builtins with a stand-in that the function reads without calling them, unless it has variables of that name."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return {node.id for node in names if id(node) not in called} & LIFTED_BUILTINS.keys() - bound


def _append_call(node: ast.If) -> tuple[ast.expr, list[str]] | None:
    """Both sides append a simple value to the same list."""
    sides = [_appended(side) for side in (node.body, node.orelse)]
    if sides[0] is None or sides[1] is None or sides[0][0] != sides[1][0]:
        return None
    (owner, first), (_, second) = sides[0], sides[1]
    return ast.Call(_name(APPEND), [_name(_CONDITION), _name(owner), first, second], []), []


def _appended(side: list[ast.stmt]) -> tuple[str, ast.expr] | None:
    match side:
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), "append"), [value], []))] if _is_simple(value):
            return owner, value
    return None


def _assign_call(node: ast.If) -> tuple[ast.expr, list[str]] | None:
    """Both sides assign simple values to variables; a variable that one side leaves alone keeps its value."""
    body, orelse = _assigned(node.body), _assigned(node.orelse)
    if not body or orelse is None:
        return None
    targets = list(dict.fromkeys([*body, *orelse]))
    sides = [_tuple([side.get(name, _name(name)) for name in targets]) for side in (body, orelse)]
    return ast.Call(_name(ASSIGN), [_name(_CONDITION), *sides], []), targets


def _assigned(side: list[ast.stmt]) -> dict[str, ast.expr] | None:
    """What each variable is after the statements, in terms of what they were before; None if not that simple."""
    values: dict[str, ast.expr] = {}
    for statement in side:
        fresh: dict[str, ast.expr] = {}
        for name, value in _assignments(statement):
            if name in fresh or any(isinstance(x, ast.Name) and x.id in values for x in ast.walk(value)):
                return None
            fresh[name] = value
        if not fresh and not isinstance(statement, ast.Pass):
            return None
        values |= fresh
    return values


def _assignments(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Assign([ast.Name(name)], value) if _is_simple(value):
            yield name, value
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
            pairs = list(zip(targets, values, strict=True))
            if all(isinstance(t, ast.Name) and _is_simple(v) for t, v in pairs):
                yield from ((t.id, v) for t, v in pairs if isinstance(t, ast.Name))
        case ast.AugAssign(ast.Name(name), (ast.Add() | ast.Sub()) as op, ast.Constant(int() | float()) as value):
            yield name, ast.BinOp(_name(name), op, value)


def _is_simple(value: ast.expr) -> bool:
    match value:
        case ast.Name() | ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant(int() | float())):
            return True
    return False


def _name(name: str, context: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(name, context or ast.Load())


def _tuple(items: list[Any], context: ast.expr_context | None = None) -> ast.Tuple:
    return ast.Tuple(items, context or ast.Load())


def _set(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([_name(name, ast.Store())], value)


# What the rewritten code calls.


def assign(condition: Any, then: tuple[Any, ...], otherwise: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The variables after the branch; None when it has to be taken as written."""
    if type(condition) is not Scalar or condition.kind != "b":
        return None
    joined = []
    for a, b in zip(then, otherwise, strict=True):
        value = _join(condition, a, b)
        if value is None and not (a is None and b is None):
            return None
        joined.append(value)
    return tuple(joined)


def append(condition: Any, owner: Any, then: Any, otherwise: Any) -> bool | None:
    """Append the joined value; None when the branch has to be taken as written."""
    if type(condition) is not Scalar or condition.kind != "b" or type(owner) is not list:
        return None
    value = _join(condition, then, otherwise)
    if value is None:
        return None
    owner.append(value)
    return True


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """As `then if condition else otherwise`."""
    if type(condition) is Scalar and condition.kind == "b":
        value = _join(condition, then, otherwise)
        if value is not None:
            return value
    return then if condition else otherwise


def _join(condition: Scalar, then: Any, otherwise: Any) -> Any:
    """A column that is `then` where the condition holds; None unless both are of one type in every run."""
    if then is otherwise:
        return then
    if then is True and otherwise is False:
        condition.run.choices.append(condition)
        return Scalar(condition.run, condition.values(), "b", False)
    a, b = _typed(then), _typed(otherwise)
    if a is None or b is None or a[1:] != b[1:]:
        return None
    condition.run.choices.append(condition)
    values: Array = np.where(condition.values(), a[0], b[0])
    return Scalar(condition.run, values, a[1], a[2])


def _typed(value: Any) -> tuple[Any, str, bool] | None:
    kind = type(value)
    if kind is Scalar:
        return None if value.kind == "U" else (value.values(), value.kind, value.numpy)
    if kind is bool:
        return value, "b", False
    if kind is int:
        return (value, "i", False) if -_BIG <= value <= _BIG else None
    if kind is float:
        return value, "f", False
    return (value, "f", True) if kind is np.float64 else None


def sort_in_place(owner: Any, /, **keywords: Any) -> Any:
    """As `owner.sort(...)`; a list of drawn floats is sorted by column."""
    if type(owner) is not list:
        return owner.sort(**keywords)
    owner[:] = lifted_sorted(owner, **keywords)
    return None


HELPERS: dict[str, Any] = {ASSIGN: assign, APPEND: append, CHOOSE: choose, SORT: sort_in_place}
HELPERS |= {helper_of(name): lifted for name, lifted in LIFTED_BUILTINS.items()}
