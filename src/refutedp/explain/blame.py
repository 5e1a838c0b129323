"""Tells from a few watched runs of a pair what its noise hides, and what nothing hides.

Both inputs are run on the same draws. What moves by as much whatever the draws, and is in the output or decides
where noise is drawn, is hidden by nothing; what a draw is added to is hidden by it, at a price.
"""

from __future__ import annotations

import ast
import linecache
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from refutedp.explain.affine import Key, NoisySum, form_of
from refutedp.explain.costs import cost_of_moves, cost_of_probabilities, family, share_of_claim
from refutedp.explain.observed import CallSite, Observed, Step, WatchedDraw, Watcher, scale_of
from refutedp.explain.source_lines import hidden_words, place_of, released_at
from refutedp.model.claims import Claim
from refutedp.model.explanation import Discrepancy, LedgerRow, Place
from refutedp.model.records import Pair
from refutedp.tracing.copier import instructions
from refutedp.tracing.ledger import NUMBER, RAISED, told

RUNS = 6
"""Watched runs of either input, each on draws of its own."""
FAR_RUNS, FAR = 3, 1e4
"""More of them, on draws that are so many times as far out: what decides alike on these does not look at noise."""
CLOSE = 1e-9
"""Differences of numbers that are rounding, in parts of their size."""

Kind: TypeAlias = Literal["exact", "noise", "shared", "seed", "branch", "scale", "coin"]
Side: TypeAlias = tuple[Observed, Observed]


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
    """Where the expression stands that releases an exact value."""


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


class _Moves(NamedTuple):
    """What happens at the draws of one call site."""

    sizes: list[float]
    """How far what they hide moves, over their scale, draw by draw."""
    distances: list[float]
    unbounded: bool
    cost: float
    shared: float
    """How far apart values that share one draw move; 0.0 where none do."""
    compared: tuple[CodeType, int] | None = None
    """Where they are compared, if nothing else is done with them."""


def blame(pair: Pair, claim: Claim, watcher: Watcher) -> Blame:
    """The ledger and the suspects of a pair, by some watched runs."""
    runs = [_both(pair, watcher, number, 1.0) for number in range(RUNS)]
    blamed = Blame(first=runs[0][0])
    if not _repeats(pair, watcher, runs[0][0]):
        blamed.calls = watcher.calls
        return blamed
    far = [_both(pair, watcher, number, FAR) for number in range(FAR_RUNS)]
    released = _released(runs, far)
    parted = _parted(runs, far, any(one.discrepancy.kind != "value" for one in released))
    _seeds(blamed, runs)
    _rows(blamed, runs, claim)
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
    return bool(_told(seen) == _told(again))


def _told(seen: Observed) -> Any:
    if seen.error is not None:
        return told({RAISED: type(seen.error).__name__})
    return told(seen.output)


def _sites(seen: Observed) -> list[tuple[Any, str]]:
    return [(draw.site.key, draw.distribution) for draw in seen.draws]


# Outputs.


@dataclass(frozen=True, slots=True)
class _Released:
    """A part of the output that nothing hides."""

    discrepancy: Discrepancy
    code: CodeType | None
    line: int
    moves: float = 1.0
    spot: tuple[int, int, int, int] | None = None


def _released(runs: Sequence[Side], far: Sequence[Side]) -> list[_Released]:
    """Parts of the output that are constant on either input, whatever the draws, and differ between the two."""
    sides = [[_told(one) for one, _ in (*runs, *far)], [_told(other) for _, other in (*runs, *far)]]
    structures = [{repr(one.structure): one for one in side} for side in sides]
    one, other = runs[0]
    code, line = _returned(one)
    place = place_of(code, line) if code is not None else None
    if all(len(found) == 1 for found in structures) and structures[0].keys() != structures[1].keys():
        kind, words = _structures(sides[0][0].structure, sides[1][0].structure, one, other)
        return [_Released(Discrepancy(kind, words, place), code, line)]
    if len(structures[0]) == len(structures[1]) == 1 and structures[0].keys() == structures[1].keys():
        first, second = (np.array([one.numbers for one in side]) for side in sides)
        found: list[_Released] = []
        for index in range(first.shape[1]):
            x, y = first[:, index], second[:, index]
            if np.ptp(x) <= CLOSE * abs(x[0]) and np.ptp(y) <= CLOSE * abs(y[0]) and not _near(x[0], y[0]):
                name = sides[0][0].name(index)
                path = _steps(sides[0][0].structure, index)
                if any(_carries(seen.output, path) for pair in runs for seen in pair):
                    continue
                at, spot = line, None
                if code is not None:
                    taken = {number for taken_code, number in one.lines if taken_code is code}
                    node = released_at(code, line, list(path), taken)
                    if isinstance(node, ast.expr):
                        at = node.lineno
                        spot = node.lineno, node.end_lineno or at, node.col_offset, node.end_col_offset or 0
                where = place_of(code, at) if code is not None else None
                words = f"{name} is {x[0]:.6g} on d1 and {y[0]:.6g} on d2, without noise"
                moves = abs(float(x[0] - y[0]))
                found.append(_Released(Discrepancy("value", words, where), code, at, moves, spot))
        return found[:3]
    return []


