"""Evidence from enumerated paths is explained: the draw that makes the event, the line it leads to, what mends it."""

import pytest

from refutedp import ApproxDP, Verdict, check
from tests.battery.rare_cases import CASES

BUDGET = {"search_runs": 1_000, "confirm_runs": 20_000, "lengths": (1,), "progress": False}
LINES = {
    "exact_when_far": "return float(queries[0])",
    "sum_of_two": "return queries[0] > 1",
    "message": 'return f"clamped',
    "standard_library": "noise = 0.0",
}
"""The rare line, where a condition leads to it; the condition is held, and the paths are enumerated again."""


@pytest.mark.parametrize("name", [*LINES, "paper"])
def test_the_draw_and_the_line_are_told(name):
    case = next(case for case in CASES if case.name == name)
    found = check(case.bug, **{**case.kwargs, **BUDGET})
    assert found.exact is not None
    told = found.explained().explanation
    if name not in LINES:  # It returns what it drew: no line is rare, and none is accused.
        assert told.place is None and "in a tail of probability" in told.statement
        return
    assert LINES[name] in told.place.text, told.statement
    (remedy,) = told.remedies
    assert remedy.mends and remedy.replacement == "False" and remedy.counts.runs == 0
    assert len(str(found.explained()).splitlines()) <= 30


def test_a_line_is_not_accused_where_the_changed_mechanism_leaks_still():
    def twice(queries, epsilon, rng):
        noise = rng.laplace(scale=1 / epsilon)
        if noise > 20 / epsilon:
            return f"high {queries[0]}"
        if noise < -20 / epsilon:
            return f"low {queries[0]}"
        return "ok"

    told = check(twice, ApproxDP(1.0, 1e-12), pairs=[([1], [2])], **BUDGET).explained()
    assert told.verdict is Verdict.VIOLATION and told.exact is not None
    assert told.explanation.place is None and not told.explanation.remedies
