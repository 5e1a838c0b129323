"""Reductions over short rows are taken column by column: the result is NumPy's own."""

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted.columns.column import over_columns, over_rows
from refutedp.sampling.lifted.lift import Lift

REDUCTIONS = [np.max, np.min, np.any, np.all, np.sum, np.argmax, np.argmin, np.mean]


@pytest.mark.parametrize("function", REDUCTIONS)
@pytest.mark.parametrize("width", [1, 2, 3, 8, 9, 12, 13])
def test_short_rows_reduce_as_numpy_reduces_them(function, width):
    rng = np.random.default_rng(width)
    numbers = rng.normal(size=(200, width))
    numbers[3, 0] = np.nan
    numbers[4, -1] = np.inf
    for table in (numbers, numbers[5:], numbers > 0, rng.integers(-3, 4, (200, width)), np.round(numbers)):
        got, expected = over_rows(function, table, {}), function(table, axis=1)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("function", [np.max, np.min, np.argmax, np.argmin])
@pytest.mark.parametrize("width", [2, 11, 100])
def test_lists_of_columns_reduce_as_their_table_does(function, width):
    rng = np.random.default_rng(width)
    numbers = rng.normal(size=(200, width))
    ties, odd = np.round(numbers), numbers.copy()
    odd[3, 0], odd[4, -1], odd[5, 1] = np.nan, np.inf, np.nan
    for table in (numbers, ties, odd):
        got, expected = over_columns(function, list(table.T)), function(table, axis=1)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def of_a_list(data, rng):
    noisy = [x + round(rng.laplace(scale=3.0), 0) for x in data]
    logs = [np.log(value) for value in noisy]  # With NaN and minus infinity.
    return [int(np.argmax(noisy)), np.argmin(tuple(noisy)), np.max(noisy), min(noisy), np.argmax(logs), np.amax(logs)]


def of_a_mixed_list(data, rng):
    return [
        np.argmax([rng.laplace(), 0.5, rng.laplace() > 0]),
        np.max([rng.laplace()]),
        np.argmin([rng.integers(3), 1]),
    ]


def largest(data, rng):
    noisy = np.asarray(data) + rng.laplace(size=len(data))
    return [noisy.max(), np.min(noisy, axis=0), noisy.max(axis=-1), (noisy > 1).any(), np.all(noisy > -1)]


def wrong_axis(data, rng):
    return rng.laplace(size=len(data)).max(axis=1)


@pytest.mark.parametrize("mechanism", [largest, wrong_axis, of_a_list, of_a_mixed_list])
def test_lifted_reductions_equal_the_plain_function(mechanism):
    lift = Lift(describe(mechanism), [0, 1, 2], {})
    lift.prove(np.random.default_rng(0), 100)
    assert lift.sample(500, np.random.default_rng(0)).size == 500
