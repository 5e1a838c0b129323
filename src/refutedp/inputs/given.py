"""Turns `pairs=` and `inputs=` (data sets, or a Hypothesis strategy of them) into adjacent pairs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np

from refutedp.inputs.neighbours import Derived, query_neighbours, record_neighbours, two_of
from refutedp.inputs.users import user_neighbours
from refutedp.model.adjacency import AddRemove, Adjacency, AnyTwo, Replace, require_adjacent
from refutedp.model.datasets import container_of, one_line
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair

EXAMPLES = 60
"""Data sets drawn from a strategy."""
KEPT = 12
"""Data sets kept of these: one of each size, from the smallest on, before a second one of any."""
_REMEDY = (
    "give a list of records, a NumPy array, a pandas or Polars DataFrame, a list of such data sets, "
    "or a Hypothesis strategy of them"
)


def pairs_around(adjacency: Adjacency, inputs: Any, seed: int) -> Derived:
    """The pairs to try around the data sets that `inputs` stands for; every refusal is one sentence.

    >>> from refutedp.model.adjacency import REPLACE
    >>> [pair.d2 for pair in pairs_around(REPLACE, [3, 5], seed=0).pairs][:3]
    [[3, 3], [5, 5], [3]]
    """
    datasets = datasets_of(adjacency, inputs, seed)
    if isinstance(adjacency, AnyTwo):
        return two_of(datasets)
    if isinstance(adjacency, AddRemove | Replace):
        if adjacency.by is not None:
            return user_neighbours(adjacency, datasets)
        return record_neighbours(adjacency, datasets)
    return query_neighbours(adjacency, datasets)


def datasets_of(adjacency: Adjacency, inputs: Any, seed: int) -> list[Any]:
    """The data sets that `inputs` stands for."""
    if isinstance(adjacency, AnyTwo):
        return drawn(inputs, seed) if is_strategy(inputs) else _values(inputs)
    numbers = not isinstance(adjacency, AddRemove | Replace)
    if is_strategy(inputs):
        # What is drawn is data already; an empty list among it is an empty data set.
        datasets = drawn(inputs, seed)
        for data in datasets:
            _require_data(data, f"inputs={one_line(inputs)} gave {one_line(data)}", numbers=numbers)
        return datasets
    return _several(inputs, numbers=numbers)


def is_strategy(inputs: Any) -> bool:
    """Whether it is a strategy of Hypothesis, which is then imported already."""
    strategies = sys.modules.get("hypothesis.strategies")
    kind = getattr(strategies, "SearchStrategy", None)
    return kind is not None and isinstance(inputs, kind)


def _several(inputs: Any, *, numbers: bool) -> list[Any]:
    """A list whose items are lists, arrays or frames holds data sets; any other is one, whose records are its items.

    With `numbers`, a single number is a data set too: the answer of one query.
    """
    if isinstance(inputs, list | tuple):
        if not inputs:
            raise UsageError("inputs=[] is empty: give a data set, or inputs=[[]] for the one without records")
        held = [not isinstance(item, tuple) and container_of(item) is not None for item in inputs]
        if all(held):
            return list(inputs)
        if any(held):
            odd = held.index(False)
            raise UsageError(
                f"inputs[{odd}]={inputs[odd]!r} is no data set, though others of the list are: "
                "give data sets only, or records that are tuples or dicts"
            )
        return [inputs]
    _require_data(inputs, f"inputs={one_line(inputs)}", numbers=numbers)
    return [inputs]


def _values(inputs: Any) -> list[Any]:
    """The inputs of local DP, each of which is whatever one person may hold."""
    if isinstance(inputs, str | bytes | dict) or not isinstance(inputs, Iterable):
        raise UsageError(f'inputs={one_line(inputs)} must list the values to compare, such as inputs=["yes", "no"]')
    container = container_of(inputs)
    values = list(inputs) if container is None else container.records(inputs)
    if len({one_line(value) for value in values}) < 2:
        raise UsageError(f"inputs={one_line(inputs)} holds no two different values to compare: give at least two")
    return values


def _require_data(data: Any, told: str, *, numbers: bool) -> None:
    if container_of(data) is None and not (numbers and isinstance(data, Real)):
        raise UsageError(f"{told}, a {type(data).__name__}, which is no data set: {_REMEDY}")


def given_pairs(adjacency: Adjacency, pairs: Any) -> list[Pair]:
    """`pairs=`: the user's pairs, which must be adjacent and differ; every refusal is one sentence."""
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Sequence) or not pairs:
        raise UsageError(f"pairs={pairs!r} must be a list of (d1, d2), such as [([1, 1], [1, 2])]")
    made = []
    for number, pair in enumerate(pairs):
        if isinstance(pair, Pair):
            d1, d2 = pair.d1, pair.d2
        elif isinstance(pair, Sequence) and not isinstance(pair, (str, bytes)) and len(pair) == 2:
            d1, d2 = pair
        else:
            raise UsageError(f"pairs[{number}]={one_line(pair)} must be a tuple (d1, d2) of two adjacent inputs")
        if not isinstance(adjacency, AddRemove | Replace | AnyTwo) and (_is_empty(d1) or _is_empty(d2)):
            raise UsageError(f"pairs[{number}] holds empty data: give inputs with at least one query")
        if _same(d1, d2):
            raise UsageError(f"pairs[{number}] holds the same input twice, {one_line(d1)}: nothing could differ")
        require_adjacent(adjacency, d1, d2, number)
        made.append(pair if isinstance(pair, Pair) else Pair(d1, d2, "given"))
    return made


