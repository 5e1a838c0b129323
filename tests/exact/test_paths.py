"""Paths and their probabilities, in the ways in which people write mechanisms."""

import math
import random

import numpy as np
import pytest

from refutedp.exact.chances import chance as chance_of
from refutedp.exact.chances import events_of
from refutedp.exact.path_list import Enumerator
from refutedp.model.mechanism import describe


def paths_of(function, data, **arguments):
    return Enumerator(describe(function)).paths(data, arguments)


def chances(listed):
    found = {}
    for path in listed.paths:
        found[path.leaves] = found.get(path.leaves, 0.0) + (path.mass.low + path.mass.high) / 2
    return found


def total(listed):
    low, high = (math.fsum(path.mass[side] for path in listed.paths) for side in (0, 1))
    return low <= 1 + 1e-9 and high + listed.missing >= 1 - 1e-9 and high - low < 1e-8


def steps(data, rng):
    value = int(rng.geometric(0.5)) + int(rng.integers(0, 3))
    return "many" if value > 4 else value % 2 == 0


def functions(data, rng):
    u = rng.random()
    noise = -math.log(u) if u > 0 else 0.0
    return bool(math.exp(noise / 2) > 3 and np.sqrt(noise) < 2)


def modules(data):
    return abs(np.random.normal()) > 2 or random.random() < 0.25


def arrays(data, rng):
    noisy = np.asarray(data) + rng.laplace(size=len(data))
    return (noisy > 0).tolist()


def loop(data, rng):
    for tries in range(20):
        if not -1 < rng.laplace() < 2:
            return tries
    return None


def chosen(data, rng):
    return rng.choice(["a", "b", "c"], p=[0.5, 0.25, 0.25]) + str(rng.permutation(2)[0])


def raised(data, rng):
    if rng.exponential() > 3:
        raise ValueError("too large")
    return {"clipped": float(np.clip(rng.laplace(), 2, 3)) > 2}


@pytest.mark.parametrize("function", [steps, functions, modules, arrays, loop, chosen, raised])
def test_probabilities_add_up_and_agree_with_runs(function):
    listed = paths_of(function, [0.5, -1.0])
    assert listed.paths
    assert total(listed)
    exact, runs, rng = {}, 4_000, np.random.default_rng(1)
    np.random.seed(1)
    random.seed(1)
    for path in listed.paths:
        exact[repr(path.output)] = exact.get(repr(path.output), 0.0) + path.mass.high
    seen = {}
    for _ in range(runs):
        try:
            output = function([0.5, -1.0], rng) if function is not modules else function([0.5, -1.0])
        except ValueError:
            output = "Raised(error='ValueError')"
            seen[output] = seen.get(output, 0) + 1
            continue
        if isinstance(output, np.generic):
            output = output.item()
        seen[repr(output)] = seen.get(repr(output), 0) + 1
    exact = {key.replace("np.True_", "True").replace("np.False_", "False"): value for key, value in exact.items()}
    for key, hits in seen.items():
        share = exact[key.replace("np.str_(", "np.str_(")]
        # Six standard deviations: one of some thirty events in 5e8 errs so.
        assert abs(hits - runs * share) <= 6 * math.sqrt(runs * share * (1 - share)) + 1, key


def test_the_likeliest_paths_come_first_and_the_rest_is_counted():
    def endless(data, rng):
        tries = 0
        while rng.random() < 0.5:
            tries += 1
        return tries

    listed = Enumerator(describe(endless)).paths([0], {}, most=20)
    assert len(listed.paths) == 20
    assert 2.0**-20 <= listed.missing <= 2.0**-20 * (1 + 1e-6)


def test_two_draws_compared_with_a_third():
    def largest(data, rng):
        one, two, three = (rng.laplace(scale=2) for _ in range(3))
        return one > two and one > three

    found = chances(paths_of(largest, [0]))
    assert found[(True,)] == pytest.approx(1 / 3, abs=1e-9)


def test_a_difference_of_exponentials_is_laplace_noise():
    def noisy(data, rng):
        return data[0] + rng.exponential(2.0) - rng.exponential(2.0) > 5

    assert chances(paths_of(noisy, [1]))[(True,)] == pytest.approx(math.exp(-2) / 2, rel=1e-10)


@pytest.mark.parametrize(
    "function",
    [
        lambda data, rng: rng.laplace() * rng.laplace() > 0,
        lambda data, rng: math.sin(rng.laplace()) > 0,
        lambda data, rng: rng.gamma(2.0) > 1,
    ],
)
def test_what_cannot_be_followed_is_missing(function):
    listed = paths_of(function, [0])
    assert listed.missing > 0.4
    assert listed.why


def test_a_function_that_differs_from_call_to_call_is_not_believed():
    calls = []

    def counting(data, rng):
        calls.append(None)
        return len(calls), rng.random() < 0.5

    assert paths_of(counting, [0]).missing == 1


def test_the_same_paths_each_time():
    first, second = (paths_of(arrays, [0.5, -1.0]) for _ in range(2))
    assert [path.values for path in first.paths] == [path.values for path in second.paths]


