"""Flat lists and tuples take a short way into columns: it leads to the same groups as the long one."""

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import collect
from refutedp.sampling.lifted.lift import Lift


def mixed_list(data, rng):
    x = rng.laplace()
    return [True, None, "a", 3, 1.5, x, x > 0, np.float64(2.0)]


def mixed_tuple(data, rng):
    return (rng.integers(0, 5), False, rng.normal() + data[0])


def by_path(data, rng):
    out = []
    for value in data:
        noisy = value + rng.laplace()
        if noisy > 1:
            out.append(noisy)
            break
        out.append(False)
    return out


@pytest.mark.parametrize("mechanism", [mixed_list, mixed_tuple, by_path])
def test_the_short_way_gives_the_same_groups(mechanism, monkeypatch):
    def sample():
        lift = Lift(describe(mechanism), [0, 1, 2], {})
        return lift.sample(2000, np.random.default_rng(0)).groups

    short = sample()
    monkeypatch.setattr(collect, "_flat", lambda output, n: None)
    for got, expected in zip(short, sample(), strict=True):
        assert (got.shape, got.rows) == (expected.shape, expected.rows)
        assert [c.dtype for c in got.columns] == [c.dtype for c in expected.columns]
        assert all(np.array_equal(a, b) for a, b in zip(got.columns, expected.columns, strict=True))
