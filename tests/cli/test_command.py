"""The installed command: verdicts, exit codes, files, errors."""

import json
import subprocess

import pytest

import refutedp
from refutedp import load
from refutedp.cli import parse

from .conftest import COMMAND, SMALL


@pytest.fixture(scope="module")
def saved(folder):
    """One violation, saved once for the tests that only read it."""
    path = folder / "saved.json"
    command = [COMMAND, "check", "leaky.py:noisy_max", "--epsilon", "0.5", "-q", "--json", path, *SMALL]
    assert subprocess.run(command, cwd=folder).returncode == 1
    return path


def test_a_violation_exits_with_1_and_is_explained(run, folder):
    done = run("check", "leaky.py:noisy_max", "--epsilon", "0.5", *SMALL, "--json", "r.json", "--html", "r.html")
    assert done.returncode == 1
    assert done.stdout.startswith("VIOLATION: noisy_max does not satisfy 0.5-differential privacy.\n")
    assert "event: the output" in done.stdout
    assert "Wrote r.json, r.html." in done.stderr
    result = load(folder / "r.json")
    assert str(result) + "\n" == done.stdout
    assert result.origin.reference == "leaky.py:noisy_max"
    assert (folder / "r.html").read_text().startswith("<!doctype html>")


def test_none_found_exits_with_0_and_quiet_is_one_line(run):
    done = run("check", "histogram", "--epsilon", "1", "--quiet", *SMALL)
    assert done.returncode == 0
    assert done.stdout.startswith("not found: histogram, 1-differential privacy (p-value ")
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_inconclusive_exits_with_3(run):
    # A significance out of reach of the runs leaves only the hint, where paths are not enumerated.
    done = run("check", "toss.py:toss", "--epsilon", "0.5", "-q", "--significance", "1e-9", "--paths", "0", *SMALL)
    assert done.returncode == 3
    assert done.stdout.startswith("inconclusive: toss")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("constant", "the output = 3"),
        ("nearly_constant", "the output = False"),
        ("spent", "the mechanism raises LookupError"),
    ],
)
def test_a_check_that_tested_nothing_is_not_green_and_says_why(run_here, name, says):
    done = run_here("check", f"vacuous.py:{name}", "--epsilon", "1", *SMALL)
    assert done.returncode == 3
    assert "nothing was tested" in done.stdout.splitlines()[0]
    assert says in done.stdout.splitlines()[0]


def test_json_on_standard_output_is_json_alone(run):
    done = run("check", "talkative.py:chatty", "--epsilon", "0.5", "--json", "-", *SMALL)
    assert json.loads(done.stdout)["verdict"] == "violation"
    assert "hello from the module" in done.stderr
    assert "VIOLATION" in done.stderr


def test_a_built_in_has_its_own_adjacency_and_arguments(run_here):
    done = run_here("check", "histogram", "--epsilon", "1", "--adjacency", "all-differ", "-q", *SMALL)
    assert done.returncode == 1, "under all-differ adjacency a histogram leaks"
    done = run_here("check", "isvt1", "--epsilon", "1", "--arg", "threshold=1", "--pair", "[0,2]|[1,1]", *SMALL)
    assert done.returncode == 1
    assert "threshold = 1" in done.stdout
    assert "d1 = [0, 2]" in done.stdout or "d1 = [1, 1]" in done.stdout


def test_a_file_in_a_package_and_a_file_named_like_a_module(run):
    for reference in ("pkg/release.py:total", "pkg.release:total", "clash/random.py:f"):
        done = run("check", reference, "--epsilon", "0.5", "-q", *SMALL)
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("violation: ")


def test_jobs_give_the_same_result(run):
    one, two = (
        run("check", "toss.py:toss", "--epsilon", "0.5", "--jobs", jobs, "--json", "-", *SMALL) for jobs in ("1", "2")
    )
    one, two = json.loads(one.stdout), json.loads(two.stdout)
    one["settings"].pop("jobs"), two["settings"].pop("jobs")
    assert one == two


def test_replay_and_report(run, folder, saved):
    done = run("replay", saved, "--quiet")
    assert done.returncode == 1
    assert done.stdout.startswith("violation: noisy_max")
    done = run("replay", saved, "-q", "--mechanism", "noisy_max_laplace", "--confirm-runs", "2000", "--seed", "5")
    assert done.returncode == 0, done.stderr
    done = run("report", saved)
    assert done.returncode == 0
    assert done.stdout == str(load(saved)) + "\n"
    assert (folder / "saved.html").is_file()
    done = run("report", saved, "-q", "--plot", "figure.pdf", "--pytest", "test_leak.py")
    assert done.returncode == 0 and done.stdout == ""
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")
    assert "def test_noisy_max_does_not_leak" in (folder / "test_leak.py").read_text()


def test_sweep(run_here, folder):
    done = run_here(
        *("sweep", "leaky.py:noisy_max", "--claimed", "0.5,1", "--test", "0.5:2:0.5", *SMALL),
        *("--json", "sweep.json", "--plot", "sweep.svg"),
    )
    assert done.returncode == 0, done.stderr
    assert "claimed 0.5" in done.stdout
    assert [point.test for point in load(folder / "sweep.json").curve(1.0)] == [0.5, 1.0, 1.5, 2.0]
    assert b"<svg" in (folder / "sweep.svg").read_bytes()
    done = run_here("report", "sweep.json", "--html", "sweep.html")
    assert done.returncode == 2 and "holds a sweep" in done.stderr


