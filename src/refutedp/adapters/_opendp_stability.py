"""Stability of OpenDP transformations: neighbours whose results lie farther apart than the map says; no noise."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from opendp.mod import Transformation

from refutedp.model.datasets import one_line
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair

RUNS = 12
"""Runs of a counterexample's inputs: their results must not vary."""


@dataclass(frozen=True)
class Stability:
    """What neighbours said of a transformation; `pair` is a counterexample, None where none was found.

    `d_out` is what the stability map promises for `d_in`, `found` the largest distance of two results; `problem` says
    what else broke, such as a result outside the output domain.
    """

    d_in: Any
    d_out: Any
    found: float
    tried: int
    pair: Pair | None = None
    results: tuple[Any, Any] | None = None
    problem: str = ""

    @property
    def holds(self) -> bool:
        """Whether no counterexample was found."""
        return self.pair is None

    def __str__(self) -> str:
        if self.pair is None or self.results is None:
            return (
                f"No counterexample: on {self.tried} pairs of neighbours at distance {self.d_in} results lie at most "
                f"{self.found:g} apart, and the map allows {self.d_out}."
            )
        what = self.problem or f"which lie {self.found:g} apart: the map allows {self.d_out}"
        first, second, one, other = map(one_line, (self.pair.d1, self.pair.d2, *self.results))
        return f"VIOLATION: {first} and {second} are at distance {self.d_in}, and become {one} and {other}, {what}."


def check_stability(transformation: Any, d_in: Any = None, *, pairs: Any = None) -> Stability:
    """Look for neighbours at distance `d_in` whose results lie farther apart than the stability map says.

    There is no noise and no error: distances are computed exactly, as fractions. Neighbours come from the domain,
    unless `pairs` gives some, which must then be at most `d_in` apart.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> space = dp.vector_domain(dp.atom_domain(T=int, bounds=(0, 10))), dp.symmetric_distance()
    >>> print(check_stability(space >> dp.t.then_sum()))
    No counterexample: on 10 pairs of neighbours at distance 1 results lie at most 10 apart, and the map allows 10.
    """
    from refutedp.adapters.opendp import space_of

    if not isinstance(transformation, Transformation):
        raise UsageError(f"transformation is a {type(transformation).__name__}, no transformation of OpenDP")
    space = space_of(transformation, d_in)
    promised = transformation.map(space.d_in)
    tried = _given(pairs) if pairs is not None else [p for size in (3, 30) for p in space.pairs(size)]
    ends = (str(transformation.input_metric.type), str(transformation.output_metric.type))
    distance = distance_of(ends[1] if ends[0] not in _UNORDERED else _UNORDERED[ends[0]].get(ends[1], ends[1]))
    worst: Any = Fraction(0)
    for pair in tried:
        results = _twice(transformation, space, pair, 2)
        outside = [result for result in results if not _member(transformation.output_domain, result)]
        apart = distance(*results)
        if outside or _exceeds(apart, promised):
            _twice(transformation, space, pair, RUNS)
            problem = f"and {one_line(outside[0])} lies outside the output domain" if outside else ""
            return Stability(space.d_in, promised, _rough(apart), len(tried), pair, results, problem)
        worst = max(worst, _largest(apart))
    return Stability(space.d_in, promised, _rough(worst), len(tried))


def _twice(transformation: Any, space: Any, pair: Pair, runs: int) -> tuple[Any, Any]:
    """The results of both inputs, the same in all runs: stability of random ones speaks of their couplings."""
    found = [[space.run(transformation, data) for _ in range(runs)] for data in (pair.d1, pair.d2)]
    if any(len({_key(result) for result in results}) > 1 for results in found):
        raise UsageError(
            "this transformation draws its results at random, so that its stability is no distance of two of them: "
            "add noise with dp.m.then_... and use check(from_opendp(measurement))"
        )
    return found[0][0], found[1][0]


def _exceeds(apart: Any, promised: Any) -> bool:
    if isinstance(apart, tuple):
        return any(_exceeds(one, bound) for one, bound in zip(apart, promised, strict=True))
    return bool(apart > _exact(promised))


def _largest(apart: Any) -> Any:
    return apart[1] if isinstance(apart, tuple) else apart


