"""Twin runs: each side alone is distributed as plain runs are, pairs are independent, and the noise is NumPy's own.

Oracle: the plain function called in a loop with a real generator. Hits are compared by Fisher's exact test. With
fixed seeds and about 200 p-values, a bound of 1e-6 fails by chance with probability below 2e-4, once, when the seed
is chosen.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from refutedp.events.features import Length, Value
from refutedp.events.predicates import Equals, Interval
from refutedp.mechanism import describe
from refutedp.records import Event, Pair, count_hits
from refutedp.sampling.encode import Raised, encode
from refutedp.sampling.lifted import CannotLift, Lift, hit_twins, sample_twins
from refutedp.sampling.lifted.laws import LAWS, Source
from refutedp.sampling.lifted.shared import SharedNoise
from refutedp.sampling.lifted.twins import _hits
from refutedp.sampling.runner import Runner

PLAIN = 2500
PAIRS = 20_000
BY_CHANCE = 1e-6


class Case(NamedTuple):
    """A mechanism with a pair of inputs, events to count, and whether both inputs get the same noise."""

    function: Callable[..., Any]
    d1: Any
    d2: Any
    events: tuple[Event, ...]
    shares: bool


CASES: dict[str, Case] = {}


def case(d1: Any, d2: Any, *events: Event, shares: bool = True) -> Any:
    def register(function: Any) -> Any:
        CASES[function.__name__] = Case(function, d1, d2, events, shares)
        return function

    return register


def below(*ends: float, at: tuple[Any, ...] = ()) -> tuple[Event, ...]:
    return tuple(Interval(Value(at), None, end) for end in ends)


@case([1, 1, 1], [2, 0, 0], *below(0.0, 2.5, at=(0,)), *below(1.0, at=(2,)))
def laplace_in_a_loop(queries, rng):
    return [q + rng.laplace(scale=2.0) for q in queries]


@case([1, 1, 1, 1, 1], [0, 0, 0, 2, 2], *(Equals(Length(), n) for n in (1, 2, 4, 5)))
def sparse_vector(queries, rng):
    threshold = 1 + rng.laplace(scale=2.0)
    out = []
    for q in queries:
        if q + rng.laplace(scale=4.0) >= threshold:
            out.append(True)
            break
        out.append(False)
    return out


@case([1, 1, 1], [0, 1, 2], *below(0.0, 1.5, at=(0,)), *below(2.0, at=(2,)))
def laplace_of_a_size(queries, rng):
    return list(np.asarray(queries) + rng.laplace(size=3))


@case([1.0, 2.0], [0.5, 2.5], *below(0.0, 1.0, at=(0,)), *below(3.0, at=(1,)))
def normal_around_an_array(queries, rng):
    return list(rng.normal(np.array(queries), 1.5))


@case([3], [2], *below(2.0, 3.5))
def legacy_numpy(queries):
    return queries[0] + np.random.laplace(0, 1.5) + np.random.normal(0.0, 0.5)


@case([3], [2], *below(2.0, 3.5))
def standard_gauss(queries):
    return random.gauss(queries[0], 2.0)


@case([1, 2, 0], [2, 1, 1], *(Equals(Value(), n) for n in range(3)))
def noisy_max(queries, rng):
    return int(np.argmax([q + rng.exponential(2.0) for q in queries]))


@case([3], [2], *below(2.0, 3.0))
def uniform_between(queries, rng):
    return rng.uniform(queries[0] - 2, queries[0] + 2)


@case([1, 2, 0], [2, 1, 1], *(Equals(Value(), n) for n in range(3)))
def gumbel_max(queries, rng):
    return int(np.argmax([rng.gumbel(q, 1.5) for q in queries]))


@case([3], [2], *(Interval(Value(), None, n) for n in (3, 5)), shares=False)
def geometric(queries, rng):
    return queries[0] + rng.geometric(0.4) - rng.geometric(0.4)


@case([3], [2], *(Equals(Value(), n) for n in (2, 3)), shares=False)
def whole_numbers(queries, rng):
    return int(queries[0] + rng.integers(-1, 2))


@case([3], [2], *(Equals(Value(), n) for n in (2.0, 3.0)), shares=False)
def choice(queries, rng):
    return float(queries[0] + rng.choice([-1.0, 0.0, 1.0]))


@case([1, 5], [1, 2], *below(0.0, 3.0, 8.0))
def scale_from_data(queries, rng):
    return sum(queries) + rng.laplace(scale=max(queries))


@case([1], [0], *below(0.0, 1.0), shares=False)
def other_law_on_either_input(queries, rng):
    return rng.laplace() if queries[0] else rng.normal()


@case([1], [0], *below(0.5, 2.0))
def scale_from_a_draw(queries, rng):
    return queries[0] + rng.normal(0.0, rng.exponential(1.5))


@case([1.0], [0.5], *below(1.2, 2.0))
def raises_sometimes(queries, rng):
    return math.sqrt(queries[0] + rng.laplace())


@case([1], [0], *below(0.0, 1.0))
def other_noise_on_rare_paths(queries, rng):
    """Some parts have few runs, which are finished by plain calls."""
    x = queries[0] + rng.normal()
    for end in (3.0, 3.2, 3.4, 3.6):
        if x > end:
            x -= rng.exponential()
    return x


@case([1], [0], *below(0.0, 2.0))
def different_depth(queries, rng):
    """The inputs leave a loop at different draws, and go on with what the other one drew or did not."""
    total = 0.0
    while total < 1 + queries[0]:
        total += rng.exponential()
    return total - 1 + rng.normal()


NAMES = sorted(CASES)


def lifts_of(found: Case) -> tuple[Lift, Lift]:
    described = describe(found.function)
    return Lift(described, found.d1, {}), Lift(described, found.d2, {})


def plain_hits(found: Case, data: Any, seed: int) -> list[int]:
    described = describe(found.function)
    rng = np.random.default_rng(seed)
    np.random.seed(seed)
    random.seed(seed)
    results: list[Any] = []
    for _ in range(PLAIN):
        try:
            results.append(described.call(data, {}, rng=rng))
        except Exception as error:
            results.append(Raised(type(error).__name__))
    outputs = encode(results)
    return [count_hits(event, outputs) for event in found.events]


def same_rate(a: int, n_a: int, b: int, n_b: int) -> float:
    return float(stats.fisher_exact([[a, n_a - a], [b, n_b - b]]).pvalue)


@pytest.mark.parametrize("name", NAMES)
def test_each_side_alone_is_distributed_as_plain_runs(name):
    found = CASES[name]
    lifts = lifts_of(found)
    counted = hit_twins(lifts, found.events, PAIRS, np.random.default_rng(21))
    sampled = sample_twins(lifts, PAIRS, np.random.default_rng(22))
    for side, data in enumerate((found.d1, found.d2)):
        assert sampled[side].size == PAIRS
        for event, hits, plain in zip(found.events, counted, plain_hits(found, data, 23 + side), strict=True):
            assert 0 < plain < PLAIN
            assert same_rate(hits[side], PAIRS, plain, PLAIN) > BY_CHANCE
            assert same_rate(count_hits(event, sampled[side]), PAIRS, plain, PLAIN) > BY_CHANCE


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """In standard deviations of what independent hits would show."""
    return float(np.corrcoef(a, b)[0, 1]) * math.sqrt(len(a))


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_independent_and_twins_are_not(name):
    found = CASES[name]
    noise, rng = SharedNoise(PAIRS), np.random.default_rng(31)
    first, second = (_hits(lift, found.events, noise, rng, {}) for lift in lifts_of(found))
    # Normal deviates beyond 5.5 have probability 4e-8; there are about 250 of them.
    for one, other in zip(first, second, strict=True):
        for shift in (1, 2):
            assert abs(correlation(one[:-shift], other[shift:])) < 5.5
            assert abs(correlation(one[shift:], other[:-shift])) < 5.5
        assert abs(correlation(one[1:], one[:-1])) < 5.5
        assert abs(correlation(other[1:], other[:-1])) < 5.5
        if found.shares:
            assert correlation(one, other) > 10
        else:
            assert abs(correlation(one, other)) < 5.5


@pytest.mark.parametrize("name", NAMES)
def test_every_run_is_visited_once(name):
    found = CASES[name]
    noise, rng = SharedNoise(3000), np.random.default_rng(32)
    for lift in lifts_of(found):
        seen = np.zeros(noise.n, dtype=int)

        def see(ids: Any, output: Any, n: int, seen: np.ndarray = seen) -> None:
            where = np.arange(noise.n) if ids is None else ids
            assert len(where) == n
            seen[where] += 1

        lift.visit(rng, noise, see)
        assert (seen == 1).all()


def test_twins_differ_by_their_inputs_alone():
    described = describe(lambda data, rng: data[0] + rng.laplace(scale=2.0))
    noise, rng, outputs = SharedNoise(1000), np.random.default_rng(3), []
    for query in (5.0, 2.0):
        Lift(described, [query], {}).visit(rng, noise, lambda ids, output, n: outputs.append(output.values()))
    np.testing.assert_allclose(outputs[0] - outputs[1], 3.0, rtol=1e-12)
    assert len(np.unique(outputs[0])) == 1000


def runner(name: str, way: Any = "lifted") -> Runner:
    found = CASES[name]
    return Runner(describe(found.function), Pair(found.d1, found.d2, "given"), way)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_counts(name):
    found = CASES[name]
    fresh, used = runner(name), runner(name)
    used.prove(np.random.SeedSequence(9))
    used.twins(found.events, 3000, np.random.SeedSequence(8))
    first, second = (each.twins(found.events, 6000, np.random.SeedSequence(7)) for each in (fresh, used))
    assert first == second
    assert first != used.twins(found.events, 6000, np.random.SeedSequence(6))


def test_chunks_add_up(monkeypatch):
    from refutedp.sampling.lifted import lift

    monkeypatch.setattr(lift, "LARGEST", 1500)
    found = CASES["laplace_in_a_loop"]
    (x, y, both), *_ = hit_twins(lifts_of(found), found.events, 4000, np.random.default_rng(1))
    # P(1 + 2 Laplace < 0) and P(2 + 2 Laplace < 0), nested.
    for hits, rate in ((x, math.exp(-0.5) / 2), (y, math.exp(-1) / 2)):
        assert stats.binomtest(hits, 4000, rate).pvalue > BY_CHANCE
    assert both == y


# Where runs cannot be lifted.

CALLS = [0]


def keeps_state(queries, rng):
    CALLS[0] += 1
    return queries[0] + rng.laplace()


def scattered(queries, rng):
    out = []
    for _ in range(14):
        if rng.random() < 0.5:
            out.append(rng.random())
    return sum(out) + queries[0] + rng.laplace() if out else None


@pytest.mark.parametrize(
    ("mechanism", "way"),
    [
        (keeps_state, "lifted"),
        (scattered, "lifted"),
        (CASES["geometric"].function, "scalar"),
    ],
)
def test_without_shared_noise_pairs_are_independent_runs(mechanism, way):
    pair = Pair([3.0], [2.0], "given")
    lifted = Runner(describe(mechanism), pair, way)
    if mechanism is keeps_state:
        with pytest.raises(CannotLift):
            lifted.prove(np.random.SeedSequence(0))
    elif mechanism is scattered:
        assert Lift(lifted.mechanism, pair.d1, {}).scattered
    events = below(3.2, 6.5) if mechanism is scattered else below(2.5, 3.2)
    pairs, repeats = 500, 12
    rng = np.random.default_rng(4)
    plain = [
        [
            count_hits(event, encode([describe(mechanism).call(data, {}, rng=rng) for _ in range(3000)]))
            for event in events
        ]
        for data in (pair.d1, pair.d2)
    ]
    parts = [lifted.twins(events, pairs, np.random.SeedSequence(seed)) for seed in range(repeats)]
    for number in range(len(events)):
        counts = sum((part[number] for part in parts[1:]), start=parts[0][number])
        n = counts.n_x
        assert (counts.n_x, counts.n_y) == (pairs * repeats, pairs * repeats)
        assert same_rate(counts.x, n, plain[0][number], 3000) > BY_CHANCE
        assert same_rate(counts.y, n, plain[1][number], 3000) > BY_CHANCE
        table = [
            [counts.both, counts.x - counts.both],
            [counts.y - counts.both, n - counts.x - counts.y + counts.both],
        ]
        assert stats.fisher_exact(table).pvalue > BY_CHANCE


# The noise itself.

ARRAY = np.array([0.3, 1.7, 4.1])
LOCATED = ((0.0, 1.0), (-2.5, 0.3), (1, 3), (np.float64(0.1), np.float32(0.7)), (ARRAY, 2.0), (ARRAY, ARRAY[::-1]))
PARAMETERS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "laplace": LOCATED,
    "normal": LOCATED,
    "gumbel": LOCATED,
    "logistic": LOCATED,
    "exponential": ((1.0,), (0.3,), (7,), (ARRAY,)),
    "uniform": ((0.0, 1.0), (-3, 0.1), (0.1, 0.7), (-ARRAY, ARRAY)),
}
SHARED = [
    (law, params) for name, rows in PARAMETERS.items() for law in (name, f"np.random.{name}") for params in rows
]


@pytest.mark.parametrize(("law", "params"), SHARED, ids=str)
@pytest.mark.parametrize("first", [False, True])
def test_shared_noise_is_bit_for_bit_what_numpy_draws(law, params, first):
    """Both where the noise is drawn for these parameters and where it was drawn for others."""
    runs, generator = 2000, np.random.default_rng(17)
    wide = np.broadcast_shapes(*map(np.shape, params))
    legacy = law.startswith("np.random.")
    real = np.random.RandomState(generator.bit_generator) if legacy else generator
    # Vectors are drawn element by element, each for all runs.
    upright = [np.reshape(value, (-1, 1)) if wide else value for value in params]
    expected = getattr(real, law.rpartition(".")[2])(*upright, (*wide, runs)).T
    noise, source = SharedNoise(runs), Source(np.random.default_rng(17), exact=True)
    if first:
        others = tuple(value for value, _ in zip((-1.5, 4.25), params, strict=False))
        others = others if len(others) == 2 else (4.25,)
        assert noise.draw(0, LAWS[law], others, wide or None, None, source) is not None
    got = noise.draw(0, LAWS[law], params, wide or None, None, source)
    assert got is not None and got.dtype == np.float64
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("law", ["random", "standard_normal", "standard_exponential"])
def test_standard_laws_are_numpys_own(law):
    expected = getattr(np.random.default_rng(5), law)((2, 100)).T
    noise, source = SharedNoise(100), Source(np.random.default_rng(5))
    first = noise.draw(0, LAWS[law], (), (2,), None, source)
    assert first is not None
    assert np.array_equal(first, expected)
    # A mechanism may change its array in place; the other input must not see it.
    first += 1
    assert np.array_equal(noise.draw(0, LAWS[law], (), (2,), None, source), expected)


def test_runs_that_come_later_are_filled_in():
    noise, source, law = SharedNoise(6), Source(np.random.default_rng(5)), LAWS["normal"]
    some = noise.draw(0, law, (0.0, 1.0), None, np.array([1, 4]), source)
    every = noise.draw(0, law, (0.0, 1.0), None, None, source)
    again = noise.draw(0, law, (0.0, 1.0), None, np.array([5, 4, 0]), source)
    assert some is not None and every is not None and again is not None
    assert every[[1, 4]].tolist() == some.tolist()
    assert again.tolist() == every[[5, 4, 0]].tolist()
    assert len(set(every.tolist())) == 6


@pytest.mark.parametrize(
    ("position", "law", "shape"), [(1, "normal", None), (0, "np.random.normal", None), (0, "normal", (1,))]
)
def test_another_position_law_or_shape_is_another_draw(position, law, shape):
    noise, source = SharedNoise(50), Source(np.random.default_rng(5))
    first = noise.draw(0, LAWS["normal"], (0.0, 1.0), None, None, source)
    second = noise.draw(position, LAWS[law], (0.0, 1.0), shape, None, source)
    assert first is not None and second is not None
    assert not set(first.ravel().tolist()) & set(second.ravel().tolist())


@pytest.mark.parametrize("law", ["geometric", "integers", "np.random.poisson", "gamma", "random.randint"])
def test_laws_without_a_standard_form_are_left_to_numpy(law):
    source = Source(np.random.default_rng(0))
    assert SharedNoise(5).draw(0, LAWS[law], (1, 2), None, None, source) is None


BAD = (-1.0, math.nan, math.inf, np.float64(-1.0), np.array([1.0, -1.0]), np.array([1.0, math.nan]), "1", None, 0.0)


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_scales_that_numpy_treats_in_its_own_way_are_left_to_it(bad):
    source = Source(np.random.default_rng(0))
    for law in ("laplace", "normal", "np.random.gumbel"):
        assert SharedNoise(5).draw(0, LAWS[law], (0.0, bad), None, None, source) is None
    assert SharedNoise(5).draw(0, LAWS["exponential"], (bad,), None, None, source) is None


@pytest.mark.parametrize(
    "ends",
    [
        (1.0, 0.0),
        (0.0, math.nan),
        (-math.inf, 0.0),
        (np.int8(100), np.int8(-100)),
        (np.uint8(5), np.uint8(3)),
    ],
)
def test_ends_that_numpy_treats_in_its_own_way_are_left_to_it(ends):
    source = Source(np.random.default_rng(0))
    for law in ("uniform", "np.random.uniform", "random.uniform"):
        assert SharedNoise(5).draw(0, LAWS[law], ends, None, None, source) is None


def negative_scale(queries, rng):
    return queries[0] + rng.laplace(scale=-1.0 if queries[0] > 2 else 1.0)


def negative_in_some_runs(queries, rng):
    return queries[0] + rng.laplace(scale=rng.normal(1.5, 1.0))


def zero_scale(queries, rng):
    return queries[0] + rng.laplace(scale=0.0) + rng.normal()


def test_a_negative_scale_raises_as_in_plain_runs():
    pair = Pair([3.0], [2.0], "given")
    here = Runner(describe(negative_scale), pair, "lifted")
    (counts,) = here.twins(below(2.5), 400, np.random.SeedSequence(0))
    assert (counts.x, counts.both) == (0, 0)
    assert stats.binomtest(counts.y, 400, 1 - math.exp(-0.5) / 2).pvalue > BY_CHANCE


def test_a_scale_that_is_negative_in_some_runs_only():
    pair = Pair([3.0], [2.0], "given")
    (counts,) = Runner(describe(negative_in_some_runs), pair, "lifted").twins(
        below(math.inf), 2000, np.random.SeedSequence(0)
    )
    # A run that raises is in no interval.
    for hits in (counts.x, counts.y):
        assert stats.binomtest(hits, 2000, stats.norm.cdf(1.5)).pvalue > BY_CHANCE


def test_a_scale_of_zero_is_no_noise():
    pair = Pair([3.0], [2.0], "given")
    (counts,) = Runner(describe(zero_scale), pair, "lifted").twins(below(3.0), 2000, np.random.SeedSequence(0))
    for hits, rate in ((counts.x, 0.5), (counts.y, stats.norm.cdf(1.0))):
        assert stats.binomtest(hits, 2000, rate).pvalue > BY_CHANCE
    # The draw after it is shared: the events are nested.
    assert counts.both == counts.x
