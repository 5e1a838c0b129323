# ruff: noqa: D101, D102, UP032 - styles that people write
"""Styles of what is returned: text, rounded numbers, dataclasses, dicts, objects, and models."""

from __future__ import annotations

import collections
import dataclasses
import json
import math
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from bench.everyday.registry import everyday

AGES = [23.0, 31.0, 45.0, 52.0, 38.0, 61.0, 29.0]


@everyday(AGES, epsilon=1.0)
def text_two_digits(data, epsilon, rng):
    noisy = len(data) + rng.laplace(scale=1 / epsilon)
    return f"{noisy:.2f}"


@everyday(AGES, epsilon=1.0)
def text_sentence(data, epsilon, rng):
    noisy = sum(data) / len(data) + rng.laplace(scale=60 / len(data) / epsilon)
    return f"the mean age is {noisy:.1f}"


@everyday(AGES, epsilon=1.0)
def text_str(data, epsilon, rng):
    return str(round(len(data) + rng.laplace(scale=1 / epsilon)))


@everyday(AGES, epsilon=1.0)
def text_str_of_float(data, epsilon, rng):
    return str(round(len(data) + float(rng.laplace(scale=1 / epsilon)), 2))


@everyday(AGES, epsilon=1.0)
def text_percent(data, epsilon, rng):
    return "%.1f people" % (len(data) + rng.laplace(scale=1 / epsilon))


@everyday(AGES, epsilon=1.0)
def text_format(data, epsilon, rng):
    return "count: {:.0f}".format(len(data) + rng.laplace(scale=1 / epsilon))


@everyday([3, 5, 2], epsilon=1.0)
def text_joined(data, epsilon, rng):
    return ", ".join(f"{x + rng.laplace(scale=1 / epsilon):.1f}" for x in data)


@everyday([3, 5, 2], epsilon=1.0)
def text_list(data, epsilon, rng):
    return [f"{x + rng.normal(0, 1 / epsilon):.2f}" for x in data]


@everyday([3, 5, 2], epsilon=1.0)
def text_json(data, epsilon, rng):
    return json.dumps({"count": round(len(data) + rng.laplace(scale=1 / epsilon), 2)})


@everyday([3, 5, 2], epsilon=1.0)
def text_level(data, epsilon, rng):
    noisy = sum(data) + rng.laplace(scale=1 / epsilon)
    level = "high" if noisy > 10 else "low"
    return f"level {level}"


@everyday([3, 5, 2], epsilon=1.0)
def text_key(data, epsilon, rng):
    noisy = [x + rng.laplace(scale=2 / epsilon) for x in data]
    return f"winner-{noisy.index(max(noisy))}"


@everyday(AGES, epsilon=1.0)
def rounded(data, epsilon, rng):
    return round(len(data) + rng.laplace(scale=1 / epsilon))


@everyday(AGES, epsilon=1.0)
def rounded_one_digit(data, epsilon, rng):
    return round(sum(data) + rng.laplace(scale=100 / epsilon), 1)


@everyday(AGES, epsilon=1.0)
def rounded_to_tens(data, epsilon, rng):
    return round(sum(data) + rng.laplace(scale=100 / epsilon), -1)


@everyday(AGES, epsilon=1.0)
def rounded_int_to_tens(data, epsilon, rng):
    return round(int(sum(data) + rng.laplace(scale=100 / epsilon)), -1)


@everyday(AGES, epsilon=1.0)
def rounded_list(data, epsilon, rng):
    return [round(x + rng.laplace(scale=1 / epsilon), 2) for x in data]


@everyday(AGES, epsilon=1.0)
def rounded_array(data, epsilon, rng):
    return np.round(np.array(data) + rng.laplace(scale=1 / epsilon, size=len(data)), 1)


@everyday(AGES, epsilon=1.0)
def rounded_rint(data, epsilon, rng):
    return int(np.rint(len(data) + rng.laplace(scale=1 / epsilon)))


@everyday(AGES, epsilon=1.0, step=0.5)
def snapped(data, epsilon, step, rng):
    noisy = len(data) + rng.laplace(scale=1 / epsilon)
    return max(0.0, min(20.0, step * math.floor(noisy / step + 0.5)))


@dataclass
class Release:
    mean: float
    count: int
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Bounds:
    low: float
    high: float


class Interval(NamedTuple):
    centre: float
    width: float


Answer = namedtuple("Answer", "index value")


class Level(Enum):
    LOW = 0
    HIGH = 1


@everyday(AGES, epsilon=1.0)
def dataclass_release(data, epsilon, rng):
    mean = float(np.mean(data) + rng.laplace(scale=60 / len(data) / epsilon))
    return Release(mean=mean, count=round(len(data) + rng.laplace(scale=1 / epsilon)))


@everyday(AGES, epsilon=1.0)
def dataclass_slots(data, epsilon, rng):
    noisy = [x + rng.laplace(scale=1 / epsilon) for x in data]
    return Bounds(min(noisy), max(noisy))


@everyday(AGES, epsilon=1.0)
def dataclass_replaced(data, epsilon, rng):
    release = Release(0.0, 0)
    return dataclasses.replace(release, mean=len(data) + rng.laplace(scale=1 / epsilon))


@everyday(AGES, epsilon=1.0)
def dataclass_as_dict(data, epsilon, rng):
    return dataclasses.asdict(Release(sum(data) + rng.laplace(scale=100 / epsilon), len(data)))


