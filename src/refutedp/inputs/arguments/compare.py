"""What it means that branches of the two runs diverge.

A *branch* is one evaluation of a test in the source: a site (`if`, `while`, `and`, `or`, a comparison of a chain, an
element of an array comparison, a comparison whose answer is returned) and its occurrence number in the
run. A site is *compared* when a noise draw went into its test, or when what it tests can differ (between the runs, or
between paths of one) at the same occurrence. That leaves out bookkeeping such as `if count >= bound` inside the
branch that counts: its k-th evaluation asks `k >= bound` in either run. Tests of plain data against plain numbers are
not seen.

A compared branch *diverges* when the runs do not both reach it with the same answer: the answers differ, or only one
run gets there because the other went elsewhere or stopped. `branches` counts the compared branches that at least one
of the two runs reaches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from refutedp.inputs.arguments.paths import Path
from refutedp.inputs.arguments.sites import Site

Key = tuple[Site, int]


@dataclass(frozen=True, slots=True)
class Divergence:
    """How many of the compared branches diverge."""

    diverging: int
    branches: int


def compared_sites(paths: Iterable[Path]) -> frozenset[Site]:
    """The sites worth comparing, from all paths of both runs."""
    sites: set[Site] = set()
    tested: defaultdict[Key, set[object]] = defaultdict(set)
    for path in paths:
        for branch in path.branches:
            tested[branch.site, branch.occurrence].add(branch.key)
            if branch.noisy:
                sites.add(branch.site)
    sites |= {site for (site, _), keys in tested.items() if len(keys) > 1}
    return frozenset(sites)


def differing_sites(first: Iterable[Path], second: Iterable[Path]) -> frozenset[Site]:
    """The sites that can test different things in the two runs at the same occurrence: the data is tested there."""
    tested: list[defaultdict[Key, set[object]]] = [defaultdict(set), defaultdict(set)]
    for table, paths in zip(tested, (first, second), strict=True):
        for path in paths:
            for branch in path.branches:
                table[branch.site, branch.occurrence].add(branch.key)
    return frozenset(key[0] for key in tested[0].keys() & tested[1].keys() if tested[0][key] != tested[1][key])


def answers(path: Path, sites: frozenset[Site]) -> dict[Key, bool]:
    """The answer at each compared branch the path reaches."""
    return {(b.site, b.occurrence): b.outcome for b in path.branches if b.site in sites}


def divergence(first: Mapping[Key, bool], second: Mapping[Key, bool]) -> Divergence:
    """Count the branches on which two runs part."""
    keys = first.keys() | second.keys()
    return Divergence(sum(first.get(key) is not second.get(key) for key in keys), len(keys))
