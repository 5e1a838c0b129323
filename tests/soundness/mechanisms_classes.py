"""Classes, closures and decorators: mechanisms as objects, and state that lives for one call only.

Where `exposed` is used, the cut at 5 makes the release private.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import operator
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from refutedp import PureDP
from tests.soundness.registry import BITS, FIRST, cases_of, exposed

private = cases_of("classes")


class LaplaceMechanism:
    """Laplace noise by a callable object."""

    def __init__(self, sensitivity, epsilon):
        self.sensitivity = sensitivity
        self.epsilon = epsilon

    @property
    def scale(self):
        return self.sensitivity / self.epsilon

    def release(self, value, rng):
        return value + rng.laplace(scale=self.scale)

    def __call__(self, queries, rng):
        return self.release(queries[0], rng)


private(name="callable_object")(LaplaceMechanism(1.0, 1.0))
private(name="bound_method")(LaplaceMechanism(1.0, 1.0).__call__)


class Cutting(LaplaceMechanism):
    """The same noise, cut at a class attribute."""

    limit = 5.0

    def release(self, value, rng):
        noise = super().release(0.0, rng)
        return min(exposed(value, noise), self.limit)


private(name="inherited_call_of_an_overridden_method")(Cutting(1.0, 1.0))


class Tools:
    """Helpers without an instance."""

    LIMIT = 5.0

    @staticmethod
    def noise(rng):
        return rng.laplace()

    @classmethod
    def cut(cls, value):
        return min(value, cls.LIMIT)


@private()
def static_and_class_methods(queries, rng):
    return Tools.cut(exposed(queries[0], Tools.noise(rng)))


@dataclasses.dataclass
class Release:
    """A record with a default and a computed field."""

    value: float
    limit: float = 5.0
    text: str = dataclasses.field(init=False, default="count")

    def __post_init__(self):
        self.value = min(self.value, self.limit)


@private()
def dataclass_that_cuts_itself(queries, rng):
    return Release(exposed(queries[0], rng.laplace()))


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: float

    def cut(self):
        return dataclasses.replace(self, value=min(self.value, 5.0))


@private()
def frozen_dataclass_replaced(queries, rng):
    return Frozen(exposed(queries[0], rng.laplace())).cut().value


@private()
def dataclass_as_a_dict(queries, rng):
    return dataclasses.asdict(Release(exposed(queries[0], rng.laplace())))


class Slotted:
    __slots__ = ("_value",)

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, new):
        self._value = 5.0 if new > 5 else new


@private()
def slots_and_a_setter(queries, rng):
    box = Slotted()
    box.value = exposed(queries[0], rng.laplace())
    return box.value


class Attributes:
    """Attributes made when they are asked for."""

    def __init__(self, value):
        self.value = value

    def __getattr__(self, name):
        if name == "cut":
            return min(self.value, 5.0)
        raise AttributeError(name)


@private()
def attribute_made_on_request(queries, rng):
    return Attributes(exposed(queries[0], rng.laplace())).cut


class Money:
    """A number with its own operators: sums are cut at 5."""

    def __init__(self, amount):
        self.amount = amount

    def __add__(self, other):
        return Money(min(self.amount + other, 5.0))

    __radd__ = __add__

    def __lt__(self, other):
        return self.amount < other.amount


@private()
def operators_of_its_own(queries, rng):
    return (Money(exposed(queries[0], rng.laplace())) + 0.0).amount


@private(pair=FIRST)
def smallest_by_its_own_order(queries, rng):
    return min(Money(q + rng.laplace()) for q in queries).amount


class Cached:
    def __init__(self, query, rng):
        self.query, self.rng = query, rng

    @functools.cached_property
    def noise(self):
        return self.rng.laplace()


@private()
def cached_property_draws_once(queries, rng):
    # One draw read twice is Laplace noise of scale 1; the mean of two draws would have lighter tails.
    release = Cached(queries[0], rng)
    return release.query + (release.noise + release.noise) / 2


@private()
def closure_over_the_scale(queries, epsilon, rng):
    def with_noise(value):
        return value + rng.laplace(scale=1 / epsilon)

    return with_noise(queries[0])


def releases_with(limit):
    def release(queries, rng):
        return min(exposed(queries[0], rng.laplace()), limit)

    return release


private(name="function_made_by_a_function")(releases_with(5.0))


def scaled(queries, scale, rng):
    return queries[0] + rng.laplace(scale=scale)


private(name="partial_function")(functools.partial(scaled, scale=1.0))


def cut_at(limit):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            return min(function(*arguments, **keywords), limit)

        return wrapper

    return decorate


@private()
@cut_at(5.0)
def decorated(queries, rng):
    return exposed(queries[0], rng.laplace())


@functools.lru_cache(maxsize=None)  # noqa: UP033
def scale_for(epsilon):
    return 1.0 / epsilon


@private()
def cached_helper(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=scale_for(epsilon))


@private()
def lambdas_in_a_dict(queries, rng):
    ways = {"keep": lambda x: x, "cut": lambda x: min(x, 5.0)}
    return ways["cut"](exposed(queries[0], rng.laplace()))


@private(pair=FIRST)
def late_binding_of_loop_variables(queries, rng):
    # All three functions see the last noise: they release the same value, and one answer uses the budget.
    noises = [rng.laplace() for _ in range(3)]
    makers = [lambda: noises[i] for i in range(3)]  # noqa: B023
    return [queries[0] + make() for make in makers]


@private(pair=FIRST)
def early_binding_by_defaults(queries, rng):
    makers = [lambda value=q + rng.laplace(): value for q in queries]  # noqa: B008
    return [make() for make in makers]


class Point(NamedTuple):
    x: float
    y: float


@private(pair=FIRST)
def named_tuple_replaced(queries, rng):
    point = Point(*(exposed(q, rng.laplace()) for q in queries))
    return point._replace(x=min(point.x, 5.0), y=min(point.y, 5.0))


Pair = namedtuple("Pair", "first second", defaults=[0.0])


@private()
def named_tuple_with_defaults(queries, rng):
    return Pair(min(exposed(queries[0], rng.laplace()), 5.0))._asdict()


class Answer(enum.Enum):
    LOW = "low"
    HIGH = "high"


@private()
def member_of_an_enum(queries, rng):
    noisy = queries[0] + rng.laplace()
    return (Answer.HIGH if noisy > 2 else Answer.LOW).value


class Accountant:
    """Spends a budget; made anew in each call."""

    def __init__(self, total):
        self.left = total

    def spend(self, part):
        if part > self.left + 1e-12:
            raise RuntimeError("budget spent")
        self.left -= part
        return 1 / part


@private()
def budget_spent_in_two_parts(queries, epsilon, rng):
    accountant = Accountant(epsilon)
    first = queries[0] + rng.laplace(scale=accountant.spend(epsilon / 4))
    second = queries[0] + rng.laplace(scale=accountant.spend(0.75 * epsilon))
    return first, second


@private(PureDP(math.log(3)), BITS)
def operator_functions(data, rng):
    flip = operator.lt(rng.random(), 0.25)
    return operator.xor(data[0], int(flip))


@private()
def array_in_an_attribute(queries, rng):
    class Box:
        def __init__(self, values):
            self.values = values

    box = Box(np.array([exposed(queries[0], rng.laplace())]))
    box.values[box.values > 5] = 5.0
    return box.values[0]


class Container:
    """Items that are cut when they are read."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, i):
        return min(self.values[i], 5.0)

    def __len__(self):
        return len(self.values)


@private(pair=FIRST)
def items_of_its_own_container(queries, rng):
    return list(Container([exposed(q, rng.laplace()) for q in queries]))
