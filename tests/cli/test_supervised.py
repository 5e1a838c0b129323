"""Native code that holds the interpreter ends with its process, which another one supervises."""

import importlib
import signal
import time
from pathlib import Path

import pytest

from refutedp.cli.supervised import _Once

from .test_interrupts import alive

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for left-over processes in /proc")
HANGS = """
    import ctypes
    import itertools

    def hangs(queries, epsilon, rng):
        if rng.random() < 0.1:
            print("now", flush=True)
            ctypes.PyDLL(None).sleep(10**6)
        return queries[0] + rng.laplace(scale=1 / epsilon)

    def spins(queries, epsilon, rng):
        print("now", flush=True)
        return sum(itertools.repeat(1))

    def crashes(queries, epsilon, rng):
        return ctypes.string_at(0)

    def leaks(queries, epsilon, rng):
        ctypes.PyDLL(None).usleep(10)
        return queries[0] + float(str(rng.laplace(scale=0.1 / epsilon)))
"""


@pytest.fixture(scope="module", autouse=True)
def native(folder):
    from textwrap import dedent

    (folder / "native.py").write_text(dedent(HANGS))


def ended(process):
    """Its streams, once it and all that it started have ended."""
    out, err = process.communicate(timeout=60)
    deadline = time.monotonic() + 5
    while alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(process.pid) == []
    assert "Traceback" not in err and "\x1b" not in err
    return out, err


def test_a_call_that_holds_the_interpreter_is_a_sentence_with_its_inputs_and_line(start):
    process = start("check", "native.py:hangs", "--epsilon", "0.5", "--call-limit", "0.2", "--pair", "[1]|[2]")
    _, err = ended(process)
    assert process.returncode == 2
    assert "error: hangs() on [1] and [2] did not return, and only the end of its process could stop it" in err
    assert 'native.py", line 8 in hangs)' in err and "--call-limit 300" in err


def test_ctrl_c_ends_it_too(start):
    process = start("check", "native.py:spins", "--epsilon", "0.5", "--pair", "[1]|[2]")
    assert process.stdout.readline() == "now\n"
    process.send_signal(signal.SIGINT)
    _, err = ended(process)
    assert process.returncode == 130
    assert "Interrupted in spins() on [1] and [2]" in err and "line 13 in spins)" in err


def test_a_crash_is_a_sentence(start):
    process = start("check", "native.py:crashes", "--epsilon", "0.5", "--pair", "[1]|[2]")
    _, err = ended(process)
    assert process.returncode == 2
    assert "error: the process that ran crashes() on [1] and [2] died of SIGSEGV" in err


def test_it_ends_with_the_signal_that_ended_the_command(start):
    process = start("check", "native.py:hangs", "--epsilon", "0.5", "--pair", "[1]|[2]")
    assert process.stdout.readline() == "now\n"
    process.send_signal(signal.SIGTERM)
    _, err = ended(process)
    assert process.returncode == -signal.SIGTERM and err == ""


def test_native_code_that_returns_is_left_alone(run):
    done = run("check", "native.py:leaks", "--epsilon", "0.5", "--pair", "[1]|[2]", "--call-limit", "1")
    assert done.returncode == 1 and done.stderr == ""


def test_an_interrupt_that_comes_while_a_module_is_imported_comes_again(tmp_path, monkeypatch):
    """An extension module swallows exceptions that are raised while it is made; this one does so in Python."""
    (tmp_path / "swallows.py").write_text(
        "import os, signal\ntry:\n    os.kill(os.getpid(), signal.SIGINT)\n    sum(range(10**5))\n"
        "except KeyboardInterrupt:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def go_on():
        importlib.import_module("swallows")
        time.sleep(5)

    before = signal.signal(signal.SIGINT, _Once())
    try:
        with pytest.raises(KeyboardInterrupt):
            go_on()
    finally:
        signal.signal(signal.SIGINT, before)