@everyday(AGES, epsilon=1.0)
def named_interval(data, epsilon, rng):
    return Interval(sum(data) + rng.laplace(scale=100 / epsilon), 3.0)


@everyday([3, 5, 2], epsilon=1.0)
def named_answer(data, epsilon, rng):
    noisy = [x + rng.laplace(scale=2 / epsilon) for x in data]
    best = max(range(len(noisy)), key=noisy.__getitem__)
    return Answer(best, noisy[best])


@everyday([3, 5, 2], epsilon=1.0)
def enum_level(data, epsilon, rng):
    return Level.HIGH if sum(data) + rng.laplace(scale=1 / epsilon) > 10 else Level.LOW


@everyday([3, 5, 2], epsilon=1.0)
def dict_of_all(data, epsilon, rng):
    noisy = np.array(data) + rng.laplace(scale=1 / epsilon, size=len(data))
    return {"values": noisy, "total": float(noisy.sum()), "top": int(noisy.argmax())}


@everyday({"a": 3, "b": 5, "c": 2}, epsilon=1.0)
def dict_winner(counts, epsilon, rng):
    noisy = {key: value + rng.laplace(scale=2 / epsilon) for key, value in counts.items()}
    return max(noisy, key=noisy.get)


@everyday({"a": 3, "b": 5, "c": 2}, epsilon=1.0)
def dict_drawn_key(counts, epsilon, rng):
    keys = list(counts)
    index = int(np.argmax([counts[key] + rng.laplace(scale=2 / epsilon) for key in keys]))
    return {keys[index]: counts[keys[index]] + rng.laplace(scale=1 / epsilon)}


@everyday({"a": 3, "b": 5, "c": 2}, epsilon=1.0)
def dict_sorted_items(counts, epsilon, rng):
    noisy = {key: value + rng.laplace(scale=2 / epsilon) for key, value in counts.items()}
    return [key for key, _ in sorted(noisy.items(), key=lambda item: item[1], reverse=True)]


@everyday([0, 1, 1, 2])
def drawn_key_counts(data, rng):
    counts: dict[int, int] = {}
    for x in data:
        report = x if rng.random() < 0.6 else int(rng.integers(3))
        counts[report] = counts.get(report, 0) + 1
    return counts


@everyday([0, 1, 1, 2])
def drawn_histogram(data, rng):
    counts = [0, 0, 0]
    for x in data:
        report = x if rng.random() < 0.6 else int(rng.integers(3))
        counts[report] += 1
    return counts


@everyday([0, 1, 1, 2])
def drawn_bincount(data, rng):
    reports = [x if rng.random() < 0.6 else int(rng.integers(3)) for x in data]
    return np.bincount(reports, minlength=3)


class Model:
    """A fitted model, as scikit-learn writes them."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def fit(self, data: Any, rng: np.random.Generator) -> Model:
        values = np.asarray(data)
        self.coef_ = values[:3] / 10 + rng.laplace(scale=1 / self.epsilon, size=3)
        self.intercept_ = float(values.mean() + rng.laplace(scale=1 / self.epsilon))
        return self


@everyday(AGES, epsilon=1.0)
def model_object(data, epsilon, rng):
    return Model(epsilon).fit(data, rng)


@everyday(AGES, epsilon=1.0)
def model_coefficients(data, epsilon, rng):
    model = Model(epsilon).fit(data, rng)
    return model.coef_.tolist(), model.intercept_


@everyday(AGES, epsilon=1.0)
def model_prediction(data, epsilon, rng):
    model = Model(epsilon).fit(data, rng)
    return float(model.coef_ @ np.array([1.0, 2.0, 0.5]) + model.intercept_)


@everyday(AGES, epsilon=1.0)
def namespace_result(data, epsilon, rng):
    return SimpleNamespace(mean=sum(data) + rng.laplace(scale=100 / epsilon), count=len(data))


class Accountant:
    """A noisy sum with a budget."""

    def __init__(self, budget: float, rng: np.random.Generator) -> None:
        self.left = budget
        self.rng = rng

    def spend(self, epsilon: float) -> float:
        if epsilon > self.left:
            raise ValueError("no budget left")
        self.left -= epsilon
        return 1 / epsilon

    def count(self, data: Any, epsilon: float) -> float:
        return len(data) + self.rng.laplace(scale=self.spend(epsilon))


@everyday(AGES, epsilon=1.0)
def accountant(data, epsilon, rng):
    budget = Accountant(epsilon, rng)
    old = budget.count([x for x in data if x > 40], epsilon / 2)
    return old, budget.count(data, epsilon / 2)


class Tree:
    """Noisy counts of halves."""

    def __init__(self, data: list[float], depth: int, rng: np.random.Generator) -> None:
        self.count = len(data) + rng.laplace(scale=2.0)
        middle = len(data) // 2
        self.children = [Tree(part, depth - 1, rng) for part in (data[:middle], data[middle:])] if depth else []


@everyday(AGES)
def tree_object(data, rng):
    return Tree(data, 2, rng)


@everyday(AGES)
def tree_of_counts(data, rng):
    def count(node):
        return {"n": node.count, "parts": [count(child) for child in node.children]}

    return count(Tree(data, 2, rng))


@everyday(AGES, epsilon=1.0)
def deque_window(data, epsilon, rng):
    window: collections.deque[float] = collections.deque(maxlen=3)
    means = []
    for x in data:
        window.append(x + rng.laplace(scale=1 / epsilon))
        means.append(sum(window) / len(window))
    return means
