"""The integrals against simulation and closed forms."""

import math

import numpy as np
import pytest

from refutedp.mechanisms import isvt2, svt
from refutedp.reproduce.truth import best_on_pair, wins

RUNS = 20_000


@pytest.mark.parametrize(("distribution", "draw"), [("laplace", "laplace"), ("exponential", "exponential")])
def test_chances_of_winning(distribution, draw):
    queries = [1.0, 0.0, 2.0, 1.0]
    rng = np.random.default_rng(0)
    noisy = np.array(queries) + getattr(rng, draw)(scale=2.0, size=(200_000, 4))
    seen = np.bincount(noisy.argmax(axis=1), minlength=4) / 200_000
    chances = wins(queries, 2.0, distribution)
    assert chances.sum() == pytest.approx(1.0, abs=1e-6)
    # Five standard errors of a frequency over 200,000 runs.
    assert np.max(np.abs(seen - chances)) < 5 * 0.5 / math.sqrt(200_000)


def frequencies(function, data, **arguments):
    rng = np.random.default_rng(1)
    seen = {}
    for _ in range(RUNS):
        answer = tuple(function(data, rng=rng, **arguments))
        seen[answer] = seen.get(answer, 0) + 1
    return seen


@pytest.mark.parametrize(
    ("function", "arguments"),
    [(svt, {"epsilon": 1.5, "threshold": 1, "bound": 1}), (isvt2, {"epsilon": 1.5, "threshold": 1})],
)
def test_no_answer_of_a_simulation_beats_the_supremum_and_some_comes_near(function, arguments):
    d1, d2 = [1, 1, 1], [2, 2, 0]
    best = best_on_pair(function.__name__, 1.5, d1, d2, arguments)
    first, second = frequencies(function, d1, **arguments), frequencies(function, d2, **arguments)
    gaps = {}
    for answer in first.keys() & second.keys():
        x, y = first[answer], second[answer]
        gaps[answer] = abs(math.log(x / y)), 5 * math.sqrt(1 / x + 1 / y)
    assert all(gap - error <= best for gap, error in gaps.values())
    assert any(gap + error >= best for gap, error in gaps.values())


def test_correct_mechanisms_never_exceed_their_epsilon():
    for name in ("noisy_max_laplace", "noisy_max_exponential"):
        assert 0.9 < best_on_pair(name, 1.0, [1] * 5, [0, 2, 2, 2, 2], {}) <= 1 + 1e-6
    assert 0.8 < best_on_pair("svt", 1.0, [1] * 5, [2, 2, 2, 2, 0], {"threshold": 1, "bound": 1}) <= 1 + 1e-6


def test_known_answers():
    assert best_on_pair("histogram_wrong_scale", 0.2, [1, 1], [2, 1], {}) == pytest.approx(5)
    assert best_on_pair("isvt1", 0.7, [1, 1], [0, 2], {"threshold": 1}) == math.inf
    assert best_on_pair("noisy_max_laplace_value", 0.5, [1] * 10, [2] * 10, {}) == pytest.approx(2.5)
    assert best_on_pair("noisy_max_exponential_value", 0.5, [1] * 5, [2] * 5, {}) == math.inf
    three = best_on_pair("isvt3", 1.0, [1] * 10, [2] * 9 + [0], {"threshold": 1, "bound": 1})
    assert 1.5 < three <= 1.75 + 1e-6
    four = best_on_pair("isvt4", 1.0, [1] * 10, [2] * 5 + [0] * 5, {"threshold": 1, "bound": 1})
    assert four > 1.5
