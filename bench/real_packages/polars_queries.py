"""OpenDP's Polars queries: right ones stand, and one that claims a third of what it needs does not.

pip install "refutedp[opendp-polars]", then python -m bench.real_packages.polars_queries
"""

import time
import warnings
from importlib.metadata import version

import opendp.prelude as dp
import polars as pl

from refutedp import check
from refutedp.adapters.opendp import from_opendp

warnings.simplefilter("ignore")
dp.enable_features("contrib")
DATA = pl.LazyFrame({"grade": [1, 1, 2], "pets": [1, 2, 3]})
MARGINS = [dp.polars.Margin(by=["grade"], invariant="keys", max_length=50), dp.polars.Margin(max_length=100)]


def context(margins=(), **unit):
    return dp.Context.compositor(
        data=DATA,
        privacy_unit=dp.unit_of(contributions=1, **unit),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=list(margins),
    ).query()


PETS = pl.col("pets").fill_null(0)
QUERIES = {
    "count": (lambda: context().select(dp.len()), None),
    "sum": (lambda: context(MARGINS).select(PETS.dp.sum((0, 5))), None),
    "sums by grade": (lambda: context(MARGINS).group_by("grade").agg(PETS.dp.sum((0, 5))), None),
    "count, two rows an id": (lambda: context(identifier="pets").truncate_per_group(2).select(dp.len()), None),
    "count, claimed ε/3": (lambda: context().select(dp.len()), 1 / 3),
}


def main():
    print(f"opendp {version('opendp')}, polars {version('polars')}")
    for name, (query, epsilon) in QUERIES.items():
        start = time.perf_counter()
        result = check(from_opendp(query()), epsilon=epsilon)
        found = result.counterexample
        told = "" if found is None else f"{found.pair.category}: {found.event.words()}"
        took = time.perf_counter() - start
        print(f"{name:22} {result.verdict.value:10} {took:5.1f} s  {result.adjacency}  {told}", flush=True)


if __name__ == "__main__":
    main()
