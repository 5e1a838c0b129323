"""The pytest entry point. It stands outside the package so that a run without RefuteDP tests does not import it.

Everything that costs something is in `refutedp.pytest_plugin`, imported when a test first needs it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any

import pytest

RUNNING: ContextVar[pytest.Item | None] = ContextVar("refutedp_running", default=None)
"""The test that is running, for `assert_private` to find its options and leave its result."""
PROPERTY = "refutedp"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the plugin."""
    group = parser.getgroup("refutedp", "differential privacy (RefuteDP)")
    group.addoption(
        "--refutedp-runs",
        type=_setting("confirm_runs"),
        metavar="N",
        help="fresh runs per side in every privacy check, and a fifth of that for the search; decides over the tests",
    )
    group.addoption(
        "--refutedp-seed",
        type=_setting("seed"),
        metavar="N",
        help="seed of every privacy check; decides over the tests",
    )
    group.addoption(
        "--refutedp-report",
        metavar="DIR",
        help="write JSON, HTML and SARIF of every privacy check into DIR",
    )


def _setting(name: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        from refutedp.model.settings import checked

        try:
            return checked(name, int(text) if text.isdecimal() else text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "refutedp(epsilon=..., **options): the test returns a mechanism, and passes unless its claim is refuted",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """A marked test hands over a mechanism instead of testing something itself."""
    __tracebackhide__ = True
    if pyfuncitem.get_closest_marker("refutedp") is None:
        return None
    from refutedp.pytest_plugin import check_returned

    check_returned(pyfuncitem)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Remember which test runs."""
    token = RUNNING.set(item)
    try:
        return (yield)
    finally:
        RUNNING.reset(token)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """A refuted claim is shown as the counterexample, not as a stack of internals."""
    report = yield
    if call.excinfo is not None and type(call.excinfo.value).__module__.startswith("refutedp."):
        from refutedp.pytest_plugin import failure_repr

        text = failure_repr(item, call.excinfo)
        if text is not None:
            report.longrepr = text
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line for every privacy check, from this process or from xdist's workers."""
    lines = [
        line
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, line in getattr(report, "user_properties", ())
        if name == PROPERTY
    ]
    if not lines:
        return
    terminalreporter.section("differential privacy (RefuteDP)")
    for line in lines:
        terminalreporter.write_line(str(line))
    if not config.getoption("--refutedp-report"):
        terminalreporter.write_line("No violation found is no proof of privacy. Reports: --refutedp-report DIR.")
