"""Sorting by column gives each run the list that Python's own sort gives it, without splitting the runs."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import Refused

from .test_lifted_columns import BUILTINS, N, at, new_run

# Few distinct values: ties are everywhere, so an unstable order would show.
TABLE = np.random.default_rng(4).integers(0, 3, (N, 6)).astype(np.float64)
NAMES = ["d", "b", "a", "f", "c", "e"]

IDIOMS: dict[str, Any] = {
    "values": lambda sort, x: sort(x),
    "reverse": lambda sort, x: sort(x, reverse=True),
    "positions": lambda sort, x: sort(range(6), key=lambda i: x[i]),
    "positions, largest first": lambda sort, x: sort(range(6), key=lambda i: -x[i]),
    "positions, reverse": lambda sort, x: sort(range(6), key=x.__getitem__, reverse=True),
    "enumerate": lambda sort, x: sort(enumerate(x), key=lambda pair: pair[1], reverse=True),
    "values with names": lambda sort, x: sort(zip(x, NAMES, strict=True)),
    "names": lambda sort, x: sort(NAMES, key=lambda name: x[NAMES.index(name)]),
    "ties by position": lambda sort, x: sort(range(6), key=lambda i: (-x[i], -i)),
    "two keys": lambda sort, x: sort(range(6), key=lambda i: (x[i], x[(i + 1) % 6]), reverse=True),
    "one constant": lambda sort, x: sort([*x[:3], 1.0]),
    "nested": lambda sort, x: sort([(i, (x[i], NAMES[i])) for i in range(6)], key=lambda item: item[1][0]),
}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_every_run_gets_its_own_order(idiom):
    run, deferred = new_run()
    columns = [Scalar(run, np.ascontiguousarray(TABLE[:, i]), "f", False) for i in range(6)]
    result = IDIOMS[idiom](BUILTINS["sorted"], columns)
    for index in range(N):
        assert at(result, index) == IDIOMS[idiom](builtins.sorted, TABLE[index].tolist())
    assert not deferred


def test_what_has_no_column_order_is_left_to_comparisons():
    run, _ = new_run()
    column = Scalar(run, TABLE[:, 0].copy(), "f", False)
    assert BUILTINS["sorted"](["b", "a"]) == ["a", "b"]
    assert BUILTINS["sorted"]([column]) == [column]
    both = BUILTINS["sorted"]([[column], [2.5]], key=lambda item: item[0])  # lists: the runs are split
    assert sorted(type(item[0]).__name__ for item in both) == ["Scalar", "float"]


def test_nan_is_refused():
    run, _ = new_run()
    column = Scalar(run, np.full(N, np.nan), "f", False)
    with pytest.raises(Refused, match="NaN"):
        BUILTINS["sorted"](range(2), key=lambda i: column)
