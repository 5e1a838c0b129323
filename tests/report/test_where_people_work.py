"""SARIF, annotations, the action and the hook: they point to the guilty line, and validate against their schemas."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import refutedp
from refutedp import ADD_REMOVE, Pair, Verdict, check, load_mechanism
from refutedp.model.explanation import Explanation, Place
from refutedp.report.findings import finding
from refutedp.report.github import annotation
from refutedp.report.locations import main_place
from refutedp.report.sarif import sarif_log
from tests.report.schemas import sarif_validator

ROOT = Path(refutedp.__file__).parents[2]
LEAKY = '''"""A module."""


def noisy_sum(queries, epsilon, rng):
    total = sum(queries)
    return total + rng.laplace(scale=0.2 / epsilon)


def histogram(queries, epsilon, rng):
    return [q + rng.laplace(scale=1 / epsilon) for q in queries]
'''
SMALL = {"search_runs": 500, "confirm_runs": 5000, "lengths": (3,), "progress": False}
OPTIONS = "--epsilon 1 --search-runs 500 --confirm-runs 5000 --length 3"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    (root / "a folder").mkdir()
    (root / "a folder" / "leaky.py").write_text(LEAKY)
    return root


@pytest.fixture
def in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)


@pytest.fixture(scope="module")
def leak(folder):
    here = Path.cwd()
    os.chdir(folder)
    try:
        return check(load_mechanism("a folder/leaky.py:noisy_sum"), epsilon=1.0, **SMALL).explained()
    finally:
        os.chdir(here)


def test_sarif_points_to_the_guilty_line(leak, in_folder):
    (run,) = sarif_log(leak)["runs"]
    (found,) = run["results"]
    assert found["level"] == "error" and run["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"]
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20folder/leaky.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == 6 and "rng.laplace" in place["region"]["snippet"]["text"]
    assert leak.explanation.statement in found["message"]["text"]
    assert "Tested: " in found["message"]["text"]


def test_sarif_and_annotations_count_from_the_repository(leak, folder, monkeypatch):
    monkeypatch.chdir(folder / "a folder")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder))
    inner = replace(leak, explanation=replace(leak.explanation, place=Place("leaky.py", 6, "noisy_sum", "return")))
    place = sarif_log(inner)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20folder/leaky.py"
    assert annotation(inner).startswith("::error file=a folder/leaky.py,line=6,title=")
    outside = replace(inner, explanation=replace(leak.explanation, place=Place("/else where/x.py", 6, "f", "return")))
    place = sarif_log(outside)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///else%20where/x.py"}


def test_without_a_guilty_line_the_function_is_pointed_to(leak, in_folder):
    unknown = replace(leak, explanation=Explanation(None, "No line is to blame."))
    assert main_place(unknown).line == 4 and main_place(unknown).text.startswith("def noisy_sum")
    cell = replace(leak, origin=None, explanation=replace(leak.explanation, place=Place("<string>", 6, "f", "")))
    assert main_place(cell) is None
    nowhere = replace(unknown, origin=None)
    assert main_place(nowhere) is None
    assert annotation(nowhere).startswith("::error title=")
    (found,) = sarif_log(nowhere)["runs"][0]["results"]
    assert found["locations"] == [{"logicalLocations": [{"name": "noisy_sum", "kind": "function"}]}]


@pytest.mark.parametrize("case", ["leak", "none_found", "constant", "mixed", "records"])
def test_sarif_validates_against_the_official_schema(case, request, tmp_path):
    if case == "records":
        pair = Pair([("ä", 1), None], [None], "given", {"a": 1})
        leak = request.getfixturevalue("leak")
        candidate = replace(leak.evidence.candidate, pair=pair)
        result = replace(leak, adjacency=str(ADD_REMOVE), evidence=replace(leak.evidence, candidate=candidate))
    else:
        result = request.getfixturevalue(case)
    result.to_sarif(tmp_path / "log.sarif")
    log = json.loads((tmp_path / "log.sarif").read_text())
    assert len(log["runs"][0]["results"]) == (result.verdict is not Verdict.NOT_FOUND)
    validator = sarif_validator()
    assert [error.message for error in validator.iter_errors(log)] == []
    broken = json.loads(json.dumps(log).replace('"driver"', '"drivers"'))
    assert not validator.is_valid(broken)


def test_sarif_has_what_the_standard_requires(leak):
    """Without the schema at hand: sections 3.13, 3.14, 3.18, 3.27 of the standard by hand."""
    log = sarif_log(leak)
    assert log["version"] == "2.1.0" and log.keys() == {"$schema", "version", "runs"}
    (run,) = log["runs"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["tool"]["driver"]["name"] and len(ids) == len(set(ids))
    for found in run["results"]:
        assert found["message"]["text"] and ids[found["ruleIndex"]] == found["ruleId"]
        assert found["level"] in ("none", "note", "warning", "error")
        for place in [*found["locations"], *found.get("relatedLocations", [])]:
            assert place["physicalLocation"]["region"]["startLine"] >= 1
            assert " " not in place["physicalLocation"]["artifactLocation"]["uri"]


def test_annotations_are_one_line_with_github_s_escapes(leak, in_folder):
    strange = replace(leak, explanation=replace(leak.explanation, statement="100%\nsure"))
    line = annotation(strange)
    assert "\n" not in line and "100%25%0Asure." in line
    head = line.partition("::noisy_sum")[0]
    assert head == "::error file=a folder/leaky.py,line=6,title=Differential privacy violated"


def test_a_finding_is_a_few_sentences(leak):
    words = finding(leak)
    assert words.startswith("noisy_sum does not satisfy 1-differential privacy. ")
    assert "Counterexample: d1 = [" in words and len(words) < 600


def shell(step, folder, tmp_path, **inputs):
    """Run a step of the action as GitHub does."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_WORKSPACE": str(folder),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        **{name: inputs[value] for name, value in step["env"].items()},
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200)
    written = (tmp_path / "output").read_text() if (tmp_path / "output").exists() else ""
    return done, dict(line.split("=", 1) for line in written.splitlines())


