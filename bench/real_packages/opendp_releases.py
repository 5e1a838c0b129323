"""Bugs that OpenDP fixed, in the release before and in the one after (its changelog, "Security").

pip install --no-deps --target opendp-0.3.0 opendp==0.3.0 (and 0.4.0, 0.6.0), then for each of them
PYTHONPATH=opendp-0.3.0 python -m bench.real_packages.opendp_releases
"""

import importlib
import importlib.metadata
import time

import numpy as np

for old, new in (("bool8", np.bool_), ("float_", np.float64), ("unicode_", np.str_), ("string_", np.bytes_)):
    if not hasattr(np, old):
        setattr(np, old, new)  # these releases are older than NumPy 2

from opendp.mod import enable_features  # noqa: E402

from refutedp import ANY_TWO, REPLACE, check  # noqa: E402

enable_features("contrib", "floating-point")


def module(*names):
    for name in names:
        try:
            return importlib.import_module(f"opendp.{name}")
        except ImportError:
            continue
    raise ImportError(names)


MEASUREMENTS, TRANSFORMATIONS = module("meas", "measurements"), module("trans", "transformations")


def allows(measurement, d_in, epsilon):
    """Whether the release itself says that the measurement is private for this epsilon."""
    try:
        return measurement.check(d_in, epsilon + 1e-9)
    except Exception as error:
        return str(error)[:80]


def randomized_response():
    keep = MEASUREMENTS.make_randomized_response_bool(prob=0.75)
    return keep, 1, float(np.log(3)), ANY_TWO, [(True, False)]


def sum_of_known_size():
    noisy = TRANSFORMATIONS.make_sized_bounded_sum(3, (0, 3)) >> MEASUREMENTS.make_base_geometric(scale=2.0)
    # The map of this very release: 1 where it divides the odd width by two and rounds it down, else 3/2.
    claimed = 1.0 if allows(noisy, 2, 1.0) is True else 1.5
    return noisy, 2, claimed, REPLACE, [([0, 0, 0], [0, 0, 3])]


CASES = {
    "randomised response": ("make_randomized_response_bool", randomized_response),
    "sum of known size": ("make_base_geometric", sum_of_known_size),
}


def main():
    print(f"opendp {importlib.metadata.version('opendp')}")
    for name, (needed, make) in CASES.items():
        if not hasattr(MEASUREMENTS, needed):
            print(f"{name:22} not in this release")
            continue
        measurement, d_in, epsilon, adjacency, pairs = make()

        def run(data, measurement=measurement):
            return measurement(data)

        start, says = time.perf_counter(), allows(measurement, d_in, epsilon)
        result = check(
            run,
            epsilon=epsilon,
            adjacency=adjacency,
            pairs=pairs,
            search_runs=500,
            confirm_runs=5_000,
            seed=0,
            jobs=1,
        )
        found = result.counterexample
        told = "" if found is None else found.event.words()
        print(
            f"{name:22} ε = {epsilon:4.2f} (allowed: {says})  {result.verdict.value:10} "
            f"{time.perf_counter() - start:5.1f} s  {told}",
            flush=True,
        )


if __name__ == "__main__":
    main()
