"""The same check gives the same saved result: from a file or installed, after others, under load, on any cores."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import sysconfig
import time
import uuid
from pathlib import Path

import pytest

from refutedp import check, load_mechanism

SOURCE = """
def decide(value, threshold):
    return value >= threshold


def sparse(queries, epsilon, threshold, bound: int, rng):
    out, count = [], 0
    noisy = threshold + rng.laplace(scale=4 / epsilon)
    for query in queries:
        if decide(query + rng.laplace(scale=4 / (3 * epsilon)), noisy):
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out
"""
OTHER = """
import refutedp, refutedp.mechanisms
refutedp.check(refutedp.mechanisms.isvt4, epsilon=1.0, lengths=5, search_runs=500, confirm_runs=1000)
refutedp.check(lambda queries, epsilon, rng: sum(queries) + rng.normal(), epsilon=0.3, lengths=2, search_runs=500)
"""
CHECK = """
import refutedp
function = refutedp.load_mechanism({reference!r})
refutedp.check(function, epsilon=0.7, lengths=5, search_runs=5_000, confirm_runs=20_000, jobs={jobs}).save({path!r})
"""
BUSY = [sys.executable, "-c", "while True: pass"]


def saved(folder: Path, reference: str, *, jobs: int = 1, before: str = "", hash_seed: str = "0") -> dict:
    path = folder / f"{uuid.uuid4().hex}.json"
    code = before + CHECK.format(reference=reference, jobs=jobs, path=str(path))
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)
    result = json.loads(path.read_text(), object_hook=lambda one: {k: v for k, v in one.items() if k != "file"})
    # Where it came from, and on how many cores it ran, are said and may differ.
    del result["origin"]["reference"], result["settings"]["jobs"]
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    (folder / "mechanism.py").write_text(SOURCE)
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    return saved(folder, "mechanism.py:sparse")


@pytest.fixture(scope="module")
def installed():
    """A reference to the same mechanism in an installed package."""
    package = Path(sysconfig.get_path("purelib")) / f"installed_{uuid.uuid4().hex}"
    package.mkdir()
    try:
        (package / "__init__.py").write_text("")
        (package / "mechanism.py").write_text(SOURCE)
        yield f"{package.name}.mechanism:sparse"
    finally:
        for file in sorted(package.rglob("*"), reverse=True):
            file.unlink() if file.is_file() else file.rmdir()
        package.rmdir()


def test_installed_code_is_treated_like_a_file(folder, expected, installed):
    assert saved(folder, installed) == expected


def test_what_was_checked_before_does_not_matter(folder, expected):
    assert saved(folder, "mechanism.py:sparse", before=OTHER) == expected


def test_the_same_code_checked_before_from_elsewhere_does_not_matter(folder, expected, installed):
    # Code objects of both places are equal, so a cache that is asked about one may answer for the other.
    before = CHECK.format(reference=installed, jobs=1, path=str(folder / "before.json"))
    assert saved(folder, "mechanism.py:sparse", before=before) == expected


def test_two_cores_and_the_order_of_sets_do_not_matter(folder, expected):
    assert saved(folder, "mechanism.py:sparse", jobs=2, hash_seed="1") == expected


def test_load_does_not_matter(folder, expected):
    busy = [subprocess.Popen(BUSY) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        assert saved(folder, "mechanism.py:sparse") == expected
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_clock_that_races_does_not_matter(folder, monkeypatch):
    """On a busy machine more seconds pass between two steps; no limit of the search for arguments is in seconds."""
    function = load_mechanism(f"{folder / 'mechanism.py'}:sparse")
    budgets = {"epsilon": 0.7, "lengths": 5, "search_runs": 1_000, "confirm_runs": 2_000}
    result = check(function, **budgets)
    seconds = itertools.count(time.monotonic(), 0.1)
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    assert check(function, **budgets) == result


def test_arguments_were_found_and_the_event_is_not_trivial(expected):
    pair = expected["evidence"]["candidate"]["pair"]
    assert {"threshold", "bound"} <= pair["arguments"].keys()
    assert expected["verdict"] == "violation"
