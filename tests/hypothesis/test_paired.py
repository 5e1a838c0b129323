"""The test of P1 <= e^epsilon P2 on paired runs.

Exact by enumeration, on the border by simulation, and its bounds.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from refutedp.hypothesis.betting.anytime import PairedProcess, Stakes, batches, stakes_for
from refutedp.hypothesis.tests import ratio
from refutedp.hypothesis.tests.ratio import GAMMA, POWER, detectable_epsilon, epsilon_lower_bound
from refutedp.model.errors import UsageError
from refutedp.model.records import Counts

NONE = Counts(0, 0, 0, 0, both=0)
ALPHAS = (0.01, 0.05, 0.2)


def counts_of(only_x: int, only_y: int, both: int, pairs: int | None = None) -> Counts:
    pairs = only_x + only_y + both if pairs is None else pairs
    return Counts(only_x + both, only_y + both, pairs, pairs, both=both)


@functools.cache
def log_p(only_x: int, only_y: int, both: int, epsilon: float) -> float:
    """The p-value depends on the pairs with a hit alone, so one table serves all numbers of pairs."""
    return ratio.log_p_value(counts_of(only_x, only_y, both), epsilon)


def joint(p1: float, p2: float, together: float) -> tuple[float, float, float]:
    """P(d1 only), P(d2 only), P(both): nested events for 1, independent for 0, disjoint if possible for -1."""
    unpaired = max(0.0, p1 + p2 - 1)
    alone = p1 * p2
    most = min(p1, p2)
    both = alone + together * (most - alone if together >= 0 else alone - unpaired)
    return p1 - both, p2 - both, both


def outcomes(pairs: int) -> np.ndarray:
    """Every (d1 only, d2 only, both, neither) of so many pairs."""
    return np.array(
        [
            (a, b, c, pairs - a - b - c)
            for a, b, c in itertools.product(range(pairs + 1), repeat=3)
            if a + b + c <= pairs
        ]
    )


def probabilities(cells: np.ndarray, rates: tuple[float, float, float]) -> np.ndarray:
    """The multinomial probability of each outcome."""
    chances = np.array([*rates, max(0.0, 1 - sum(rates))])
    logs = special.gammaln(cells.sum(axis=1) + 1) - special.gammaln(cells + 1).sum(axis=1)
    return np.exp(logs + special.xlogy(cells, chances).sum(axis=1))


@pytest.mark.parametrize("pairs", [6, 10, 14])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.5])
def test_no_null_exceeds_alpha_exactly(pairs, epsilon):
    """No randomness: the probability of all outcomes with p <= alpha is summed."""
    cells = outcomes(pairs)
    p = np.exp([log_p(a, b, c, epsilon) for a, b, c, _ in cells.tolist()])
    reached = False
    for largest, together, inside in itertools.product((0.1, 0.5, 0.9, 1.0), (-1, 0, 0.5, 0.9, 1), (1.0, 0.8)):
        p2 = largest * math.exp(-epsilon)
        chances = probabilities(cells, joint(inside * math.exp(epsilon) * p2, p2, together))
        assert chances.sum() == pytest.approx(1)
        for alpha in ALPHAS:
            rejected = float(chances[p <= alpha].sum())
            assert rejected <= alpha * (1 + 1e-12)
            reached |= rejected > alpha / 5
    # A test that never rejects would be valid too; but six pairs cannot say much.
    assert reached or pairs == 6


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_no_null_exceeds_alpha_exactly_when_every_pair_hits(epsilon):
    """Sixty pairs, each with a hit somewhere: fine enough to come near alpha."""
    pairs = 60
    cells = np.array([(a, b, pairs - a - b, 0) for a in range(pairs + 1) for b in range(pairs + 1 - a)])
    p = np.exp([log_p(a, b, c, epsilon) for a, b, c, _ in cells.tolist()])
    theta, worst = math.exp(-epsilon), 0.0
    for only_y in np.linspace(0, theta / (1 + theta), 41):
        only_x = 1 - theta * (1 - only_y)
        chances = probabilities(cells, (only_x, only_y, max(0.0, 1 - only_x - only_y)))
        for alpha in ALPHAS:
            rejected = float(chances[p <= alpha].sum())
            assert rejected <= alpha * (1 + 1e-12)
            worst = max(worst, rejected / alpha)
    assert worst > 0.5


@given(st.integers(0, 40), st.integers(0, 20), st.integers(0, 40), st.sampled_from([0.1, 0.7, 1.5]))
@settings(max_examples=80, deadline=None)
def test_the_p_value_covers_every_rate_in_the_interval(only_x, only_y, both, epsilon):
    """The oracle: the probability of a ratio as large, summed outcome by outcome, at many rates of "on d2 only"."""
    theta, m = math.exp(-epsilon), only_x + only_y + both
    if only_y + both >= theta * (only_x + both):
        assert log_p(only_x, only_y, both, epsilon) == 0
        return
    interval = stats.binomtest(only_y, m).proportion_ci(1 - GAMMA, "exact")
    top = min(interval.high, theta / (1 + theta))
    cells = np.array([(m - b - c, b, c, 0) for b in range(m + 1) for c in range(m + 1 - b)])
    extreme = cells[(cells[:, 1] + cells[:, 2]) * (only_x + both) <= (only_y + both) * (cells[:, 0] + cells[:, 2])]
    worst = 0.0
    for rate in np.linspace(interval.low, top, 25):
        rates = 1 - theta * (1 - rate), rate, max(0.0, theta * (1 - rate) - rate)
        worst = max(worst, float(probabilities(extreme, rates).sum()))
    p = math.exp(ratio._log_exact(only_x, only_y, both, theta))
    assert p >= (GAMMA + worst) * (1 - 1e-9)
    assert p <= 2 * (GAMMA + worst)
    if p > 20 * GAMMA:
        # A tenth of alpha is for the bet, which is not asked at this depth.
        assert log_p(only_x, only_y, both, epsilon) == pytest.approx(min(0.0, math.log(p / 0.9)))


ROWS = [
    (0.1, 1e-3, 1.0),
    (0.1, 0.5, 0.5),
    (0.7, 0.01, 0.9),
    (1.5, 1e-3, 0.0),
    (1.5, 0.1, 1.0),
    (3.0, 0.01, 0.5),
]


def alarms(cells: np.ndarray, epsilon: float, alpha: float, calm: int = 60) -> int:
    """In how many simulations p <= alpha: from the largest ratios down, until so many in a row raise no alarm."""
    distinct, times = np.unique(cells, axis=0, return_counts=True)
    a, b, c = (distinct[:, i].astype(float) for i in range(3))
    excess = math.exp(-epsilon) * (a + c) - (b + c)
    order = np.argsort(-excess / np.sqrt(a + b + 1))
    found = quiet = 0
    for row in order.tolist():
        hit = log_p(*distinct[row].tolist(), epsilon) <= math.log(alpha)
        found += int(times[row]) if hit else 0
        quiet = 0 if hit else quiet + 1
        if quiet == calm:
            break
    return found


@pytest.mark.parametrize(("epsilon", "p2", "together"), ROWS)
def test_few_false_alarms_on_the_border(epsilon, p2, together):
    pairs, alpha, simulations = 20_000, 0.05, 600
    rng = np.random.default_rng([round(10 * epsilon), round(1e4 * p2), round(10 * together)])
    rates = joint(math.exp(epsilon) * p2, p2, together)
    cells = rng.multinomial(pairs, [*rates, 1 - sum(rates)], simulations)[:, :3]
    # If the true rate were alpha, more than this would be seen with probability of about 3e-5.
    allowed = alpha + 4 * math.sqrt(alpha * (1 - alpha) / simulations)
    found = alarms(cells, epsilon, alpha, calm=30) / simulations
    assert found <= allowed
    # Where dozens of pairs differ, the test is not valid by silence.
    assert found > alpha / 5 or pairs * rates[0] < 50


# The bound.


@st.composite
def paired_counts(draw, most: int = 60) -> Counts:
    a, b, c, rest = (draw(st.integers(0, most)) for _ in range(4))
    return counts_of(a, b, c, a + b + c + rest)


@given(paired_counts(), st.sampled_from([0.9, 0.95, 0.999]))
@settings(max_examples=60, deadline=None)
def test_what_lies_below_the_bound_is_refuted(counts, confidence):
    bound = ratio.epsilon_lower_bound(counts, confidence)
    if counts.x == 0:
        assert bound == -math.inf
        return
    assert math.isfinite(bound)
    assert bound < math.log(counts.x) - math.log(max(counts.y, 0.5)) + 1
    # By bisection the bound itself is refuted.
    assert ratio.log_p_value(counts, bound) <= math.log(1 - confidence)


SEVERAL = [
    Counts(1500, 1260, 40_000, 40_000, both=1260),
    Counts(15_000, 12_600, 40_000, 40_000, both=9_000),
    Counts(300, 40, 1000, 1000, both=38),
    Counts(900, 0, 1000, 1000, both=0),
    Counts(30, 3, 50_000, 50_000, both=1),
]


@pytest.mark.parametrize("counts", SEVERAL, ids=str)
@pytest.mark.parametrize("confidence", [0.95, 0.999, 1 - 1e-9])
def test_the_bound_is_where_the_p_value_crosses(counts, confidence):
    bound = ratio.epsilon_lower_bound(counts, confidence)
    assert bound == epsilon_lower_bound(counts, confidence)
    needed, accuracy = math.log(1 - confidence), ratio._CLOSE * ratio._spread(counts)
    assert ratio.log_p_value(counts, bound) <= needed
    # Ten times the accuracy further on, p is above. As a normal p-value it has grown by the hazard, z + 1/z at most,
    # for each standard deviation; the sides of cells and blocks move p by as much as half.
    z = stats.norm.isf(1 - confidence)
    assert ratio.log_p_value(counts, bound + 10 * accuracy) > needed
    assert ratio.log_p_value(counts, bound) >= needed - 0.5 - 10 * ratio._CLOSE * (z + 1 / z)


@pytest.mark.parametrize("counts", SEVERAL, ids=str)
def test_the_p_value_grows_with_epsilon(counts):
    spread = ratio._spread(counts)
    seen = math.log(counts.x) - math.log(max(counts.y, 0.5))
    p = [ratio.log_p_value(counts, seen + z * spread) for z in np.arange(-8, 1.5, 0.5)]
    assert all(a <= b for a, b in itertools.pairwise(p))
    assert p[0] < math.log(1e-3)
    assert p[-1] > math.log(0.5)


def test_bounds_rise_as_confidence_falls():
    counts = Counts(300, 100, 1000, 1000, both=80)
    bounds = [ratio.epsilon_lower_bound(counts, confidence) for confidence in (1 - 1e-12, 0.9999, 0.99, 0.9, 0.7)]
    assert bounds == sorted(bounds)
    assert bounds[0] > 0.4 and bounds[-1] < math.log(3)


def test_the_bound_is_as_often_wrong_as_it_says():
    """The truth, log(P1/P2), lies below the bound with probability at most alpha."""
    truth, p2, alpha, simulations, pairs = 0.4, 0.05, 0.2, 30, 2000
    rates = joint(p2 * math.exp(truth), p2, 0.8)
    rng = np.random.default_rng(5)
    cells = rng.multinomial(pairs, [*rates, 1 - sum(rates)], simulations)
    bounds = np.array(
        [ratio.epsilon_lower_bound(counts_of(a, b, c, pairs), 1 - alpha) for a, b, c, _ in cells.tolist()]
    )
    wrong = int((bounds > truth).sum())
    # More than this has probability below 1e-6 if each bound is wrong with probability alpha.
    assert 0 < wrong <= stats.binom.isf(1e-6, simulations, alpha)


@given(st.integers(1, 3000), st.integers(0, 300))
@settings(max_examples=40, deadline=None)
def test_without_common_hits_paired_runs_say_what_allocation_says(x, y):
    """With no hit on both sides the worst null is the one without any: there the twin test is the allocation test.

    So the bound is at most allocation's; what it loses goes to the cells of the interval and to the bet.
    """
    counts = Counts(x, y, x + y + 7, x + y + 7, both=0)
    unpaired = ratio.epsilon_lower_bound(Counts(x, y, x + y + 7, x + y + 7), 0.95)
    bound = ratio.epsilon_lower_bound(counts, 0.95)
    assert bound <= unpaired + 1e-9
    assert bound >= unpaired - 0.5 * ratio._spread(counts)


def test_common_hits_sharpen_the_bound():
    bounds = [
        ratio.epsilon_lower_bound(Counts(1500, 1200, 20_000, 20_000, both=b), 0.95) for b in (90, 600, 1000, 1200)
    ]
    unpaired = ratio.epsilon_lower_bound(Counts(1500, 1200, 20_000, 20_000), 0.95)
    assert bounds == sorted(bounds)
    # Independent runs have about 90 common hits: nothing is gained, and little lost.
    assert bounds[0] == pytest.approx(unpaired, abs=0.02)
    # Nested events: 300 pairs decide instead of 2700 hits, so the bound lies a third as far below the observed ratio.
    seen = math.log(1500 / 1200)
    assert seen - bounds[-1] < 0.4 * (seen - unpaired)


def test_the_bet_reaches_any_depth():
    counts = Counts(60_000, 100, 100_000, 100_000, both=100)
    values = [ratio.log_p_value(counts, epsilon) for epsilon in (0.1, 1.0, 3.0)]
    assert values == sorted(values)
    assert all(value < -1000 for value in values)


# The e-process.


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.5])
@pytest.mark.parametrize("together", [-1, 0, 0.5, 1])
def test_wealth_is_one_on_average_on_the_border(epsilon, together):
    """Exactly, after each number of pairs; inside the null it is less."""
    stakes = stakes_for(Counts(30, 8, 100, 100, both=6), epsilon)
    p2 = 0.6 * math.exp(-epsilon)
    for pairs in (1, 5, 9):
        cells = outcomes(pairs)
        wealth = np.exp(
            [stakes.log_wealth(counts_of(a, b, c, pairs), epsilon) for a, b, c, _ in cells.tolist()],
        )
        on_border = float(probabilities(cells, joint(math.exp(epsilon) * p2, p2, together)) @ wealth)
        inside = float(probabilities(cells, joint(0.7 * math.exp(epsilon) * p2, p2, together)) @ wealth)
        assert on_border == pytest.approx(1, abs=1e-9)
        assert inside < on_border


@pytest.mark.parametrize(("epsilon", "p2", "together"), ROWS)
def test_stopping_at_the_worst_moment_raises_few_false_alarms(epsilon, p2, together):
    pairs, alpha, simulations = 10_000, 0.1, 150
    rates = joint(math.exp(epsilon) * p2, p2, together)
    # The bets are on a violation: d1 alone is in the event a third more often than on the border.
    search = counts_of(*(round(40_000 * rate) for rate in (1.3 * rates[0], rates[1], rates[2])), 10**6)
    begin = PairedProcess(epsilon=epsilon, stakes=stakes_for(search, epsilon), hits=NONE)
    rng = np.random.default_rng([round(10 * epsilon), round(1e4 * p2), round(10 * together), 1])
    found = 0
    for _ in range(simulations):
        process = begin
        for size in batches(pairs, first=100):
            a, b, c, _ = rng.multinomial(size, [*rates, 1 - sum(rates)]).tolist()
            process = process.update(counts_of(a, b, c, size))
        assert process.log_peak >= max(0.0, process.log_e)
        found += process.rejects(alpha)
    # More than this has probability below 1e-6 if each alarm has probability alpha.
    assert found <= stats.binom.isf(1e-6, simulations, alpha)
    blatant = counts_of(round(pairs * min(2 * rates[0] + 0.01, 1)), 0, round(pairs * rates[2] / 4))
    assert begin.update(blatant).rejects(alpha)


@given(paired_counts(most=300), st.floats(0.05, 2), st.sampled_from([0.1, 0.01, 1e-4]))
@settings(max_examples=100, deadline=None)
def test_the_bound_exceeds_the_claim_when_the_process_convicts(counts, epsilon, alpha):
    stakes = stakes_for(Counts(300, 100, 1000, 1000, both=90), epsilon)
    process = PairedProcess(epsilon=epsilon, stakes=stakes, hits=NONE).update(counts)
    if abs(process.log_e + math.log(alpha)) > 1e-6:
        assert (process.epsilon_lower_bound(1 - alpha) > epsilon) == (process.log_e >= -math.log(alpha))


def test_batches_of_any_size_give_the_same_evidence():
    begin = PairedProcess(epsilon=0.5, stakes=stakes_for(Counts(300, 100, 1000, 1000, both=90), 0.5), hits=NONE)
    parts = [Counts(20, 9, 50, 50, both=9), Counts(40, 11, 80, 80, both=5), Counts(0, 3, 10, 10, both=0)]
    after = functools.reduce(PairedProcess.update, parts, begin)
    assert after.hits == Counts(60, 23, 140, 140, both=14)
    assert after.log_e == pytest.approx(begin.update(after.hits).log_e)
    assert after.log_peak > after.log_e


@given(paired_counts(), st.floats(0.01, 3))
@settings(max_examples=50, deadline=None)
def test_stakes_are_a_mixture_of_whole_bets(counts, epsilon):
    """The oracle: the pairs one by one."""
    stakes, theta = Stakes((0.1, 0.5, 0.9), (0.2, 0.3, 0.5)), math.exp(-epsilon)
    assert counts.both is not None
    naive = sum(
        weight
        * (1 + s * theta) ** (counts.x - counts.both)
        * (1 - s + s * theta) ** counts.both
        * (1 - s) ** (counts.y - counts.both)
        for s, weight in zip(stakes.stakes, stakes.weights, strict=True)
    )
    assert stakes.log_wealth(counts, epsilon) == pytest.approx(math.log(naive), abs=1e-9)


# What must hold of any counts.


@given(paired_counts(), st.floats(0.01, 3))
@settings(max_examples=80, deadline=None)
def test_no_two_sides_are_likelier_at_once(counts, epsilon):
    assert counts.swapped().swapped() == counts
    assert max(ratio.log_p_value(counts, epsilon), ratio.log_p_value(counts.swapped(), epsilon)) == 0


@given(paired_counts(), st.floats(0.01, 3))
@settings(max_examples=80, deadline=None)
def test_pairs_without_a_hit_say_nothing(counts, epsilon):
    assert counts.both is not None
    longer = Counts(counts.x, counts.y, counts.n_x + 50, counts.n_y + 50, both=counts.both)
    assert ratio.log_p_value(longer, epsilon) == ratio.log_p_value(counts, epsilon)


@given(st.integers(0, 60), st.integers(0, 30), st.integers(3, 60), st.sampled_from([0.1, 0.7, 1.5]))
@settings(max_examples=100, deadline=None)
def test_more_hits_on_d1_do_not_raise_p(only_x, only_y, both, epsilon):
    """With the pairs that hit held fixed: with more of them, p moves in steps, as in every test of discrete counts.

    The cells and blocks depend on the counts, and leave a few percent.
    """
    fewer, more = (log_p(only_x + k, only_y, both - k, epsilon) for k in (0, 3))
    assert more <= fewer + 0.1
    assert log_p(2 * only_x + 30, only_y, both, epsilon) <= fewer + 0.1


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 5))
def test_impossible_paired_runs_are_refused(x, y, more):
    pairs = max(x, y)
    with pytest.raises(UsageError, match="paired runs come in pairs"):
        Counts(x, y, 50, 50, both=min(x, y) + more)
    with pytest.raises(UsageError, match="paired runs come in pairs"):
        Counts(x, y, 50, 50 + more, both=min(x, y))
    with pytest.raises(UsageError, match="paired runs come in pairs"):
        Counts(x, y, 50, 50, both=-more)
    if x + y > pairs:
        # So many hits in so few pairs must meet.
        with pytest.raises(UsageError, match="paired runs come in pairs"):
            Counts(x, y, pairs, pairs, both=x + y - pairs - 1)


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [
        (Counts(1000, 800, 20_000, 20_000, both=780), 0.1),
        (Counts(80, 20, 20_000, 20_000, both=15), 0.7),
        (Counts(2500, 2000, 20_000, 20_000, both=1000), 0.15),
    ],
)
def test_the_detectable_epsilon_is_caught_four_times_of_five(counts, epsilon):
    alpha, simulations, pairs = 0.05, 100, counts.n_x
    real = detectable_epsilon(counts, epsilon, alpha)
    assert math.isfinite(real)
    p2, both = counts.y / pairs, counts.both / pairs
    rates = p2 * math.exp(real) - both, p2 - both, both
    cells = np.random.default_rng(counts.x).multinomial(pairs, [*rates, 1 - sum(rates)], simulations)
    p = [ratio.log_p_value(counts_of(a, b, c, pairs), epsilon) for a, b, c, _ in cells.tolist()]
    power = float(np.mean(np.array(p) <= math.log(alpha)))
    # Four standard errors, and 0.05 for luck that is normal only in the limit.
    assert abs(power - POWER) <= 4 * math.sqrt(POWER * (1 - POWER) / simulations) + 0.05
