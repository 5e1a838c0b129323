"""Every violation is explained, however it came about, and no explanation takes longer than its mechanism may."""

from refutedp import Verdict, check, recheck, replay
from refutedp.explain import observed, told

BRIEF = {"search_runs": 2_000, "confirm_runs": 10_000, "progress": False, "float_leaks": "ignore"}
ENDLESS: list[bool] = []


def narrow(queries, epsilon, rng):
    while ENDLESS:
        pass
    return queries[0] + rng.laplace(scale=0.2 / epsilon)


def test_a_counterexample_that_is_replayed_or_rechecked_is_explained_too():
    result = check(narrow, epsilon=1.0, pairs=[([0], [1])], **BRIEF)
    line = narrow.__code__.co_firstlineno + 3
    again = replay(result, narrow).explained()
    assert again.verdict is Verdict.VIOLATION and again.explanation.place.line == line
    above = {"event": "interval", "of": {"feature": "value", "path": []}, "low": 1.0, "high": None}
    written = recheck(narrow, epsilon=1.0, d1=[1], d2=[0], event=above, confirm_runs=10_000).explained()
    assert written.verdict is Verdict.VIOLATION and written.explanation.place.line == line
    mended = recheck(
        narrow, epsilon=1.0, args={"epsilon": 0.2}, d1=[1], d2=[0], event=above, confirm_runs=10_000
    ).explained()
    assert mended.verdict is not Verdict.VIOLATION and mended.explanation is None


def test_a_mechanism_that_no_longer_returns_does_not_hang_its_result(monkeypatch):
    for module in (observed, told):
        monkeypatch.setattr(module, "LONGEST_CALLS", 0.1)
    monkeypatch.setattr(observed, "ONCE_ENDLESS", 0.1)
    result = check(narrow, epsilon=1.0, pairs=[([0], [1])], **BRIEF)
    ENDLESS.append(True)
    try:
        assert result.explained().explanation.place is None
    finally:
        ENDLESS.clear()
