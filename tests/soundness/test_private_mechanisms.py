"""No mechanism of the battery is convicted, and none contradicts its lifted runs.

Every claim holds, so a conviction is a false alarm of probability 0.001, or a wrong lift. The seeds are fixed, so the
outcome of each test is too. `python -m bench.soundness` does the same for many seeds.
"""

from __future__ import annotations

import pytest

from refutedp import Verdict
from tests.soundness.registry import all_cases, check_case, seed_of


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: f"{case.style}-{case.name}")
def test_a_private_mechanism_is_not_convicted(case):
    result = check_case(case, seed_of(case, 0))
    assert result.verdict is not Verdict.VIOLATION, str(result)
    assert "were wrong" not in " ".join(result.notes)


def test_the_battery_is_large_enough():
    styles = [case.style for case in all_cases()]
    assert len(styles) >= 160
    assert min(styles.count(style) for style in set(styles)) >= 10
