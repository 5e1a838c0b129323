"""Lines of the mechanism's source: their text, and the expressions that stand on them."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import CodeType

from refutedp.explain.observed import CallSite
from refutedp.model.explanation import Place
from refutedp.model.mechanism import short_path


def place_of(code: CodeType, line: int) -> Place:
    """A line of the code as users know it."""
    function = code.co_qualname.rpartition("<locals>.")[2]
    if function.startswith("<"):
        function = code.co_qualname.partition(".<locals>")[0].rpartition(".")[2]
    text = linecache.getline(code.co_filename, line).strip()
    path = Path(code.co_filename)
    return Place(short_path(path) if path.is_file() else code.co_filename, line, function, text)


@functools.lru_cache(maxsize=64)
def _tree(file: str, lines: tuple[str, ...]) -> ast.Module | None:
    try:
        return ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None


def tree_of(code: CodeType) -> ast.Module | None:
    """The syntax tree of the file that the code comes from; None where there is no source."""
    return _tree(code.co_filename, tuple(linecache.getlines(code.co_filename)))


def function_of(code: CodeType) -> ast.AST | None:
    """The node of the function, the lambda or the comprehension that the code was compiled from."""
    tree = tree_of(code)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    found = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, kinds):
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            if first <= code.co_firstlineno <= (node.end_lineno or node.lineno) and (
                found is None or node.lineno >= found.lineno
            ):
                found = node
    return found


def node_at(tree: ast.AST, spot: tuple[int, int, int, int]) -> ast.AST | None:
    """The innermost expression at a spot: first and last line, first and last column."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and spot == _spot(node):
            found = node
    return found


def _spot(node: ast.AST) -> tuple[int | None, ...]:
    return tuple(getattr(node, name, None) for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"))


def path_to(code: CodeType, site: CallSite) -> list[ast.AST]:
    """The expression of a call and the nodes around it, from the inside to the outside; empty if it is not found."""
    tree = tree_of(code)
    if tree is None:
        return []
    stack: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    best: list[ast.AST] = []
    while stack:
        node, around = stack.pop()
        inside = (node, *around)
        spot = (getattr(node, "lineno", None), getattr(node, "end_lineno", None))
        if spot == (site.line, site.end_line) and (
            (getattr(node, "col_offset", None), getattr(node, "end_col_offset", None))
            == (site.column, site.end_column)
        ):
            best = list(inside)
        stack += [(child, inside) for child in ast.iter_child_nodes(node)]
    return best


def hidden_words(site: CallSite) -> str:
    """The source of what the draw is added to, or "" where it is not added on the spot.

    A sum around the draw, without the draw; or one with a variable that the draw is assigned to.
    """
    path = path_to(site.code, site)
    if not path:
        return ""
    words = _sum_without(path)
    if words:
        return words
    statement = next((node for node in path if isinstance(node, ast.stmt)), None)
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        function = function_of(site.code)
        for node in ast.walk(function) if function is not None else ():
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
                for side, other in ((node.left, node.right), (node.right, node.left)):
                    if isinstance(side, ast.Name) and side.id == name:
                        return ast.unparse(other)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add | ast.Sub):
        return ast.unparse(statement.target)
    return ""


def _sum_without(path: list[ast.AST]) -> str:
    """The rest of the sum in which the innermost node of the path stands."""
    rest: list[str] = []
    for inner, outer in pairwise(path):
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub):
            other = outer.right if outer.left is inner else outer.left
            if not _draws(other):
                rest.append(ast.unparse(other))
        elif isinstance(outer, ast.BinOp | ast.UnaryOp) and not rest:
            continue
        else:
            break
    return " + ".join(rest)


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def only_as_asked(site: CallSite) -> bool:
    """Whether a helper draws once, from nothing but what it was given."""
    path = path_to(site.code, site)
    function = function_of(site.code)
    arguments = getattr(function, "args", None)
    if not path or not isinstance(path[0], ast.Call) or arguments is None:
        return False
    given = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    parts = [node for part in (*path[0].args, *path[0].keywords) for node in ast.walk(part)]
    names = {node.id for node in parts if isinstance(node, ast.Name)}
    numbers = [node.value for node in parts if isinstance(node, ast.Constant)]
    computed = any(isinstance(node, ast.Attribute | ast.Call) for node in parts)
    if any(isinstance(node, _LOOPS) for node in (path[: path.index(function)] if function in path else ())):
        return False
    return bool(names) and names <= given and not computed and all(one in (0, 1, None) for one in numbers)


