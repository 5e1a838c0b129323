"""Loops that stop inside nested branches, written so that the branches can be joined.

    if q + noise >= limit:                     stop = False
        out.append(True)                       if q + noise >= limit:
        count += 1                                 out.append(True)
        if count == most:              →           count += 1
            break                                  if count == most:
    else:                                              stop = True
        out.append(False)                      else:
                                                   out.append(False)
                                               if stop:
                                                   break

Taken as written, runs part at every answer. Joined, they part where the loop stops, and n answers of which `most`
are above the limit take n paths and not one for each way to choose them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from refutedp.sampling.lifted.rewrite.nodes import name


def flag_breaks(function: ast.FunctionDef) -> None:
    """Rewrite, in place, the branches of loops that hold a nested `break` with nothing to do after it."""
    number = 0
    for loop in [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]:
        body: list[ast.stmt] = []
        for statement in loop.body:
            if isinstance(statement, ast.If) and _may_be_flagged(statement):
                number += 1
                body += _flagged(statement, f"__refutedp_stop{number}__")
            else:
                body.append(statement)
        loop.body = body


def _may_be_flagged(branch: ast.If) -> bool:
    """Whether a `break` lies deeper than on a side itself, and each `break` is the last that its path does."""
    breaks = sum(isinstance(node, ast.Break) for node in _inside([branch]))
    own = sum(isinstance(node, ast.Break) for side in (branch.body, branch.orelse) for node in side)
    return breaks > own and breaks == sum(1 for _ in _last(branch))


def _inside(statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes of the statements that belong to the same loop."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.If):
            yield from _inside([*statement.body, *statement.orelse])
        elif isinstance(statement, (ast.Try, ast.With, ast.Match)):
            # A `break` in there is found, and is not among the last.
            yield from (node for node in ast.walk(statement) if isinstance(node, ast.Break))


def _last(branch: ast.If) -> Iterator[list[ast.stmt]]:
    """The sides, at any depth, that end in a `break` after which nothing else of the branch would be done."""
    for side in (branch.body, branch.orelse):
        if side and isinstance(side[-1], ast.Break):
            yield side
        elif side and isinstance(side[-1], ast.If):
            yield from _last(side[-1])


def _flagged(branch: ast.If, stop: str) -> list[ast.stmt]:
    for side in list(_last(branch)):
        side[-1] = ast.copy_location(ast.Assign([name(stop, ast.Store())], ast.Constant(True)), side[-1])
    before = ast.Assign([name(stop, ast.Store())], ast.Constant(False))
    after = ast.If(name(stop), [ast.Break()], [])
    statements = [ast.copy_location(one, branch) for one in (before, branch, after)]
    return [ast.fix_missing_locations(one) for one in statements]
