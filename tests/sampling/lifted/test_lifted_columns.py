"""Columns against NumPy: an operation on a column is the operation on each run's value."""

from __future__ import annotations

import copy
import math
import operator
from typing import Any

import numpy as np
import pytest

from refutedp.sampling.lifted.columns.array import ArrayColumn
from refutedp.sampling.lifted.columns.builtin import LIFTED_BUILTINS, lifted_math
from refutedp.sampling.lifted.columns.column import Column, wrap
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import NOTHING, Deferred, Refused, Run

N = 40
ROWS = np.random.default_rng(0).normal(size=(N, 5))
WHOLE = np.random.default_rng(1).integers(-4, 5, N)
BUILTINS: dict[str, Any] = LIFTED_BUILTINS


def new_run(n: int = N) -> tuple[Run, list[Deferred]]:
    deferred: list[Deferred] = []
    return Run(Deferred(n, (), NOTHING), deferred.append), deferred


def at(value: Any, index: int) -> Any:
    if isinstance(value, Column):
        return value.values()[0 if value.uniform else index]
    if isinstance(value, (list, tuple)):
        return type(value)(at(item, index) for item in value)
    return value


def assert_by_run(function: Any, columns: list[Any], plain: list[list[Any]]) -> None:
    """`function` of the columns is, run by run, `function` of that run's values."""
    result = function(*columns)
    for index in range(N):
        expected = function(*(values[index] for values in plain))
        got = at(result, index)
        np.testing.assert_array_equal(got, expected)
        assert np.asarray(got).dtype.kind == np.asarray(expected).dtype.kind


BINARY = [operator.add, operator.sub, operator.mul, operator.lt, operator.le, operator.gt, operator.ge, operator.eq]
BINARY += [operator.ne, operator.truediv, operator.floordiv, operator.mod]


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("constant", [3, -2.5, True, np.float64(0.5), np.int64(7)], ids=repr)
def test_scalars_with_constants(function, constant):
    for array, kind in ((ROWS[:, 0], "f"), (np.where(WHOLE == 0, 5, WHOLE), "i")):
        run, _ = new_run()
        column, plain = Scalar(run, array, kind, False), array.tolist()
        assert_by_run(lambda x: function(x, constant), [column], [plain])
        assert_by_run(lambda x: function(constant, x), [column], [plain])


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_scalars_with_scalars(function):
    run, _ = new_run()
    whole = np.where(WHOLE == 0, 1, WHOLE)
    columns = [Scalar(run, ROWS[:, 0], "f", False), Scalar(run, whole, "i", False)]
    assert_by_run(function, columns, [ROWS[:, 0].tolist(), whole.tolist()])
    flags = Scalar(run, ROWS[:, 1] > 0, "b", False)
    if function not in (operator.truediv, operator.floordiv, operator.mod):
        assert_by_run(function, [columns[1], flags], [whole.tolist(), (ROWS[:, 1] > 0).tolist()])


UNARY = [abs, operator.neg, operator.pos, round, math.floor, math.ceil, math.trunc, lambda x: round(x, 2)]
UNARY += [lambda x: x**2, lambda x: abs(x) ** 0.5, lambda x: 2.0**x, lambda x: divmod(x, 3), lambda x: x.is_integer()]


@pytest.mark.parametrize("function", UNARY)
def test_one_operand(function):
    run, _ = new_run()
    assert_by_run(function, [Scalar(run, ROWS[:, 0], "f", False)], [ROWS[:, 0].tolist()])


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1, 2.0, 1.7])
@pytest.mark.parametrize("numpy", [False, True], ids=["python", "numpy"])
def test_powers_are_exact_to_the_last_bit(exponent, numpy):
    values = np.abs(np.random.default_rng(3).laplace(size=20_000))
    run, _ = new_run(len(values))
    powers = Scalar(run, values, "f", numpy) ** exponent
    plain = list(values) if numpy else values.tolist()
    np.testing.assert_array_equal(powers.values(), [v**exponent for v in plain])


def test_python_bools_are_integers_in_arithmetic():
    run, _ = new_run()
    flags = ROWS[:, 0] > 0
    column = Scalar(run, flags, "b", False)
    for function in (lambda x: x + x, lambda x: -x, lambda x: ~x, lambda x: x * 3, lambda x: x & True):
        assert_by_run(function, [column], [flags.tolist()])
    assert_by_run(lambda x: x + x, [Scalar(run, flags, "b", True)], [list(flags)])


