"""The pytest plugin, driven by pytest's own `pytester`, with and without xdist."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

pytest_plugins = "pytester"

SUITE = """
    import pytest
    from refutedp import ONE_DIFFERS, assert_private
    from refutedp.mechanisms import histogram
    from leaky import noisy_max

    BUDGET = {"search_runs": 500, "confirm_runs": 5000, "lengths": (3,)}

    def test_leak():
        assert_private(noisy_max, epsilon=0.5, **BUDGET)

    @pytest.fixture
    def sound():
        return histogram

    @pytest.mark.refutedp(epsilon=0.5, adjacency=ONE_DIFFERS, **BUDGET)
    def test_factory(sound):
        return sound

    @pytest.mark.refutedp(epsilon=0.5, **BUDGET)
    @pytest.mark.parametrize("number", [1])
    def test_leaking_factory(number):
        return noisy_max

    def test_other():
        pass
"""
LEAKY = """
    def noisy_max(queries, epsilon, rng):
        noisy = [q + rng.laplace(scale=0.2 / epsilon) for q in queries]
        return max(noisy)
"""


@pytest.fixture
def suite(pytester):
    pytester.makepyfile(leaky=LEAKY, test_suite=SUITE)
    return pytester


def run(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:randomly", *arguments)


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_failures_show_the_counterexample_and_the_summary_lists_all(suite, workers):
    result = run(suite, *workers)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "test_suite.py:9: the claim is refuted",
            "VIOLATION: noisy_max does not satisfy 0.5-differential privacy.",
            "Replay: refutedp replay .pytest_cache/d/refutedp/test_leak-*.json",
        ]
    )
    text = result.stdout.str()
    assert "differential privacy (RefuteDP)" in text
    summary = text.partition("differential privacy (RefuteDP)")[2]
    assert len(re.findall(r"^VIOLATION ", summary, re.M)) == 2
    assert len(re.findall(r"^none found ", summary, re.M)) == 1
    assert "site-packages" not in text and "src/refutedp" not in text and "raise PrivacyViolation" not in text


def test_the_replay_command_works(suite):
    text = run(suite, "-k", "test_leak and not factory").stdout.str()
    (command,) = re.findall(r"Replay: refutedp (replay \S+)", text)
    done = subprocess.run([sys.executable, "-m", "refutedp", *command.split()], capture_output=True, text=True)
    assert done.returncode == 1
    assert "VIOLATION: noisy_max" in done.stdout


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["here", "xdist"])
def test_a_build_server_reads_the_counterexample_once(suite, monkeypatch, workers):
    monkeypatch.setenv("CI", "true")  # pytest then prints whole messages in its summary
    text = run(suite, "-k", "test_leak and not factory", *workers).stdout.str()
    assert text.count("on d1 it happened in") == 1
    (line,) = re.findall(r"^FAILED .*", text, re.M)
    assert line.endswith("VIOLATION: noisy_max does not satisfy 0.5-differential privacy.")


def test_reports_are_written_where_asked(suite):
    run(suite, "-n", "2", "--refutedp-report", "reports")
    names = sorted(path.suffix for path in (suite.path / "reports").iterdir())
    assert names == [".html"] * 3 + [".json"] * 3 + [".sarif"] * 3


def test_junit_has_the_counterexample_and_its_first_line_as_the_message(suite):
    run(suite, "-k", "test_leak and not factory", "--junitxml", "report.xml")
    (case,) = ElementTree.parse(suite.path / "report.xml").iter("testcase")
    (failure,) = case.iter("failure")
    assert failure.get("message") == "VIOLATION: noisy_max does not satisfy 0.5-differential privacy."
    assert "leaky.py, line 2, in noisy_max" in failure.text and "Tested: " in failure.text
    assert "Traceback" not in failure.text


def test_options_decide_over_the_tests_and_runs_repeat(suite):
    first = run(suite, "--refutedp-runs", "2000", "--refutedp-seed", "3", "-k", "test_leak and not factory")
    again = run(suite, "--refutedp-runs", "2000", "--refutedp-seed", "3", "-k", "test_leak and not factory")
    counts = [re.findall(r"on d\d it happened in .*", r.stdout.str()) for r in (first, again)]
    assert counts[0] == counts[1] and len(counts[0]) == 2
    first.stdout.fnmatch_lines(["*confirmed on 4,000 fresh runs, seed 3;*"])


def test_bad_options_get_a_sentence(suite):
    result = run(suite, "--refutedp-runs", "many")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'many' must be a whole number of at least 1*"])


def test_misuse_gets_a_sentence(pytester):
    pytester.makepyfile(
        """
        import pytest
        from refutedp import assert_private

        @pytest.mark.refutedp(epsilon=1.0)
        def test_forgot_to_return():
            pass

        @pytest.mark.refutedp(epsilon=-1.0)
        def test_bad_epsilon():
            return lambda data, rng: 0

        @pytest.mark.refutedp(epsilon=1.0, search_runs=100, confirm_runs=100)
        def test_failing_mechanism():
            def gone(data, rng):
                raise OSError("gone")
            return gone
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "*test_forgot_to_return is marked refutedp, so it must return the mechanism to check*",
            "*epsilon=-1.0 must be positive",
            "*gone() failed on every trial run*",
        ]
    )


def test_a_function_without_a_name_says_how_to_replay_it(pytester):
    pytester.makepyfile(
        """
        from refutedp import assert_private

        def test_inner():
            def inner(data, rng):
                return data[0] + rng.laplace(scale=0.1)
            assert_private(inner, epsilon=0.5, search_runs=500, confirm_runs=2000, lengths=(1,))
        """
    )
    result = run(pytester)
    result.stdout.fnmatch_lines(["Replay: refutedp.replay('.pytest_cache/d/refutedp/test_inner-*.json', mechanism)*"])


def test_nothing_is_imported_unless_used(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_plain():
            assert "refutedp" not in sys.modules and "numpy" not in sys.modules
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    assert "RefuteDP" not in result.stdout.str()


def test_outside_pytest_the_message_holds_the_command():
    code = (
        "from refutedp import assert_private; from refutedp.mechanisms import isvt1\n"
        "try: assert_private(isvt1, epsilon=1.0, args={'threshold': 1}, search_runs=500, confirm_runs=2000)\n"
        "except AssertionError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("VIOLATION: isvt1")
    assert "Replay: refutedp check refutedp.mechanisms.sparse_vector:isvt1 --epsilon 1 --pair " in done.stdout
