"""Pairs by program analysis: adjacent, in the user's domain, and their runs part at the branch that is named."""

from __future__ import annotations

import copy
import functools
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from refutedp import (
    ALL_DIFFER,
    ONE_DIFFERS,
    AddRemove,
    AllDiffer,
    OneDiffers,
    Replace,
    Verdict,
    check,
)
from refutedp.inputs.analysed import Analysed
from refutedp.inputs.given import pairs_around
from refutedp.inputs.source import SearchSpace, Seen, pairs_for
from refutedp.mechanisms import isvt1, noisy_max_laplace, svt
from refutedp.model.mechanism import describe
from tests.inputs.special_cases import BUGS, demo_total

SMALL = {"search_runs": 10_000, "confirm_runs": 20_000, "progress": False}


def source_of(function, adjacency=ALL_DIFFER, inputs=None, **keywords):
    """The source, and what was seen of the usual pairs: nothing that breaks the claim."""
    options = {"allowed": 1.0, "lengths": None, "seed": 0, "calls": 4_000} | keywords
    mechanism = describe(function)
    datasets = [] if inputs is None else [inputs]
    usual = pairs_for(adjacency) if inputs is None else pairs_around(adjacency, inputs, 0).pairs
    kind = np.asarray if "ndarray" in str(mechanism.data_annotation) else list
    pairs = [replace(one, d1=kind(one.d1), d2=kind(one.d2), arguments={"epsilon": 1.0}) for one in usual]
    seen = [Seen(pair, -1.0) for pair in pairs]
    return Analysed(SearchSpace(mechanism, adjacency, datasets, **options)), seen


def proposed(function, **keywords):
    source, seen = source_of(function, **keywords)
    return source.propose(seen)


class Silent:
    """A generator without noise."""

    def laplace(self, loc=0.0, scale=1.0):
        return loc


def lines_run(function, data):
    """The lines of the function that a noise-free run executes, in order."""
    lines = []

    def follow(frame, event, _):
        if frame.f_code is function.__code__:
            if event == "line":
                lines.append(frame.f_lineno)
            return follow
        return None

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        function(copy.deepcopy(data), 1.0, Silent())
    finally:
        sys.settrace(before)
    return lines


