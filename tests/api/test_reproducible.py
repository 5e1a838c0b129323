import numpy as np
import pytest

from refutedp import check, sweep
from refutedp.mechanisms import isvt4, noisy_max_laplace_value

SMALL = {"search_runs": 2000, "confirm_runs": 5000}


def test_the_same_seed_gives_the_same_result_and_another_another():
    results = [check(noisy_max_laplace_value, epsilon=0.7, seed=seed, **SMALL) for seed in (5, 5, 6)]
    assert results[0] == results[1]
    assert str(results[0]) == str(results[1])
    assert results[0].evidence.counts != results[2].evidence.counts


@pytest.mark.parametrize("lift", [True, False])
def test_cores_do_not_matter(lift):
    arguments = {"epsilon": 0.7, "args": {"threshold": 1, "bound": 1}, "lift": lift, **SMALL}
    assert check(isvt4, jobs=1, **arguments).evidence == check(isvt4, jobs=2, **arguments).evidence


def _by_identity(x):
    return x if (x > 7.5) is True else x + 1


def complains_on_a_rare_path(queries, epsilon, rng):
    """A path that must not be lifted: whether it was met before must not tell on the others."""
    x = queries[0] + rng.laplace()
    return _by_identity(x) if x > 7.0 + queries[0] else x


def truth_and_numbers(queries, epsilon, rng):
    """Rarely True, and often 1: to count the one is not to count the other, though True equals 1."""
    flag = bool(queries[1] > 0.5) and rng.laplace(scale=1 / epsilon) > 8.0
    q = 2 * queries[0] + rng.laplace(scale=1 / epsilon)
    level = 0
    if q > 0.0:
        level = 1
    if q > 2.0:
        level = 2
    return [flag, level, 2]


def module_draws(queries, epsilon):
    return [bool(q + np.random.laplace(scale=2 / epsilon) > 1) for q in queries]


def chooses(queries, epsilon, rng):
    weights = np.exp(epsilon * np.asarray(queries, dtype=float))
    return [int(rng.choice(len(queries), p=weights / weights.sum())), rng.laplace(scale=1 / epsilon)]


PAIRS = [([0.0, 0.0], [1.0, 1.0]), ([0.0, 0.0], [1.0, 0.0]), ([1.0, 1.0], [0.0, 1.0])]


@pytest.mark.parametrize(
    "mechanism", [complains_on_a_rare_path, truth_and_numbers, module_draws, chooses], ids=lambda f: f.__name__
)
def test_who_ran_before_does_not_matter(mechanism):
    """One process runs all pairs on what it remembers of the others; two processes start each of them anew."""
    arguments = {"epsilon": 1.0, "pairs": PAIRS, "search_runs": 20_000, "confirm_runs": 20_000}
    one, two = (check(mechanism, jobs=jobs, **arguments) for jobs in (1, 2))
    assert (one.evidence, one.effort, one.verdict) == (two.evidence, two.effort, two.verdict)


def test_what_is_counted_on_an_input_that_pairs_share_is_what_the_event_says():
    """The true log ratio is 2, of the level; a table that took 1 for True showed other events, and missed it."""
    result = check(truth_and_numbers, epsilon=1.0, pairs=PAIRS[:2], search_runs=20_000, confirm_runs=50_000, seed=1)
    assert result.verdict.value == "violation"
    # The rates 0.068 and 0.5 on 50,000 runs a side: 2 less 4.5 standard deviations of 0.017.
    assert result.evidence.epsilon_lower_bound > 2 - 4.5 * 0.017


def test_a_sweep_shares_its_runs_and_reproduces():
    curves = [
        sweep(noisy_max_laplace_value, claimed=[0.5, 1.0], test=[0.2, 1.0, 5.0], seed=3, **SMALL) for _ in range(2)
    ]
    assert curves[0] == curves[1]
    for claimed in (0.5, 1.0):
        curve = curves[0].curve(claimed)
        assert len({point.evidence.counts for point in curve}) == 1
        assert [point.p_value for point in curve] == sorted(point.p_value for point in curve)
        assert curve[0].evidence.epsilon_lower_bound == curve[-1].evidence.epsilon_lower_bound


def test_the_papers_test_is_a_setting():
    result = check(noisy_max_laplace_value, epsilon=0.7, method="fisher", **SMALL)
    assert result.verdict.value == "violation"
    assert result.evidence.counts.share == 0.5
    assert result.evidence.log_p_reverse > result.evidence.log_p_value
    assert "p⊤" in str(result) and "p⊥" in str(result)