def noisy_maximum(noise):
    def largest(data, rng):
        best, place = None, None
        for k, value in enumerate(data):
            noisy = value + noise(rng)
            if best is None or noisy > best:
                best, place = noisy, k
        return place

    return largest


@pytest.mark.parametrize("noise", [lambda rng: rng.exponential(2.0), lambda rng: rng.uniform(0, 3)])
def test_draws_that_begin_somewhere_are_compared(noise):
    listed = paths_of(noisy_maximum(noise), [1, 1, 1])
    assert all(0 <= path.mass.low <= path.mass.high <= 1 for path in listed.paths)
    assert [found for _, found in sorted(chances(listed).items())] == pytest.approx([1 / 3] * 3, abs=1e-9)


def test_a_difference_that_is_computed_twice_is_one():
    def noisy(data, rng):
        up, down = rng.geometric(0.5), rng.geometric(0.5)
        return up - down > 2 and down - up < -2

    chance = 0.5 / 1.5 * sum(0.5**k for k in range(3, 60))
    assert chances(paths_of(noisy, [0]))[(True,)] == pytest.approx(chance, rel=1e-9)


def test_a_draw_is_not_compared_beside_its_difference_with_another():
    def noisy(data, rng):
        up, down, third = rng.exponential(), rng.exponential(), rng.exponential()
        return up - down > 1, up > third

    assert paths_of(noisy, [0]).missing > 0.1


def test_paths_that_were_not_followed_count_in_full_where_draws_are_compared():
    def noisy(data, rng):
        threshold = 12 + rng.laplace()
        if any(rng.laplace() > threshold for _ in range(6)):
            return "early"
        if rng.laplace() < 9:
            return "usual"
        return sum(int(rng.random() < 0.5) for _ in range(8))

    listed = paths_of(noisy, [0])
    assert len(listed.paths) == 200
    assert listed.missing + math.fsum(path.mass.high for path in listed.paths) >= 1


def test_what_lies_between_neighbouring_floats_only_is_no_probability():
    def gumbel(data, rng):
        return -math.log(-math.log(rng.random())) > data[0]

    assert all(path.mass.low == 0 for path in paths_of(gumbel, [3]).paths if path.shape.error)


@pytest.mark.parametrize(
    ("function", "chance"),
    [
        (lambda data, rng: abs(round(rng.laplace(0, 2))) < 3, 1 - math.exp(-1.25)),
        (lambda data, rng: abs(round(rng.laplace(0, 2))) <= 3, 1 - math.exp(-1.75)),
        (lambda data, rng: abs(rng.laplace() // 1) >= 1, (1 + math.exp(-1)) / 2),
        (lambda data, rng: math.floor(rng.laplace()) + 0.0 < rng.integers(0, 2), (1 - math.exp(-1) / 2 + 0.5) / 2),
        (lambda data, rng: math.exp(rng.integers(0, 2)) < rng.integers(0, 3) ** 2, 1 / 3),
        (lambda data, rng: math.exp(rng.integers(0, 2)) <= rng.integers(0, 3) ** 2, 1 / 2),
    ],
)
def test_whether_the_end_of_a_step_counts(function, chance):
    assert chances(paths_of(function, [0]))[(True,)] == pytest.approx(chance, rel=1e-9)


def test_a_bare_except_does_not_make_a_path_of_what_is_not_followed():
    def swallowing(data, rng):
        number, coin = rng.laplace(), rng.random()
        try:
            math.sin(number)
        except:  # noqa: E722
            return data[0]
        return data[0] if coin < 0.9999 else 1 - data[0]

    assert paths_of(swallowing, [0]).missing == 1


@pytest.mark.parametrize(
    ("function", "chance"),
    [
        (lambda data, rng: math.ceil(rng.laplace()) ** 2 < 1, (1 - math.exp(-1)) / 2),
        (lambda data, rng: math.ceil(rng.laplace()) ** 2 < 5, 1 - math.exp(-2) / 2 - math.exp(-3) / 2),
        (lambda data, rng: 1 / (2 * math.ceil(rng.laplace()) - 1) > 0.5, (1 - math.exp(-1)) / 2),
        (lambda data, rng: 1 / (2 * math.ceil(rng.laplace()) - 1) < -0.5, (1 - math.exp(-1)) / 2),
        (lambda data, rng: round(int(rng.integers(0, 100)), -1) == 20, 0.11),
    ],
)
def test_step_functions_at_the_ends_of_what_is_left(function, chance):
    assert chances(paths_of(function, [0]))[(True,)] == pytest.approx(chance, rel=1e-9)


def test_outputs_whose_probabilities_are_not_integrated_have_bounds():
    def whole_and_real(data, rng):
        return [round(int(rng.integers(0, 4)) - rng.laplace(), 1)]

    def long_tails(data, rng):
        return bool(rng.random() + rng.standard_cauchy() <= 0)

    for function in (whole_and_real, long_tails):
        listed = paths_of(function, [0])
        for event in events_of(listed, listed):
            bounds = chance_of(event, listed)
            assert 0 <= bounds.low <= bounds.high <= 1
