"""Leaks that only several coordinates show together are found, and their correct twins are let go.

`python -m bench.battery` runs all of them at the default budgets.
"""

from __future__ import annotations

import pytest

from refutedp import Verdict, check
from tests.battery import together

CASES = {case.name: case for case in together.CASES}
SMALL = {"search_runs": 20_000, "confirm_runs": 100_000, "progress": False, "float_leaks": "ignore"}
LARGE = {
    "gradient_100_five_sixths_noise",
    "fifty_cells_of_two_hundred",
    "gradient_20_two_thirds_noise",
    "synthetic_table",
}
"""They need more runs: left to the bench."""
QUICK = [name for name in CASES if name not in LARGE]


@pytest.mark.parametrize("name", QUICK)
def test_the_bug_is_found(name):
    case = CASES[name]
    assert check(case.bug, **case.kwargs, **SMALL).verdict is Verdict.VIOLATION


@pytest.mark.parametrize("name", QUICK)
def test_the_twin_is_let_go(name):
    case = CASES[name]
    assert check(case.twin, **case.kwargs, **SMALL | {"confirm_runs": 30_000}).verdict is not Verdict.VIOLATION
