"""`assert_private`: a check that a test can make."""

from __future__ import annotations

import shlex
import sys
from typing import Any, Unpack

from refutedp.api.check import CheckKeywords, check
from refutedp.detector.result import Result, Verdict
from refutedp.model.adjacency import ADD_REMOVE, ANY_TWO, REPLACE
from refutedp.model.claims import Claim

_RECORD_ADJACENCIES = {
    str(ADD_REMOVE): ["--adjacency", "add-remove"],
    str(REPLACE): ["--adjacency", "replace"],
    str(ANY_TWO): ["--adjacency", "any-two"],
}


class PrivacyViolation(AssertionError):
    """What `assert_private` raises; `result` holds the counterexample."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


def assert_private(mechanism: Any, claim: Claim | None = None, **keywords: Unpack[CheckKeywords]) -> Result:
    """Raise an AssertionError with the counterexample if the claim is refuted; otherwise return the result.

    It takes what `check` takes. The seed is fixed unless given, so that a test does not flicker; a verdict of
    "inconclusive" does not fail. Under pytest, the options `--refutedp-runs` and `--refutedp-seed` decide over what
    the test says, and the failure comes with the command that replays it.

    >>> from refutedp.mechanisms import histogram
    >>> from refutedp import ONE_DIFFERS
    >>> assert_private(histogram, epsilon=1.0, adjacency=ONE_DIFFERS, search_runs=500, confirm_runs=2000).verdict
    <Verdict.NOT_FOUND: 'not found'>
    """
    __tracebackhide__ = True
    watcher = _pytest_session()
    if watcher is not None:
        keywords = watcher.keywords_for(keywords)
    result = check(mechanism, claim, **keywords).explained()
    replay = _check_command(result) if watcher is None else watcher.record(result)
    if result.verdict is Verdict.VIOLATION:
        raise PrivacyViolation(str(result) if replay is None else f"{result}\nReplay: {replay}", result)
    return result


def _check_command(result: Result) -> str | None:
    """Without a saved file, the command that finds the same result again."""
    reference = None if result.origin is None else result.origin.reference
    evidence = result.counterexample or result.evidence
    stated = result.claim.on_command_line()
    if reference is None or evidence is None or not stated:
        return None
    pair = evidence.pair
    if not all(isinstance(data, list | tuple | int | float | str) for data in (pair.d1, pair.d2)):
        return None  # arrays and frames have no form on the command line
    if result.adjacency.startswith("all records of one "):
        return None  # a result knows its adjacency in words only, and --by needs the column
    words = ["refutedp", "check", reference, *stated]
    words += _RECORD_ADJACENCIES.get(result.adjacency, [])
    words += ["--pair", f"{pair.d1!r}|{pair.d2!r}", "--seed", str(result.settings.seed)]
    words += [word for name, value in pair.arguments.items() for word in ("--arg", f"{name}={value!r}")]
    return " ".join(shlex.quote(word) for word in words)


def _pytest_session() -> Any:
    """What the pytest plugin knows about the test that is running, or None outside of one."""
    plugin = sys.modules.get("_refutedp_pytest")
    item = None if plugin is None else plugin.RUNNING.get()
    if item is None:
        return None
    from refutedp.pytest_plugin import Session

    return Session(item)
