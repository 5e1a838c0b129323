"""Hints are told where the ledger or a further run supports them, and not of a similar mechanism."""

import pytest

from refutedp import ALL_DIFFER, REPLACE, Verdict, check

BRIEF = {"search_runs": 4_000, "confirm_runs": 20_000, "progress": False, "adjacency": REPLACE}


def clips_the_sum(queries, epsilon, rng):
    noisy = sum(queries) + rng.laplace(scale=1 / epsilon)
    return min(max(noisy, 0), 100)


def clips_the_records(queries, epsilon, rng):
    total = sum(min(max(query, 0), 4) for query in queries)
    return total + rng.laplace(scale=1 / epsilon)


def total(queries, epsilon, rng):
    return sum(queries) + rng.laplace(scale=1 / epsilon)


def scale_is_epsilon(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=epsilon)


def scale_is_small(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=0.25 / epsilon)


def ranked(queries, epsilon, rng):
    return sorted(["tea", "milk"], key=lambda name: queries[name == "milk"])


def ranked_by_noise(queries, epsilon, rng):
    noisy = [query + rng.laplace(scale=len(queries) / epsilon) for query in queries]
    return sorted(["tea", "milk"], key=lambda name: noisy[name == "milk"])


CASES = [
    ("clipping after noise", clips_the_sum, clips_the_records, ([4, 4], [0, 4]), {}),
    ("wrong adjacency", total, clips_the_records, ([4, 4, 4], [3, 3, 3]), {"adjacency": ALL_DIFFER}),
    ("noise scale inverted", scale_is_epsilon, scale_is_small, ([1], [0]), {"epsilon": 0.5}),
    ("data-dependent order", ranked, ranked_by_noise, ([2, 1], [1, 2]), {"adjacency": ALL_DIFFER}),
]


@pytest.mark.parametrize(("name", "wrong", "other", "pair", "more"), CASES, ids=[case[0] for case in CASES])
def test_a_hint_is_told_where_it_is_so(name, wrong, other, pair, more):
    options = {"epsilon": 1.0, **BRIEF, **more}
    told = check(wrong, pairs=[pair], **options).explained()
    assert told.verdict is Verdict.VIOLATION
    assert name in [hint.name for hint in told.explanation.hints]
    # The other one leaks by another mistake, or not at all.
    far = {"pairs": [([4, 4], [0, 4])], "adjacency": REPLACE} if name == "wrong adjacency" else {"pairs": [pair]}
    told = check(other, **{**options, **far}).explained()
    assert told.explanation is None or name not in [hint.name for hint in told.explanation.hints]


def test_a_correct_mechanism_gets_no_hint():
    told = check(
        ranked_by_noise, epsilon=1.0, pairs=[([2, 1], [1, 2])], **{**BRIEF, "adjacency": ALL_DIFFER}
    ).explained()
    assert told.verdict is not Verdict.VIOLATION and told.explanation is None
