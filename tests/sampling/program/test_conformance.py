"""`refutedp protocol check`: what it finds in good, odd and bad programs."""

import subprocess
import sys
from pathlib import Path

import pytest

from refutedp import Command
from refutedp.sampling.program.conformance import Status, conformance

LAPLACE = Path(__file__).parents[3] / "examples" / "protocol" / "laplace.py"
SEEDLESS = """
import json, random, sys, time
for line in sys.stdin:
    request = json.loads(line)
    outputs = [random.random() for _ in range(request["count"])]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
time.sleep(60)
"""
ONE_SEED = """
import json, random, sys
for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(0)
    outputs = [rng.random() for _ in range(request["count"])]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
"""


def statuses(words, timeout=20.0):
    report = conformance(Command(words, timeout).spec, [1, 1], {"epsilon": 1.0})
    return report, {point.name: point for point in report.points}


def test_a_good_program_passes_everything():
    report, _ = statuses([sys.executable, str(LAPLACE)])
    assert report.passed and report.runs_per_second > 100
    assert {point.status for point in report.points} == {Status.PASSED}


def test_a_program_without_seeds_that_will_not_end_gets_notes():
    report, points = statuses([sys.executable, "-c", SEEDLESS])
    assert report.passed
    assert points["same seed, same outputs"].status is Status.NOTE
    assert "it ignores the seed" in points["same seed, same outputs"].detail
    assert "it has to be killed" in points["ends when its input ends"].detail


def test_a_program_with_one_seed_for_all_fails():
    report, points = statuses([sys.executable, "-c", ONE_SEED])
    assert not report.passed
    assert points["another seed, other outputs"].status is Status.FAILED


def test_after_a_breach_the_rest_is_not_tried(bad, token, processes):
    report, _ = statuses(bad("few"))
    assert [point.status for point in report.points[:2]] == [Status.FAILED, Status.NOT_TRIED]
    assert report.runs_per_second is None
    assert processes.none_left(token)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([sys.executable, str(LAPLACE)], 0, "The program keeps the protocol."),
        (["./no/such/program"], 2, "there is no program './no/such/program'"),
    ],
)
def test_on_the_command_line(words, code, said):
    line = [sys.executable, "-m", "refutedp", "protocol", "check", "--command", " ".join(words), "--data", "[1]"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert (done.returncode, said in done.stdout) == (code, True), done
