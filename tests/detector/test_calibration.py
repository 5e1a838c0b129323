"""End to end, a correct mechanism at its exact epsilon raises an alarm no more often than the significance allows."""

from scipy import stats

from refutedp import ONE_DIFFERS, Verdict, check

CHECKS = 60
SIGNIFICANCE = 0.05


def batched_histogram(queries, *, epsilon, size, rng):
    return queries[0] + rng.laplace(scale=1 / epsilon, size=size)


def test_false_alarms_stay_below_the_significance():
    alarms = sum(
        check(
            batched_histogram,
            epsilon=0.5,
            adjacency=ONE_DIFFERS,
            lengths=(1,),
            seed=seed,
            significance=SIGNIFICANCE,
            search_runs=1000,
            confirm_runs=5000,
        ).verdict
        is Verdict.VIOLATION
        for seed in range(CHECKS)
    )
    # More alarms than this have probability below 1e-4 if each has probability 0.05.
    assert alarms <= stats.binom.isf(1e-4, CHECKS, SIGNIFICANCE)
