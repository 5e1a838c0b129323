"""What diffprivlib fixed after 0.2.1 (release notes of 0.3.0 and 0.4.0, its issue 23), against 0.4.1.

Both need Python 3.8 and run as programs of their own:
python3.8 -m venv OLD, OLD/bin/pip install diffprivlib==0.2.1 "scikit-learn<0.23" "numpy<1.20"
(for 0.4.1 "scikit-learn<0.24"), then python -m bench.real_packages.diffprivlib_releases OLD/bin/python
"""

import json
import subprocess
import sys
import time

EPSILON = 1.0
CROWD = [[0.2, 0.0], [0.4, 1.0]] * 4
"""People with a number from 0 to 1 and a class; both classes stay in all data."""
CLIPPED = [CROWD, [[50.0, 0.0], *CROWD[1:]]]
COUNTED = [CROWD, [[0.2, 1.0], *CROWD[1:]]]


def bounded(old):
    return {"range": 1.0} if old else {"bounds": (0, 1)}


def mean(rows, old):
    import numpy as np
    from diffprivlib.tools import mean

    return float(mean(np.array([row[0] for row in rows]), epsilon=EPSILON, **bounded(old)))


def class_counts(rows, old):
    return fitted("GaussianNB", rows, ("class_prior_",), bounds=[(0, 1)] if old else (0, 1))


def logistic(rows, old):
    return fitted("LogisticRegression", rows, ("coef_", "intercept_"), data_norm=1.0, max_iter=20)


def linear(rows, old):
    bounds = (
        {"data_norm": 2**0.5, "range_X": 1.0, "range_y": 1.0} if old else {"bounds_X": (-1, 0), "bounds_y": (-1, 0)}
    )
    negated = [[-one for one in row] for row in rows]
    return fitted("LinearRegression", negated, ("coef_",), fit_intercept=False, **bounds)


CASES = {
    "mean, a record out of bounds": (mean, CLIPPED),
    "GaussianNB, priors": (class_counts, COUNTED),
    "LogisticRegression, out of norm": (logistic, CLIPPED),
    "LinearRegression, Wishart noise": (linear, [[[1.0, 1.0]], [[0.0, 0.0]]]),
}


def fitted(name, rows, learned, **parameters):
    import diffprivlib.models
    import numpy as np

    table = np.array(rows)
    model = getattr(diffprivlib.models, name)(epsilon=EPSILON, **parameters).fit(table[:, :-1], table[:, -1])
    return [float(one) for part in learned for one in np.ravel(getattr(model, part))]


def serve(name):
    """The program: it speaks the command protocol with the release that is installed where it runs."""
    import os
    import warnings

    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"
    import diffprivlib
    import numpy as np

    function, old = CASES[name][0], diffprivlib.__version__.startswith("0.2")
    for line in sys.stdin:
        request = json.loads(line)
        np.random.seed(request["seed"] % 2**32)
        outputs = [function(request["data"], old) for _ in range(request["count"])]
        print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)


def main(python):
    from refutedp import REPLACE, Command, check

    words = "import diffprivlib; print(diffprivlib.__version__)"
    print(
        "diffprivlib",
        subprocess.run([python, "-c", words], capture_output=True, text=True, check=True).stdout.strip(),
    )
    for name, (_, pair) in CASES.items():
        start = time.perf_counter()
        program = Command([python, __file__, "serve", name])
        result = check(
            program,
            epsilon=EPSILON,
            adjacency=REPLACE,
            pairs=[tuple(pair)],
            search_runs=1_000,
            confirm_runs=5_000,
            seed=0,
            jobs=1,
        )
        program.close()
        found = result.counterexample
        told = "" if found is None else found.event.words()
        print(f"{name:32} {result.verdict.value:12} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1] == "serve" else main(sys.argv[1])