def distance_of(metric: str) -> Any:
    """The distance that a metric of OpenDP measures, as a function of two results with an exact value.

    >>> distance_of("AbsoluteDistance<f64>")(0.5, 2)
    Fraction(3, 2)
    >>> distance_of("SymmetricDistance")([1, 2, 2], [2, 3])
    Fraction(3, 1)
    """
    name = metric.partition("<")[0].rpartition("::")[2]
    if name not in _DISTANCES:
        raise UsageError(f"the output metric {metric} is none that check_stability knows")
    return _DISTANCES[name]


def _exact(value: Any) -> Any:
    return value if isinstance(value, float) and not math.isfinite(value) else Fraction(value)


def _rough(value: Any) -> float:
    return float(_largest(value))


def _apart(one: Any, other: Any) -> Any:
    if one == other or (one != one and other != other):
        return Fraction(0)
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return abs(Fraction(one) - Fraction(other))


def _coordinates(one: Any, other: Any) -> list[Any]:
    if isinstance(one, dict):
        return [_apart(one.get(key, 0), other.get(key, 0)) for key in {**one, **other}]
    longer = max(len(one), len(other))
    both = zip([*one, *[0] * (longer - len(one))], [*other, *[0] * (longer - len(other))], strict=True)
    return [_apart(a, b) for a, b in both]


def _euclid(one: Any, other: Any) -> Any:
    total = sum((step * step for step in _coordinates(one, other)), Fraction(0))
    if total == math.inf:
        return total
    # The largest float whose square is no larger: never more than the distance.
    root = math.sqrt(total)
    while Fraction(root) ** 2 > total:
        root = math.nextafter(root, 0.0)
    return Fraction(root)


def _multisets(one: Any, other: Any) -> Any:
    a, b = (Counter(map(_key, _rows(side))) for side in (one, other))
    return Fraction(((a - b) + (b - a)).total())


def _positions(one: Any, other: Any) -> Any:
    changed = sum(_key(a) != _key(b) for a, b in zip(_rows(one), _rows(other), strict=False))
    return Fraction(changed) if len(one) == len(other) else math.inf


def _changed(one: Any, other: Any) -> Any:
    return _multisets(one, other) / 2 if len(_rows(one)) == len(_rows(other)) else math.inf


def _edits(one: Any, other: Any) -> Any:
    """Insertions and deletions that turn one list into the other."""
    a, b = [*map(_key, _rows(one))], [*map(_key, _rows(other))]
    common = [0] * (len(b) + 1)
    for left in a:
        row = [0]
        for j, right in enumerate(b):
            row.append(common[j] + 1 if left == right else max(common[j + 1], row[j]))
        common = row
    return Fraction(len(a) + len(b) - 2 * common[-1])


def _rows(data: Any) -> list[Any]:
    return data.rows() if hasattr(data, "rows") else list(data)


def _key(record: Any) -> str:
    return repr(sorted(record.items(), key=repr) if isinstance(record, dict) else record)


def _of_counts(steps: list[Any]) -> tuple[Any, ...]:
    return len(steps), sum(steps, Fraction(0)), max(steps, default=Fraction(0))


_UNORDERED = {
    "SymmetricDistance": {"InsertDeleteDistance": "SymmetricDistance"},
    "ChangeOneDistance": {"HammingDistance": "ChangeOneDistance"},
}
"""Where order is free before and counts after, results may be shuffled: what is left is their distance as sets."""
_DISTANCES: dict[str, Any] = {
    "AbsoluteDistance": _apart,
    "L1Distance": lambda one, other: sum(_coordinates(one, other), Fraction(0)),
    "L2Distance": _euclid,
    "LInfDistance": lambda one, other: max(_coordinates(one, other), default=Fraction(0)),
    "SymmetricDistance": _multisets,
    "InsertDeleteDistance": _edits,
    "ChangeOneDistance": _changed,
    "HammingDistance": _positions,
    "L01InfDistance": lambda one, other: _of_counts([step for step in _coordinates(one, other) if step]),
    "DiscreteDistance": lambda one, other: Fraction(_key(one) != _key(other)),
}


def _member(domain: Any, result: Any) -> bool:
    """Whether the domain takes it; a domain that cannot say is believed."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bool(domain.member(result)) or not _told(domain)
        except Exception:
            return True


def _told(domain: Any) -> bool:
    """Whether its membership speaks of plain values; others come back in another form than they went in."""
    return str(domain.type).replace("VectorDomain<", "").startswith("AtomDomain<")


def _given(pairs: Any) -> list[Pair]:
    return [pair if isinstance(pair, Pair) else Pair(pair[0], pair[1], "given") for pair in pairs]