def test_mechanisms_are_listed_with_claim_and_truth(run_here):
    done = run_here("mechanisms")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 12
    assert any(line.split()[0] == "isvt1" and line.endswith("infinite") for line in done.stdout.splitlines())


def test_version_and_help(run_here):
    assert run_here("--version").stdout == f"refutedp {refutedp.__version__}\n"
    for command in ((), ("check",), ("sweep",), ("replay",), ("report",), ("mechanisms",)):
        done = run_here(*command, "--help")
        assert done.returncode == 0
        assert "Examples:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["leaky.py:noisy_mx"], "error: leaky.py has no 'noisy_mx': did you mean 'noisy_max'?"),
        (["leaky.py:NUMBER"], "error: leaky.py:NUMBER is a int, not a function: it defines noisy_max"),
        (["leaky.py"], "error: leaky.py names a file but no function: write leaky.py:function"),
        (["nothing.py:f"], "error: nothing.py does not exist"),
        (["no.such.module:f"], "error: there is no module 'no.such.module'"),
        (["half.release:f"], "half.release cannot be imported: ModuleNotFoundError: No module named 'a_module_that"),
        (["isvt9"], "did you mean the built-in 'isvt4'"),
        (["missing_import.py:f"], "No module named 'a_module_that_is_not_there' (missing_import.py, line 1)"),
        (["syntax.py:f"], "error: syntax.py cannot be imported: SyntaxError: invalid syntax (syntax.py, line 1)"),
        (["exits.py:f"], "error: exits.py cannot be imported: SystemExit: 3 (exits.py, line 2)"),
        (["late.py:f"], "error: late.py cannot be imported: ZeroDivisionError: division by zero (late.py, line 2)"),
        (["raises.py:f"], "f() raised ValueError: no data today"),
        (["leaky.py:noisy_max", "--unknown"], "No such option: --unknown"),
        (["leaky.py:noisy_max", "--seed", "x"], "Invalid value for '--seed'"),
        (["leaky.py:noisy_max", "--seed", "-1"], "error: seed=-1 must be at least 0"),
        (["leaky.py:noisy_max", "--significance", "2"], "error: significance=2.0 must lie strictly between 0 and 1"),
        (["leaky.py:noisy_max", "--arg", "threshold"], "error: --arg 'threshold' must be name=value"),
        (["leaky.py:noisy_max", "--arg", "bound=1"], "error: args has 'bound', which noisy_max() does not take"),
        (["leaky.py:noisy_max", "--pair", "1 2"], "error: --pair '1 2' must be two inputs"),
        (["leaky.py:noisy_max", "--pair", "[1]|[9]"], "error: pairs[0] is not adjacent: at position 0"),
        (["leaky.py:noisy_max", "--record", "1"], "error: --record goes with --adjacency add-remove or replace"),
        (["leaky.py:noisy_max", "--json", "no/r.json"], "error: no/r.json cannot be written: the folder 'no' does"),
        (["leaky.py:noisy_max", "--html", "."], "error: . cannot be written: it is a folder"),
        (["leaky.py:noisy_max", "--plot", "p.gif"], "error: --plot p.gif must end in .svg, .png or .pdf"),
    ],
)  # fmt: skip
def test_bad_use_exits_with_2_and_one_sentence(run_here, arguments, sentence):
    done = run_here("check", *arguments, "--epsilon", "0.5", *SMALL)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    if done.stderr.startswith("error: "):
        assert len(done.stderr.splitlines()) == 1


def test_verbose_shows_the_trace_behind_an_error(run):
    done = run("check", "late.py:f", "--epsilon", "1", "--verbose", traceback=True)
    assert done.returncode == 2
    assert "return 1 / 0" in done.stderr


def test_the_installed_command_refuses_in_the_same_words(run):
    for target, sentence in (("late.py:f", "error: late.py cannot be imported"), ("raises.py:f", "no data today")):
        done = run("check", target, "--epsilon", "0.5", *SMALL)
        assert done.returncode == 2
        assert sentence in done.stderr and len(done.stderr.splitlines()) == 1


def test_files_that_cannot_be_replayed(run_here, folder):
    (folder / "broken.json").write_text('{"format": 1')
    (folder / "newer.json").write_text('{"format": 99, "kind": "result"}')
    for name, sentence in (
        ("broken.json", "error: broken.json is not a saved RefuteDP result"),
        ("newer.json", "error: newer.json was written by a newer RefuteDP"),
        ("none.json", "error: none.json cannot be read: No such file"),
    ):
        for command in ("replay", "report"):
            done = run_here(command, name)
            assert done.returncode == 2
            assert done.stderr.startswith(sentence)


def test_python_dash_m_is_the_command(folder):
    import sys

    done = subprocess.run([sys.executable, "-m", "refutedp", "--version"], capture_output=True, text=True, cwd=folder)
    assert done.stdout.startswith("refutedp ")


@pytest.mark.parametrize(
    "claim",
    [
        refutedp.PureDP(0.5),
        refutedp.ApproxDP(1.0, 1e-5),
        refutedp.ZCDP(0.1),
        refutedp.GaussianDP(1.5),
        refutedp.RenyiDP(2.0, 0.5),
    ],
    ids=lambda claim: type(claim).__name__,
)
def test_a_claim_is_stated_as_it_is_read(claim):
    words = claim.on_command_line()
    given = {option.removeprefix("--"): text for option, text in zip(words[::2], words[1::2], strict=True)}
    numbers = {name: text if name == "renyi" else float(text) for name, text in given.items()}
    assert parse.claim(**(dict.fromkeys(("epsilon", "delta", "rho", "mu", "renyi")) | numbers)) == claim