def noise_at(site: CallSite, side: str) -> ast.expr | None:
    """The expression of the noise in a sum, or the one that is assigned to its variable."""
    node = next(iter(path_to(site.code, site)), None)
    if not isinstance(node, ast.BinOp):
        return None
    noise = node.left if side == "left" else node.right
    function = function_of(site.code)
    if isinstance(noise, ast.Name) and function is not None:
        made = [
            one
            for one in _own(function)
            if isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign)
            and any(isinstance(part, ast.Name) and part.id == noise.id for part in _targets(one))
        ]
        if len(made) == 1 and isinstance(made[0], ast.Assign) and isinstance(made[0].targets[0], ast.Name):
            return made[0].value
    return noise


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> list[ast.AST]:
    return [part for one in getattr(node, "targets", [getattr(node, "target", node)]) for part in ast.walk(one)]


_CLIPS = ("clip", "min", "max", "minimum", "maximum")


def clipped_after(site: CallSite) -> int | None:
    """The line that clips the sum in which a draw stands, or the variable that holds it; None if none does."""
    path = path_to(site.code, site)
    around = next((node.lineno for node in path[1:] if _clips(node)), None)  # type: ignore[attr-defined]
    statement = next((node for node in path if isinstance(node, ast.stmt)), None)
    if around is not None or not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return around
    name, function = statement.targets[0].id, function_of(site.code)
    return next(
        (
            node.lineno
            for node in (ast.walk(function) if function is not None else ())
            if isinstance(node, ast.Call)
            and _clips(node)
            and node.lineno > statement.lineno
            and any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
        ),
        None,
    )


def _clips(node: ast.AST) -> bool:
    """Whether it is a call that keeps a value between ends; the largest of a list is no such thing."""
    if not isinstance(node, ast.Call) or len(node.args) + len(node.keywords) < 2:
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _CLIPS and not any(one.arg == "key" for one in node.keywords)


DRAWING = ("laplace", "normal", "exponential", "expovariate", "gauss", "geometric", "gumbel", "uniform", "random")


def _draws(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in DRAWING for one in ast.walk(node))


def released_at(code: CodeType, line: int, steps: list[object], taken: set[int]) -> ast.AST | None:
    """The expression of a released value: of its part, the assignment or the call that made it, as far as told.

    `line` is that of the return, `steps` the keys and indices of the part in the output, and `taken` the lines that
    the run took.
    """
    function = function_of(code)
    if function is None:
        return None
    node: ast.AST | None = next(
        (one.value for one in _own(function) if isinstance(one, ast.Return) and _on(one, line) and one.value), None
    )
    steps = list(steps)
    for _ in range(6):
        inner: ast.AST | None = None
        if isinstance(node, ast.Dict) and steps:
            key = steps.pop(0)
            pairs = zip(node.keys, node.values, strict=True)
            inner = next((value for name, value in pairs if name is not None and _constant(name) == key), None)
        elif isinstance(node, ast.Call) and steps and isinstance(steps[0], str):
            inner = next((one.value for one in node.keywords if one.arg == steps[0]), None)
            steps.pop(0)
        elif isinstance(node, ast.List | ast.Tuple) and steps and isinstance(steps[0], int):
            place = steps.pop(0)
            assert isinstance(place, int)
            inner = node.elts[place] if place < len(node.elts) else None
        elif isinstance(node, ast.IfExp) and _draws(node.body) != _draws(node.orelse):
            return node.orelse if _draws(node.body) else node.body
        elif isinstance(node, ast.ListComp) and isinstance(node.elt, ast.IfExp):
            inner, steps = node.elt, steps[1:]
        elif isinstance(node, ast.Name):
            made = _made(function, node.id, taken)
            if made is not None:
                inner, appended = made
                steps = steps[1:] if appended else steps
        if inner is None:
            return node
        node = inner
    return node


def _on(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _constant(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions defined inside it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)


def _made(function: ast.AST, name: str, taken: set[int]) -> tuple[ast.AST, bool] | None:
    """The last expression that is assigned to the name, or appended to it, on lines that the run took.

    One that draws no noise, if there is one: it is looked for where a value without noise comes from.
    """
    found: tuple[ast.AST, bool] | None = None
    for node in _own(function):
        if getattr(node, "lineno", None) not in taken:
            continue
        match node:
            case ast.Assign([ast.Name(target)], value) if target == name and not _is_empty(value):
                made = value, False
            case ast.Assign([ast.Subscript(ast.Name(target))], value) if target == name:
                made = value, True
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(target), "append"), [value])) if target == name:
                made = value, True
            case _:
                continue
        if found is None or not _draws(made[0]) or isinstance(made[0], ast.IfExp):
            found = made
    return found


def _is_empty(node: ast.expr) -> bool:
    """Whether it makes an empty container, to be filled later."""
    if isinstance(node, ast.Call):
        return not node.args and not node.keywords
    return isinstance(node, ast.List | ast.Dict) and not ast.unparse(node)[1:-1]
