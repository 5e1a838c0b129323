"""Results as annotations of a pull request: the workflow commands that GitHub Actions reads from a job's output."""

from __future__ import annotations

from refutedp.detector.result import Result, Verdict
from refutedp.report.findings import finding
from refutedp.report.locations import from_repository, main_place

_LEVELS = {Verdict.VIOLATION: "error", Verdict.INCONCLUSIVE: "warning", Verdict.NOT_FOUND: "notice"}
_TITLES = {
    Verdict.VIOLATION: "Differential privacy violated",
    Verdict.INCONCLUSIVE: "Differential privacy: inconclusive",
    Verdict.NOT_FOUND: "Differential privacy: no violation found",
}


def annotation(result: Result) -> str:
    """One workflow command, at the guilty line where it is known, else at the function.

    >>> from refutedp import check
    >>> annotation(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))[:52]
    '::warning title=Differential privacy%3A inconclusive'
    """
    result = result.explained()
    place = main_place(result)
    properties = {} if place is None else {"file": from_repository(place.file), "line": str(place.line)}
    properties["title"] = _TITLES[result.verdict]
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_LEVELS[result.verdict]} {listed}::{_message(finding(result))}"


def _message(text: str) -> str:
    """GitHub's escapes: a command is one line.

    >>> _message("100%\\nsure")
    '100%25%0Asure'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
