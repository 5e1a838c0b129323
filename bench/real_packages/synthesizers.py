"""What synthesizers tell of their data beside the histograms that they pay for.

pip install --no-deps --target ds DataSynthesizer==0.1.13, then
PYTHONPATH=ds python -m bench.real_packages.synthesizers (0.1.6 divides the noise of correlated attributes by half
the number of records)
"""

import contextlib
import io
import json
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from refutedp import ADD_REMOVE, REPLACE, check

warnings.simplefilter("ignore")
from DataSynthesizer.DataDescriber import DataDescriber  # noqa: E402
from DataSynthesizer.lib.PrivBayes import construct_noisy_conditional_distributions  # noqa: E402

EPSILON = 1.0
BUDGET = {"search_runs": 200, "confirm_runs": 1_000, "seed": 0}
"""A description takes some ten milliseconds."""
PEOPLE = [("A", 20.0), ("A", 35.0), ("B", 50.0), ("B", 80.0)]


def exchanged(*records):
    """The last person exchanged for each of these."""
    return [(PEOPLE, [*PEOPLE[:-1], record]) for record in records]


ORDINARY = exchanged(("A", 20.0), ("B", 20.0), ("A", 80.0))


def described(people, rng, *, declared, kind="String", parts=("distribution_bins", "distribution_probabilities")):
    """The description in independent attribute mode: noisy histograms, from which synthetic data are drawn."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        table, towns = Path(folder) / "people.csv", Path(folder) / "towns.json"
        pd.DataFrame(people, columns=["town", "age"]).to_csv(table, index=False)
        towns.write_text(json.dumps({"town": ["A", "B", "C"]}))
        describer = DataDescriber(histogram_bins=3)
        describer.describe_dataset_in_independent_attribute_mode(
            str(table),
            epsilon=EPSILON,
            attribute_to_datatype={"town": kind, "age": "Float"},
            attribute_to_is_categorical={"town": True, "age": False},
            attribute_to_is_candidate_key={"town": False, "age": False},
            categorical_attribute_domain_file=str(towns) if declared else None,
            numerical_attribute_ranges={"age": [0, 100]} if declared else None,
            seed=int(rng.integers(2**32)),
        )
        columns = describer.data_description["attribute_description"]
    return {name: {part: columns[name][part] for part in parts} for name in ("town", "age")}


def domain_unknown(people, rng):
    return described(people, rng, declared=False)


def domain_declared(people, rng):
    return described(people, rng, declared=True)


def with_missing_rate(people, rng):
    return described(people, rng, declared=True, parts=("distribution_probabilities", "missing_rate"))


def without_missing_rate(people, rng):
    return described(people, rng, declared=True, parts=("distribution_probabilities",))


def correlated(people, rng):
    """What the correlated mode learns of two attributes, once their order is known."""
    np.random.seed(int(rng.integers(2**32)))
    table = pd.DataFrame(people, columns=["town", "age"])
    learned = construct_noisy_conditional_distributions([("age", ["town"])], table, EPSILON)
    return [learned["town"], *map(list, learned["age"].values())]


BINNED = [(0, 0), (0, 1), (1, 0), (1, 1)] * 3

CASES = {
    "domain not declared": (domain_unknown, REPLACE, exchanged(("C", 80.0), ("B", 100.0))),
    "domain declared": (domain_declared, REPLACE, exchanged(("C", 80.0), ("B", 100.0))),
    "share of missing values": (with_missing_rate, REPLACE, exchanged(("B", None))),
    "without that share": (without_missing_rate, REPLACE, ORDINARY),
    "correlated attributes": (correlated, ADD_REMOVE, [(BINNED, [*BINNED, (0, 1)])]),
}


def main():
    print(f"DataSynthesizer {version('DataSynthesizer')}")
    for name, (mechanism, adjacency, pairs) in CASES.items():
        start = time.perf_counter()
        result = check(mechanism, epsilon=EPSILON, adjacency=adjacency, pairs=pairs, **BUDGET)
        found = result.counterexample
        told = "" if found is None else f"{found.pair.d2[-1]}: {found.event.words()}"
        print(f"{name:35} {result.verdict.value:10} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
