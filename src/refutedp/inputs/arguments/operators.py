"""Python's operators on watched values, spelled out once."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

Operation = Callable[[Any, Any], Any]


class Arithmetic:
    """Every operator of a watched value, told to `_compute` or `_compare` with its operands in order."""

    __slots__ = ()

    def _compute(self, operation: Operation, left: Any, right: Any) -> Any:
        raise NotImplementedError

    def _compare(self, operation: Operation, left: Any, right: Any) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._compute(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self._compute(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self._compute(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._compute(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self._compute(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._compute(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._compute(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._compute(operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self._compute(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._compute(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return self._compute(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._compute(operator.mod, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return self._compute(operator.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._compute(operator.pow, other, self)

    def __lt__(self, other: Any) -> Any:
        return self._compare(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return self._compare(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(operator.ge, self, other)

    def __eq__(self, other: object) -> Any:
        return self._compare(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return self._compare(operator.ne, self, other)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self
