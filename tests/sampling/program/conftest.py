"""What the tests of programs share: a token that marks them, and a look at what still runs."""

import os
import sys
import time
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

BAD_PROGRAM = Path(__file__).parent / "bad_program.py"


def running(token):
    """The numbers of the processes, zombies aside, with the token among their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in words:
            found.append(int(folder.name))
    return found


def none_left(token, within=5.0):
    """Whether the last of them goes within some seconds: the system needs a moment to bury a killed process."""
    deadline = time.monotonic() + within
    while running(token):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def token():
    """A word that no other process has among its arguments."""
    return f"refutedp-test-{uuid.uuid4().hex}"


@pytest.fixture
def processes():
    """The processes that carry a token."""
    return SimpleNamespace(running=running, none_left=none_left)


@pytest.fixture
def bad(token):
    """The words that start a program that breaks the protocol in the given mode."""
    return lambda mode: [sys.executable, str(BAD_PROGRAM), mode, token]
