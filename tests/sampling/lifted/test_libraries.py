# ruff: noqa: UP031, UP032, RUF057 - styles that people write
"""SciPy's distributions, pandas, and text of drawn values: every lifted run equals the plain function."""

from __future__ import annotations

import copy
import json

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy import stats
from scipy.stats import laplace

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.columns.scalar import Scalar
from refutedp.sampling.lifted.execution import NOTHING, Deferred, Run
from refutedp.sampling.lifted.trust.exposure import reaches_column

FRAME = pd.DataFrame({"age": [20.0, 41.5, 63.0], "city": ["a", "b", "a"]})


def rvs_of_every_kind(data, rng):
    return [
        laplace.rvs(data[0], 2.0, random_state=rng),
        stats.norm.rvs(loc=1, scale=0.5, random_state=rng),
        float(scipy.stats.expon.rvs(scale=3, random_state=rng)),
        stats.uniform.rvs(-1, 2, random_state=rng),
        stats.logistic.rvs(random_state=rng),
        stats.gumbel_r.rvs(random_state=rng),
        stats.bernoulli.rvs(0.25, random_state=rng),
        stats.binom.rvs(5, 0.5, random_state=rng),
        stats.geom.rvs(0.5, random_state=rng),
        stats.poisson.rvs(2.5, loc=3, random_state=rng),
        stats.dlaplace.rvs(0.7, random_state=rng),
        stats.laplace.rvs(scale=1 + rng.random(), random_state=rng),
        laplace.ppf(rng.random(), scale=2.0),
    ]


def vectors_of_rvs(data, rng):
    return (
        laplace.rvs(loc=data, scale=2.0, size=3, random_state=rng),
        stats.geom.rvs(0.5, size=3, random_state=rng),
        stats.norm.rvs(size=(2, 2), random_state=rng),
    )


def imports_inside(data, rng):
    from scipy.stats import laplace as noise

    return noise.rvs(scale=2, random_state=rng) + rng.laplace()


def frame_beside_draws(data, rng):
    frame = pd.DataFrame({"age": [20.0, 41.5, 63.0], "city": ["a", "b", "a"]})
    ages = frame[frame["city"] == "a"]["age"].clip(18, 60)
    return ages.mean() + rng.laplace(), frame.groupby("city").size().to_dict()["b"] + rng.normal()


def texts(data, rng):
    x, k, high = float(rng.laplace()), int(rng.integers(-20, 20)), rng.random() < 0.5
    level = "high" if high else "low"
    return [
        *(f"{x:.2f}", f"{x!r:>30}", f"{k:+d} of {x:8.3e}", f"{level:>6}|{high}", f"{rng.normal()}", f"{k:{5}}"),
        *("%.1f and %d" % (x, k), "%s" % level, "{:.0f} {name}".format(x, name=k), ", ".join([level, str(k)])),
        *(str(x), repr(rng.laplace()), format(k, "04d"), str(high), level + "!", "a" + level, str(round(x, 1))),
    ]


def rounds(data, rng):
    k = int(rng.integers(-500, 500))
    return [round(k, -1), round(k, -2), round(k, 3), round(k), round(k, -3), np.bincount([abs(k) % 3], minlength=3)]


LIFTED = [rvs_of_every_kind, vectors_of_rvs, imports_inside, frame_beside_draws, texts, rounds]


@pytest.mark.parametrize("function", LIFTED, ids=lambda f: f.__name__)
def test_every_run_equals_the_plain_function(function):
    lift = Lift(describe(function), [1.0, 2.0, 3.0], {})
    lift.prove(np.random.default_rng(0), runs=100)
    assert lift.sample(500, np.random.default_rng(1)).size == 500
    assert len(lift._proven) == 1


def global_state(data, rng):
    return laplace.rvs(scale=2.0)


def seeded(data, rng):
    return rng.random() + laplace.rvs(random_state=3)


def unknown(data, rng):
    return stats.levy.rvs(random_state=rng)


def ends_with_zero(data, rng):
    return f"{rng.random():.1f}\0"


def drawn_into_a_frame(data, rng):
    return float((FRAME["age"] + rng.laplace(size=3)).mean())


def drawn_into_pandas(data, rng):
    return pd.Series([rng.laplace(), 1.0]).max()


def drawn_into_json(data, rng):
    return json.dumps(rng.laplace())


@pytest.mark.parametrize(
    "function",
    [global_state, seeded, unknown, ends_with_zero, drawn_into_a_frame, drawn_into_pandas, drawn_into_json],
    ids=lambda f: f.__name__,
)
def test_is_refused(function):
    with pytest.raises(CannotLift):
        Lift(describe(function), [1.0], {}).prove(np.random.default_rng(0))


def test_code_of_libraries_that_sees_a_drawn_value_is_not_excused():
    """`json` compares with True by identity: it may not be told that no drawn value gets there."""

    def exposed(data, rng):
        return json.JSONEncoder(indent=1).encode([rng.random() < 0.5])

    with pytest.raises(CannotLift):
        Lift(describe(exposed), [1.0], {}).prove(np.random.default_rng(0))


def test_columns_are_found_wherever_they_are():
    class Holder:
        pass

    run = Run(Deferred(3, (), NOTHING), lambda _: None)
    column = Scalar(run, np.zeros(3), "f", False)
    holder, array = Holder(), np.empty(1, dtype=object)
    holder.inner, array[0] = {"a": [column]}, column
    assert all(map(reaches_column, (column, [column], {"k": (column,)}, holder, array, iter([column]))))
    assert reaches_column(pd.Series([column, column]))
    assert not reaches_column([1, "a", FRAME, copy.deepcopy, iter([1])])
