"""Drawn numbers that remember what they are added to: a value, plus draws with factors.

They are floats, ints and arrays as the library returns them. Sums, differences and multiples by exact numbers are
followed; so the value that a draw hides is known wherever the mechanism adds the two, in a helper as well as on the
spot. Of other functions of a drawn number, as of the logarithm of a uniform one, it is known that they are noise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Key: TypeAlias = tuple[Any, ...]
"""Which draw: its call site, how many draws there were at that site before, and the index in its array."""


class DrawInSum(NamedTuple):
    """A draw in a sum, and what it is multiplied by."""

    key: Key
    factor: Any


class NoisySum:
    """A sum of an exact value and of draws; `superseded` once a larger sum was made of it."""

    __slots__ = ("base", "bent", "book", "compared", "decided", "joined", "line", "superseded", "terms")

    def __init__(self, book: Book, base: Any, terms: tuple[DrawInSum, ...]) -> None:
        self.book = book
        self.base = base
        self.terms = terms
        self.superseded = False
        self.decided = False
        """Whether something was decided by it."""
        self.line: Any = None
        """Where it was compared."""
        self.compared = False
        """Whether it stands for a comparison: then the base is the distance from what it was compared with."""
        self.bent: tuple[NoisySum, ...] = ()
        """The sums of which a function made noise in it."""
        self.joined: Any = None
        """Where such noise was added to an exact value, and on which side of the sum it stands."""
        book.note(self)

    @property
    def keys(self) -> tuple[Key, ...]:
        """The draws in it."""
        return tuple(term.key for term in self.terms)

    def plus(self, other: Any, sign: int = 1) -> NoisySum:
        """With another value or sum added to it."""
        self.superseded = True
        more = form_of(other)
        if more is None:
            return NoisySum(self.book, self.base + sign * _exact(other), self.terms)._after(self)
        more.superseded = True
        added = tuple(DrawInSum(term.key, sign * term.factor) for term in more.terms)
        return NoisySum(self.book, self.base + sign * more.base, self.terms + added)._after(self, more)

    def times(self, factor: Any) -> NoisySum:
        """Multiplied by an exact value."""
        self.superseded = True
        terms = tuple(DrawInSum(t.key, t.factor * factor) for t in self.terms)
        return NoisySum(self.book, self.base * factor, terms)._after(self)

    def at(self, index: Any) -> NoisySum:
        """A part of it, if it is an array."""
        self.superseded = True
        terms = tuple(DrawInSum((*t.key, _hashable(index)), _part(t.factor, self.base, index)) for t in self.terms)
        return NoisySum(self.book, np.asarray(self.base)[index], terms)._after(self)

    def _after(self, *sums: NoisySum) -> NoisySum:
        """It, with what is known of the sums that it was made of."""
        self.bent = tuple(one for made in sums for one in made.bent)
        self.joined = next((made.joined for made in sums if made.joined is not None), None)
        return self

    def against(self, other: Any) -> None:
        """It was compared with something."""
        try:
            copy = (self.plus(other, -1), self.book)[0]
        except (TypeError, ValueError):
            return
        self.superseded, self.decided = False, True
        more = form_of(other)
        if more is not None:
            more.superseded, more.decided = False, True
        copy.compared = True
        self.book.compare(copy)


class Book:
    """All sums of one run, in the order in which they were made."""

    def __init__(self, most: int = 20_000) -> None:
        self.forms: list[NoisySum] = []
        self._most = most
        self.on_compare: Callable[[NoisySum], None] = lambda form: None
        self.where: Callable[[], Any] = lambda: None
        """Where the mechanism is."""

    def note(self, form: NoisySum) -> None:
        """Keep it, unless there are too many already."""
        if len(self.forms) < self._most:
            self.forms.append(form)

    def compare(self, form: NoisySum) -> None:
        """Tell the run that it decides on noise."""
        self.on_compare(form)

    def final(self) -> list[NoisySum]:
        """Those of which no larger sum was made."""
        return [form for form in self.forms if not form.superseded]


def form_of(value: Any) -> NoisySum | None:
    """The sum that a number stands for; None for a plain one."""
    return getattr(value, "_form", None) if isinstance(value, (DrawnFloat, DrawnInt, DrawnArray)) else None


def drawn(book: Book, key: Key, value: Any, location: Any = 0.0) -> Any:
    """A drawn value that remembers; `location` is the exact value that its distribution is centred on.

    >>> book = Book()
    >>> noise = drawn(book, ("line 1", 0), 0.25)
    >>> 3 + 2 * noise, [(form.base, form.terms[0].factor) for form in book.final()]
    (3.5, [(3.0, 2.0)])
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "if":
        base = np.broadcast_to(np.asarray(location, dtype=float), value.shape)
        return _of(value, NoisySum(book, base, (DrawInSum(key, np.ones(value.shape)),)))
    if isinstance(value, (float, int, np.floating, np.integer)) and not isinstance(value, bool):
        return _of(value, NoisySum(book, float(location) + 0.0, (DrawInSum(key, 1.0),)))
    return value


