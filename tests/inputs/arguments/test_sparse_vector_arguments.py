"""The paper's sparse vector mechanisms: the arguments found are as good as a fine grid can find."""

import numpy as np
import pytest

from refutedp.inputs.arguments import find_arguments
from refutedp.model.mechanism import describe


def svt(queries, epsilon, threshold, bound: int, rng, sensitivity=1.0):
    out = []
    noisy = threshold + rng.laplace(scale=2 * sensitivity / epsilon)
    count = 0
    for q in queries:
        if q + rng.laplace(scale=4 * bound * sensitivity / epsilon) >= noisy:  # compare
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def isvt1(queries, epsilon, threshold, rng):
    out = []
    noisy = threshold + rng.laplace(scale=2 / epsilon)
    for q in queries:
        if q >= noisy:  # compare
            out.append(True)
        else:
            out.append(False)
    return out


def isvt2(queries, epsilon, threshold, rng):
    out = []
    noisy = threshold + rng.laplace(scale=2 / epsilon)
    for q in queries:
        if q + rng.laplace(scale=2 / epsilon) >= noisy:  # compare
            out.append(True)
        else:
            out.append(False)
    return out


def isvt3(queries, epsilon, threshold, bound, rng):
    out = []
    noisy = threshold + rng.laplace(scale=4 / epsilon)
    count = 0
    for q in queries:
        if q + rng.laplace(scale=4 / (3 * epsilon)) >= noisy:  # compare
            out.append(True)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def isvt4(queries, epsilon, threshold, bound, rng):
    out = []
    noisy = threshold + rng.laplace(scale=2 / epsilon)
    count = 0
    for q in queries:
        value = q + rng.laplace(scale=2 * bound / epsilon)
        if value >= noisy:  # compare
            out.append(value)
            count += 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


THRESHOLDS = np.arange(-0.5, 3, 0.125).tolist()
PATTERNS = [
    "one above",
    "one below",
    "one above, rest below",
    "one below, rest above",
    "half half",
    "all above",
    "all below",
    "x shape",
]


def test_the_example_of_the_paper():
    found = find_arguments(describe(svt), [1] * 5, [2] * 5, {"epsilon": 0.5})
    assert 1 < found.arguments["threshold"] <= 2
    assert found.arguments["bound"] == 1
    assert set(found.arguments) == {"threshold", "bound"}
    assert found.diverging == found.branches == 5
    assert found.why == "threshold = 1.5 makes 5 of 5 branches diverge; bound = 1 keeps the noise smallest"
    assert found.scales == (4.0, 8.0)
    assert found.notes == ()


@pytest.mark.parametrize("length", [5, 10])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("mechanism", [svt, isvt1, isvt2, isvt3, isvt4], ids=lambda f: f.__name__)
def test_as_many_branches_diverge_as_brute_force_finds(mechanism, pattern, length, patterns, oracle):
    d1, d2 = patterns(length)[pattern]
    plain = oracle(mechanism)
    grids = {"threshold": THRESHOLDS}
    if "bound" in mechanism.__code__.co_varnames[: mechanism.__code__.co_argcount]:
        grids["bound"] = list(range(1, length + 2))
    best, noise = plain.best(d1, d2, {"epsilon": 0.7}, grids)

    found = find_arguments(describe(mechanism), d1, d2, {"epsilon": 0.7})

    counted = plain.diverging(d1, d2, epsilon=0.7, **found.arguments)
    assert found.diverging == best == counted[0]
    assert found.branches == counted[1]
    assert counted[2] <= noise + 1e-9


def test_the_same_call_gives_the_same_answer():
    pair = [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]
    answers = [find_arguments(describe(svt), *pair, {"epsilon": 0.7}) for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]


def test_a_fixed_argument_is_kept_and_not_returned():
    found = find_arguments(describe(svt), [1] * 5, [2] * 5, {"epsilon": 0.5, "bound": 2})
    assert set(found.arguments) == {"threshold"}
    assert 1 < found.arguments["threshold"] <= 2
    assert found.scales == (4.0, 16.0)


def test_arrays_and_tuples_are_data_too():
    for kind in (np.array, tuple):
        found = find_arguments(describe(svt), kind([1] * 5), kind([2] * 5), {"epsilon": 0.5})
        assert found.arguments == {"threshold": 1.5, "bound": 1}
        assert found.diverging == found.branches == 5


def test_random_pairs_agree_with_brute_force(oracle):
    generator = np.random.default_rng(7)
    plain = oracle(svt)
    for _ in range(6):
        d1 = generator.integers(0, 4, 6).tolist()
        d2 = [q + int(step) for q, step in zip(d1, generator.integers(-1, 2, 6), strict=True)]
        grids = {"threshold": np.arange(-1.5, 5, 0.5).tolist(), "bound": list(range(1, 8))}
        best, noise = plain.best(d1, d2, {"epsilon": 1.0}, grids)
        found = find_arguments(describe(svt), d1, d2, {"epsilon": 1.0})
        counted = plain.diverging(d1, d2, epsilon=1.0, **found.arguments)
        assert found.diverging == best == counted[0], (d1, d2)
        assert counted[2] <= noise + 1e-9
