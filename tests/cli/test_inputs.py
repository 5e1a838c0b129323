"""Data sets from the command line."""

import json

import pytest

MODULE = """\
from hypothesis import strategies as st


def largest(values, epsilon, rng):
    return max(values) + rng.laplace(scale=100 / epsilon)


def count(values, epsilon, rng):
    return len(values) + rng.laplace(scale=1 / epsilon)


def lists():
    return st.lists(st.integers(0, 100), max_size=4)


def broken():
    return 1 / 0
"""
SMALL = ("--search-runs", "200", "--confirm-runs", "500", "--quiet")
RECORDS = ("--epsilon", "1", "--adjacency", "add-remove")


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "values.py").write_text(MODULE)
    (folder / "one.json").write_text(json.dumps([5, 70]))
    (folder / "two.json").write_text(json.dumps([[5, 70], []]))
    (folder / "object.json").write_text("{}")
    (folder / "broken.json").write_text("[1,")


@pytest.mark.parametrize("inputs", ["one.json", "two.json", "values.py:lists"])
def test_data_sets_come_from_a_file_or_a_function(run_here, inputs):
    done = run_here("check", "values.py:largest", *RECORDS, "--inputs", inputs, *SMALL)
    assert done.returncode == 1 and done.stdout.startswith("violation: largest"), done.stderr
    done = run_here("check", "values.py:count", *RECORDS, "--inputs", inputs, *SMALL)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--inputs", "one.txt"], "--inputs 'one.txt' must be a JSON file, or file.py:function"),
        (["--inputs", "none.json"], "--inputs none.json cannot be read: No such file"),
        (["--inputs", "broken.json"], "--inputs broken.json is not JSON"),
        (["--inputs", "object.json"], "--inputs object.json must hold a list of records"),
        (["--inputs", "values.py:broken"], "--inputs 'values.py:broken' raised ZeroDivisionError: division by zero"),
        (["--inputs", "values.py:list"], "values.py has no 'list'"),
        (["--inputs", "one.json", "--pair", "[1]|[]"], "pairs= and inputs= were both given"),
        (["--no-odd", "--adjacency", "all-differ"], "--no-odd goes with --adjacency add-remove or replace"),
    ],
)
def test_bad_inputs_get_one_sentence(run_here, options, says):
    done = run_here("check", "values.py:largest", *RECORDS, *SMALL, *options)
    assert done.returncode == 2 and done.stdout == ""
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_sweep_takes_inputs_too(run_here):
    done = run_here(
        *("sweep", "values.py:count", "--claimed", "1", "--test", "1,3", "--adjacency", "replace"),
        *("--inputs", "one.json", "--search-runs", "200", "--confirm-runs", "500"),
    )
    assert done.returncode == 0 and "claimed 1" in done.stdout, done.stderr