@pytest.mark.parametrize("name", ["exp", "log1p", "copysign", "erf", "isnan", "hypot"])
def test_math_is_exact(name):
    run, _ = new_run()
    values = np.abs(ROWS[:, 0])
    lifted, real = lifted_math(name), getattr(math, name)
    args = (2.0,) if name in ("copysign", "hypot") else ()
    result = lifted(Scalar(run, values, "f", False), *args).values().tolist()
    assert result == [real(v, *args) for v in values.tolist()]


@pytest.mark.parametrize("name", ["max", "min", "sorted", "sum"])
def test_builtins_on_lists_of_columns(name):
    run, deferred = new_run()
    columns = [Scalar(run, np.ascontiguousarray(ROWS[:, i]), "f", False) for i in range(5)]
    result = BUILTINS[name](columns)
    real = {"max": max, "min": min, "sorted": sorted, "sum": sum}[name]
    for index in range(N):
        assert at(result, index) == real(ROWS[index].tolist())
    assert not deferred


def test_max_by_key_gives_the_position_without_splitting():
    run, deferred = new_run()
    columns = [Scalar(run, np.ascontiguousarray(ROWS[:, i]), "f", False) for i in range(5)]
    result = BUILTINS["max"](range(5), key=lambda i: columns[i])
    assert result.values().tolist() == ROWS.argmax(axis=1).tolist()
    assert not deferred


ARRAY_FUNCTIONS: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "std": lambda x: x.std(),
    "var": lambda x: np.var(x, ddof=1),
    "median": np.median,
    "max": lambda x: x.max(),
    "argmin": np.argmin,
    "prod": np.prod,
    "cumsum": lambda x: x.cumsum(),
    "sort": np.sort,
    "argsort": np.argsort,
    "diff": np.diff,
    "slice": lambda x: x[1:4] * 2,
    "reversed": lambda x: x[::-1],
    "fancy": lambda x: x[[0, 3]],
    "item": lambda x: x[2] + 1,
    "negative_item": lambda x: x[-1],
    "clip": lambda x: np.clip(x, -1, 0.5),
    "where": lambda x: np.where(x > 0, x, 0.0),
    "concatenate": lambda x: np.concatenate([x, np.ones(2), x]),
    "append": lambda x: np.append(x, 1.0),
    "stack": lambda x: np.stack([x, x + 1]),
    "hstack": lambda x: np.hstack([x, x]),
    "dot": lambda x: np.dot(x, np.arange(5.0)),
    "matmul": lambda x: np.arange(10.0).reshape(2, 5) @ x,
    "vector_matrix": lambda x: x @ np.arange(15.0).reshape(5, 3),
    "outer": lambda x: np.outer(x, np.arange(3.0)),
    "broadcast": lambda x: x[:, None] + np.arange(3),
    "transpose": lambda x: x.reshape(1, 5).T,
    "reshape": lambda x: np.reshape(x[:4], (2, 2)).sum(axis=0),
    "axis": lambda x: x[:4].reshape(2, 2).max(axis=-1),
    "any": lambda x: (x > 1).any(),
    "all": lambda x: np.all(x > -2),
    "count": lambda x: np.count_nonzero(x > 0),
    "exp": lambda x: np.exp(x) / np.exp(x).sum(),
    "round": lambda x: np.round(x, 1),
    "abs": abs,
    "maximum": lambda x: np.maximum(x, 0),
    "maximum_reduce": lambda x: np.maximum.reduce(x),
    "astype": lambda x: (x * 3).astype(int),
    "zeros_like": lambda x: np.zeros_like(x) + x,
    "searchsorted": lambda x: np.searchsorted(np.array([-1.0, 0.0, 1.0]), x[0]),
    "gather": lambda x: x[x.argmax()],
    "iterate": lambda x: [v * 2 for v in x],
    "unpack": lambda x: (lambda a, *rest: a + len(rest))(*x),
    "tolist": lambda x: x.tolist(),
    "copy": copy.copy,
    "isnan": np.isnan,
    "flip": np.flip,
    "squeeze": lambda x: np.squeeze(x[None]),
    "ptp": np.ptp,
    "power": lambda x: x**2,
}


