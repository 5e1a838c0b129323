"""What rewritten branches do: both sides are evaluated for all runs, and each run gets the value of its own side.

    return bit if rng.random() < p else 1 - bit

A branch is joined only while nothing can tell: on either side, runs may not part, nothing may raise or be refused,
what is written to is put back, and what is called is known to change nothing. Draws on one side are made for all
runs, which is of no consequence to those on the other: their record has no such draw. The two values must be of one
type in every run. In all other cases what was done is taken back, and the branch is taken as it is written.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from refutedp.model.outputs import Array
from refutedp.sampling.lifted.columns.column import Column
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.drawer import LiftedDrawer
from refutedp.sampling.lifted.execution import NotJoined, Run
from refutedp.sampling.lifted.rewrite.chosen import MOST_KEYS, UNSET, chose, join, options_of, truth, typed
from refutedp.sampling.lifted.rewrite.harmless import checked, is_harmless, is_plain, read_attribute

Thunk = Callable[[], Any]
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
}


class Joins:
    """The helpers of rewritten code, for the runs of one drawer."""

    def __init__(self, drawer: LiftedDrawer) -> None:
        self._drawer = drawer
        self._journals: list[dict[int, tuple[list[Any], list[Any]]]] = []
        """Lists that were written to on the sides that are being evaluated, and what they were before."""

    @property
    def run(self) -> Run:
        """The execution."""
        return self._drawer.run

    @property
    def joining(self) -> bool:
        """Whether a side is being evaluated for all runs."""
        return self.run.side is not None

    # Branches.

    def branch(self, condition: Any, kept: int) -> JoinedBranch:
        """An `if` statement, the first `kept` of whose variables are read after it."""
        return JoinedBranch(self, condition, kept)

    def choose(self, condition: Any, then: Thunk, otherwise: Thunk) -> Any:
        """As `then() if condition else otherwise()`."""
        held = truth(condition)
        if held is not None:
            branch = JoinedBranch(self, condition, 1)
            for side in branch:
                try:
                    value = then() if side else otherwise()
                except BaseException:
                    if not branch.taken_back():
                        raise
                else:
                    branch.keep((value,))
            return branch.values[0]
        return then() if condition else otherwise()

    def both(self, first: Any, second: Thunk, *, tested: bool = False) -> Any:
        """As `first and second()`; where it is `tested`, only its truth matters."""
        if truth(first) is None:
            return first and second()
        return self.choose(first, lambda: _tested(second(), tested), lambda: _tested(first, tested))

    def either(self, first: Any, second: Thunk, *, tested: bool = False) -> Any:
        """As `first or second()`."""
        if truth(first) is None:
            return first or second()
        return self.choose(first, lambda: _tested(first, tested), lambda: _tested(second(), tested))

    def negation(self, value: Any) -> Any:
        """As `not value`."""
        held = truth(value)
        return (not value) if held is None else Scalar(value.run, ~held, "b", False)

    def assign(self, condition: Any, then: tuple[Any, ...], otherwise: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The variables after a branch that only assigns simple values; None when it has to be taken as written."""
        held = truth(condition)
        if held is None:
            return None
        joined = []
        for a, b in zip(then, otherwise, strict=True):
            value = join(condition.run, held, a, b)
            if value is UNSET:
                return None
            joined.append(value)
        chose(condition.run, held)
        return tuple(joined)

    def append(self, condition: Any, owner: Any, then: Any, otherwise: Any) -> bool | None:
        """Append the joined value; None when the branch has to be taken as written."""
        held = truth(condition)
        if held is None or type(owner) is not list:
            return None
        value = join(condition.run, held, then, otherwise)
        if value is UNSET:
            return None
        chose(condition.run, held)
        self.write(owner)
        owner.append(value)
        return True

    # What sides do.

    def value(self, value: Any) -> Any:
        """A variable that is worked with on a side: only plain values are known to change nothing."""
        if self.joining and not is_plain(value):
            raise NotJoined(f"it works with a {type(value).__name__}")
        return value

    def call(self, function: Any, *args: Any, **keywords: Any) -> Any:
        """As `function(*args, **keywords)`."""
        if not self.joining:
            return function(*args, **keywords)
        if not is_harmless(function, args, keywords):
            raise NotJoined(f"it calls {function!r}")
        return checked(function(*args, **keywords))

    def attribute(self, owner: Any, name: str) -> Any:
        """As `owner.name`."""
        return read_attribute(owner, name) if self.joining else getattr(owner, name)

    def add_to(self, owner: Any, value: Any) -> Any:
        """As `owner.append(value)`."""
        self.write(owner)
        return owner.append(value)

    def changed(self, name: str, old: Any, by: Any) -> Any:
        """As `old += by` or the like: what the variable is then."""
        if self.joining and not _is_value(old):
            raise NotJoined(f"it changes a {type(old).__name__} in place")
        return _IN_PLACE[name](old, by)

    def write(self, owner: Any) -> None:
        """Note what a list is before it is written to on a side."""
        if not self.joining:
            return
        if type(owner) is not list:
            raise NotJoined(f"it writes to a {type(owner).__name__}")
        for journal in self._journals:
            journal.setdefault(id(owner), (owner, owner.copy()))

    def put(self, value: Any, owner: Any, key: Any) -> None:
        """As `owner[key] = value`; at a drawn place of a list, each run writes to its own."""
        if type(owner) is list and type(key) is Scalar and self._put_by_run(owner, key, value):
            return
        self.write(owner)
        owner[key] = value

    def _put_by_run(self, owner: list[Any], key: Scalar, value: Any) -> bool:
        if key.kind != "i" or not 0 < len(owner) <= MOST_KEYS:
            return False
        places = self._attempt(lambda: self._places(key, len(owner)))
        if places is None:
            return False
        hits = [places == place for place in range(len(owner))]
        changed = [join(key.run, hit, value, old) for hit, old in zip(hits, owner, strict=True)]
        if any(one is UNSET for one in changed):
            return False
        for hit in hits:
            chose(key.run, hit)
        self.write(owner)
        owner[:] = changed
        return True

    def item(self, owner: Any, key: Any) -> Any:
        """As `owner[key]`; by a drawn key, each run reads its own."""
        if type(key) is Scalar and type(owner) in (list, tuple, dict, np.ndarray):
            found = self._item_by_run(owner, key)
            if found is not UNSET:
                return found
        if self.joining and not is_plain(owner):
            raise NotJoined(f"it reads from a {type(owner).__name__}")
        return checked(owner[key]) if self.joining else owner[key]

    def _item_by_run(self, owner: Any, key: Scalar) -> Any:
        options = options_of(owner, key)
        if options is None:
            return UNSET
        keys, values = options
        places = self._attempt(lambda: self._places(key, len(values) if keys is None else keys))
        if places is None:
            return UNSET
        if any(type(value) is Scalar for value in values):
            table = np.stack([np.broadcast_to(typed(value)[0], (key.run.n,)) for value in values])  # type: ignore[index]
            found = table[places, np.arange(key.run.n)]
        else:
            found = np.array(values)[places]
        _, kind, numpy = typed(values[0])  # type: ignore[misc]
        return Scalar(key.run, found, kind, numpy)

    def _places(self, key: Scalar, options: int | list[Any]) -> Array:
        """Which of the options each run wants; raises NotJoined if one does not have what it wants."""
        wanted, side = key.values(), self.run.side
        if isinstance(options, int):
            places = np.where(wanted < 0, wanted + options, wanted)
            missing = (places < 0) | (places >= options)
        else:
            places, missing = np.zeros(len(wanted), dtype=np.int64), np.ones(len(wanted), dtype=np.bool_)
            for number, option in enumerate(options):
                here = wanted == option
                places[here] = number
                missing &= ~here
        if (missing if side is None else missing & side).any():
            raise NotJoined("a place or a key that is not there")
        places[missing] = 0
        return places

    def _attempt(self, compute: Callable[[], Array]) -> Array | None:
        """What is computed, if every run can; which is a decision, unless one is open already."""
        if self.joining:
            return compute()
        run = self.run
        if not run.tries_to_join():
            return None
        mark = run.mark()
        try:
            return compute()
        except NotJoined:
            run.take_back(mark)
            return None


