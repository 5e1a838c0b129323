"""Subset selection of multi-freq-ldpy: its client puts the own value first, if it is in the subset at all.

pip install --no-deps multi-freq-ldpy==0.2.5, pip install numba, then python -m bench.real_packages.subset_selection
"""

import sys
import time
import types
from importlib.metadata import version

import numpy as np

from refutedp import ANY_TWO, check

try:
    import numba  # noqa: F401
except ImportError:  # it only compiles, which changes no probability
    sys.modules["numba"] = types.SimpleNamespace(jit=lambda **_: lambda function: function)
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

SIZE, EPSILON = 6, 0.5


def as_sent(value, rng):
    np.random.seed(int(rng.integers(2**32)))
    return SS_Client(value, SIZE, EPSILON).tolist()


def as_a_set(value, rng):
    return sorted(as_sent(value, rng))


def main():
    print(f"multi-freq-ldpy {version('multi-freq-ldpy')}")
    for name, client in (("as sent", as_sent), ("sorted", as_a_set)):
        start = time.perf_counter()
        result = check(
            client,
            epsilon=EPSILON,
            adjacency=ANY_TWO,
            inputs=range(SIZE),
            search_runs=500,
            confirm_runs=5_000,
            seed=0,
            jobs=1,
        )
        found = result.counterexample
        told = "" if found is None else f"{found.pair.d1} against {found.pair.d2}: {found.event.words()}"
        print(f"{name:8} {result.verdict.value:10} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