def test_the_steps_of_the_action_run(folder, tmp_path):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, step = action["runs"]["steps"]
    assert install["run"] == 'python -m pip install --quiet "$HERE"'
    defaults = {f"${{{{ inputs.{name} }}}}": one.get("default") for name, one in action["inputs"].items()}
    checks = (
        f"# comment\n\n'a folder/leaky.py:noisy_sum' {OPTIONS}\n"
        f"  'a folder/leaky.py:histogram' {OPTIONS} --adjacency one-differs $(touch injected)\n"
    )
    given = {**defaults, "${{ inputs.checks }}": checks.replace(" $(touch injected)", "")}
    done, outputs = shell(step, folder, tmp_path, **given)
    assert done.returncode == 1, done.stdout + done.stderr
    assert outputs == {"reports": "refutedp-reports", "violations": "1"}
    assert done.stdout.count("::error file=a folder/leaky.py,line=6,") == 1
    written = sorted(path.name for path in (folder / "refutedp-reports").iterdir())
    assert written == [f"{number}.{kind}" for number in (1, 2) for kind in ("html", "json", "sarif")]
    assert "2 checks, 1 with a violation" in (tmp_path / "summary").read_text()
    for wrong in (checks.splitlines()[3], ""):
        done, _ = shell(step, folder, tmp_path, **{**given, "${{ inputs.checks }}": wrong})
        assert done.returncode == 2
    assert not (folder / "injected").exists()
    assert shell(step, folder, tmp_path, **{**given, "${{ inputs.fail-on }}": "never"})[0].returncode == 2


def test_the_hook_runs_and_writes_what_it_is_asked_for(folder, tmp_path):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    command = [*hook["entry"].split(), "a folder/leaky.py:noisy_sum", *OPTIONS.split(), "--quiet"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("GITHUB_WORKSPACE", None)
    done = subprocess.run(
        [*command, "--github", "--sarif", tmp_path / "log.sarif", "--json", "-"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1 and done.stderr.startswith("violation: noisy_sum")
    assert "::error file=a folder/leaky.py,line=6," in done.stderr
    assert json.loads(done.stdout)["verdict"] == "violation"
    assert json.loads((tmp_path / "log.sarif").read_text())["version"] == "2.1.0"


def test_every_input_of_the_action_is_documented():
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    page = (ROOT / "docs" / "how-to" / "ci.md").read_text()
    assert [name for name in inputs if not re.search(rf"`{name}`", page)] == []
