"""What the pytest plugin does once a test uses it; the entry point is `_refutedp_pytest`, which costs nothing."""

from __future__ import annotations

import hashlib
import inspect
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

from refutedp.api.assert_private import PrivacyViolation, assert_private
from refutedp.api.check import CheckKeywords
from refutedp.detector.result import Result, Verdict
from refutedp.detector.verdict import p_value_text
from refutedp.model.errors import RefuteDPError, UsageError
from refutedp.model.mechanism import short_path
from refutedp.report.exact_words import exact_bound
from refutedp.report.text import own_bound

PROPERTY = "refutedp"
SEARCH_SHARE = 5
LEAST_SEARCH_RUNS = 100


@dataclass(frozen=True, slots=True)
class Session:
    """The options of the pytest run, and where results of one test go."""

    item: pytest.Item

    def keywords_for(self, asked: CheckKeywords) -> CheckKeywords:
        """What the test asked for, except where the command line decides."""
        config = self.item.config
        chosen: CheckKeywords = {"progress": False, **asked}
        runs, seed = config.getoption("--refutedp-runs"), config.getoption("--refutedp-seed")
        if runs is not None:
            chosen["confirm_runs"] = runs
            chosen["search_runs"] = max(runs // SEARCH_SHARE, LEAST_SEARCH_RUNS)
        if seed is not None:
            chosen["seed"] = seed
        return chosen

    def record(self, result: Result) -> str | None:
        """Note the result for the summary, save it where asked, and say how to replay it."""
        number = sum(name == PROPERTY for name, _ in self.item.user_properties)
        self.item.user_properties.append((PROPERTY, summary_line(self.item.nodeid, result)))
        folder = self.item.config.getoption("--refutedp-report")
        violated = result.verdict is Verdict.VIOLATION
        if folder is None and not violated:
            return None
        place = Path(folder) if folder is not None else self._cache()
        if place is None:
            return None
        path = place / f"{_file_name(self.item.nodeid)}{f'-{number}' if number else ''}.json"
        try:
            place.mkdir(parents=True, exist_ok=True)
            result.save(path)
            if folder is not None:
                result.to_html(path.with_suffix(".html"))
                result.to_sarif(path.with_suffix(".sarif"))
        except (RefuteDPError, OSError) as error:
            self.item.user_properties.append((PROPERTY, f"  not saved: {error}"))
            return None
        if result.origin is None or result.origin.reference is None:
            return (
                f"refutedp.replay({short_path(path)!r}, mechanism)  # in Python: the function has no importable name"
            )
        return f"refutedp replay {shlex.quote(short_path(path))}"

    def _cache(self) -> Path | None:
        cache = getattr(self.item.config, "cache", None)
        return None if cache is None else Path(cache.mkdir("refutedp"))


def summary_line(nodeid: str, result: Result) -> str:
    """One line: verdict, test, and the numbers behind it."""
    verdict = {
        Verdict.VIOLATION: "VIOLATION",
        Verdict.INCONCLUSIVE: "INCONCLUSIVE",
        Verdict.NOT_FOUND: "none found",
    }[result.verdict]
    claim = result.claim
    claimed = str(claim) if claim.pure_epsilon is None else f"ε = {claim.pure_epsilon:g}"
    start = f"{verdict:<12} {nodeid}: {result.mechanism}, claimed {claimed}"
    if result.exact is not None:
        return f"{start}, real {claim.letter} ≥ {exact_bound(result.exact, claim)} by arithmetic"
    if result.evidence is None:
        return f"{start}, every run gave the same output"
    letter, bound = result.evidence.bound_letter, own_bound(claim, result.evidence)
    return f"{start}, real {letter} ≥ {bound:.3g}, p-value {p_value_text(result.evidence.log_p_value)}"


def _file_name(nodeid: str) -> str:
    """A short name that no two tests share."""
    words = re.sub(r"\W+", "-", nodeid.rpartition("::")[2]).strip("-")[:60]
    return f"{words}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def check_returned(item: pytest.Function) -> None:
    """Call a marked test for its mechanism, and check the claim in the marker."""
    __tracebackhide__ = True
    marker = item.get_closest_marker("refutedp")
    assert marker is not None
    names = item._fixtureinfo.argnames
    mechanism = item.obj(**{name: item.funcargs[name] for name in names})
    if mechanism is None:
        raise UsageError(
            f"{item.name} is marked refutedp, so it must return the mechanism to check, such as: return noisy_max"
        )
    options: dict[str, Any] = dict(marker.kwargs)
    assert_private(mechanism, *marker.args, **options)


def failure_repr(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> ReprExceptionInfo | None:
    """What stands in place of a traceback, and its first line for pytest's summary; None for what should keep one."""
    error = excinfo.value
    if not isinstance(error, (PrivacyViolation, RefuteDPError)):
        return None
    ours = {str(Path(__file__)), inspect.getfile(assert_private)}
    if not any(str(entry.path) in ours for entry in excinfo.traceback):
        return None  # an error of RefuteDP that a test met in another way: its trace is worth seeing
    frames = [entry for entry in excinfo.traceback if Path(str(entry.path)) == item.path]
    where = f"{short_path(item.path)}:{frames[-1].lineno + 1}: " if frames else f"{item.nodeid}: "
    text = f"{where}{error}" if isinstance(error, RefuteDPError) else f"{where}the claim is refuted\n\n{error}"
    # A plain string would be repeated whole in the summary wherever the variable CI is set.
    first = ReprFileLocation(str(item.path), frames[-1].lineno + 1 if frames else 1, str(error).partition("\n")[0])
    return ReprExceptionInfo(ReprTraceback([ReprEntryNative([text + "\n"])], None, "native"), first)
