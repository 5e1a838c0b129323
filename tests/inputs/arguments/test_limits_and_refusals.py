"""What cannot be followed is said in one sentence with file and line; limits are reported; nothing hangs."""

import math
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal

import pytest

from refutedp.inputs.arguments import Between, Limits, OneOf, find_arguments
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import describe

ONES, TWOS = [1] * 5, [2] * 5
HERE = "test_limits_and_refusals.py:"


def find(function, d1=ONES, d2=TWOS, domains=None, limits=None):
    return find_arguments(describe(function), d1, d2, {"epsilon": 0.5}, domains or {}, limits or Limits())


def exponential_threshold(queries, epsilon, threshold, rng):
    return [1 for q in queries if q + rng.laplace(scale=1 / epsilon) > math.exp(threshold)]


def rejection(queries, epsilon, threshold, rng):
    while True:
        draw = rng.laplace(scale=1 / epsilon)
        if draw > abs(threshold):
            return [q > draw for q in queries]


def endless(queries, epsilon, threshold, rng):
    x = threshold
    while x > 0:
        x = x + 1
    return x


def above(queries, epsilon, threshold, rng):
    return [1 for q in queries if q + rng.laplace(scale=1 / epsilon) > threshold]


def test_c_code_falls_back_to_the_values_of_the_data():
    found = find(exponential_threshold)
    line = exponential_threshold.__code__.co_firstlineno + 1
    assert found.notes == (f"{HERE}{line} needs a plain float of a value that depends on threshold",)
    assert 1 <= math.exp(found.arguments["threshold"]) < 2
    assert found.diverging == 5
    assert "candidates drawn from the data" in found.why


def test_a_limit_on_branches_is_reported():
    found = find(endless, limits=Limits(branches=50))
    line = endless.__code__.co_firstlineno + 2
    assert any(f"{HERE}{line} was reached after 50 branches and draws" in note for note in found.notes)
    assert found.arguments["threshold"] <= 0  # the one path that ends


def test_a_loop_that_ends_only_by_chance_still_gives_arguments():
    found = find(rejection)
    assert "threshold" in found.arguments
    assert any("branches and draws" in note for note in found.notes)


def test_a_limit_on_paths_is_reported():
    found = find(above, list(range(10)), [q + 1 for q in range(10)], limits=Limits(paths=3))
    line = above.__code__.co_firstlineno + 1
    assert any(note.startswith(f"{HERE}{line} forks once more after 3 paths") for note in found.notes)
    assert "threshold" in found.arguments


@pytest.mark.parametrize("limits", [Limits(units=100_000), Limits(events=2000)])
def test_a_limit_on_work_is_kept_reported_and_the_same_each_time(limits):
    data = list(range(150))
    found, again = (find(above, data, [q + 1 for q in data], limits=limits) for _ in range(2))
    assert any("used up" in note for note in found.notes)
    assert "threshold" in found.arguments
    assert found == again


def test_a_whole_number_is_tried_up_to_a_limit():
    def take(queries, epsilon, k: int, rng):
        return [q + rng.laplace(scale=1 / epsilon) > 1.5 for q in queries[:k]]

    found = find(take, limits=Limits(values=9))
    assert found.arguments == {"k": 5}
    line = take.__code__.co_firstlineno + 1
    assert found.notes == (
        f"{HERE}{line} needs a whole number that depends on k: only those from -2 to 6 were tried",
    )


def test_combinations_of_cases_are_limited():
    found = find(above, domains={"threshold": OneOf(range(-50, 50))}, limits=Limits(cases=4))
    line = above.__code__.co_firstlineno
    assert found.notes == (f"{HERE}{line} has more combinations of cases than the 4 that were tried",)


def test_paths_that_raise_are_avoided():
    def picky(queries, epsilon, threshold, rng):
        if threshold < 10:
            raise ValueError("too small")
        return above(queries, epsilon, threshold, rng)

    found = find(picky)
    assert found.arguments["threshold"] >= 10
    assert found.notes == ()