def assert_parts_as_said(function, adjacency, pair):
    """The pair is adjacent, and the last line that both runs execute alike is the one that the category names."""
    assert adjacency.difference(pair.d1, pair.d2) is None
    named = int(re.match(r"the two runs part at line (\d+)", pair.category)[1])
    first, second = (lines_run(function, data) for data in (pair.d1, pair.d2))
    alike = [one for one, other in zip(first, second, strict=False) if one == other]
    parted = next(i for i, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    assert alike[parted - 1] == first[parted - 1] == named


@pytest.mark.parametrize("name", BUGS)
def test_runs_part_at_the_branch_that_is_named(name):
    case = BUGS[name]
    adjacency = case.kwargs.get("adjacency", ALL_DIFFER)
    pairs = proposed(case.bug, **case.kwargs)
    assert any(pair.category.endswith(f": {case.branch}") for pair in pairs)
    for pair in pairs:
        assert_parts_as_said(case.bug, adjacency, pair)


@pytest.mark.parametrize("name", BUGS)
def test_a_branch_that_costs_nothing_is_not_raced(name):
    case = BUGS[name]
    assert proposed(case.twin, **case.kwargs) == []


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_found_and_its_twin_is_not_convicted(name):
    case = BUGS[name]
    found = check(case.bug, epsilon=1.0, **case.kwargs, **SMALL)
    assert found.verdict is Verdict.VIOLATION
    assert check(case.twin, epsilon=1.0, **case.kwargs, **SMALL).verdict is not Verdict.VIOLATION


@pytest.mark.parametrize("seed", range(8))
def test_any_linear_condition_is_parted_at(seed):
    rng = np.random.default_rng(seed)
    weights, least = rng.integers(-9, 10, size=3), int(rng.integers(-900, 900))
    weights[0] += 20
    first, second, third = weights.tolist()

    def above(queries):
        return first * queries[0] + second * queries[1] + third * queries[2] > least

    def special(queries, epsilon, rng):
        if above(queries):
            return "above"
        return rng.laplace(scale=1 / epsilon)

    source, seen = source_of(special, lengths=(3,))
    seen = [one for one in seen if len(one.pair.d1) == 5 and above(one.pair.d1) == above(one.pair.d2)]
    pairs = source.propose(seen)
    assert pairs
    for pair in pairs:
        assert above(pair.d1) != above(pair.d2)
        assert ALL_DIFFER.difference(pair.d1, pair.d2) is None
        assert (min(*pair.d1, *pair.d2) < 0) == (pair.outside == "negative answers")


def above_700(queries, epsilon, rng):
    if queries[-1] > 700.25:
        return -1
    return rng.laplace(scale=1 / epsilon)


def even_and_large(queries, epsilon, rng):
    if queries[0] > 90 and queries[0] % 2 == 0:
        return -1
    return rng.laplace(scale=1 / epsilon)


@pytest.mark.parametrize(
    ("function", "adjacency", "lengths"),
    [
        (above_700, ONE_DIFFERS, None),
        (above_700, OneDiffers(0.5), (4,)),
        (above_700, AllDiffer(0.5), (2, 7)),
        (above_700, AllDiffer(3), (1,)),
        (even_and_large, AllDiffer(2), None),
    ],
)
def test_pairs_keep_the_adjacency_and_the_lengths(function, adjacency, lengths):
    pairs = proposed(function, adjacency=adjacency, lengths=lengths)
    assert pairs
    for pair in pairs:
        assert_parts_as_said(function, adjacency, pair)
        assert lengths is None or len(pair.d1) in lengths


def exactly_57(records, epsilon, rng):
    for value in records:
        if value == 57:
            return "57"
    return len(records) + rng.laplace(scale=1 / epsilon)


def far_from_all(records, epsilon, rng):
    for value in records:
        if value > 5000:
            return "far"
    return len(records) + rng.laplace(scale=1 / epsilon)


def product_of_70(records, epsilon, rng):
    for one, other in records:
        if one * 10 == other:
            return "tenfold"
    return len(records) + rng.laplace(scale=1 / epsilon)


KNOWN = [(7, 70), (3, 4), (2, 9)]


@pytest.mark.parametrize("kind", [AddRemove, Replace])
def test_records_stay_between_the_users_where_odd_ones_are_forbidden(kind):
    (pair,) = proposed(exactly_57, adjacency=kind((20, 70), odd=False))
    assert pair.outside == ""
    assert all(20 <= value <= 70 and type(value) is int for value in (*pair.d1, *pair.d2))
    assert proposed(far_from_all, adjacency=kind((20, 70), odd=False)) == []
    (pair,) = proposed(far_from_all, adjacency=kind((20, 70)))
    assert pair.outside in {repr(value) for value in (*pair.d1, *pair.d2) if value > 5000}
    for pair in proposed(product_of_70, adjacency=kind(KNOWN[1:], odd=False)):
        assert {*pair.d1, *pair.d2} <= {*KNOWN}
    (pair,) = proposed(product_of_70, adjacency=kind(KNOWN[1:]))
    assert pair.outside


def test_unusual_inputs_are_left_out_where_such_ones_break_the_claim_already():
    source, seen = source_of(far_from_all, adjacency=AddRemove((20, 70)))
    broken = next(one for one in seen if one.pair.outside)
    assert source.propose([*seen, Seen(broken.pair, 0.5)]) == []
    source, seen = source_of(exactly_57, adjacency=AddRemove((20, 70)))
    broken = next(one for one in seen if one.pair.outside)
    assert [pair.outside for pair in source.propose([*seen, Seen(broken.pair, 0.5)])] == [""]


def test_code_without_source_is_named_by_its_line():
    names = {}
    exec(
        "def special(queries, epsilon, rng):\n    if queries[0] == 4321:\n        return 0\n    return rng.laplace()",
        names,
    )
    (pair,) = proposed(names["special"], lengths=(1,))
    assert pair.category == "the two runs part at line 2"


def test_answers_that_the_user_gives_are_not_changed():
    result = check(demo_total, epsilon=1.0, inputs=[[3, 5, 2]], **SMALL)
    assert result.verdict is not Verdict.VIOLATION


def test_it_proposes_once_and_only_if_nothing_was_found():
    source, seen = source_of(demo_total)
    first = source.propose(seen)
    assert first
    assert source.propose(seen) == []
    assert source_of(demo_total)[0].propose(seen) == first
    source, seen = source_of(demo_total)
    assert source.propose([*seen, Seen(seen[0].pair, 0.5)]) == []
    assert (source.calls, source.told()) == (0, "program analysis was not needed")


def test_calls_are_counted_and_bounded():
    calls = []

    def counted(queries, epsilon, rng):
        calls.append(1)
        return sum(query if query > 100 else 0 for query in queries) + rng.laplace(scale=1 / epsilon)

    source, seen = source_of(counted, calls=300)
    source.propose(seen)
    # What is under way at the bound is finished: the paths of two lengths, and the pairs of one.
    assert len(calls) == source.calls <= 300 + 600


def plain_sum(queries, epsilon, rng):
    return sum(queries) + rng.laplace(scale=len(queries) / epsilon)


def by_logarithm(queries, epsilon, rng):
    logs = np.log(np.maximum(np.asarray(queries, dtype=float), 1))
    return (1 if logs.sum() > 40 else 0) + rng.laplace(scale=1 / epsilon)


def exits(queries, epsilon, rng):
    if queries[0] > 50:
        sys.exit(2)
    return queries[0] + rng.laplace(scale=1 / epsilon)


class Weird:
    """Has a signature, and nothing that could be copied."""

    def __call__(self, queries, epsilon, rng):
        return getattr(self, "factor", 1) * queries[0] + rng.laplace(scale=1 / epsilon) * (queries[0] < 90)

    def __copy__(self):
        raise TypeError("there is but one")

    __deepcopy__ = __reduce_ex__ = __copy__


@pytest.mark.parametrize("function", [plain_sum, by_logarithm, exits, Weird(), functools.partial(plain_sum)])
def test_what_cannot_be_followed_is_a_sentence(function):
    source, seen = source_of(function)
    assert all(pair.d1 != pair.d2 for pair in source.propose(seen))
    assert source.told().startswith("program analysis ")


def test_the_solver_is_not_loaded_for_code_without_comparisons():
    code = (
        "import sys; from refutedp import check; from refutedp.mechanisms import histogram, noisy_max_laplace\n"
        "for one in (histogram, noisy_max_laplace):\n"
        "    check(one, epsilon=1.0, search_runs=2000, confirm_runs=2000, progress=False)\n"
        "print('z3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("function", [svt, isvt1, noisy_max_laplace])
def test_branches_that_noise_decides_are_left_alone(function):
    source, seen = source_of(function)
    arguments = {"epsilon": 1.0} | ({} if function is noisy_max_laplace else {"threshold": 1.5})
    arguments |= {"bound": 1} if function is svt else {}
    assert source.propose([Seen(replace(one.pair, arguments=arguments), -1.0) for one in seen]) == []
    assert "no branch" in source.told() or "no comparison" in source.told()