class JoinedBranch:
    """One `if` statement: the sides to evaluate, one after the other, and the variables after it.

    Iterating gives True and False where it is joined, and then, or otherwise, what is to be done as it is written.
    """

    def __init__(self, joins: Joins, condition: Any, kept: int) -> None:
        """The first `kept` variables are read after it; what cannot be joined of the others is let go of."""
        self._joins = joins
        self._condition = condition
        self._kept = kept
        self._sides: list[tuple[Any, ...]] = []
        self._lists: list[dict[int, tuple[list[Any], list[Any]]]] = []
        self._failed = False
        self._trying = False
        self._outer: Array | None = None
        self.before: tuple[Any, ...] = ()
        """The variables before it."""
        self.values: tuple[Any, ...] = ()
        """The variables after it."""

    def __iter__(self) -> Iterator[bool]:
        held = truth(self._condition)
        if held is not None and self._joins.run.tries_to_join():
            run = self._joins.run
            mark, self._outer, self._trying = run.mark(), run.side, True
            for side in (held, ~held):
                run.side = side if self._outer is None else side & self._outer
                self._joins._journals.append({})
                yield side is held
                self._end_side()
                if self._failed:
                    break
            if not self._failed:
                self._join(run, held)
            self._trying = False
            if not self._failed:
                return
            run.take_back(mark)
        yield bool(self._condition)

    def keep(self, values: tuple[Any, ...]) -> None:
        """The variables at the end of a side."""
        self.values = values
        self._sides.append(values)

    def taken_back(self) -> bool:
        """Whether the exception that ends a side only means that the branch has to be taken as written."""
        if self._trying and isinstance(sys.exc_info()[1], (NotJoined, Exception)):
            self._failed = True
        elif self._trying:
            self._end_side()
        return self._failed and self._trying

    def _end_side(self) -> None:
        """Put back what the side wrote, and remember it."""
        run = self._joins.run
        run.side = self._outer
        journal = self._joins._journals.pop()
        self._lists.append({key: (owner, list(owner)) for key, (owner, _) in journal.items()})
        for owner, old in journal.values():
            owner[:] = old

    def _join(self, run: Run, held: Array) -> None:
        """Give each run the variables, and the elements of lists, of its own side."""
        values = []
        for number, (then, otherwise) in enumerate(zip(*self._sides, strict=True)):
            known = then is not UNSET and otherwise is not UNSET
            value = join(run, held, then, otherwise) if known or then is otherwise else UNSET
            self._failed |= value is UNSET and then is not otherwise and number < self._kept
            values.append(value)
        written: dict[int, tuple[list[Any], list[Any]]] = {}
        first, second = self._lists
        for key in {**first, **second}:
            owner = (first.get(key) or second[key])[0]
            then, otherwise = (side[key][1] if key in side else list(owner) for side in self._lists)
            items = [join(run, held, a, b) for a, b in zip(then, otherwise, strict=False)]
            self._failed |= len(then) != len(otherwise) or any(item is UNSET for item in items)
            written[key] = owner, items
        if self._failed:
            return
        chose(run, held)
        for owner, items in written.values():
            self._joins.write(owner)
            owner[:] = items
        self.values = tuple(values)


def _tested(value: Any, tested: bool) -> Any:
    """The truth of a drawn value where only that matters."""
    if not tested:
        return value
    held = truth(value)
    return bool(value) if held is None else Scalar(value.run, held, "b", False)


def _is_value(value: Any) -> bool:
    """Whether a value cannot be changed in place."""
    return type(value) is Scalar or (
        not isinstance(value, Column) and isinstance(value, (int, float, str, tuple, np.generic, type(None)))
    )
