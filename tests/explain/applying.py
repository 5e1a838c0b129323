"""Applies a printed remedy to the mechanism's source, from its text alone, and checks the pair again."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from refutedp import check
from refutedp.explain.edits import Edit, edited
from refutedp.explain.observed import Following
from refutedp.model.mechanism import describe
from refutedp.tracing.copier import Stage, nested_codes
from refutedp.tracing.without_noise import NoiseFree


def check_again(result, function, remedy, adjacency):
    """The check of the pair of the mended mechanism; None where the remedy's text cannot be applied."""
    mechanism, pair = describe(function), result.counterexample.pair
    arguments = dict(pair.arguments)
    if remedy.change == "epsilon":
        arguments[mechanism.epsilon] /= remedy.factor
        mended = function
    else:
        code = _code_at(function, remedy.place)
        if code is None:
            return None

        def apply(tree):
            swap = _Swap(remedy.replaced, remedy.replacement, None if remedy.change == "fresh" else remedy.place.line)
            swap.visit(tree)
            return ("", "") if swap.count else None

        changed = edited(mechanism, pair.arguments, Edit(remedy.change, remedy.place, 1.0, "", code, apply))
        if changed is None:
            return None
        mended = replace(changed.mechanism, name=mechanism.name)
    pairs = [(pair.d1, pair.d2)]
    settings = replace(result.settings, progress=False, float_leaks="ignore")
    return check(mended, result.claim, pairs=pairs, adjacency=adjacency, args=arguments, settings=settings)


def _code_at(function, place):
    copier = Following(Stage(NoiseFree()))
    copier.copy(function)
    for original in copier.originals:
        code = original.__code__
        lines = {line for part in nested_codes(code) for _, _, line in part.co_lines() if line}
        if Path(code.co_filename).name == Path(place.file).name and place.line in lines:
            return code
    return None


class _Swap(ast.NodeTransformer):
    """Puts one expression in the place of another that reads alike, on one line or on all."""

    def __init__(self, before, after, line):
        self.before, self.after, self.line, self.count = before, after, line, 0

    def visit(self, node):
        loaded = not isinstance(getattr(node, "ctx", None), ast.Store)
        here = self.line is None or getattr(node, "lineno", 0) <= self.line <= (getattr(node, "end_lineno", 0) or 0)
        if isinstance(node, ast.expr) and loaded and here and ast.unparse(node) == self.before:
            self.count += 1
            return ast.copy_location(ast.parse(self.after, mode="eval").body, node)
        return self.generic_visit(node)