def _carries(output: Any, path: Sequence[Any]) -> bool:
    """Whether the number at this place of an output has noise in it, however little that is."""
    for step in path:
        try:
            output = output[step]
        except (TypeError, KeyError, IndexError):
            return False
    return form_of(output) is not None


def _near(x: float, y: float) -> bool:
    return bool(abs(x - y) <= CLOSE * max(abs(x), abs(y)))


def _structures(one: Any, other: Any, first: Observed, second: Observed) -> tuple[Any, str]:
    if first.error is not None or second.error is not None:
        names = [type(seen.error).__name__ if seen.error is not None else "an answer" for seen in (first, second)]
        return "error", f"d1 gives {names[0]} and d2 gives {names[1]}, whatever the noise"
    try:
        if isinstance(first.output, dict) and isinstance(second.output, dict):
            return "keys", "the output has other keys on d1 than on d2, whatever the noise"
        sizes = len(first.output), len(second.output)
        if sizes[0] != sizes[1] and type(first.output) is type(second.output) and not isinstance(first.output, str):
            return "length", f"the output has {sizes[0]} parts on d1 and {sizes[1]} on d2, whatever the noise"
    except TypeError:
        pass
    return "type", "the output is of another kind on d1 than on d2, whatever the noise"


def _steps(structure: Any, index: int) -> list[object]:
    """The keys and indices that lead to a number of an output."""
    paths: list[list[object]] = []

    def walk(part: Any, path: list[object]) -> None:
        match part:
            case _ if part == NUMBER:
                paths.append(path)
            case "str", parts, _:
                paths.extend(path for one in parts if one == NUMBER)
            case "dict", items:
                for key, item in items:
                    walk(item, [*path, _key(key)])
            case _, list(parts):
                for place, one in enumerate(parts):
                    walk(one, [*path, place])

    walk(structure, [])
    return paths[index] if index < len(paths) else []


