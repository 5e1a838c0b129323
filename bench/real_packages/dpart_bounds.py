"""Categories that dpart drops: its engine Independent loses the declared ones in 0.1.1 (0.1.2 hands them on), and its
encoder of targets reads them from the data in both, so that a category that nobody has any more is never sampled.

pip install --no-deps --target dpart-0.1.1 dpart==0.1.1 (and 0.1.2), pip install diffprivlib pandas, then for each
PYTHONPATH=dpart-0.1.1 python -m bench.real_packages.dpart_bounds
"""

import time
import warnings
from importlib.metadata import version

import numpy as np
import pandas as pd
from dpart.engines import Independent
from dpart.methods.utils import bin_encoder
from sklearn.preprocessing import OrdinalEncoder

from refutedp import REPLACE, check

EPSILON, ROWS = 1.0, 3
TOWNS = ["A", "B", "C"]
PAIR = ["A", "B", "C", "C"], ["A", "C", "C", "C"]
"""Nobody lives in B any more; the last town stays, for the counts end there."""


class Declared(OrdinalEncoder):
    """Knows the declared categories, as words or as the codes that dpart makes of them."""

    def fit(self, table, y=None):
        """Ignore which of them the data hold."""
        known = TOWNS if table.iloc[0, 0] in TOWNS else range(len(TOWNS))
        self.set_params(categories=[list(known)])
        return super().fit(table)


def sampled(towns, rng, *, encoder):
    np.random.seed(int(rng.integers(2**32)))
    bin_encoder.OrdinalEncoder = encoder
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = Independent(bounds={"town": {"categories": TOWNS}}, epsilon=EPSILON)
        engine.fit(pd.DataFrame({"town": towns}))
        return engine.sample(ROWS)["town"].tolist()


def as_released(towns, rng):
    return sampled(towns, rng, encoder=OrdinalEncoder)


def repaired(towns, rng):
    return sampled(towns, rng, encoder=Declared)


def main():
    print(f"dpart {version('dpart')}")
    for name, mechanism in (("as released", as_released), ("encoder repaired", repaired)):
        start = time.perf_counter()
        result = check(mechanism, epsilon=EPSILON, adjacency=REPLACE, pairs=[PAIR], seed=0, jobs=1)
        found = result.counterexample
        told = "" if found is None else found.event.words()
        print(f"{name:18} {result.verdict.value:12} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