def test_a_mechanism_that_always_raises_is_said():
    def broken(queries, epsilon, threshold, rng):
        raise RuntimeError("no")

    found = find(broken)
    line = broken.__code__.co_firstlineno
    assert found.notes == (f"{HERE}{line} raises RuntimeError with {{'threshold': 1}} when noise is left out",)


def test_a_bare_except_does_not_swallow_the_search():
    def careful(queries, epsilon, threshold, rng):
        try:
            limit = math.exp(threshold)
        except Exception:
            limit = 0
        return [1 for q in queries if q + rng.laplace(scale=1 / epsilon) > limit]

    assert find(careful).diverging == 5


def test_draws_without_a_known_value():
    def wald(queries, epsilon, threshold, rng):
        return [1 for q in queries if q + rng.wald(1, 1 / epsilon) > threshold]

    found = find(wald)
    line = wald.__code__.co_firstlineno + 1
    assert found.notes == (f"{HERE}{line} draws with 'wald', for which no noise-free value is known",)
    assert found.arguments == {"threshold": 1.5}  # between the values of the data


@pytest.mark.parametrize(
    ("annotation", "shown"), [(str, "str"), (list[float], "list"), (Callable, "Callable"), (dict, "dict")]
)
def test_objects_must_be_passed(annotation, shown):
    def needy(queries, epsilon, option, rng):
        return option

    needy.__annotations__["option"] = annotation
    with pytest.raises(UsageError, match=rf"needy\(\) needs 'option': pass it with args=.*it is {shown}"):
        find(needy)


def test_the_error_names_the_argument_when_every_candidate_raises():
    def impossible(queries, epsilon, threshold, rng):
        return {}[math.exp(threshold)]

    with pytest.raises(
        UsageError, match=r"impossible\(\) needs 'threshold': pass it with args=\{\"threshold\": \.\.\.\}"
    ):
        find(impossible)


def test_domains_are_checked():
    with pytest.raises(UsageError, match=r"'nope'.*is not an argument of above\(\): it has threshold"):
        find(above, domains={"nope": Between(0, 1)})
    with pytest.raises(UsageError, match="is no domain"):
        find(above, domains={"threshold": 3})

    def flagged(queries, epsilon, flag: bool, rng):
        return flag

    with pytest.raises(UsageError, match="bounds a number"):
        find(flagged, domains={"flag": Between(0, 1)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Between(2, 1), "is empty"),
        (lambda: Between(0, math.inf), "high=inf"),
        (lambda: Between("a", 1), "low='a'"),
        (lambda: OneOf(()), "is empty"),
        (lambda: Limits(paths=0), "paths=0"),
        (lambda: Limits(units=-1), "units=-1"),
    ],
)
def test_bad_records_name_the_field(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_the_mechanism_and_its_data_stay_untouched():
    def greedy(queries, epsilon, threshold, rng):
        first = queries.pop()
        queries.append(99)
        return first + rng.laplace(scale=1 / epsilon) > threshold

    d1, d2 = [1, 1], [2, 2]
    found = find(greedy, d1, d2)
    assert (d1, d2) == ([1, 1], [2, 2])
    assert found.diverging == 1


def test_z3_is_imported_only_when_it_is_needed():
    code = "import sys, refutedp, refutedp.inputs.arguments; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_library_that_refuses_watched_numbers_is_said():
    def exact(queries, epsilon, threshold, rng):
        limit = Decimal(threshold)
        return [1 for q in queries if q + rng.laplace(scale=1 / epsilon) > float(limit)]

    found = find(exact)
    line = exact.__code__.co_firstlineno + 1
    assert found.notes == (f"{HERE}{line} raises TypeError when its values are followed",)
    assert found.arguments == {"threshold": 1.5}
    assert found.diverging == 5
