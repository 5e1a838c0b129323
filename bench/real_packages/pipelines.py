"""PipelineDP's count on its local backend: users with many rows, public and private partitions.

pip install --no-deps pipeline-dp, pip install dp-accounting python-dp, then python -m bench.real_packages.pipelines
"""

import time
import warnings
from importlib.metadata import version

import numpy as np

from refutedp import AddRemove, ApproxDP, PureDP, check

warnings.simplefilter("ignore")
import pipeline_dp as pdp  # noqa: E402

EPSILON, DELTA = 1.0, 1e-3
PUBLIC = ["red", "blue"]
EXTRACT = pdp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: 0
)


def counts(rows, *, public, partitions=1):
    """The noisy count of every partition; `rows` are (user, partition)."""
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    params = pdp.AggregateParams(
        metrics=[pdp.Metrics.COUNT],
        noise_kind=pdp.NoiseKind.LAPLACE,
        max_partitions_contributed=partitions,
        max_contributions_per_partition=1,
    )
    found = engine.aggregate(rows, params, EXTRACT, public_partitions=PUBLIC if public else None)
    accountant.compute_budgets()
    return {partition: metrics.count for partition, metrics in sorted(found)}


def public(rows):
    return counts(rows, public=True)


def private(rows):
    return counts(rows, public=False)


def two_partitions_at_the_price_of_one(rows):
    """A bound on the partitions of a user that users do not keep: the same users under several ids."""
    return counts([(number, colour) for number, (_, colour) in enumerate(rows)], public=True)


OTHERS = [(user, PUBLIC[user % 2]) for user in range(8)]
ONE = [(9, colour) for colour in ("red", "blue", "red")]
PAIRS = [(OTHERS, [*OTHERS, *ONE]), (OTHERS, [*OTHERS, ONE[0]])]
"""No data at all is refused with a ValueError, which tells them from some: that pair is left out."""
BUDGET = {"search_runs": 300, "confirm_runs": 3_000, "jobs": 1}

CASES = {
    "public partitions": (public, PureDP(EPSILON), PAIRS),
    "private partitions": (private, ApproxDP(EPSILON, DELTA), PAIRS),
    "ids lost before the engine": (two_partitions_at_the_price_of_one, PureDP(EPSILON), PAIRS[:1]),
}


def main():
    print(f"pipeline-dp {version('pipeline-dp')}, numpy {np.__version__}")
    for name, (mechanism, claim, pairs) in CASES.items():
        start = time.perf_counter()
        result = check(mechanism, claim=claim, adjacency=AddRemove(by=0), pairs=pairs, seed=0, **BUDGET)
        found = result.counterexample
        told = "" if found is None else f"{len(found.pair.d1)} and {len(found.pair.d2)} rows: {found.event.words()}"
        print(f"{name:28} {result.verdict.value:12} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
