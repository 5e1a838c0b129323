"""Private mechanisms whose lifts once lost a rare event on one of the two inputs, and were convicted for it.

Each returns its rare output with the same probability on every input, on other noise, so it is 0-differentially
private. A lift that loses it on one side only would convict.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from refutedp import Verdict, check

RARE = 0.0005
SCRATCH = [0.0]
VIEW = {"scratch": SCRATCH}


class Buffer:
    def put(self, x):
        SCRATCH[0] = x


class Holder:
    pass


HOLDER = Holder()
HOLDER.buffer = SCRATCH


def dot_into_an_array(data, rng):
    u = rng.random()
    if data[0] == 1:
        return np.floor(u + RARE)
    out = np.zeros(1)
    np.dot(np.eye(1), np.array([np.floor(1 - u + RARE)]), out=out)
    return out[0]


def outer_into_an_array(data, rng):
    u = rng.random()
    if data[0] == 1:
        return np.floor(u + RARE)
    out = np.zeros((1, 1))
    np.outer(np.ones(1), np.array([np.floor(1 - u + RARE)]), out=out)
    return out[0, 0]


def round_into_an_array(data, rng):
    u = rng.random()
    if data[0] == 1:
        return np.floor(u + RARE)
    x = np.array([0.5 - RARE + (1 - u)])
    np.round(x / 2, out=x)
    return float(x[0] > 0.5 and 1 - u > 1 - RARE)


def written_by_a_method(data, rng):
    u = rng.random()
    if data[0] == 1:
        return np.floor(u + RARE)
    Buffer().put(np.floor(1 - u + RARE))
    answer = SCRATCH[0]
    Buffer().put(0.0)
    return answer


def written_through_a_default(data, rng, scratch=SCRATCH):
    u = rng.random()
    if data[0] == 1:
        return np.floor(u + RARE)
    scratch[0] = np.floor(1 - u + RARE)
    answer = SCRATCH[0]
    scratch[0] = 0.0
    return answer


def written_through_another_global(data, rng):
    u = rng.random()
    if data[0] == 1:
        return np.floor(u + RARE)
    VIEW["scratch"][0] = np.floor(1 - u + RARE)
    answer = SCRATCH[0]
    SCRATCH[0] = 0.0
    return answer


def written_through_an_attribute(data, rng):
    u = rng.random()
    if data[0] == 1:
        return np.floor(u + RARE)
    HOLDER.buffer[0] = np.floor(1 - u + RARE)
    answer = SCRATCH[0]
    SCRATCH[0] = 0.0
    return answer


def truncated_text(data, rng):
    if data[0] == 1:
        return rng.choice(["zzz", "z"], p=[1 - RARE, RARE]).item()
    a = rng.choice(["a", "bbb"], p=[RARE, 1 - RARE])
    words = np.array([a, a])
    words[1] = "zzz"
    return words[1].item()


def negative_zero_as_a_key(data, rng):
    u = rng.random()
    if data[0] == 1:
        return {0.0: 1} if u < 1 - RARE else {-0.0: 1}
    return {math.copysign(0.0, u - RARE): 1}


CASES = [
    dot_into_an_array,
    outer_into_an_array,
    round_into_an_array,
    written_by_a_method,
    written_through_a_default,
    written_through_another_global,
    written_through_an_attribute,
    truncated_text,
    negative_zero_as_a_key,
]


@pytest.mark.parametrize("function", CASES)
def test_is_not_convicted(function):
    result = check(
        function,
        epsilon=0.5,
        pairs=[([1], [2])],
        search_runs=30_000,
        confirm_runs=50_000,
        float_leaks="ignore",
    )
    assert result.verdict is not Verdict.VIOLATION, result
    assert "were wrong" not in " ".join(result.notes), "mended at the root, not by the cross-examination alone"


def test_the_cross_examination_alone_finds_a_rare_loss(monkeypatch):
    """The defect put back: `out=` is ignored. Extreme draws, repeated by the function, show it."""
    from refutedp.sampling.lifted.columns import functions

    monkeypatch.setattr(functions, "_refuse_out", lambda *_: None)
    for seed in range(2):
        result = check(
            dot_into_an_array,
            epsilon=0.5,
            pairs=[([1], [2])],
            search_runs=100_000,
            confirm_runs=100_000,
            seed=seed,
            float_leaks="ignore",
        )
        assert result.verdict is not Verdict.VIOLATION
