"""A program as a mechanism: arguments, seeds, errors, processes, saved results."""

import os
import sys

import cloudpickle
import numpy as np
import pytest

from refutedp import Command, MechanismError, UsageError, Verdict, check, load_mechanism, replay
from refutedp.model.mechanism import describe
from refutedp.sampling.encode import Raised

ECHO = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    number = request.pop("id")
    request["pid"] = os.getpid()
    print(json.dumps({"id": number, "outputs": [request] * request["count"], "done": True}), flush=True)
"""
COIN = """
import json, random, sys
for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    shift = request["arguments"].get("shift", 1)
    outputs = [shift * request["data"][0] + rng.choice([0, 1]) for _ in range(request["count"])]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
"""
FAILING = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    bad = {"$error": "KeyError"}
    outputs = [bad if request["data"][0] > 1 or i % 4 == 0 else 0 for i in range(request["count"])]
    if "--always" in sys.argv:
        outputs = [bad] * request["count"]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
"""


def python(code, *more):
    return Command([sys.executable, "-c", code, *more])


def test_it_is_a_batched_mechanism_that_takes_any_argument():
    described = describe(python(ECHO))
    assert (described.data, described.epsilon, described.rng, described.batched) == ("data", "epsilon", "rng", True)
    assert described.open and not described.options


def test_requests_carry_data_arguments_and_seeds_in_parts_of_a_thousand():
    echo = python(ECHO)
    outputs = echo([1, 2], size=2500, rng=np.random.default_rng(0), epsilon=0.5, threshold=3)
    assert len(outputs) == 2500
    assert sorted({output["count"] for output in outputs}) == [500, 1000]
    assert len({output["seed"] for output in outputs}) == 3
    assert len({output["pid"] for output in outputs}) == 1
    assert outputs[0]["data"] == [1, 2] and outputs[0]["arguments"] == {"epsilon": 0.5, "threshold": 3}
    again = echo([1, 2], size=2500, rng=np.random.default_rng(0), epsilon=0.5, threshold=3)
    assert again == outputs, "same seed, same requests, same process"
    echo.close()


def test_a_copy_in_another_process_starts_its_own_program():
    echo = python(ECHO)
    copied = cloudpickle.loads(cloudpickle.dumps(echo))
    assert copied == echo
    (first,) = echo([0], size=1, rng=np.random.default_rng(0))
    (second,) = copied([0], size=1, rng=np.random.default_rng(0))
    assert first["pid"] == second["pid"] != os.getpid(), "in one process they share one program"
    del copied
    (third,) = echo([0], size=1, rng=np.random.default_rng(0))
    assert third["pid"] == first["pid"], "a copy does not end the program of the original"
    echo.close()


def test_a_forked_process_does_not_speak_into_its_parents_pipes():
    echo = python(ECHO)
    (mine,) = echo([0], size=1, rng=np.random.default_rng(0))
    child = os.fork()
    if child == 0:
        try:
            (theirs,) = echo([0], size=1, rng=np.random.default_rng(0))
            same = theirs["pid"] == mine["pid"]
            echo.close()
            os._exit(1 if same else 0)
        except BaseException:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    (still,) = echo([0], size=1, rng=np.random.default_rng(0))
    assert still["pid"] == mine["pid"]
    echo.close()


SMALL = {"search_runs": 500, "confirm_runs": 1500}


def test_the_result_is_the_same_on_one_core_and_two():
    results = [check(python(COIN), epsilon=1.0, pairs=[([0], [1])], jobs=jobs, **SMALL) for jobs in (1, 2)]
    assert results[0].verdict is Verdict.VIOLATION
    assert results[0].evidence == results[1].evidence


def test_arguments_reach_the_program():
    result = check(python(COIN), epsilon=1.0, pairs=[([0], [1])], args={"shift": 0}, **SMALL)
    assert result.verdict is Verdict.NOT_FOUND


def test_a_saved_result_is_replayed_with_the_same_command(tmp_path):
    script = tmp_path / "coin.py"
    script.write_text(COIN)
    found = check(Command(f"{sys.executable} {script}"), epsilon=1.0, pairs=[([0], [1])], **SMALL)
    found.save(tmp_path / "r.json")
    assert found.origin.reference == f"command:{sys.executable} {script}"
    assert replay(tmp_path / "r.json").verdict is Verdict.VIOLATION


def test_errors_that_the_program_reports_are_outputs():
    failing = python(FAILING)
    assert failing([1], size=4, rng=np.random.default_rng(0)) == [Raised("KeyError"), 0, 0, 0]
    result = check(failing, epsilon=0.5, pairs=[([1], [2])], **SMALL)
    assert result.verdict is Verdict.VIOLATION


def test_a_program_that_always_fails_cannot_be_tested():
    with pytest.raises(MechanismError, match=r"failed on every trial run.*reported KeyError"):
        check(python(FAILING, "--always"), epsilon=0.5, pairs=[([1], [2])], **SMALL)


def test_names_are_short_and_references_whole():
    command = Command("/usr/bin/env python mechanism.py --flag 'two words'")
    assert command.__name__ == "env python mechanism.py --flag 'two w..."
    assert load_mechanism(command.__refutedp_reference__) == command


@pytest.mark.parametrize("command", ["", "   ", [], [""], None, 3, b"./x", "'unclosed"])
def test_what_names_no_program(command):
    with pytest.raises(UsageError, match=r"command=.* (must name a program|cannot be split)"):
        Command(command)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "60"])
def test_bad_timeouts(timeout):
    with pytest.raises(UsageError, match="timeout="):
        Command("./x", timeout)


def test_no_shell_sees_the_command(tmp_path):
    target = tmp_path / "made"
    with pytest.raises(MechanismError):
        Command(f"echo hello; touch {target}")([0], size=1, rng=np.random.default_rng(0))
    assert not target.exists()


def test_the_garbage_collector_never_waits_for_a_request_under_way():
    echo = python(ECHO)
    sessions = sys.modules["refutedp.sampling.program.sessions"]
    (before,) = echo([0], size=1, rng=np.random.default_rng(0))
    with sessions._sessions[echo.spec].lock:
        del_me = python(ECHO)
        assert del_me == echo
        del del_me  # its finalizer finds the program busy, and leaves it alone
    with sessions._lock:
        del_me = python(ECHO)
        del del_me
    (after,) = echo([0], size=1, rng=np.random.default_rng(0))
    assert after["pid"] == before["pid"]
    echo.close()
