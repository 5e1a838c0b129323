"""Replay, recheck and the written test: the same counterexample on fresh runs."""

import subprocess
import sys
from dataclasses import replace

import pytest

from refutedp import MechanismError, PureDP, UsageError, Verdict, check, load, load_mechanism, recheck, replay

LEAKY = """\
def release(queries, epsilon, rng):
    noisy = [q + rng.laplace(scale=0.2 / epsilon) for q in queries]
    return max(noisy)
"""
FIXED = LEAKY.replace("return max(noisy)", "return noisy.index(max(noisy))").replace("0.2 /", "2 /")
SMALL = {"search_runs": 1000, "confirm_runs": 10_000, "lengths": (5,)}


@pytest.fixture
def leaky(tmp_path, monkeypatch):
    """A file with a leak, and what was found in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "leaky_release.py").write_text(LEAKY)
    sys.modules.pop("leaky_release", None)
    result = check(load_mechanism("leaky_release.py:release"), epsilon=0.5, **SMALL)
    assert result.verdict is Verdict.VIOLATION
    assert result.origin.reference == "leaky_release.py:release"
    yield result
    sys.modules.pop("leaky_release", None)


def test_a_replay_uses_fresh_runs_and_repeats(leaky, tmp_path):
    leaky.save("result.json")
    again = replay("result.json")
    assert again.verdict is Verdict.VIOLATION
    assert again.evidence.counts != leaky.evidence.counts
    assert again.evidence.event == leaky.evidence.event and again.evidence.pair == leaky.evidence.pair
    assert again == replay("result.json")
    assert replay("result.json", seed=0).evidence.counts == leaky.evidence.counts
    assert "Replayed on 20,000 fresh runs, seed 1" in str(again)


def test_a_replay_finds_the_file_beside_the_result(leaky, tmp_path, monkeypatch):
    leaky.save("result.json")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert replay("../result.json").verdict is Verdict.VIOLATION


def test_a_changed_source_is_noted(leaky):
    leaky.save("result.json")
    with open("leaky_release.py", "w") as file:
        file.write(FIXED)
    sys.modules.pop("leaky_release", None)
    again = replay("result.json")
    assert again.verdict is Verdict.NOT_FOUND
    assert "The mechanism's source has changed since the result was saved." in again.notes


def test_a_replay_of_nothing_gets_a_sentence(constant, curves, tmp_path, violation):
    with pytest.raises(UsageError, match="there is no event to replay"):
        replay(constant)
    curves.save(tmp_path / "sweep.json")
    with pytest.raises(UsageError, match="holds a sweep"):
        replay(tmp_path / "sweep.json")
    with pytest.raises(UsageError, match="does not say where to import"):
        replay(replace(violation, origin=None))
    with pytest.raises(UsageError, match="did you mean 'confirm_runs'"):
        replay(violation, confirm_run=3)


def test_a_mechanism_that_only_fails_is_not_fixed(violation):
    def gone(queries, epsilon, rng):
        raise ValueError("gone")

    with pytest.raises(MechanismError, match="failed on every trial run"):
        replay(violation, gone)


def test_recheck_gives_the_claim_to_the_mechanism(violation):
    event = {"event": "interval", "of": {"feature": "value", "path": []}, "low": 1.0, "high": None}
    result = recheck(lambda data, eps, rng: eps, epsilon=2.0, d1=[0], d2=[1], event=event, confirm_runs=100)
    assert result.claim == PureDP(2.0)
    assert result.evidence.counts.x == result.evidence.counts.n_x


def test_the_written_test_fails_now_and_passes_once_mended(leaky, tmp_path):
    (tmp_path / "tests").mkdir()
    path = tmp_path / "tests" / "test_leak.py"
    leaky.to_pytest(path)

    def run():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path / "tests")

    failing = run()
    assert failing.returncode == 1
    assert "VIOLATION: release does not satisfy 0.5-differential privacy" in failing.stdout
    (tmp_path / "leaky_release.py").write_text(FIXED)
    passing = run()
    assert passing.returncode == 0, passing.stdout


def test_the_written_test_imports_a_module_by_name(violation, tmp_path):
    violation.to_pytest(tmp_path / "test_leak.py")
    source = (tmp_path / "test_leak.py").read_text()
    assert "from refutedp.mechanisms.noisy_max import noisy_max_laplace_value\n" in source
    compile(source, "test_leak.py", "exec")


def test_the_written_test_starts_a_program_as_typed(violation, tmp_path):
    program = replace(violation, origin=replace(violation.origin, reference="command:./release --fast"))
    program.to_pytest(tmp_path / "test_leak.py")
    source = (tmp_path / "test_leak.py").read_text()
    assert "mechanism = load_mechanism('command:./release --fast')" in source
    compile(source, "test_leak.py", "exec")


def test_no_test_is_written_without_a_counterexample_or_an_import(none_found, violation, tmp_path):
    with pytest.raises(UsageError, match="there is no counterexample"):
        none_found.to_pytest(tmp_path / "test_leak.py")
    with pytest.raises(UsageError, match="cannot be imported again"):
        replace(violation, origin=replace(violation.origin, reference=None)).to_pytest(tmp_path / "test_leak.py")
    assert list(tmp_path.iterdir()) == []


def test_the_snippet_of_a_report_runs(leaky, tmp_path):
    from refutedp.report.python_code import snippet

    done = subprocess.run([sys.executable, "-c", snippet(leaky)], capture_output=True, text=True, cwd=tmp_path)
    assert "VIOLATION: release" in done.stdout, done.stderr


def test_a_loaded_result_keeps_its_references(leaky):
    leaky.save("result.json")
    assert load("result.json").origin == leaky.origin
