"""Ctrl-C and closed pipes: at once, quietly, with nothing left running."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

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