def _key(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _returned(seen: Observed) -> tuple[CodeType | None, int]:
    """Where the mechanism returned: the last instruction of its outermost code."""
    if not seen.lines or not seen.steps:
        return None, 0
    code = next(iter(seen.lines))[0]
    if not Path(code.co_filename).is_file() and not linecache.getlines(code.co_filename):
        return None, 0
    last = next((step for step in reversed(seen.steps) if step.code is code and not step.draw), None)
    return (code, line_at(code, last.instruction)) if last is not None else (None, 0)


def line_at(code: CodeType, instruction: int) -> int:
    """The line of an instruction."""
    spot = next((p for number, p in enumerate(code.co_positions()) if number == instruction // 2), (None,) * 4)
    return spot[0] or code.co_firstlineno


# Branches.

MOST_PARTINGS, NEAR = 40, 600
"""Places where two runs part that are looked at, and steps within which they meet again."""


class _Parting(NamedTuple):
    """Where two runs on the same draws part."""

    code: CodeType
    instruction: int
    matters: bool
    """Whether only one of them draws before they meet again, or they never do."""
    ways: tuple[Step | None, Step | None]


def _parted(runs: Sequence[Side], far: Sequence[Side], structures: bool) -> tuple[tuple[CodeType, int], str] | None:
    """The line at which the two inputs part on every draw, deciding alike whatever is drawn; and what it is.

    Partings after which both do the same again, and draw alike, as where records are counted, do not matter unless
    the structures of the outputs differ.
    """
    found: list[dict[tuple[CodeType, int], _Parting]] = []
    for one, other in (*runs, *far):
        partings: dict[tuple[CodeType, int], _Parting] = {}
        choices: list[_Parting] = []
        for parting in _partings(one, other):
            if _chooses(parting):
                choices.append(parting)
            # What is no choice itself, as a function that is called once more, follows from an earlier one.
            blamed = parting if _chooses(parting) or not choices else choices[-1]
            if parting.matters:
                partings.setdefault((blamed.code, blamed.instruction), blamed)
        if structures and not partings:
            for parting in choices[-1:]:
                partings[(parting.code, parting.instruction)] = parting
        found.append(partings)
    for key, parting in next((one for one in found if one), {}).items():
        ways = [one[key].ways for one in found if key in one]
        if len(ways) * 2 < len(found) or len(set(ways)) != 1:
            continue
        turns = any(one.offset == key[1] and one.opname == "FOR_ITER" for one in instructions(parting.code))
        return (parting.code, line_at(*key)), "count" if turns else "branch"
    return None


def _chooses(parting: _Parting) -> bool:
    name = _name(Step(parting.code, parting.instruction))
    return name.startswith(("POP_JUMP", "JUMP_IF", "FOR_ITER"))


def _partings(one: Observed, other: Observed) -> Iterator[_Parting]:
    """All places where the runs part without a drawn number being compared there, meeting again in between."""
    i = j = 0
    first, second = one.steps, other.steps
    for _ in range(MOST_PARTINGS):
        while i < len(first) and j < len(second) and first[i] == second[j]:
            i, j = i + 1, j + 1
        if i == 0 or j == 0 or (i >= len(first) and j >= len(second)):
            return
        meeting = _meeting(first, second, i, j)
        k, m = (len(first), len(second)) if meeting is None else meeting
        drawn = [[step for step in part if step.draw] for part in (first[i:k], second[j:m])]
        decider = _last_choice(first, second, i, j, meeting)
        if decider is not None and not _looks_at_noise(one, decider, i):
            ways = first[i] if i < len(first) else None, second[j] if j < len(second) else None
            yield _Parting(decider.code, decider.instruction, meeting is None or drawn[0] != drawn[1], ways)
        if meeting is None:
            return
        i, j = meeting


def _meeting(first: Sequence[Step], second: Sequence[Step], i: int, j: int) -> tuple[int, int] | None:
    """The nearest steps at which both do the same again."""
    ahead: dict[Step, int] = {}
    for number, step in enumerate(second[j : j + NEAR]):
        ahead.setdefault(step, number)
    best: tuple[int, int] | None = None
    for number, step in enumerate(first[i : i + NEAR]):
        if best is not None and number >= best[0] + best[1]:
            break
        beyond = ahead.get(step)
        if beyond is not None and (best is None or number + beyond < sum(best)):
            best = number, beyond
    return None if best is None else (i + best[0], j + best[1])


def _last_choice(
    first: Sequence[Step], second: Sequence[Step], i: int, j: int, meeting: tuple[int, int] | None
) -> Step | None:
    """The instruction that decides: the one before the runs part, or, where a loop is left early, the last choice.

    Where one input has a record more, the runs part at the head of the loop; what matters is what is done inside.
    """
    decider = first[i - 1]
    if decider.draw:
        return None
    if _is_loop(decider):
        ends = (len(first), len(second)) if meeting is None else meeting
        # The run that goes on comes to the next instruction, and the other one jumps behind the loop.
        inside = first[i : ends[0]], second[j : ends[1]]
        goes_on = min(inside, key=lambda part: part[0].instruction if part else math.inf)
        for step in reversed(goes_on):
            if not step.draw and step.code is decider.code and _name(step).startswith("POP_JUMP"):
                return step
    return decider


def _name(step: Step) -> str:
    return next((one.opname for one in instructions(step.code) if one.offset == step.instruction), "")


def _is_loop(step: Step) -> bool:
    return _name(step) == "FOR_ITER"


def _looks_at_noise(one: Observed, decider: Step, at: int) -> bool:
    """Whether a drawn number was compared on the line, just before it was decided."""
    line = line_at(decider.code, decider.instruction)
    for mark in one.noisy:
        if at - 40 <= mark <= at and mark >= 1:
            compared = one.steps[mark - 1]
            if compared.code is decider.code and line_at(compared.code, compared.instruction) == line:
                return True
    return False


# Draws.


def _seeds(blamed: Blame, runs: Sequence[Side]) -> None:
    """Generators with a fixed seed."""
    for site in runs[0][0].seeds[:1]:
        place = place_of(site.code, site.line)
        words = f"line {place.line} seeds the generator, so that its noise is the same in every run"
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
        if len(set(pairs)) == 1 and not _near(*pairs[0]):
            x, y = pairs[0]
            place = place_of(sites[key].code, sites[key].line)
            words = f"the noise of line {place.line} has the scale {x:.4g} on d1 and {y:.4g} on d2"
            blamed.discrepancies.append(Discrepancy("scale", words, place))
            weight = 20.0 * abs(math.log(x / y)) if x > 0 and y > 0 else 1e4
            blamed.suspects.append(
                Suspect("scale", place, weight, words, site=sites[key], code=sites[key].code, line=place.line)
            )


def _rows(blamed: Blame, runs: Sequence[Side], claim: Claim) -> None:
    """A row for each call site, by the run in which the most moves."""
    sites: dict[Any, WatchedDraw] = {}
    for one, other in runs:
        for draw in (*one.draws, *other.draws):
            sites.setdefault(draw.site.key, draw)
    found: dict[Any, _Moves] = {}
    for one, other in runs:
        for key, moves in _moves(one, other, sites, claim).items():
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
        moves = found.get(key) or _Moves([], [], False, 0.0, 0.0)
        place, hides = place_of(draw.site.code, draw.site.line), hidden_words(draw.site)
        several = len(callers[draw.site.spot]) > 1 and draw.site.caller is not None
        if several and draw.site.caller is not None:
            place, hides = place_of(*draw.site.caller), ""
        times = max(sum(one.size for one in run.draws if one.site.key == key) for pair in runs for run in pair)
        cost = moves.cost if math.isfinite(moves.cost) else None
        distance = sum(moves.distances) if moves.distances else None
        name = draw.distribution
        blamed.rows.append(
            LedgerRow(place, name, scale_of(draw), times, hides, distance, cost, cost is None and moves.unbounded)
        )
        total += moves.cost
        weight = share_of_claim(name, moves.cost, claim)
        uniform = family(name) == "uniform"
        if moves.shared > 0 and not uniform and moves.compared is not None:
            there = place_of(*moves.compared)
            words = f"line {there.line} compares exact values with one draw, which cannot hide them all"
            blamed.suspects.append(Suspect("shared", there, 1e3, words, site=draw.site, moves=moves.shared))
        elif moves.shared > 0 and not uniform:
            words = f"the noise of line {place.line} is shared by values that move differently"
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
    if not any(one.weight > 0 for one in blamed.suspects) and not blamed.discrepancies:
        _coins(blamed, runs, sites, claim)
    blamed.spent = total if sites and math.isfinite(total) else None


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
        weight = share_of_claim("laplace", cost, claim)
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
        for form in (form for seen in pair for form in seen.forms if not form.compared):
            keys = dict.fromkeys(term.key[0] for term in form.terms)
            for key in keys if len(keys) > 1 else ():
                found[key] |= keys
    return {key: tuple(others) for key, others in found.items()}


def _moves(one: Observed, other: Observed, sites: dict[Any, WatchedDraw], claim: Claim) -> dict[Any, _Moves]:
    """What the draws of each site hide on these two runs."""
    first, second = _by_draws(one.forms), _by_draws(other.forms)
    sizes: dict[Any, list[float]] = defaultdict(list)
    distances: dict[Any, list[float]] = defaultdict(list)
    extra: dict[Any, float] = defaultdict(float)
    apart: dict[Any, float] = defaultdict(float)
    unbounded: set[Any] = set()
    hidden: dict[Key, list[float]] = defaultdict(list)
    compared: dict[Any, tuple[CodeType, int]] = {}
    released = {key for forms in (first, second) for keys in forms for key in keys if not _only_compared(forms[keys])}
    released_alone = [keys for keys in first if any(not one.compared and not one.decided for one in first[keys])]
    for keys in (one for one in first if one in second):  # in the order of the run, whatever the seed of hashes
        forms = first[keys], second[keys]
        if all(key in released for key in keys) and _only_compared(forms[0]):
            continue  # These were compared, and the sums themselves are accounted for.
        for a, b in zip(*forms, strict=False):
            if np.shape(a.base) != np.shape(b.base):
                continue
            if a.compared and a.line is not None and len(a.terms) == 1:
                compared[a.terms[0].key[0]] = a.line
            moved = np.abs(np.asarray(a.base, float) - np.asarray(b.base, float)).ravel()
            _account(a, b, moved, sites, sizes, distances, extra, unbounded, hidden)
    for key, signed in hidden.items():
        if len(signed) > 1 and max(signed) - min(signed) > CLOSE * max(map(abs, signed)):
            apart[key[0]] = max(apart[key[0]], max(signed) - min(signed))
    for a_draw, b_draw in zip(one.draws, other.draws, strict=False):
        if a_draw.site.key == b_draw.site.key:
            extra[a_draw.site.key] += _by_parameters(a_draw, b_draw)
    answer = {}
    for key in dict.fromkeys((*sizes, *extra, *apart)):
        name = sites[key].distribution
        kind = "laplace" if family(name) == "one-sided" and key not in unbounded else name
        cost = cost_of_moves(kind, sizes[key], claim) + extra[key]
        where = None if any(one[0] == key for keys in released_alone for one in keys) else compared.get(key)
        answer[key] = _Moves(sizes[key], distances[key], not math.isfinite(cost), cost, apart[key], where)
    return answer


def _by_draws(forms: Sequence[NoisySum]) -> dict[tuple[Key, ...], list[NoisySum]]:
    """Sums by the draws in them."""
    found: dict[tuple[Key, ...], list[NoisySum]] = defaultdict(list)
    for form in forms:
        found[form.keys].append(form)
    return found


def _only_compared(forms: Sequence[NoisySum]) -> bool:
    return all(form.compared for form in forms)


def _account(
    a: NoisySum,
    b: NoisySum,
    moved: Any,
    sites: dict[Any, WatchedDraw],
    sizes: dict[Any, list[float]],
    distances: dict[Any, list[float]],
    extra: dict[Any, float],
    unbounded: set[Any],
    hidden: dict[Key, list[float]],
) -> None:
    """Charge what two sums of the same draws differ by to the draw that hides it best."""
    best: tuple[float, Key, Any] | None = None
    two_sided = len({np.sign(np.ravel(term.factor)[0]) for term in a.terms if np.size(term.factor)}) > 1
    for term in a.terms:
        draw = sites.get(term.key[0])
        if draw is None:
            continue
        factor = np.abs(np.broadcast_to(np.asarray(term.factor, float), np.shape(a.base))).ravel()
        if np.ndim(a.base) == 0 and np.ndim(b.base) == 0 and np.all(factor > 0):
            signed = float(np.ravel(np.asarray(a.base) - np.asarray(b.base))[0] / np.ravel(term.factor)[0])
            if len(a.terms) == 1:
                hidden[term.key].append(signed)
        elif draw.size == 1 and len(a.terms) == 1 and np.all(factor > 0):
            hidden[term.key] += ((np.asarray(a.base) - np.asarray(b.base)).ravel() / factor).tolist()
        kind = family(draw.distribution)
        if kind == "uniform" and a.compared and len(a.terms) == 1:
            p, q = (
                float(np.clip(-np.ravel(form.base)[0] / np.ravel(form.terms[0].factor)[0], 0, 1)) for form in (a, b)
            )
            extra[term.key[0]] = max(extra[term.key[0]], cost_of_probabilities([p, 1 - p], [q, 1 - q]))
            return
        scale = _scale(draw)
        if scale is None and kind not in ("uniform", "one-sided", "normal"):
            continue  # How much noise there is, is not known.
        if scale is None or kind == "uniform":
            if moved.any():
                unbounded.add(term.key[0])
            size = math.inf if moved.any() else 0.0
        else:
            with np.errstate(all="ignore"):
                size = float(np.sum(np.where(moved > 0, moved / (factor * scale), 0.0)))
        if kind == "one-sided" and not two_sided and moved.any():
            unbounded.add(term.key[0])
        if best is None or size < best[0]:
            best = size, term.key, moved
    if best is None or not np.any(best[2]):
        return
    if math.isinf(best[0]):
        extra[best[1][0]] = math.inf
    else:
        sizes[best[1][0]].append(best[0])
    distances[best[1][0]].append(float(np.sum(best[2])))


def _scale(draw: WatchedDraw) -> float | None:
    """The scale of a draw; for geometric noise, that of the exponential noise that it rounds."""
    if family(draw.distribution) == "one-sided" and draw.distribution.rpartition(".")[2] == "geometric":
        p = float(np.ravel(draw.params[0])[0])
        return -1 / math.log1p(-p) if 0 < p < 1 else None
    return scale_of(draw)


def _by_parameters(a: WatchedDraw, b: WatchedDraw) -> float:
    """What it costs that the probabilities of a choice differ."""
    name = a.distribution.rpartition(".")[2]
    try:
        if name == "choice" and len(a.params) == 2:
            return _of_weights(a.params[1], b.params[1])
        if name == "choices" and len(a.params) > 1:
            return _of_weights(a.params[1], b.params[1])
        if name == "binomial" and a.params[0] == b.params[0] == 1:
            p, q = float(a.params[1]), float(b.params[1])
            return cost_of_probabilities([p, 1 - p], [q, 1 - q])
        if name == "multinomial" and a.params[0] == b.params[0]:
            return _of_weights(a.params[1], b.params[1])
    except (TypeError, ValueError):
        return 0.0
    return 0.0


def _of_weights(one: Any, other: Any) -> float:
    if one is None or other is None:
        return 0.0
    p, q = (np.asarray(weights, dtype=float) for weights in (one, other))
    return cost_of_probabilities((p / p.sum()).tolist(), (q / q.sum()).tolist())