def _of(value: Any, form: NoisySum | None) -> Any:
    """The value, carrying a form if it can."""
    if form is None:
        return value
    made: Any
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return _of(value[()], form)
        made = np.asarray(value).view(DrawnArray)
    elif isinstance(value, (float, np.floating)):
        made = DrawnFloat(value)
    elif isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        made = DrawnInt(value)
    else:
        return value
    made._form = form
    return made


def plain(value: Any) -> Any:
    """The number without its memory."""
    if isinstance(value, DrawnArray):
        return value.view(np.ndarray)
    if isinstance(value, DrawnFloat):
        return float(value)
    return int(value) if isinstance(value, DrawnInt) else value


def _exact(value: Any) -> Any:
    """A value that can be a base."""
    array = np.asarray(value, dtype=float)
    return array if array.ndim else float(array)


def _part(factor: Any, base: Any, index: Any) -> Any:
    return np.broadcast_to(np.asarray(factor), np.shape(base))[index]


def _hashable(index: Any) -> Any:
    try:
        hash(index)
    except TypeError:
        return repr(index)
    return operator.index(index) if isinstance(index, (int, np.integer)) else repr(index)


BENT = "bent"


def bent(value: Any, *made_of: Any) -> Any:
    """What a function made of these numbers: noise whose scale is not known, if any of them was drawn.

    >>> noise = drawn(Book(), ("line 1", 0), 0.25)
    >>> form_of(bent(0.0625, noise)).base, form_of(bent(2.0, 3.0))
    (0.0, None)
    """
    forms = [form for form in map(form_of, made_of) if form is not None]
    numbers = value.dtype.kind in "if" if isinstance(value, np.ndarray | np.generic) else type(value) in (float, int)
    if not forms or not numbers:
        return value
    keys = dict.fromkeys(key if key[-1] == BENT else (*key, BENT) for form in forms for key in form.keys)
    nothing = np.zeros(np.shape(value)) if np.ndim(value) else 0.0
    unknown = tuple(DrawInSum(key, nothing + np.nan) for key in keys)
    form = NoisySum(forms[0].book, nothing, unknown)
    form.bent, form.superseded = tuple(forms), True  # By itself it hides nothing.
    return _of(value, form)


def _followed(name: str, left: Any, right: Any) -> NoisySum | None:
    """The form of a sum, a difference, a multiple or a quotient, where it is one."""
    form = _combined(name, left, right)
    one, other = form_of(left), form_of(right)
    if form is not None and form.bent and form.joined is None and name in ("add", "sub") and None in (one, other):
        form.joined = form.book.where(), "left" if one is not None else "right"
    return form


def _combined(name: str, left: Any, right: Any) -> NoisySum | None:
    one, other = form_of(left), form_of(right)
    try:
        if name == "add":
            return one.plus(right) if one is not None else other.plus(left) if other is not None else None
        if name == "sub":
            if one is not None:
                return one.plus(right, -1)
            return None if other is None else other.times(-1.0).plus(left)
        if name == "mul" and (one is None) != (other is None):
            return one.times(_exact(right)) if one is not None else other.times(_exact(left)) if other else None
        if name == "truediv" and one is not None and other is None:
            return one.times(1 / _exact(right))
    except (TypeError, ValueError, ZeroDivisionError):
        pass
    return None


_UFUNCS = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
}
_COMPARED = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.maximum, np.minimum)


