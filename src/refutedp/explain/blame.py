"""Tells from a few watched runs of a pair what its noise hides, and what nothing hides.

Both inputs are run on the same draws. What moves by as much whatever the draws, and is in the output or decides
where noise is drawn, is hidden by nothing; what a draw is added to is hidden by it, at a price.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Literal, TypeAlias

import numpy as np

from refutedp.explain.costs import family, share_of_claim
from refutedp.explain.hidden import Moves, moves_of
from refutedp.explain.observed import CallSite, Endless, Observed, WatchedDraw, Watcher, scale_of
from refutedp.explain.partings import parted_at
from refutedp.explain.releases import Side, near, released_of, told_of
from refutedp.explain.source_lines import hidden_words, noise_at, only_as_asked, place_of
from refutedp.model.claims import Claim
from refutedp.model.explanation import Discrepancy, LedgerRow, Place
from refutedp.model.records import Pair
from refutedp.tracing.watchdog import DidNotReturn

RUNS = 6
"""Watched runs of either input, each on draws of its own."""
FAR_RUNS, FAR = 3, 1e4
"""More of them, on draws that are so many times as far out: what decides alike on these does not look at noise."""

FIXED = "a fixed seed makes the noise the same in every run, so that it hides nothing"
SHARED = "one draw hides several values, so that what differs between them stays exact"

Kind: TypeAlias = Literal["exact", "noise", "shared", "seed", "branch", "scale", "coin"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """Something that may break the claim, worst first by `weight`: about how many times the claim it costs."""

    kind: Kind
    place: Place | None
    weight: float
    words: str
    site: CallSite | None = None
    """The draw, where the suspect is one."""
    code: CodeType | None = None
    """The code in which the line is, where it is none of a draw."""
    line: int = 0
    moves: float = 1.0
    """How far the value moves that is to be hidden."""
    draw: WatchedDraw | None = None
    beside: tuple[WatchedDraw, ...] = ()
    """Other draws that are added to the same value."""
    spot: tuple[int, int, int, int] | None = None
    """Where the expression stands that releases an exact value, or that is the noise."""


@dataclass(slots=True)
class Blame:
    """What watched runs tell: the ledger, what differs whatever the draws, and suspects, worst first."""

    rows: list[LedgerRow] = field(default_factory=list)
    discrepancies: list[Discrepancy] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    spent: float | None = None
    calls: int = 0
    first: Observed | None = None
    """A run on d1."""
    usual: dict[tuple[CodeType, int], None] = field(default_factory=dict)
    """The lines that runs on usual draws take, on either input."""


def blame(pair: Pair, claim: Claim, watcher: Watcher) -> Blame:
    """The ledger and the suspects of a pair, by some watched runs."""
    runs = [_both(pair, watcher, number, 1.0) for number in range(RUNS)]
    blamed = Blame(first=runs[0][0], usual={line: None for sides in runs for seen in sides for line in seen.lines})
    if not _repeats(pair, watcher, runs[0][0]):
        blamed.calls = watcher.calls
        return blamed
    far = [_both(pair, watcher, number, FAR) for number in range(FAR_RUNS)]
    far = [sides for sides in far if not any(isinstance(seen.error, Endless | DidNotReturn) for seen in sides)]
    released = released_of(runs, far)
    parted = parted_at(runs, far, any(one.discrepancy.kind != "value" for one in released))
    _seeds(blamed, runs)
    _rows(blamed, runs, claim, _growing(pair, watcher))
    _scales(blamed, runs)
    draws_differ = any(_sites(one) != _sites(other) for one, other in runs)
    if parted is not None:
        where, kind = parted
        place = place_of(where[0], where[1])
        words = f"line {place.line} decides on exact data"
        natural = kind == "count"
        matters = draws_differ or any(one.discrepancy.kind != "value" for one in released)
        matters = matters or any(one.kind == "scale" for one in blamed.discrepancies)
        if not natural:
            blamed.discrepancies.append(Discrepancy("branch" if kind == "branch" else "count", words, place))
        if matters and not natural:
            weight = 1e6 if kind == "branch" else 50.0
            blamed.suspects.append(Suspect("branch", place, weight, words, code=where[0], line=where[1]))
    for one in released:
        blamed.discrepancies.append(one.discrepancy)
        if one.discrepancy.kind == "value" or parted is None or parted[1] == "count":
            blamed.suspects.append(
                Suspect(
                    "exact",
                    one.discrepancy.place,
                    1e5,
                    one.discrepancy.words,
                    code=one.code,
                    line=one.line,
                    moves=one.moves,
                    spot=one.spot,
                )
            )
    changing = {one.place for one in blamed.suspects if one.kind == "scale"}
    blamed.suspects = [
        # More noise in proportion would go on depending on the data.
        replace(one, draw=None) if one.kind == "noise" and one.place in changing else one
        for one in blamed.suspects
    ]
    blamed.suspects.sort(key=lambda one: -one.weight)
    blamed.calls = watcher.calls
    return blamed


def _both(pair: Pair, watcher: Watcher, number: int, stretch: float) -> Side:
    one, other = (watcher.run(data, pair.arguments, number, stretch=stretch) for data in (pair.d1, pair.d2))
    return one, other


def _repeats(pair: Pair, watcher: Watcher, seen: Observed) -> bool:
    """Whether the same draws give the same output."""
    again = watcher.run(pair.d1, pair.arguments, 0)
    return bool(told_of(seen) == told_of(again))


def _sites(seen: Observed) -> list[tuple[Any, str]]:
    return [(draw.site.key, draw.distribution) for draw in seen.draws]


def _seeds(blamed: Blame, runs: Sequence[Side]) -> None:
    """Generators with a fixed seed."""
    for site in runs[0][0].seeds[:1]:
        place = place_of(site.code, site.line)
        words = f"line {place.line} sets the seed: {FIXED}"
        blamed.discrepancies.append(Discrepancy("seed", words, place))
        blamed.suspects.append(Suspect("seed", place, 1e7, words, site=site, code=site.code, line=site.line))


def _scales(blamed: Blame, runs: Sequence[Side]) -> None:
    """Noise whose scale depends on exact data."""
    seen: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    sites: dict[Any, CallSite] = {}
    for one, other in runs:
        for a, b in zip(one.draws, other.draws, strict=False):
            if a.site.key == b.site.key and a.distribution == b.distribution:
                x, y = scale_of(a), scale_of(b)
                if x is not None and y is not None:
                    seen[a.site.key].append((x, y))
                    sites[a.site.key] = a.site
    for key, pairs in seen.items():
        if len(set(pairs)) == 1 and not near(*pairs[0]):
            x, y = pairs[0]
            place = place_of(sites[key].code, sites[key].line)
            words = f"the noise of line {place.line} has the scale {x:.4g} on d1 and {y:.4g} on d2"
            blamed.discrepancies.append(Discrepancy("scale", words, place))
            weight = 20.0 * abs(math.log(x / y)) if x > 0 and y > 0 else 1e4
            blamed.suspects.append(
                Suspect("scale", place, weight, words, site=sites[key], code=sites[key].code, line=place.line)
            )


def _growing(pair: Pair, watcher: Watcher) -> Callable[[], set[Any]]:
    """The call sites whose noise is larger for twice the ε, found out when they are first asked for."""

    @functools.cache
    def growing() -> set[Any]:
        name = watcher.epsilon
        given = None if name is None else pair.arguments.get(name)
        if name is None or not isinstance(given, int | float):
            return set()
        scales: list[dict[Any, float | None]] = []
        for arguments in (pair.arguments, {**pair.arguments, name: 2 * given}):
            scales.append({draw.site.key: scale_of(draw) for draw in watcher.run(pair.d1, arguments, 0).draws})
        return {key for key, one in scales[0].items() if one and (scales[1].get(key) or 0) > one * 1.001}

    return growing


def _rows(blamed: Blame, runs: Sequence[Side], claim: Claim, growing: Callable[[], set[Any]]) -> None:
    """A row for each call site, by the run in which the most moves."""
    sites: dict[Any, WatchedDraw] = {}
    for one, other in runs:
        for draw in (*one.draws, *other.draws):
            sites.setdefault(draw.site.key, draw)
    found: dict[Any, Moves] = {}
    for one, other in runs:
        for key, moves in moves_of(one, other, sites, claim).items():
            if key not in found or moves.cost > found[key].cost or moves.shared > found[key].shared:
                found[key] = moves
    groups = _groups(runs)
    callers: dict[Any, set[Any]] = defaultdict(set)
    for draw in sites.values():
        callers[draw.site.spot].add(draw.site.caller)
    total = 0.0
    for key, draw in sites.items():
        if draw.site.line == 0:
            total = math.inf
            continue
        moves = found.get(key) or Moves([], [], False, 0.0, 0.0)
        place, hides = place_of(draw.site.code, draw.site.line), hidden_words(draw.site)
        caller = draw.site.caller
        several = len(callers[draw.site.spot]) > 1 and caller is not None
        # A helper that draws what it is asked for leaves it to its caller how much that is.
        asked = caller is not None and only_as_asked(draw.site) and key not in growing()
        if caller is not None and (several or asked):
            place, hides = place_of(*caller[:2]), ""
        times = max(sum(one.size for one in run.draws if one.site.key == key) for pair in runs for run in pair)
        cost = moves.cost if math.isfinite(moves.cost) else None
        distance = sum(moves.distances) if moves.distances else None
        name = draw.distribution
        blamed.rows.append(
            LedgerRow(place, name, scale_of(draw), times, hides, distance, cost, cost is None and moves.unbounded)
        )
        total += moves.cost
        weight = share_of_claim(moves.cost, claim)
        uniform = family(name) == "uniform"
        if moves.shared > 0 and not uniform and moves.compared is not None:
            there = place_of(*moves.compared)
            words = f"line {there.line} compares with one noisy number: {SHARED}"
            blamed.suspects.append(Suspect("shared", there, 1e3, words, site=draw.site, moves=moves.shared))
        elif moves.shared > 0 and not uniform:
            words = f"the noise of line {place.line} is shared: {SHARED}"
            blamed.suspects.append(
                Suspect("shared", place, 1e3, words, site=draw.site, moves=moves.shared, draw=draw)
            )
        weight = min(weight, 900.0)
        words = f"line {place.line} has too little noise for what it hides"
        beside = tuple(sites[other] for other in groups.get(key, ()) if other != key)
        moved = distance or 1.0
        elsewhere = uniform and moves.compared is not None and moves.compared[1] != draw.site.line
        # Noise that no scale makes private is not scaled; a helper that several lines call is not changed.
        change = None if several or (cost is None and moves.unbounded) else draw
        if not elsewhere:
            blamed.suspects.append(
                Suspect("noise", place, weight, words, site=draw.site, moves=moved, draw=change, beside=beside)
            )
        if moves.joined is not None:
            _made_by_functions(blamed, *moves.joined, moved)
    if not any(one.weight > 0 for one in blamed.suspects) and not blamed.discrepancies:
        _coins(blamed, runs, sites, claim)
    blamed.spent = total if sites and math.isfinite(total) else None


def _made_by_functions(blamed: Blame, joined: CallSite, side: str, moved: float) -> None:
    """Noise of unknown scale, such as the logarithm of a uniform draw, which is named only if more of it mends."""
    node = noise_at(joined, side)
    if node is None:
        return
    spot = node.lineno, node.end_lineno or node.lineno, node.col_offset, node.end_col_offset or 0
    place = place_of(joined.code, node.lineno) if joined.caller is None else place_of(*joined.caller[:2])
    words = f"line {place.line} has too little noise for what it hides"
    if not any(one.spot == spot for one in blamed.suspects):
        blamed.suspects.append(
            Suspect("noise", place, 1.0, words, code=joined.code, line=node.lineno, moves=moved, spot=spot)
        )


def _coins(blamed: Blame, runs: Sequence[Side], sites: dict[Any, WatchedDraw], claim: Claim) -> None:
    """Answers that are told truly with a probability that does not depend on the data, as in randomized response."""
    worst: dict[Any, tuple[float, CodeType, int]] = {}
    for one, other in runs:
        flips = _flips(one.output, other.output)
        for form in one.forms:
            draw = sites.get(form.terms[0].key[0]) if len(form.terms) == 1 else None
            if (
                not flips
                or draw is None
                or form.line is None
                or np.ndim(form.base)
                or family(draw.distribution) != "uniform"
            ):
                continue
            p = float(-form.base / form.terms[0].factor)
            if form.compared and 0 < p < 1 and form.line[1] == draw.site.line:
                cost = flips * abs(math.log(p / (1 - p)))
                if cost > worst.get(form.terms[0].key[0], (0.0,))[0]:
                    worst[form.terms[0].key[0]] = cost, draw.site.code, draw.site.line
    for key, (cost, code, line) in worst.items():
        place = place_of(code, line)
        words = f"line {line} tells the truth too often: ε {cost:.3g}"
        weight = share_of_claim(cost, claim)
        blamed.suspects.append(Suspect("coin", place, weight, words, site=sites[key].site, code=code, line=line))


def _flips(one: Any, other: Any) -> int:
    """How many parts of two answers differ, on the same draws."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return sum(bool(a != b) for a, b in zip(one, other, strict=True) if np.ndim(a) == np.ndim(b) == 0)
    return int(np.ndim(one) == np.ndim(other) == 0 and bool(one != other))


def _groups(runs: Sequence[Side]) -> dict[Any, tuple[Any, ...]]:
    """The call sites whose draws are added to the same released value, for each of them."""
    found: dict[Any, dict[Any, None]] = defaultdict(dict)
    for pair in runs:
        for form in (form for seen in pair for form in seen.forms if not form.compared and not form.bent):
            keys = dict.fromkeys(term.key[0] for term in form.terms)
            for key in keys if len(keys) > 1 else ():
                found[key] |= keys
    return {key: tuple(others) for key, others in found.items()}
