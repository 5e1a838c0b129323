"""Sweeps share noise, and what they learn of pairs, between claims; each has its curve, in the order asked for."""

from __future__ import annotations

from refutedp import sweep
from refutedp.inputs.evolved import MOST_PROPOSED
from refutedp.mechanisms import noisy_max_laplace

BUDGET = {"search_runs": 4000, "confirm_runs": 20_000, "progress": False}


def curves(claimed):
    swept = sweep(noisy_max_laplace, claimed=claimed, test=[0.2, 0.6], **BUDGET)
    points: dict[float, list] = {}
    for point in swept.points:
        points.setdefault(point.claimed, []).append((point.test, point.evidence.counts, point.evidence.candidate))
    return points, dict(zip(points, swept.efforts, strict=True))


def test_curves_come_in_the_order_asked_for_and_do_not_depend_on_it():
    one, efforts = curves([0.4, 1.5, 0.8])
    other, others = curves([1.5, 0.8, 0.4])
    assert list(one) == [0.4, 1.5, 0.8]
    assert one == other
    assert efforts == others


def test_the_largest_claim_is_searched_whole_and_the_others_where_there_is_hope():
    points, efforts = curves([0.4, 1.5])
    alone, effort = curves([1.5])
    assert points[1.5] == alone[1.5]
    assert efforts[1.5] == effort[1.5]
    assert efforts[0.4].search_runs < efforts[1.5].search_runs
    # Evolution may propose a few pairs for one claim and none for another.
    assert abs(efforts[0.4].pairs - efforts[1.5].pairs) <= MOST_PROPOSED
