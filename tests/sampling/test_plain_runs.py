import random
import subprocess
import sys
from collections import Counter
from itertools import groupby
from operator import itemgetter

import numpy as np
import pytest

from refutedp import MechanismError, Verdict, check
from refutedp.model.mechanism import describe
from refutedp.model.settings import child
from refutedp.sampling.encode import encode
from refutedp.sampling.sampler import BATCHES, TURNS, noise_free_leaves, run_plain

HALF = np.array([0] * 20 + [1] * 20)


def columns(outputs):
    return [c.tolist() for o in outputs for g in o.groups for c in g.columns]


def uses_numpy_globals(data, epsilon=1.0):
    return data[0] + np.random.laplace(0, 1 / epsilon)


def uses_python_globals(data):
    return data[0] + random.gauss(0, 1)


@pytest.mark.parametrize("function", [uses_numpy_globals, uses_python_globals])
def test_functions_with_their_own_randomness_reproduce(function):
    runs = [run_plain(describe(function), ([0], [1]), {}, HALF, child(seed, 1)) for seed in (3, 3, 4)]
    assert columns(runs[0]) == columns(runs[1])
    assert columns(runs[0]) != columns(runs[2])


def test_global_generators_get_their_state_back():
    np.random.seed(5)
    random.seed(5)
    expected = np.random.random(), random.random()
    np.random.seed(5)
    random.seed(5)
    run_plain(describe(uses_numpy_globals), ([0], [1]), {}, HALF, child(0, 1))
    assert (np.random.random(), random.random()) == expected


def test_global_state_is_restored_after_a_failure():
    def fails(data):
        raise ValueError("no")

    before = random.getstate()
    with pytest.raises(MechanismError):
        run_plain(describe(fails), ([0], [1]), {}, HALF, child(0, 1), "raise")
    assert random.getstate() == before


def test_an_exception_is_an_output():
    def sometimes(data, rng):
        if rng.random() < 0.5:
            raise KeyError("k")
        return 1.0

    first, _ = run_plain(describe(sometimes), ([0], [1]), {}, HALF, child(0, 1))
    assert {g.shape.label: g.shape.error for g in first.groups} == {"KeyError": True, "float": False}


def test_on_error_raise_shows_the_input_that_caused_it():
    def fails(data, threshold):
        raise ValueError("bad luck")

    with pytest.raises(MechanismError, match=r"raised ValueError: bad luck \(data=\[7\], threshold=2\)"):
        run_plain(describe(fails), ([7], [7]), {"threshold": 2}, HALF, child(0, 1), "raise")


def test_a_mechanism_that_changes_its_input_harms_nobody():
    def greedy(data, rng):
        data.sort()
        return data.pop()

    data = [3, 1, 2]
    first, _ = run_plain(describe(greedy), (data, data), {}, HALF, child(0, 1))
    assert data == [3, 1, 2]
    assert first.groups[0].columns[0].tolist() == [3]


def test_inputs_take_turns_at_random():
    calls = []

    def remembers(data):
        calls.append(data[0])
        return 0

    from refutedp.model.records import Pair
    from refutedp.sampling.sampler import PlainSampler

    PlainSampler(describe(remembers), Pair([0], [1], "given")).run(50, 50, child(0, 1))
    assert calls.count(0) == 50
    assert calls != sorted(calls)


def batched(data, *, epsilon, size, rng):
    return data[0] + rng.laplace(scale=1 / epsilon, size=size)


def test_the_inputs_take_turns_in_a_batched_function():
    """One that changes as it goes, a program that warms up, say, must not look like a leak."""
    seen = []

    def program(data, *, size, rng):
        seen.append((data[0], size))
        return [len(seen)] * size

    order = np.repeat([0, 1], [30_000, 10_000])
    np.random.default_rng(0).shuffle(order)
    first, second = run_plain(describe(program), ([7], [8]), {}, order, np.random.SeedSequence(0))
    assert (first.size, second.size) == (30_000, 10_000)
    asked = [sum(size for data, size in seen if data == side) for side in (7, 8)]
    assert 30_000 <= asked[0] <= 30_000 + 500 * TURNS and 10_000 <= asked[1] <= 10_000 + 500 * TURNS
    turns = [side for side, _ in groupby(seen, key=itemgetter(0))]
    assert len(turns) >= TURNS


def test_a_batched_function_is_called_for_many_runs_at_once():
    mechanism = describe(batched)
    assert mechanism.batched
    first, second = run_plain(mechanism, ([0], [9]), {"epsilon": 1.0}, HALF, child(0, 1))
    assert first.size == second.size == 20
    assert np.mean(second.groups[0].columns[0]) > np.mean(first.groups[0].columns[0]) + 5


@pytest.mark.parametrize(
    ("batch", "says"),
    [(lambda size: [0.0] * (size - 1), "returned 499 outputs"), (lambda size: 3.0, "returned a float")],
)
def test_a_batched_function_must_return_as_many_as_asked(batch, says):
    def wrong(data, *, size, rng):
        return batch(size)

    with pytest.raises(MechanismError, match=says):
        run_plain(describe(wrong), ([0], [1]), {}, HALF, child(0, 1))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
def test_ten_million_confirmation_runs_stay_under_500_megabytes():
    code = """
from pathlib import Path
from refutedp import check
def batched(data, *, epsilon, size, rng):
    return data[0] + rng.laplace(scale=1 / epsilon, size=size)
result = check(batched, epsilon=1.0, lengths=(1,), search_runs=1000, confirm_runs=5_000_000)
assert result.effort.confirm_runs == 10_000_000
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500


def scalar_mechanism(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=0.7 / epsilon)


def test_two_cores_count_the_same_as_one():
    common = {"epsilon": 1.0, "lengths": (2,), "search_runs": 2000, "confirm_runs": 12_000, "lift": False}
    assert check(scalar_mechanism, jobs=1, **common).evidence == check(scalar_mechanism, jobs=2, **common).evidence


def test_the_noise_free_output_is_the_same_each_time_and_leaves_the_callers_generators_alone():
    described = describe(lambda queries, epsilon: [bool(q + np.random.laplace(0, 2) > 1) for q in queries])
    runs = encode([[True, False]])
    before = np.random.get_state()[1].copy()
    found = {noise_free_leaves(described, [1] * 8, {"epsilon": 1.0}, runs) for _ in range(20)}
    assert len(found) == 1
    assert np.array_equal(np.random.get_state()[1], before)


def test_a_batched_function_is_asked_for_three_sizes_in_a_whole_check():
    asked = Counter()

    def batched(queries, epsilon, *, rng, size):
        asked[size] += 1
        return queries[0] + rng.laplace(scale=1 / epsilon, size=size)

    result = check(batched, epsilon=1.0, search_runs=4_321, confirm_runs=23_456, lengths=(1, 3))
    assert result.verdict is not Verdict.VIOLATION
    assert set(asked) <= set(BATCHES) and sum(asked.values()) < 6_000
    leaky = check(lambda queries, *, rng, size: queries[0] + rng.laplace(scale=0.2, size=size), epsilon=1.0)
    assert leaky.verdict is Verdict.VIOLATION
