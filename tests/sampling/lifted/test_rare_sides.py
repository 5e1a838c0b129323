"""A side of a branch that was joined into a choice is replayed before it is trusted, however rare it is."""

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.columns.array import ArrayColumn
from refutedp.sampling.lifted.rewrite import joins


def flags(queries, epsilon, rng):
    out = []
    for query in queries:
        if query + rng.laplace(scale=1 / epsilon) > 9:
            out.append(True)
        else:
            out.append(False)
    return out


def rare(queries, epsilon, rng):
    x = rng.laplace(scale=1 / epsilon)
    label = 0
    if x > 7:
        label = 1
    return label


@pytest.mark.parametrize("mechanism", [flags, rare])
def test_a_wrong_choice_on_the_rare_side_only_is_caught(mechanism, monkeypatch):
    lift = Lift(describe(mechanism), [1, 1], {"epsilon": 1.0})
    lift.prove(np.random.default_rng(0), 24)
    original = joins.join

    def wrong(run, held, then, otherwise):
        joined = original(run, held, then, otherwise)
        if hasattr(joined, "values") and joined.kind == "b":
            joined = type(joined)(joined.run, np.zeros(joined.run.n, dtype=bool), "b", False)
        elif hasattr(joined, "values"):
            joined = type(joined)(joined.run, np.zeros(joined.run.n, dtype=np.int64), "i", False)
        return joined

    monkeypatch.setattr(joins, "join", wrong)
    with pytest.raises(CannotLift, match="where the plain function returns"):
        lift.sample(50_000, np.random.default_rng(1))
    # A path that failed is not remembered as proven: it fails again.
    with pytest.raises(CannotLift, match="where the plain function returns"):
        lift.sample(50_000, np.random.default_rng(1))


@pytest.mark.parametrize("mechanism", [flags, rare])
def test_the_right_choice_passes(mechanism):
    lift = Lift(describe(mechanism), [1, 1], {"epsilon": 1.0})
    lift.prove(np.random.default_rng(0), 24)
    assert lift.sample(50_000, np.random.default_rng(1)).size == 50_000


def clamps_under_a_mask(queries, epsilon, rng):
    noisy = rng.laplace(scale=1 / epsilon, size=3)
    noisy[noisy > 7] = 7.0
    return noisy.tolist()


def test_a_lost_write_under_a_mask_that_seldom_holds_is_caught(monkeypatch):
    lift = Lift(describe(clamps_under_a_mask), [1, 1], {"epsilon": 1.0})
    lift.prove(np.random.default_rng(0), 24)
    assert lift.sample(50_000, np.random.default_rng(1)).size == 50_000
    lift = Lift(describe(clamps_under_a_mask), [1, 1], {"epsilon": 1.0})
    lift.prove(np.random.default_rng(0), 24)
    monkeypatch.setattr(ArrayColumn, "_replace", lambda *_: None)
    with pytest.raises(CannotLift, match="where the plain function returns"):
        lift.sample(50_000, np.random.default_rng(1))
