"""Programs that break the protocol: one clear sentence each, no hang, no blow-up, nothing left behind."""

import gc
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import refutedp
from refutedp import MechanismError
from refutedp.api.command import Command

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are counted through /proc")

SENTENCES = {
    "silent": "did not finish within 1 seconds: it must flush each answer",
    "slow": r"did not finish within 1 seconds: give it more with timeout=, or fewer runs \(after \d of 10 outputs\)",
    "crash": r"exited with code 7 \(after 3 of 10 outputs\)\nIts standard error ends with:(?s:.*)no such query",
    "abort": r"was killed by SIGSEGV \(after 1 of 10 outputs\)",
    "early": "exited with code 0: it must keep reading requests until its standard input ends",
    "garbage": "wrote a bad line: it is not JSON .*: 'segment 12: ready'",
    "binary": "wrote a bad line: it is not UTF-8",
    "endless_outputs": r"answered too many outputs \(after 100 of 10 outputs\)",
    "endless_blank": "wrote a bad line: it is empty",
    "endless_line": "wrote a line of more than 16 MB",
    "endless_batches": "wrote a bad line: it holds no outputs",
    "endless_errors": "did not finish within 1 seconds(?s:.*)warning: low entropy",
    "huge_line": "wrote a line of more than 16 MB",
    "deep": "wrote a bad line: it is nested too deeply",
    "long_integer": "wrote a bad line: it holds a number that cannot be read",
    "few": r"answered too few outputs \(after 9 of 10 outputs\)",
    "many": r"answered too many outputs \(after 11 of 10 outputs\)",
    "no_end": "did not finish within 1 seconds",
    "other_id": "answered request 2 when asked for 1",
    "refuse": "refused the request: there is no argument 'threshold'",
    "unknown_key": 'it has the unknown key "result"',
    "bad_float": r'\{"\$float": "infinity"\} is not one of',
    "inner_error": r'"\$error" inside an output',
    "not_a_list": '"outputs" must be a list with one item a run, not a number',
    "closes_output": "closed its standard output",
    "deaf": "did not finish within 1 seconds",
    "children": "did not finish within 1 seconds",
    "leaves_children": "exited with code 4",
    "never_reads": "did not finish within 1 seconds",
}


@pytest.mark.parametrize("mode", SENTENCES)
def test_every_breach_is_one_sentence_and_leaves_no_process(mode, bad, token, processes):
    late = "within 1 seconds" in SENTENCES[mode]
    program = Command(bad(mode), timeout=1.0 if late else 30.0)
    with pytest.raises(MechanismError, match=SENTENCES[mode]) as caught:
        program([0], size=10, rng=np.random.default_rng(0))
    assert str(caught.value).startswith("the program '")
    assert processes.none_left(token)


def test_what_nobody_asked_for_is_found_at_the_next_request(bad, token, processes):
    program = Command(bad("unasked"))
    rng = np.random.default_rng(0)
    assert program([0], size=3, rng=rng) == [0, 0, 0]
    time.sleep(0.3)
    with pytest.raises(MechanismError, match="nobody asked for"):
        program([0], size=3, rng=rng)
    assert processes.none_left(token)


def test_endless_output_costs_little_memory(bad):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(MechanismError):
        Command(bad("endless_line"))([0], size=10, rng=np.random.default_rng(0))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 120_000  # kilobytes


def test_a_large_request_to_a_program_that_never_reads_does_not_block(bad, token, processes):
    with pytest.raises(MechanismError, match="did not finish"):
        Command(bad("never_reads"), timeout=1.0)([0.5] * 200_000, size=1, rng=np.random.default_rng(0))
    assert processes.none_left(token)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["./no/such/program"], "there is no program './no/such/program': check the path, or build it first"),
        (["{tmp}/plain.txt"], "is not executable: make it so with chmod"),
        (["{tmp}/headless"], "is not a program that this system can run"),
        (["{tmp}/lost"], "the interpreter in its #! line is missing"),
    ],
)
def test_programs_that_cannot_be_started(words, sentence, tmp_path):
    for name, text, mode in (("plain.txt", "hello", 0o644), ("headless", "\0", 0o755), ("lost", "#!/no/sh\n", 0o755)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(mode)
    program = Command([word.format(tmp=tmp_path) for word in words])
    with pytest.raises(MechanismError, match=sentence):
        program([0], size=1, rng=np.random.default_rng(0))


def test_a_check_of_a_broken_program_is_an_error_and_no_verdict(bad, token, processes):
    with pytest.raises(MechanismError, match="answered too few outputs"):
        refutedp.check(Command(bad("few")), epsilon=1.0, search_runs=100, confirm_runs=100)
    assert processes.none_left(token)


GOOD = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "outputs": [0] * request["count"], "done": True}), flush=True)
"""


def test_the_program_ends_with_the_command_that_uses_it(token, processes):
    program = Command([sys.executable, "-c", GOOD, token])
    assert program([0], size=2, rng=np.random.default_rng(0)) == [0, 0]
    assert len(processes.running(token)) == 1
    del program
    gc.collect()
    assert processes.none_left(token)


HOLD = """
import sys, time
import numpy as np
from refutedp.api.command import Command
Command(sys.argv[1:], timeout=600)([0], size=1, rng=np.random.default_rng(0))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_program_outlives_refutedp_however_it_dies(how, bad, token, processes):
    owner = subprocess.Popen([sys.executable, "-c", HOLD, *bad("children")], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while len(processes.running(token)) < 4 and time.monotonic() < deadline:  # owner, program, two children
        time.sleep(0.05)
    assert len(processes.running(token)) == 4
    os.kill(owner.pid, how)
    owner.wait(timeout=10)
    assert processes.none_left(token)


SLOW = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(0.05)
    print(json.dumps({"id": request["id"], "outputs": [0] * request["count"], "done": True}), flush=True)
"""


def test_an_interrupted_check_on_two_cores_leaves_no_program(tmp_path, token, processes):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    command = f"{sys.executable} {script} {token}"
    words = [sys.executable, "-m", "refutedp", "check", "--command", command, "--epsilon", "1", "--jobs", "2"]
    owner = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while len(processes.running(token)) < 2 and time.monotonic() < deadline:  # one program a worker
        time.sleep(0.05)
    assert len(processes.running(token)) >= 2
    os.kill(owner.pid, signal.SIGINT)
    owner.wait(timeout=20)
    assert processes.none_left(token)