def _same(d1: Any, d2: Any) -> bool:
    if type(d1) is not type(d2):
        return False
    if isinstance(d1, np.ndarray):
        return d1.dtype == d2.dtype and np.array_equal(d1, d2)
    return bool(d1.equals(d2)) if hasattr(d1, "equals") else repr(d1) == repr(d2)


def _is_empty(data: Any) -> bool:
    try:
        return len(data) == 0
    except TypeError:
        return False


def drawn(strategy: Any, seed: int) -> list[Any]:
    """At most `KEPT` different data sets; nothing is printed, stored or read from earlier runs.

    >>> from hypothesis import strategies as st
    >>> first, second = (drawn(st.lists(st.integers(0, 9)), seed=1) for _ in range(2))
    >>> first == second, len(first), first[0]
    (True, 12, [])
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity

    found: list[Any] = []

    def collect(data: Any) -> None:
        found.append(data)

    try:
        with _by_seed_alone() as backend:
            quietly = hypothesis.settings(
                max_examples=EXAMPLES,
                database=None,
                derandomize=False,  # that would ignore the seed
                phases=[Phase.generate],
                deadline=None,
                suppress_health_check=list(HealthCheck),
                verbosity=Verbosity.quiet,
                print_blob=False,
                backend=backend,
            )
            hypothesis.seed(seed)(quietly(hypothesis.given(strategy)(collect)))()
    except Exception as error:
        said = str(error).partition("\n")[0] or type(error).__name__
        raise UsageError(f"inputs={one_line(strategy)} cannot be drawn from: {said}") from error
    return _small_first(found)


@contextmanager
def _by_seed_alone() -> Iterator[str]:
    """The name of a backend, for the block, that draws as Hypothesis does but by the seed alone.

    Hypothesis' own now and then draws a constant from the source of the modules that happen to be loaded, and keeps
    a list of them in a folder; the same seed would not draw the same in another program.
    """
    try:
        from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
    except ImportError:  # a version that knows nothing of such constants
        yield "hypothesis"
        return

    class Seeded(HypothesisProvider):  # type: ignore[misc]
        def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
            return None

    name = "refutedp-seeded"
    AVAILABLE_PROVIDERS[name] = Seeded
    try:
        yield name
    finally:
        del AVAILABLE_PROVIDERS[name]


def _small_first(datasets: list[Any]) -> list[Any]:
    different = {one_line(data) + repr(_size(data)): data for data in datasets}
    by_size: dict[int, list[Any]] = {}
    for data in different.values():
        by_size.setdefault(_size(data), []).append(data)
    chosen: list[Any] = []
    for turn in range(KEPT):
        chosen += [by_size[size][turn] for size in sorted(by_size) if turn < len(by_size[size])]
    return chosen[:KEPT]


def _size(data: Any) -> int:
    container = container_of(data)
    return 0 if container is None else len(container.records(data))
