"""Ctrl-C and closed pipes: at once, quietly, with nothing left running."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from refutedp import Verdict, load

from .conftest import COMMAND, SMALL


def alive(session):
    """Processes of a session that still run (those that wait for a parent's notice do not)."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for left-over processes in /proc")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_at_once_with_what_is_known(start, jobs):
    process = start("check", "slow.py:slow", "--epsilon", "0.5", "--jobs", jobs, "--verbose", "--search-runs", "1000")
    assert process.stderr.readline() == "24 pairs of the usual patterns\n"
    first = process.stderr.readline()  # the first line of progress: the check is under way
    assert "%" in first
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Interrupted in " in err
    assert "Traceback" not in err and "Warning" not in err
    assert out == ""
    deadline = time.monotonic() + 5
    while alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(process.pid) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for left-over processes in /proc")
def test_a_terminal_shows_how_far_it_is_and_ctrl_c_saves_that(start, folder):
    """Its only pair is one long task: what is seen of it is no report of a task that ended."""
    ours, theirs = os.openpty()
    fixed = ("--stop", "fixed", "--search-runs", "100000", "--time-limit", "inf", "--pair", "[1]|[2]")
    process = start("check", "opaque.py:opaque", "--epsilon", "0.5", "--json", "out.json", *fixed, stderr=theirs)
    os.close(theirs)
    seen = ""
    while not re.search(r"[1-9]\d* (calls|of [0-9,]+), .*runs/s", seen):
        seen += os.read(ours, 4096).decode(errors="replace")
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # how a terminal says that nobody writes any more
        while more := os.read(ours, 4096):
            seen += more.decode(errors="replace")
    assert process.wait(timeout=30) == 130
    os.close(ours)
    assert "Interrupted" in seen and "Traceback" not in seen
    saved = load(folder / "out.json")
    assert saved.verdict is Verdict.INCONCLUSIVE and saved.interrupted and saved.effort.runs > 0
    assert "interrupted before its verdict" in str(saved) and "Interrupted in the stage" in saved.notes[-1]
    assert alive(process.pid) == []


@pytest.mark.parametrize(
    "arguments", [("mechanisms",), ("check", "--help"), ("check", "leaky.py:noisy_max", "--epsilon", "0.5", *SMALL)]
)
def test_a_closed_pipe_is_silent(folder, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, cwd=folder, timeout=120
        )
    finally:
        os.close(writing)
    assert done.stderr == ""
    if arguments[0] == "check" and len(arguments) > 2:
        assert done.returncode == 1, "the verdict outlives its reader"
