"""Local DP: any two inputs are neighbours, and an input is whatever one person holds."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from refutedp import ANY_TWO, Verdict, check, load, replay
from refutedp.cli.app import app

DOMAIN = ("a", "b", "c", "d")


def randomised_response(value, epsilon, rng, others=3):
    """Generalised randomised response over DOMAIN; with others=1, the calibration for two values."""
    if rng.random() < np.exp(epsilon) / (np.exp(epsilon) + others):
        return value
    return [other for other in DOMAIN if other != value][rng.integers(3)]


def two_values(value, epsilon, rng):
    return randomised_response(value, epsilon, rng, others=1)


def unary(value, epsilon, rng, clears=True):
    """Symmetric unary encoding; without `clears`, the own bit is always set."""
    keep = np.exp(epsilon / 2) / (np.exp(epsilon / 2) + 1)
    bits = [rng.random() < (keep if value == other else 1 - keep) for other in DOMAIN]
    return [bit or (not clears and value == other) for bit, other in zip(bits, DOMAIN, strict=True)]


def never_clears(value, epsilon, rng):
    return unary(value, epsilon, rng, clears=False)


def hashed(value, epsilon, rng, doubled=False):
    """Local hashing to two values; the report is the seed of the hash and a bit."""
    seed = int(rng.integers(1000))
    bit = (DOMAIN.index(value) * 7919 + seed * (2 * DOMAIN.index(value) + 1)) // 3 % 2
    keep = np.exp(epsilon) / (np.exp(epsilon) + 1)
    return seed, bool(bit) if rng.random() < keep or doubled else not bit


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    ("client", "verdict"),
    [
        (randomised_response, Verdict.NOT_FOUND),
        (two_values, Verdict.VIOLATION),
        (unary, Verdict.NOT_FOUND),
        (never_clears, Verdict.VIOLATION),
        (hashed, Verdict.NOT_FOUND),
    ],
)
def test_clients(client, verdict, epsilon):
    result = check(
        client, epsilon=epsilon, adjacency=ANY_TWO, inputs=DOMAIN, search_runs=4000, confirm_runs=20_000, seed=1
    )
    assert result.verdict is verdict


@pytest.mark.parametrize("pairs", [[("a", "b")], [(("a", 1), ("b", 2))], [(1, 2)], [(["a"], ["b"])], [(None, "a")]])
def test_an_input_is_any_value_and_comes_back_from_a_file(pairs, tmp_path):
    def tells(value, rng):
        return str(value) if rng.random() < 0.9 else "none"

    result = check(tells, epsilon=1.0, adjacency=ANY_TWO, pairs=pairs, search_runs=200, confirm_runs=500)
    assert result.verdict is Verdict.VIOLATION
    result.save(tmp_path / "result.json")
    again = load(tmp_path / "result.json")
    assert {repr(again.evidence.pair.d1), repr(again.evidence.pair.d2)} == set(map(repr, pairs[0]))
    assert replay(again, tells).verdict is Verdict.VIOLATION


CLIENT = """
def client(answer, epsilon, rng):
    return answer if rng.random() < 0.99 else ("no" if answer == "yes" else "yes")
"""


@pytest.mark.parametrize(
    "words", [["--record", "yes", "--record", "no"], ["--pair", "yes|no"], ["--inputs", "answers.json"]]
)
def test_the_command_line(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.py").write_text(CLIENT)
    (tmp_path / "answers.json").write_text(json.dumps(["yes", "no"]))
    done = CliRunner().invoke(
        app,
        ["check", "client.py:client", "--epsilon", "1", "--adjacency", "any-two", *words, "--pytest", "test_it.py"],
    )
    assert done.exit_code == 1 and "any two inputs are neighbours" in done.output
    assert "'yes'" in (tmp_path / "test_it.py").read_text()
