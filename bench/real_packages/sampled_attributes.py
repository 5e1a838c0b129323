"""Random sampling plus fake data (RS+FD) of multi-freq-ldpy: its ε is amplified for one attribute that changes.

Where the whole tuple of a user is secret, as in local privacy, it is ln(d(e^ε - 1) + 1). Sampling alone (SMP)
keeps ε. pip install --no-deps --target mfl multi-freq-ldpy==0.2.5, then
PYTHONPATH=mfl python -m bench.real_packages.sampled_attributes
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
    if "xxhash" not in sys.modules:
        sys.modules.setdefault("xxhash", types.SimpleNamespace(xxh32=None))
from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client, RSpFD_UE_zero_Client
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Client

SIZES, EPSILON = (3, 3), 1.0
TUPLES = [(0, 0), (0, 1), (1, 1)]


def client(function):
    def report(values, rng):
        np.random.seed(int(rng.integers(2**32)))
        sent = function(values, SIZES, len(SIZES), EPSILON)
        return [np.asarray(one).tolist() for one in sent]

    return report


CASES = {"RS+FD, GRR": RSpFD_GRR_Client, "RS+FD, OUE": RSpFD_UE_zero_Client, "SMP, GRR": SMP_GRR_Client}


def main():
    print(f"multi-freq-ldpy {version('multi-freq-ldpy')}")
    for name, function in CASES.items():
        start = time.perf_counter()
        result = check(client(function), epsilon=EPSILON, adjacency=ANY_TWO, inputs=TUPLES, seed=0)
        found = result.counterexample
        told = "" if found is None else f"{found.pair.d1} against {found.pair.d2}: {found.event.words()}"
        print(f"{name:12} {result.verdict.value:12} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
