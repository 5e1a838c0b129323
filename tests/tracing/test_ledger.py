"""The ledger: what moves on the same draws, against the noise that hides it."""

import contextlib
import dataclasses
import itertools
import random

import numpy as np
import pandas as pd
import polars as pl
import pytest

from refutedp.model.mechanism import describe
from refutedp.tracing.ledger import WHOLE, Ledger, told


def loss(function, d1, d2, seed=0, **arguments):
    with Ledger(describe(function), seed).open() as ledger:
        return ledger.loss(d1, d2, arguments)


def noisy(queries, rng):
    return queries[0] + rng.laplace(scale=2.0)


def from_numpy(queries):
    return queries[0] + np.random.laplace(scale=2.0)


def from_python(queries):
    return queries[0] + 2.0 * random.choice([-1, 1]) * random.expovariate(1.0)


def many(queries, *, size, rng):
    return queries[0] + rng.laplace(scale=2.0, size=size)


@pytest.mark.parametrize("function", [noisy, from_numpy, from_python, many])
def test_a_move_costs_its_distance_over_the_noise(function):
    # 16 draws of Laplace noise of scale b have a mean deviation of b give or take a quarter: four of these.
    sizes = [loss(function, [1], [1 + step], seed).size for seed, step in itertools.product(range(3), (1, 10))]
    for size, step in zip(sizes, (1, 10) * 3, strict=True):
        assert min(step / 2 / 2, WHOLE) < size < max(step / 2 * 4, 1)


def test_an_exact_number_costs_all():
    found = loss(lambda queries, rng: [queries[0], rng.laplace()], [1], [2])
    assert found.size == WHOLE
    assert found.words == "the output[0] moves by 1, and has no noise"


def test_another_kind_of_answer_costs_all_if_it_always_comes():
    assert loss(lambda data, rng: None if len(data) > 1 else rng.laplace(), [1], [1, 1]).size == WHOLE


def test_numbers_in_texts_are_numbers():
    found = loss(lambda queries, rng: f"about {queries[0] + rng.laplace(scale=5):.1f} people", [1], [2])
    assert 0 < found.size < 1


def test_equal_inputs_cost_nothing():
    assert loss(noisy, [1], [1]).size == 0
    assert loss(noisy, [1], [1]).words == "nothing moved"


@dataclasses.dataclass(slots=True)
class Figures:
    total: float
    mean: float


class Fitted:
    def __init__(self, slope):
        self.slope, self._kept = slope, object()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: Figures(x, 2.0),
        Fitted,
        lambda x: pd.Series({"a": x}),
        lambda x: pd.DataFrame({"city": ["A"], "n": [x]}),
        lambda x: pl.DataFrame({"city": ["A"], "n": [x]}),
        lambda x: pl.Series([x]),
    ],
)
def test_numbers_in_objects_and_tables_are_numbers(wrap):
    found = loss(lambda queries, rng: wrap(queries[0] + rng.laplace(scale=100.0)), [1], [2])
    assert 0 < found.size < 0.1


def test_little_noise_beside_much_is_seen():
    def count_and_total(queries, rng):
        return [queries[0] + rng.laplace(), queries[0] + rng.laplace(scale=1000.0)]

    assert 0.5 < loss(count_and_total, [1], [2]).size < 2


def test_errors_are_answers():
    assert loss(lambda data, rng: 1 / len(data) + rng.laplace(), [], [1]).size == WHOLE
    assert loss(lambda data, rng: data["x"], [1], [2]).size == 0


def test_data_and_generators_are_left_alone():
    data, before = [3, 1, 2], np.random.get_state()[1].tolist()
    loss(lambda queries: queries.sort() or queries[0] + np.random.laplace(), data, [3, 1, 3])
    assert data == [3, 1, 2]
    assert np.random.get_state()[1].tolist() == before


def test_draws_that_cannot_be_repeated_are_compared_on_average():
    generator = np.random.default_rng(5)
    far = loss(lambda queries: queries[0] + generator.laplace(), [0], [100])
    near = loss(lambda queries: queries[0] + generator.laplace(), [0], [0.1])
    assert far.size == WHOLE
    assert near.size == 0


def test_a_call_that_does_not_return_is_given_up(monkeypatch):
    monkeypatch.setattr("refutedp.tracing.ledger.LONGEST_CALLS", 0.2)

    def endless(queries, rng):
        while queries[0] < 0:
            with contextlib.suppress(Exception):
                queries = [min(queries)]
        return queries[0] + rng.laplace()

    with Ledger(describe(endless), 0).open() as ledger:
        assert ledger.loss([1], [-1], {}).words == "it did not return"
        assert ledger.loss([1], [100], {}).size > 5
        assert ledger.calls > 1_000


def test_few_calls_are_made_where_nothing_is_to_be_expected():
    with Ledger(describe(noisy), 0).open() as ledger:
        ledger.loss([1], [1], {}, beyond=1.0)
        few = ledger.calls
        ledger.loss([1], [100], {}, beyond=1.0)
        assert few < 10 < ledger.calls - few


def test_the_order_of_keys_is_no_answer():
    assert told({"a": 1, "b": 2.5}) == told({"b": 2.5, "a": 1})
    assert told({"a": 1, "b": 2.5}) != told({"a": 2.5, "b": 1})