@pytest.mark.parametrize("name", sorted(ARRAY_FUNCTIONS))
def test_array_functions(name):
    run, deferred = new_run()
    assert_by_run(ARRAY_FUNCTIONS[name], [ArrayColumn(run, ROWS, False)], [list(ROWS)])
    assert not deferred


def test_assignment_does_not_reach_the_recorded_draws():
    run, _ = new_run()
    before = ROWS.copy()
    column = ArrayColumn(run, ROWS, False)
    column[0] = 1.0
    column[1:3] += Scalar(run, ROWS[:, 4], "f", True)
    column *= 2
    column[column > 1.5] = 0.0
    column.sort()
    expected = before.copy()
    expected[:, 0] = 1.0
    expected[:, 1:3] += before[:, 4:5]
    expected *= 2
    expected[expected > 1.5] = 0.0
    expected.sort(axis=1)
    np.testing.assert_array_equal(column.values(), expected)
    np.testing.assert_array_equal(ROWS, before)


def test_a_uniform_array_becomes_a_column_when_a_draw_is_stored():
    run, _ = new_run()
    column = wrap(run, np.zeros((1, 3)), True)
    column[1] = Scalar(run, ROWS[:, 0], "f", False)
    column[2] = 7.0
    np.testing.assert_array_equal(column.values(), np.column_stack([np.zeros(N), ROWS[:, 0], np.full(N, 7.0)]))


def test_a_split_keeps_the_larger_part_and_shrinks_old_columns():
    run, deferred = new_run()
    column, other = (Scalar(run, ROWS[:, i], "f", False) for i in (0, 1))
    mask = ROWS[:, 0] > 0.4
    assert not bool(column > 0.4)
    assert run.n == (~mask).sum()
    assert deferred[0].n == mask.sum()
    np.testing.assert_array_equal(other.values(), ROWS[~mask, 1])
    assert bool(other > -0.8)
    np.testing.assert_array_equal(column.values(), ROWS[~mask & (ROWS[:, 1] > -0.8), 0])
    assert deferred[1].decisions == (False, False)


def test_a_mask_splits_by_the_number_of_elements():
    run, deferred = new_run()
    column = ArrayColumn(run, ROWS, False)
    kept = column[column > 0]
    counts = (ROWS > 0).sum(axis=1)
    assert sum(part.n for part in deferred) + run.n == N
    assert kept.shape == (np.bincount(counts).argmax(),)
    rows = ROWS[counts == kept.shape[0]]
    np.testing.assert_array_equal(kept.values(), [row[row > 0] for row in rows])


def test_zero_divisors_raise_in_their_own_runs():
    run, deferred = new_run()
    quotient = 1 / Scalar(run, WHOLE, "i", False)
    zeros = int((WHOLE == 0).sum())
    assert [part.n for part in deferred] == [zeros]
    np.testing.assert_array_equal(quotient.values(), 1 / WHOLE[WHOLE != 0])


def test_indices_split_by_value_up_to_a_limit():
    run, deferred = new_run()
    value = operator.index(Scalar(run, WHOLE, "i", False))
    assert run.n == (value == WHOLE).sum()
    assert len(deferred) == len(np.unique(WHOLE)) - 1
    many, _ = new_run(100)
    with pytest.raises(Refused, match="more than 64 values"):
        operator.index(Scalar(many, np.arange(100), "i", False))


@pytest.mark.parametrize(
    "function",
    [str, repr, float, lambda x: f"{x}", complex, np.array, lambda x: x.hex(), lambda x: np.zeros(2) @ [x, x], hash],
)
def test_what_depends_on_the_run_is_refused(function):
    run, _ = new_run(100)
    with pytest.raises(Refused):
        function(Scalar(run, np.linspace(0, 1, 100), "f", False))
    assert run.refusal is not None


@pytest.mark.parametrize(
    "function", [len, iter, operator.index, lambda x: x[0], lambda x: x + "a", lambda x: x < "a"]
)
def test_what_a_float_cannot_do_a_column_cannot_do(function):
    run, _ = new_run()
    with pytest.raises(TypeError):
        function(Scalar(run, ROWS[:, 0], "f", False))
