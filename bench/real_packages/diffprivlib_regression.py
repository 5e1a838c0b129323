"""LinearRegression of diffprivlib 0.6.6 takes the lower bound twice (its issue 105), and the same repaired.

pip install "refutedp[diffprivlib]", then python -m bench.real_packages.diffprivlib_regression
"""

import inspect
import time
import warnings
from importlib.metadata import version

from diffprivlib.models import LinearRegression, linear_regression

from refutedp import check
from refutedp.adapters.diffprivlib import from_diffprivlib

warnings.simplefilter("ignore")
WRONG, RIGHT = "[bounds_X[0][i], bounds_X[0][i]]", "[bounds_X[0][i], bounds_X[1][i]]"


def repaired():
    source = inspect.getsource(linear_regression._construct_regression_obj)
    assert WRONG in source
    exec(source.replace(WRONG, RIGHT), vars(linear_regression))


def main():
    print(f"diffprivlib {version('diffprivlib')}")
    for name, prepare in (("as released", None), ("repaired", repaired)):
        if prepare is not None:
            prepare()
        start = time.perf_counter()
        model = LinearRegression(epsilon=1.0, bounds_X=([0.1], [1.0]), bounds_y=(0.0, 1.0), fit_intercept=False)
        result = check(from_diffprivlib(model), jobs=1)  # other processes would not be repaired
        found = result.counterexample
        told = "" if found is None else f"{found.pair.category}: {found.event.words()}"
        print(f"{name:12} {result.verdict.value:12} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
