"""Polars queries of OpenDP: what the domain, its margins and the metric say of frames, and a few neighbours."""

from __future__ import annotations

import datetime
import functools
import itertools
import math
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from refutedp.inputs.neighbours import record_neighbours
from refutedp.inputs.users import user_neighbours
from refutedp.model.adjacency import AddRemove, Replace
from refutedp.model.errors import UsageError
from refutedp.model.records import Pair

MOST_PAIRS = 8
"""A query takes a millisecond, and every pair is run."""
ORDINARY = 6
"""Rows of the smallest data that are tried."""
_GROUPED = 2
"""Margins of up to so many columns together are looked up."""
_VALUES: dict[str, tuple[Any, ...]] = {
    "bool": (False, True),
    "str": ("a", "b", "c"),
    "f64": (0.0, 1.0, -1.0),
    "f32": (0.0, 1.0, -1.0),
    "date": (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)),
    "time": (datetime.time(1), datetime.time(2)),
}
_WHOLE = (0, 1, 2)


class FrameSpace:
    """What a `FrameDomain` and its metric mean for inputs: an adjacency of rows or of ids, and neighbours.

    Invariant keys and lengths of a margin hold in every pair, and its largest length and number of groups too.
    """

    def __init__(self, measurement: Any, d_in: Any) -> None:
        from opendp.domains import _lazyframe_from_domain, lazyframe_domain

        self.domain = measurement.input_domain
        self.metric = str(measurement.input_metric)
        self.empty: Any = _lazyframe_from_domain(self.domain).collect()
        self.columns: list[str] = list(self.domain.columns)
        self.margins = list(self._margins())
        # Margins are looked at here: OpenDP 0.16 takes no data for members of a domain with a margin of no columns.
        self._unmargined = lazyframe_domain([self.domain.get_series_domain(name) for name in self.columns])
        self.framed = self.metric.startswith("FrameDistance")
        """Whether the metric bounds what one id does to each group: then one row changes, which any bound permits."""
        if self.framed and d_in is None:
            raise UsageError(
                f"the metric {self.metric} needs d_in=[dp.polars.Bound(...)]: what one id may contribute"
            )
        self.d_in: Any = 1 if d_in is None else d_in

    @property
    def adjacency(self) -> AddRemove | Replace:
        """Rows, or all rows of an id, that come or go."""
        metric = self.metric.removeprefix("FrameDistance(")
        kind = AddRemove if metric.startswith(("Symmetric", "InsertDelete")) else Replace
        if "identifier" in metric and not self.framed:
            names = [name for name in self.columns if f'col("{name}")' in metric]
            if len(names) != 1:
                raise UsageError(f"the metric {self.metric} has no single column as its id: give pairs=[(d1, d2)]")
            return kind(by=names[0])
        return kind()

    def run(self, measurement: Any, data: Any) -> Any:
        """The frame that is released."""
        return measurement(data.lazy()).collect()

    def pairs(self, size: int = ORDINARY) -> list[Pair]:
        """Neighbours of data with about so many rows, as the domain and its margins permit."""
        adjacency, data = self.adjacency, self._crowd(size)
        if len(data) == 0:
            return []
        by_user = adjacency.by is not None
        rows = [*self._rows()]
        adjacency = replace(adjacency, records=tuple(rows)) if rows else adjacency
        derived = user_neighbours(adjacency, [data]) if by_user else record_neighbours(adjacency, [data])
        fitting = [pair for pair in derived.pairs if self._member(pair)]
        plain, odd = [pair for pair in fitting if not pair.outside], [pair for pair in fitting if pair.outside]
        taken = itertools.chain.from_iterable(itertools.zip_longest(plain, odd))
        return [pair for pair in taken if pair is not None][:MOST_PAIRS]

    def _margins(self) -> Iterator[Any]:
        import polars as pl

        for size in range(_GROUPED + 1):
            for names in itertools.combinations(self.columns, size):
                margin = self.domain.get_margin([pl.col(name) for name in names])
                if margin.invariant is not None or margin.max_length is not None or margin.max_groups is not None:
                    yield names, margin

    @functools.cached_property
    def _held(self) -> list[list[Any]]:
        """The values of each column that the domain takes, tried in a row each: nan and missing ones may not fit."""
        values = [self._values(name) for name in self.columns]
        if not all(values):
            return [[] for _ in values]
        usual = [column[0] for column in values]
        return [
            [value for value in column if self._is_member(self._frame([(*usual[:at], value, *usual[at + 1 :])]))]
            for at, column in enumerate(values)
        ]

    def _rows(self) -> list[tuple[Any, ...]]:
        """One row for each value of a column, the other columns at their first."""
        if not all(self._held):
            return []
        usual = tuple(column[0] for column in self._held)
        changed = [
            (*usual[:at], value, *usual[at + 1 :]) for at, column in enumerate(self._held) for value in column[1:]
        ]
        return [usual, *changed]

    def _crowd(self, size: int) -> Any:
        """Data of this many rows, in which every column takes its values in turn; ids have two rows each."""
        if not all(self._held):
            return self.empty
        identifier = self.adjacency.by
        whole = (name == identifier and isinstance(self._held[at][0], int) for at, name in enumerate(self.columns))
        columns = [
            [i // 2 if counts else held[i % len(held)] for i in range(size)]
            for counts, held in zip(whole, self._held, strict=True)
        ]
        return self._frame(list(zip(*columns, strict=True)))

    def _frame(self, rows: list[tuple[Any, ...]]) -> Any:
        import polars as pl

        return pl.DataFrame(rows, schema=self.empty.schema, orient="row")

    def _is_member(self, data: Any) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(self._unmargined.member(data.lazy()))

    def _values(self, name: str) -> tuple[Any, ...]:
        series = self.domain.get_series_domain(name)
        element = series.element_domain
        kind = str(series).rpartition(", ")[2].rstrip(")")
        if "Categorical" in str(element.type):
            dtype = self.empty.schema[name]
            return tuple(dtype.categories) if hasattr(dtype, "categories") else ()
        values = _VALUES.get(kind, _WHOLE)
        if kind.startswith("datetime"):
            values = (datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1))
        if kind.startswith(("f", "i", "u")):
            bounds = getattr(element, "bounds", None)
            low, high = (-math.inf, math.inf) if bounds is None else bounds
            inside = [value for value in values if low <= value <= high and (value >= 0 or kind[0] != "u")]
            values = tuple(dict.fromkeys([*(bounds or ()), *inside]))
            if kind.startswith("f") and element.nan:
                values = (*values, math.nan)
        return (*values, None) if series.nullable else values

    def _member(self, pair: Pair) -> bool:
        if any(data.schema != self.empty.schema for data in (pair.d1, pair.d2)):
            return False
        for names, margin in self.margins:
            held = [Counter(data.select(names).rows() if names else [()] * len(data)) for data in (pair.d1, pair.d2)]
            for groups in held:
                if margin.max_length is not None and max(groups.values(), default=0) > margin.max_length:
                    return False
                if margin.max_groups is not None and len(groups) > margin.max_groups:
                    return False
            # The whole frame always is one group, also when it is empty.
            if margin.invariant is not None and names and set(map(repr, held[0])) != set(map(repr, held[1])):
                return False
            if margin.invariant == "lengths" and held[0] != held[1]:
                return False
        return all(self._is_member(data) for data in (pair.d1, pair.d2))
