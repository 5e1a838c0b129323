"""The source of a function, as far as it can be trusted: compiled as it stands, it gives the function's own code."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
import itertools
import textwrap
import types
from collections.abc import Callable, Iterator

from refutedp.tracing.copier import instructions, nested_codes

_FUTURE = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag, __future__.all_feature_names, 0
)


def rewritten(code: types.CodeType, rewrite: Callable[[ast.FunctionDef], bool]) -> types.CodeType | None:
    """The code with its source rewritten, which `rewrite` does in place.

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
    edited = copy.deepcopy(function)
    return recompiled(code, function, edited) if rewrite(edited) else None


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
