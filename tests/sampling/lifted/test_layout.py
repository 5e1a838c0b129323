"""Vectors drawn element by element: every run equals its plain replay to the last bit, whatever is computed of it."""

from __future__ import annotations

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import Lift
from refutedp.sampling.lifted.columns.column import dense, over_rows
from refutedp.sampling.lifted.execution import drawn_by_element, take_runs

POWERS = np.array([2.0, 0.5, 3.0, 2.0, -1.0, 1.7, 2.0, 2.5, 0.5, 2.0, 3.0, 2.0])

COMPUTED = {
    "sum": lambda v: v.sum(),
    "mean and spread": lambda v: (np.mean(v), np.std(v), np.var(v, ddof=1)),
    "cumsum": lambda v: np.cumsum(v),
    "dot": lambda v: v @ np.arange(len(v), dtype=float),
    "softmax": lambda v: np.exp(v - v.max()) / np.exp(v - v.max()).sum(),
    "powers": lambda v: np.abs(v) ** POWERS[: len(v)],
    "square": lambda v: v**2,
    "median": lambda v: np.median(v),
    "extremes": lambda v: (v.argmax(), np.argmin(v), v.max(), np.min(v), np.ptp(v)),
    "truths": lambda v: ((v > 0).any(), np.all(v > -3), np.argmax(v > 1), np.argmin(v > -1)),
    "parts": lambda v: (v[0], v[-1], v[1:] - v[:-1], v[::2].sum()),
    "sorted": lambda v: np.sort(v)[:2],
    "clipped": lambda v: np.clip(np.round(v, 1), -1, 1),
    "chosen": lambda v: np.where(v > 0, v, -v),
    "masked": lambda v: v[v > 0].sum(),
    "assigned": lambda v: assigned(v),
    "split": lambda v: v.sum() if v[0] > 0 else v.max(),
    "integers": lambda v: np.floor(v).astype(int).sum(),
    "reshaped": lambda v: v[:2].reshape(2, 1) * v,
    "joined": lambda v: np.concatenate([v, v[:1]]).sum(),
}


def assigned(v):
    v = v.copy()
    v[1] = v[0] + 1
    v += v[::-1]
    return v


@pytest.mark.parametrize("width", [2, 8, 12])
@pytest.mark.parametrize("computed", COMPUTED.values(), ids=COMPUTED)
def test_every_run_equals_its_plain_replay(computed, width):
    lift = Lift(
        describe(lambda data, rng: computed(np.asarray(data) + rng.laplace(scale=2.0, size=len(data)))),
        [float(i % 3) for i in range(width)],
        {},
    )
    # `prove` replays all of its runs through the plain function, and raises unless all are equal.
    lift.prove(np.random.default_rng(1), runs=300)
    assert lift.sample(3000, np.random.default_rng(2)).size == 3000


def test_runs_are_last_in_memory_and_first_in_shape():
    table = drawn_by_element(np.random.default_rng(0).random, 1000, (3,))
    assert table.shape == (1000, 3)
    assert table.strides[0] == table.itemsize
    some = take_runs(table, np.array([5, 1, 999]))
    assert np.array_equal(some, table[[5, 1, 999]])
    assert some.strides[0] == some.itemsize
    assert dense(table) is table
    assert dense(table[:, ::2]).flags.c_contiguous
    assert drawn_by_element(np.zeros, 10, None).shape == (10,)
    assert drawn_by_element(np.zeros, 10, (2, 3)).shape == (10, 2, 3)


@pytest.mark.parametrize("function", [np.max, np.min, np.argmax, np.argmin, np.any, np.all])
@pytest.mark.parametrize("width", [2, 9, 60, 120])
def test_reductions_are_the_same_in_either_layout(function, width):
    rng = np.random.default_rng(width)
    numbers = rng.integers(-3, 4, (width, 500)).astype(float)
    numbers[rng.random((width, 500)) < 0.002] = np.nan
    for table in (numbers, numbers[:, :50] > 0, numbers[:, :50] > 2, np.nan_to_num(numbers).astype(np.int64)):
        expected = function(np.ascontiguousarray(table.T), axis=1)
        for rows in (table.T, np.ascontiguousarray(table.T)):
            got = over_rows(function, rows, {})
            assert got.dtype == expected.dtype
            assert np.array_equal(got, expected, equal_nan=expected.dtype.kind == "f")
