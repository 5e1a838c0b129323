"""Correct objects of the adapters' libraries at the ε they claim, by default inputs: none may be convicted.

python -m bench.adapters_border [SEEDS] [LIBRARY]
"""

import sys
import time
import warnings
from collections import Counter

from refutedp import Verdict, check

warnings.simplefilter("ignore")
BUDGET = {"search_runs": 300, "confirm_runs": 3_000, "significance": 0.001, "jobs": 1, "float_leaks": "ignore"}


def opendp():
    import opendp.prelude as dp

    from refutedp.adapters.opendp import from_opendp

    dp.enable_features("contrib")
    real = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    vector = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    records = dp.vector_domain(dp.atom_domain(T=int, bounds=(0, 10))), dp.symmetric_distance()
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    made = {
        "laplace": dp.m.make_laplace(*real, scale=1.0),
        "laplace on integers": dp.m.make_laplace(*whole, scale=1.0),
        "gaussian": dp.m.make_gaussian(*real, scale=1.0),
        "geometric": dp.m.make_geometric(*whole, scale=1.0),
        "laplace on a vector": dp.m.make_laplace(*vector, scale=1.0),
        "randomized response": dp.m.make_randomized_response_bool(prob=0.75),
        "count": records >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0),
        "sum": records >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0),
        "counts of categories": words
        >> dp.t.then_count_by_categories(categories=["a", "b"])
        >> dp.m.then_laplace(scale=1.0),
    }
    return {name: lambda one=one: from_opendp(one) for name, one in made.items()}


def diffprivlib():
    from diffprivlib import mechanisms, models, tools

    from refutedp.adapters.diffprivlib import from_diffprivlib

    one = {"epsilon": 1.0, "sensitivity": 1.0}
    made = {
        "Laplace": mechanisms.Laplace(**one),
        "LaplaceTruncated": mechanisms.LaplaceTruncated(**one, lower=0, upper=3),
        "LaplaceFolded": mechanisms.LaplaceFolded(**one, lower=0, upper=3),
        "Geometric": mechanisms.Geometric(epsilon=1.0),
        "GeometricTruncated": mechanisms.GeometricTruncated(epsilon=1.0, lower=0, upper=4),
        "GeometricFolded": mechanisms.GeometricFolded(epsilon=1.0, lower=0, upper=4),
        "Snapping": mechanisms.Snapping(**one, lower=0, upper=10),
        "Staircase": mechanisms.Staircase(**one),
        "Binary": mechanisms.Binary(epsilon=1.0, value0="no", value1="yes"),
        "Exponential": mechanisms.Exponential(**one, utility=[1, 2, 3]),
        "PermuteAndFlip": mechanisms.PermuteAndFlip(**one, utility=[1, 2, 3]),
        "Gaussian": mechanisms.Gaussian(epsilon=0.5, delta=0.01, sensitivity=1.0),
        "GaussianAnalytic": mechanisms.GaussianAnalytic(epsilon=1.0, delta=0.01, sensitivity=1.0),
        "GaussianDiscrete": mechanisms.GaussianDiscrete(epsilon=1.0, delta=0.01),
    }
    objects = {name: lambda one=one: from_diffprivlib(one) for name, one in made.items()}
    bounded = ("nanmean", "nansum", "nanvar", "nanstd")
    for name in bounded:
        objects[name] = lambda name=name: from_diffprivlib(getattr(tools, name), epsilon=1.0, bounds=(0, 10))
    objects["histogram"] = lambda: from_diffprivlib(tools.histogram, epsilon=1.0, bins=3, range=(0, 3))
    objects["count_nonzero"] = lambda: from_diffprivlib(tools.count_nonzero, epsilon=1.0)
    objects["StandardScaler"] = lambda: from_diffprivlib(models.StandardScaler(epsilon=1.0, bounds=([0.0], [1.0])))
    return objects


def pydp():
    from pydp.algorithms import laplacian

    from refutedp.adapters.pydp import from_pydp

    bounds = {"epsilon": 1.0, "lower_bound": 0, "upper_bound": 10, "dtype": "float"}
    return {
        "Count": lambda: from_pydp(laplacian.Count(epsilon=1.0, dtype="int")),
        "BoundedSum": lambda: from_pydp(laplacian.BoundedSum(**bounds)),
        "BoundedMean": lambda: from_pydp(laplacian.BoundedMean(**bounds)),
    }


LIBRARIES = {"opendp": opendp, "diffprivlib": diffprivlib, "pydp": pydp}


def main(seeds=10, libraries=tuple(LIBRARIES)):
    convicted = checks = 0
    for library in libraries:
        for name, make in LIBRARIES[library]().items():
            start = time.process_time()
            # Their randomness is their own: a seed shares out runs, and repetitions are new runs of the object.
            found = [check(make(), seed=seed, **BUDGET).verdict for seed in range(seeds)]
            checks, convicted = checks + seeds, convicted + found.count(Verdict.VIOLATION)
            told = ", ".join(f"{number} {verdict.value}" for verdict, number in Counter(found).items())
            print(f"{library:12} {name:24} {time.process_time() - start:6.1f} s  {told}", flush=True)
    print(f"{convicted} of {checks} checks of correct objects convict at significance {BUDGET['significance']}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 10, given[1:] or tuple(LIBRARIES))
