"""Wrong lifts, put back by hand one by one: the cross-examination alone catches each.

Every mechanism here is private for what it claims; a wrong lift of it is not.
"""

from __future__ import annotations

import warnings
from collections import deque

import numpy as np
import pytest

from refutedp import PureDP, Verdict, check
from refutedp.sampling.lifted.columns import array, builtin
from refutedp.sampling.lifted.rewrite import chosen, joins, lifted_copies
from refutedp.sampling.lifted.trust import plain_calls as plain
from refutedp.sampling.lifted.trust import refused_code
from refutedp.tracing import rng_proxy as proxies

PAIRS = [([1], [2])]
LAPLACE = PureDP(1.0)
"""What noise of scale 1 added to 1 or 2 promises, whatever is done to the sum afterwards."""
CALLS: deque[int] = deque()


def checked(function, claim=LAPLACE, seed=0):
    CALLS.clear()
    budgets = {"search_runs": 20_000, "confirm_runs": 20_000, "seed": seed}
    return check(function, claim, pairs=PAIRS, float_leaks="ignore", **budgets)


# Where the noise exceeds 5, the sum gives the data away, unless it is cut at 6 as it should be.


def limit_that_may_be_none(queries, rng):
    noise, limit = rng.laplace(), 6.0
    noisy = queries[0] + noise + 1000 * (queries[0] - 1) * max(noise - 5.0, 0.0)
    if rng.random() < 0:  # never
        limit = None
    if limit is not None:
        noisy = min(noisy, limit)
    return noisy


def cut_through_a_view(queries, rng):
    noise = rng.laplace(size=1)
    noisy = queries[0] + noise + 1000 * (queries[0] - 1) * np.maximum(noise - 5.0, 0.0)
    part = noisy[:]
    part[part > 6] = 6.0
    return noisy[0]


def cut_if_a_float(queries, rng):
    noise = rng.laplace()
    noisy = queries[0] + noise + 1000 * (queries[0] - 1) * max(noise - 5.0, 0.0)
    if type(noisy) == float:  # noqa: E721
        noisy = min(noisy, 6.0)
    return noisy


def flipped_by_single_precision(queries, rng):
    first = rng.random() < 0.5
    coin = rng.random(dtype=np.float32) if queries[0] > 1 else rng.random()
    return bool(first), (queries[0] > 1) == bool(coin < 0.75)


def parity_of_a_large_integer(queries, rng):
    return (rng.integers(0, 2, dtype=int) + (queries[0] - 1) * 2**63) % 2 == 0


def cut_by_a_warning(queries, rng):
    noise = rng.laplace()
    noisy = queries[0] + noise + 1000 * (queries[0] - 1) * max(noise - 5.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            np.exp(1e6 * (noisy - 6.0))
        except RuntimeWarning:
            noisy = 6.0
    return noisy


def sign_by_the_number_of_calls(queries, rng):
    CALLS.append(1)
    # As good as random on plain calls, of which there are thousands, and always the same on a few lifted ones.
    return (queries[0] > 1) == (len(CALLS) < 120 or len(CALLS) % 2 == 0), rng.random()


def join_none(monkeypatch):
    def assign(self, condition, then, otherwise):
        held = chosen.truth(condition)
        if held is None:
            return None
        joined = []
        for a, b in zip(then, otherwise, strict=True):
            value = chosen.join(condition.run, held, a, b)
            if value is chosen.UNSET and a is not None:
                return None
            joined.append(None if value is chosen.UNSET else value)
        return tuple(joined)

    monkeypatch.setattr(joins.Joins, "assign", assign)


def lose_views(monkeypatch):
    real = array.ArrayColumn.rearranged

    def copied(self, how, values=None, *, by_layout=False):
        return real(self, lambda places: np.array(how(places)), values, by_layout=False)

    def write_under(self, mask, value):
        self._replace(np.where(mask, value, self))

    monkeypatch.setattr(array.ArrayColumn, "rearranged", copied)
    monkeypatch.setattr(array.ArrayColumn, "_write_under", write_under)


def forget_types(monkeypatch):
    monkeypatch.delitem(builtin.LIFTED_BUILTINS, "type")


def raise_for_unknown_keywords(monkeypatch):
    def unknown(self, name, more, named):
        raise TypeError(f"{name}() got an unexpected keyword argument")

    monkeypatch.setattr(proxies.RngProxy, "_unknown", unknown)


def return_numpy_integers(monkeypatch):
    def integers(self, low, high=None, size=None, dtype=np.int64, endpoint=False):
        return self._handler.draw(proxies.DISTRIBUTIONS["integers"], self._bounds(low, high, endpoint), size)

    monkeypatch.setattr(proxies.GeneratorProxy, "integers", integers)


def ignore_warnings(monkeypatch):
    monkeypatch.setattr(lifted_copies.LiftedStage, "errstate", lambda self, **_: np.errstate(all="ignore"))
    monkeypatch.setattr(plain.PlainCalls, "errors", property(lambda _: {"all": "ignore"}, lambda *_: None), False)


def overlook_state(monkeypatch):
    monkeypatch.setattr(refused_code, "_items", lambda *_, **__: [])


CASES = {
    "a join with None": (join_none, limit_that_may_be_none, LAPLACE),
    "writes through a view are lost": (lose_views, cut_through_a_view, LAPLACE),
    "type() of a column": (forget_types, cut_if_a_float, LAPLACE),
    "keywords of generators": (raise_for_unknown_keywords, flipped_by_single_precision, PureDP(1.0987)),
    "integers that wrap around": (return_numpy_integers, parity_of_a_large_integer, PureDP(0.01)),
    "warnings as errors": (ignore_warnings, cut_by_a_warning, LAPLACE),
    "state in a deque": (overlook_state, sign_by_the_number_of_calls, PureDP(0.5)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_lift_convicts_nobody(name, monkeypatch):
    put_back, function, claim = CASES[name]
    put_back(monkeypatch)
    monkeypatch.setattr("refutedp.detector.detect.cross_examine", lambda *_: None)
    assert checked(function, claim).verdict is Verdict.VIOLATION, "without the cross-examination it is convicted"
    monkeypatch.undo()
    put_back(monkeypatch)
    result = checked(function, claim)
    assert result.verdict is not Verdict.VIOLATION
    assert "Lifted runs of this function were wrong" in " ".join(result.notes)
    assert result.settings.lift is False


@pytest.mark.parametrize("name", CASES)
def test_the_same_mechanism_is_not_convicted_without_the_defect(name):
    _, function, claim = CASES[name]
    result = checked(function, claim, seed=1)
    assert result.verdict is not Verdict.VIOLATION
    assert "were wrong" not in " ".join(result.notes)
