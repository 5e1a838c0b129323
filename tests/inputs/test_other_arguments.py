"""Arguments that nobody gave take other values where a pair costs more there; those that only scale noise do not."""

import pytest

from refutedp import ONE_DIFFERS, AddRemove, Between, Verdict, check
from refutedp.inputs.arguments.problem import Wanted
from refutedp.inputs.drafts import Mined
from refutedp.inputs.other_arguments import OtherArguments, Role, values_of
from refutedp.model.mechanism import describe
from refutedp.model.records import Pair
from refutedp.tracing.ledger import Ledger

NOTHING = Mined((), ())
SMALL = {"epsilon": 1.0, "confirm_runs": 20_000, "progress": False}


def better(function, wanted, pair):
    with Ledger(describe(function), 0).open() as ledger:
        cost = ledger.usual([pair])
        return OtherArguments(describe(function), wanted, ledger).better([pair], NOTHING, cost, 2_000)


def recent(queries, epsilon, window, rng):
    if window < 1:
        raise ValueError("window must be positive")
    return sum(min(max(q, 0), 2) for q in queries[-window:]) + rng.laplace(scale=1 / epsilon)


def recent_scaled(queries, epsilon, window, rng):
    if window < 1:
        raise ValueError("window must be positive")
    return sum(min(max(q, 0), 2) for q in queries[-window:]) + rng.laplace(scale=window / epsilon)


def clipped(values, epsilon, lo, hi, rng):
    return sum(max(lo, min(hi, value)) for value in values) + rng.laplace(scale=1 / epsilon)


def clipped_scaled(values, epsilon, lo, hi, rng):
    return sum(max(lo, min(hi, value)) for value in values) + rng.laplace(scale=max(abs(lo), abs(hi)) / epsilon)


def scaled(queries, epsilon, sensitivity, rng):
    if sensitivity <= 0:
        raise ValueError("sensitivity must be positive")
    return queries[0] + rng.laplace(scale=sensitivity / epsilon)


def shared_budget(queries, epsilon, part, rng):
    if not 0 < part < 1:
        raise ValueError("part must lie between 0 and 1")
    first = queries[0] + rng.laplace(scale=1 / (part * epsilon))
    return first, queries[0] + rng.laplace(scale=1 / ((1 - part) * epsilon))


PAIR = Pair([1, 1, 1, 1, 1], [2, 2, 2, 2, 2], "All Above", {"epsilon": 1.0, "window": 1})


def test_a_value_at_which_more_moves_is_chosen():
    found = better(recent, [Wanted("window", "int")], PAIR)
    assert found["window"] in (4, 5, 10, 20)


@pytest.mark.parametrize(
    ("function", "name"), [(scaled, "sensitivity"), (shared_budget, "part")], ids=["sensitivity", "part"]
)
def test_what_only_noise_depends_on_stays(function, name):
    pair = Pair([1], [2], "All Above", {"epsilon": 1.0, name: 0.5})
    assert better(function, [Wanted(name, "real")], pair) is None


def test_values_stay_within_the_domain_and_keep_their_kind():
    given = Mined((0.3, 7), ())
    assert values_of(Wanted("share", "real", 0.2, 0.9), Role.BOUND, 0.5, given, [1.0]) == [0.9, 0.3]
    assert values_of(Wanted("bins", "int", 1, 10), Role.BOUND, 2, given, [8.0]) == [3, 4, 5, 10, 1, 8, 7]
    assert values_of(Wanted("exact", "bool"), Role.WEIGHT, True, NOTHING, []) == [False]
    modes = Wanted("noise", "cases", cases=("laplace", "gauss"))
    assert values_of(modes, Role.WEIGHT, "laplace", NOTHING, []) == ["gauss"]


def decayed(queries, epsilon, decay, rng):
    weighted = sum(min(max(q, 0), 2) * decay**age for age, q in enumerate(queries))
    return weighted + rng.laplace(scale=2 / epsilon)


def repeated(queries, epsilon, times, rng):
    return [queries[0] + rng.laplace(scale=times / epsilon) for _ in range(times)]


def test_weights_stay_small_and_numbers_of_outputs_whole():
    """A decay of 5 breaks what a decay of one half promises, and the author may have meant no other."""
    pair = Pair([1, 1, 1], [2, 2, 2], "All Above", {"epsilon": 1.0, "decay": 0.1})
    assert better(decayed, [Wanted("decay", "real")], pair)["decay"] <= 1
    pair = Pair([1], [2], "All Above", {"epsilon": 1.0, "times": 1})
    assert isinstance(dict(better(repeated, [Wanted("times", "real")], pair) or pair.arguments)["times"], int)


def in_steps(queries, epsilon, step, rng):
    if not step > 0:
        raise ValueError("step must be positive")
    return sum(queries) // step * step + rng.laplace(scale=1 / epsilon)


def noisy_in_steps(queries, epsilon, step, rng):
    if not step > 0:
        raise ValueError("step must be positive")
    return (sum(queries) + rng.laplace(scale=1 / epsilon)) // step * step


def test_a_step_is_known_by_sums_as_large_as_those_of_the_data():
    """Ten answers of 1 still differ in steps of 10 and of 20: further out, all of them are in the first step."""
    options = {"adjacency": ONE_DIFFERS, **SMALL}
    found = check(in_steps, **options)
    assert found.verdict is Verdict.VIOLATION
    assert found.evidence.pair.arguments["step"] > 1
    assert len(found.evidence.pair.d1) == 1  # the usual pair has ten
    assert check(noisy_in_steps, **options).verdict is not Verdict.VIOLATION


def half_clipped(values, epsilon, lower, upper, rng):
    if not lower <= upper:
        raise ValueError("lower must not exceed upper")
    return sum(max(lower, min(upper, value)) for value in values) + rng.laplace(scale=abs(upper) / epsilon)


def test_arguments_that_leave_no_noise_lose_to_those_that_do():
    """With upper = 0 there is no noise to hide a sum; a small one is wrong, and shows more of the mechanism."""
    pair = Pair([3, -4], [3, 2], "replaced", {"epsilon": 1.0, "lower": 1, "upper": 1})
    found = better(half_clipped, [Wanted("lower", "int"), Wanted("upper", "int")], pair)
    assert found["upper"] != 0


CASES = [
    (recent, recent_scaled, {"args": {"window": Between(1, 8)}}),
    (clipped, clipped_scaled, {"adjacency": AddRemove(odd=False), "inputs": [1.0, 4.0, 7.0]}),
]


@pytest.mark.parametrize(("bug", "twin", "options"), CASES, ids=["window", "bounds"])
def test_bugs_that_only_other_arguments_show_are_found(bug, twin, options):
    result = check(bug, **options, **SMALL)
    assert result.verdict is Verdict.VIOLATION
    assert check(twin, **options, **SMALL).verdict is not Verdict.VIOLATION


def test_a_sensitivity_is_never_made_small():
    assert check(scaled, adjacency=ONE_DIFFERS, **SMALL).verdict is not Verdict.VIOLATION
