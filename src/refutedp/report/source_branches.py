"""Which lines of a mechanism's source decide something."""

from __future__ import annotations

import ast
from dataclasses import dataclass

_KINDS: tuple[tuple[type[ast.AST], str], ...] = (
    (ast.If, "branch"),
    (ast.IfExp, "branch"),
    (ast.While, "loop"),
    (ast.For, "loop"),
    (ast.Match, "branch"),
    (ast.Try, "branch"),
    (ast.Assert, "branch"),
    (ast.Break, "exit"),
    (ast.Continue, "exit"),
    (ast.Raise, "exit"),
    (ast.Return, "exit"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source; `role` is "branch", "loop", "exit" or empty."""

    number: int
    text: str
    role: str


def lines_of(source: str, first: int = 1) -> list[Line]:
    """The source line by line, numbered as in its file, with what each line decides.

    >>> [line.role for line in lines_of("def f(x):\\n    if x:\\n        return 1\\n    return 0")]
    ['', 'branch', 'exit', 'exit']
    """
    roles: dict[int, str] = {}
    try:
        tree: ast.AST = ast.parse(source)
    except (SyntaxError, ValueError):  # a method's or a lambda's lines need not parse on their own
        tree = ast.Module(body=[], type_ignores=[])
    for node in ast.walk(tree):
        for kind, role in _KINDS:
            if isinstance(node, kind):
                roles.setdefault(node.lineno, role)  # type: ignore[attr-defined]
    return [Line(first + i, text, roles.get(i + 1, "")) for i, text in enumerate(source.splitlines())]
