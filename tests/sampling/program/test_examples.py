"""The clients in examples/protocol: each is built, keeps the protocol, and its bug is found."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from refutedp import ONE_DIFFERS, Command, Verdict, check
from refutedp.sampling.program.conformance import Status, conformance

FOLDER = Path(__file__).parents[3] / "examples" / "protocol"
# Name: the tool it needs, how to build it into {out}, and how to run it.
CLIENTS = {
    "c": ("cc", ["cc", "-O1", "-o", "{out}/laplace_c", "{src}/laplace.c", "-lm"], ["{out}/laplace_c"]),
    "rust": ("rustc", ["rustc", "-o", "{out}/laplace_rust", "{src}/laplace.rs"], ["{out}/laplace_rust"]),
    "java": (
        "javac",
        ["javac", "-d", "{out}", "{src}/Laplace.java"],
        ["java", "-XX:TieredStopAtLevel=1", "-cp", "{out}", "Laplace"],
    ),
    # Nothing to build, but the package must be there.
    "r": ("Rscript", ["Rscript", "-e", "library(jsonlite)"], ["Rscript", "{src}/laplace.R"]),
    "javascript": ("node", [], ["node", "{src}/laplace.js"]),
    "python": (None, [], [sys.executable, "{src}/laplace.py"]),
}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module", params=list(CLIENTS))
def client(request, out):
    tool, build, run = CLIENTS[request.param]
    if tool is not None and shutil.which(tool) is None:
        pytest.skip(f"the {request.param} client needs {tool}, which this machine has not")
    fill = {"out": str(out), "src": str(FOLDER)}
    if build:
        done = subprocess.run([word.format(**fill) for word in build], capture_output=True, text=True, cwd=out)
        if done.returncode and "rustup" in done.stderr:
            pytest.skip("rustc is a rustup shim without a toolchain")
        if done.returncode and "jsonlite" in done.stderr:
            pytest.skip("the r client needs the R package jsonlite, which this machine has not")
        assert done.returncode == 0, done.stderr
    return [word.format(**fill) for word in run]


def test_the_client_keeps_the_protocol(client):
    program = Command(client)
    report = conformance(program.spec, [1, float("nan"), float("-inf"), 2**60], {"epsilon": 0.5, "unknown": [1]})
    assert [(point.name, point.detail) for point in report.points if point.status is not Status.PASSED] == []
    assert report.runs_per_second > 0


def test_its_claim_stands_and_its_bug_is_found(client):
    options = {"epsilon": 1.0, "adjacency": ONE_DIFFERS, "lengths": (1,), "search_runs": 3000, "confirm_runs": 8000}
    assert check(Command(client), **options).verdict is not Verdict.VIOLATION
    found = check(Command([*client, "--bug"]), **options)
    assert found.verdict is Verdict.VIOLATION
    assert 1.0 < found.counterexample.epsilon_lower_bound < 2.0