def _ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    """What NumPy does with such a number: on the plain values, and followed where that is a sum or a multiple."""
    out = keywords.get("out")
    if out is not None:
        keywords["out"] = tuple(plain(one) if isinstance(one, np.ndarray) else one for one in out)
    value = getattr(ufunc, method)(*map(plain, inputs), **keywords)
    if method != "__call__" or len(inputs) != 2:
        if method != "__call__" or isinstance(value, tuple):
            return value
        negated = ufunc is np.negative and form_of(inputs[0]) is not None
        return _of(value, inputs[0]._form.times(-1.0)) if negated else bent(value, *inputs)
    if ufunc in _COMPARED:
        _compared(*inputs)
        return value
    form = _followed(_UFUNCS.get(ufunc, ""), *inputs)
    if out is not None and isinstance(out[0], DrawnArray):
        if form is not None:
            out[0]._form = form
        return out[0]
    return _of(value, form) if form is not None else bent(value, *inputs)


def _compared(left: Any, right: Any) -> None:
    one, other = form_of(left), form_of(right)
    if one is not None:
        one.against(right)
    elif other is not None:
        other.against(left)


def _arithmetic(name: str, kind: type, reflected: bool = False) -> Any:
    real: Any = getattr(kind, f"__r{name}__" if reflected else f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        value = real(kind(self), plain(other))
        sides = (other, self) if reflected else (self, other)
        if value is NotImplemented:
            if not isinstance(other, (float, np.floating, np.ndarray)):
                return value
            value = getattr(operator, name)(*map(plain, sides))
        form = _followed(name, *sides)
        return _of(value, form) if form is not None else bent(value, *sides)

    return method


def _comparison(name: str, kind: type) -> Any:
    real: Any = getattr(kind, f"__{name}__")

    def method(self: Any, other: Any) -> Any:
        value = real(kind(self), plain(other))
        if value is NotImplemented and isinstance(other, (float, np.floating, np.integer)):
            value = getattr(operator, name)(plain(self), plain(other))
        if value is not NotImplemented:
            _compared(self, other)
        return value

    return method


class DrawnFloat(float):
    """A float that carries a form."""

    _form: NoisySum | None = None
    __array_ufunc__ = _ufunc
    __hash__ = float.__hash__

    def __neg__(self) -> Any:
        return _of(-float(self), None if self._form is None else self._form.times(-1.0))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return bent(abs(float(self)), self)

    def __reduce__(self) -> Any:
        return float, (float(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self


class DrawnInt(int):
    """An int that carries a form."""

    _form: NoisySum | None = None
    __array_ufunc__ = _ufunc
    __hash__ = int.__hash__

    def __neg__(self) -> Any:
        return _of(-int(self), None if self._form is None else self._form.times(-1.0))

    def __abs__(self) -> Any:
        return bent(abs(int(self)), self)

    def __reduce__(self) -> Any:
        return int, (int(self),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __copy__(self) -> Any:
        return self


for _kind, _class in ((float, DrawnFloat), (int, DrawnInt)):
    for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv"):
        setattr(_class, f"__{_name}__", _arithmetic(_name, _kind))
        setattr(_class, f"__r{_name}__", _arithmetic(_name, _kind, reflected=True))
    for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(_class, f"__{_name}__", _comparison(_name, _kind))


class DrawnArray(np.ndarray[Any, Any]):
    """An array that carries a form; its elements carry parts of it."""

    _form: NoisySum | None = None
    __array_ufunc__ = _ufunc

    def __array_finalize__(self, other: Any) -> None:
        self._form = None

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_stripped(args), **{name: _stripped(value) for name, value in kwargs.items()})

    def __getitem__(self, index: Any) -> Any:
        value = self.view(np.ndarray)[index]
        form = self._form
        if form is None or np.shape(form.base) != self.shape:
            return value
        return _of(value, form.at(index))

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def tolist(self) -> Any:
        """A list of numbers that remember, of a flat array."""
        return list(self) if self.ndim == 1 else self.view(np.ndarray).tolist()

    def item(self, *args: Any) -> Any:
        """An element."""
        return self[args[0] if args else 0] if self.ndim == 1 else self.view(np.ndarray).item(*args)

    def __reduce__(self) -> Any:
        return self.view(np.ndarray).__reduce__()


def _stripped(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_stripped, value)) if type(value) in (list, tuple) else value
    return plain(value)
