"""How runs are split, finished and proven: sizes, determinism, and no more draws than the plain function makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.model.outputs import Outputs
from refutedp.sampling.lifted import CannotLift, Lift

SCALE = 2.0


def unbounded(queries, epsilon, rng):
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    return [bool(q + rng.laplace(scale=2 / epsilon) >= threshold) for q in queries]


def branching(queries, epsilon, rng):
    out = []
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    for q in queries:
        if q + rng.laplace(scale=2 / epsilon) >= threshold:
            out.append(True)
        else:
            out.append(None)
    return out


def first_above(queries, rng):
    for i, q in enumerate(queries):
        if q + rng.laplace() > 1:
            return i
    return None


def sorts_in_place(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    noisy.sort()
    return noisy[0]


def fingerprint(outputs: Outputs) -> Any:
    return [
        (g.shape, [c.tolist() for c in g.columns], None if g.weights is None else g.weights.tolist())
        for g in outputs.groups
    ]


def tally(outputs: Outputs) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for group in outputs.groups:
        weights = [1] * group.rows if group.weights is None else group.weights.tolist()
        rows = zip(*(c.tolist() for c in group.columns), strict=True) if group.columns else [()]
        for row, weight in zip(rows, weights, strict=True):
            key = (group.shape, row)
            counts[key] = counts.get(key, 0) + weight
    return counts


@pytest.mark.parametrize("n", [1, 2, 7, 100, 5000])
@pytest.mark.parametrize("function", [branching, unbounded], ids=lambda f: f.__name__)
def test_every_run_is_counted_once(function, n):
    outputs = Lift(describe(function), [1, 0, 2, 1, 1, 0], {"epsilon": 1.0}).sample(n, np.random.default_rng(n))
    assert outputs.size == n
    assert sum(tally(outputs).values()) == n


def test_no_runs_give_no_outputs():
    assert Lift(describe(first_above), [1], {}).sample(0, np.random.default_rng(0)).size == 0


def test_outputs_depend_on_the_seed_alone_not_on_what_was_proven():
    mechanism = describe(branching)
    data, arguments = [1, 0, 2, 1, 1, 0], {"epsilon": 1.0}
    fresh = Lift(mechanism, data, arguments)
    proven = Lift(mechanism, data, arguments)
    proven.prove(np.random.default_rng(1))
    proven.sample(3000, np.random.default_rng(2))
    expected = fingerprint(fresh.sample(2000, np.random.default_rng(3)))
    assert fingerprint(proven.sample(2000, np.random.default_rng(3))) == expected
    assert fingerprint(fresh.sample(2000, np.random.default_rng(3))) == expected
    assert fingerprint(fresh.sample(2000, np.random.default_rng(4))) != expected


class Counting:
    """Counts the numbers drawn from a real generator."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.bit_generator = generator.bit_generator
        self._generator = generator
        self.drawn = 0

    def laplace(self, loc: float, scale: float, size: Any = None) -> Any:
        self.drawn += 1 if size is None else int(np.prod(size))
        return self._generator.laplace(loc, scale, size)


def test_runs_that_have_ended_draw_no_more():
    """Draws used = one per run and query reached; the expectation follows from the outputs themselves."""
    counting: Any = Counting(np.random.default_rng(0))
    outputs = Lift(describe(first_above), [0, 1, 0, 1], {}, exact=True).sample(5000, counting)
    needed = 0
    for (shape, row), count in tally(outputs).items():
        needed += count * (4 if shape.label == "NoneType" else row[0] + 1)
    assert counting.drawn == needed


def test_few_runs_on_thousands_of_paths_are_finished_one_by_one():
    outputs = Lift(describe(sorts_in_place), [0.0] * 7, {}).sample(6000, np.random.default_rng(0))
    assert outputs.size == 6000
    (group,) = outputs.groups
    assert group.weights is None
    assert len(np.unique(group.columns[0])) == 6000


def test_an_error_is_one_weighted_row():
    def fails(data, rng):
        if rng.random() < 0.25:
            raise KeyError("x")
        return 1

    outputs = Lift(describe(fails), [1], {}).sample(1000, np.random.default_rng(0))
    error = next(g for g in outputs.groups if g.shape.error)
    assert (error.shape.label, error.shape.paths, error.rows, error.columns) == ("KeyError", (), 1, ())
    assert error.weights is not None
    assert abs(int(error.weights[0]) - 250) < 6 * (1000 * 0.25 * 0.75) ** 0.5


def test_a_constant_path_is_one_weighted_row():
    outputs = Lift(describe(lambda data, rng: rng.random() < 2), [1], {}).sample(100, np.random.default_rng(0))
    assert outputs.size == 100
    constant = Lift(describe(lambda data, rng: [1, "a"]), [1], {}).sample(100, np.random.default_rng(0))
    assert (constant.groups[0].rows, constant.groups[0].weights.tolist()) == (1, [100])


def test_every_path_is_proven_before_it_is_used():
    """A path that one run in a thousand takes is replayed when it is first taken, though the proof never saw it."""

    def rare(data, rng):
        x = rng.random()
        return x.__sizeof__() if x < 0.001 else x

    lift = Lift(describe(rare), [1], {})
    lift.prove(np.random.default_rng(0))
    with pytest.raises(CannotLift, match="where the plain function returns"):
        lift.sample(50_000, np.random.default_rng(1))


def test_a_copy_that_is_not_faithful_is_refused(monkeypatch):
    """If copying a function went wrong, its replay would go wrong in the same way."""

    def noisy(data):
        return data[0] + np.random.laplace(scale=SCALE)

    lift = Lift(describe(noisy), [1], {})
    lift.prove(np.random.default_rng(0))
    broken = Lift(describe(noisy), [1], {})
    monkeypatch.setitem(broken.plain._copy.function.__globals__, "SCALE", 3.0)
    monkeypatch.setitem(broken._lifted.function.__globals__, "SCALE", 3.0)
    with pytest.raises(CannotLift, match="a copy of it returns"):
        broken.prove(np.random.default_rng(0))


def test_a_profiler_at_work_is_left_alone():
    import sys

    events: list[str] = []

    def profiler(frame: Any, event: str, arg: Any) -> None:
        events.append(event)

    sys.setprofile(profiler)
    try:
        Lift(describe(first_above), [1], {}).prove(np.random.default_rng(0))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert events
