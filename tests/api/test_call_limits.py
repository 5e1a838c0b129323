"""What users read of a call that does not return, takes all memory or floods: in every way to start one."""

import sys
import time

import pytest

from refutedp import Verdict, check, recheck, sweep
from refutedp.model.errors import BeyondBoundsError
from refutedp.tracing import memory_bound

EVENT = {"event": "interval", "of": {"feature": "value", "path": []}, "low": 2.0, "high": None}
SMALL = {"call_limit": 0.1, "lift": False, "seed": 1}
PAIRS = [([1], [2])]


def endless(queries, epsilon, rng):
    while True:
        time.sleep(0.001)


@pytest.mark.parametrize(
    "run",
    [
        lambda: check(endless, epsilon=1.0, pairs=PAIRS, **SMALL),
        lambda: sweep(endless, claimed=[1.0], test=[1.0], pairs=PAIRS, **SMALL),
        lambda: recheck(endless, epsilon=1.0, d1=[1], d2=[2], event=EVENT, **SMALL),
    ],
    ids=["check", "sweep", "recheck"],
)
def test_a_call_that_does_not_return_is_a_sentence_with_its_input(run):
    with pytest.raises(
        BeyondBoundsError, match=r"endless\(\) did not return within 0\.1 seconds \(data=\[[12]\], eps"
    ):
        run()


def hanging(side):
    """Hangs often on one side only, or (None) now and then on both."""

    def mechanism(queries, epsilon, rng):
        answer, odd = rng.laplace(scale=1 / epsilon), rng.random() < (0.02 if side is None else 0.5)
        while odd and queries[0] in (1, 2) and queries[0] != side:
            time.sleep(0.001)
        return answer

    return mechanism


@pytest.mark.parametrize(("side", "verdict"), [(1, Verdict.VIOLATION), (None, Verdict.NOT_FOUND)])
def test_a_call_that_does_not_return_can_be_an_output(side, verdict):
    small = {**SMALL, "call_limit": 0.01, "search_runs": 100, "confirm_runs": 100, "float_leaks": "ignore"}
    result = check(hanging(side), epsilon=1.0, pairs=PAIRS, on_limit="output", **small)
    assert result.verdict is verdict
    assert "did not return" in result.evidence.event.words() or side is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the bound on memory needs Linux")
def test_a_call_that_takes_all_memory_is_a_sentence_with_its_input(monkeypatch):
    monkeypatch.setattr(memory_bound, "MOST_MEMORY", 200 * 2**20)

    def eating(queries, epsilon, rng):
        kept = []
        while True:
            kept.append(bytearray(2**22))

    with pytest.raises(BeyondBoundsError, match=r"eating\(\) took more memory than it may \(data=\[[12]\]"):
        check(eating, epsilon=1.0, pairs=PAIRS, lift=False)


def test_a_call_that_floods_is_a_sentence_with_its_input(capsys):
    def flooding(queries, epsilon, rng):
        while True:
            print("flood")

    with pytest.raises(BeyondBoundsError, match=r"flooding\(\) printed more than 100,000 letters"):
        check(flooding, epsilon=1.0, pairs=PAIRS, lift=False)
    assert len(capsys.readouterr().out) < 200_000
