"""Bad input gets one clear sentence: argument, value, remedy."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from refutedp import ALL_DIFFER, MechanismError, PureDP, RefuteDPError, Settings, UsageError, check, sweep

SMALL = {"search_runs": 200, "confirm_runs": 500, "lengths": (2,)}


def noisy(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=1 / epsilon)


def one_sentence(error: BaseException) -> str:
    text = str(error)
    assert text and "\n" not in text and len(text) < 400
    assert isinstance(error, RefuteDPError)
    return text


@pytest.mark.parametrize(
    ("epsilon", "says"),
    [
        (-1, "epsilon=-1 must be positive"),
        (0, "epsilon=0 must be positive"),
        (0.0, "epsilon=0.0 must be positive"),
        (math.nan, "epsilon=nan must be a positive number"),
        (math.inf, "epsilon=inf must be finite"),
        ("0.5", "epsilon='0.5' must be a number, not a str"),
        (True, "epsilon=True must be a number, not a bool"),
        (None, "no claim was given"),
    ],
)
def test_epsilon(epsilon, says):
    with pytest.raises(UsageError) as caught:
        check(noisy, epsilon=epsilon, **SMALL)
    assert says in one_sentence(caught.value)


def no_data():
    return 1


def only_roles(epsilon, rng):
    return 1


def positional(data, threshold, /):
    return 1


def needs_a_function(queries, epsilon, score: Callable, rng):
    return score(queries)


def always_raises(queries, epsilon, rng):
    raise RuntimeError("out of order")


def returns_a_generator(queries, epsilon, rng):
    return (q for q in queries)


@pytest.mark.parametrize(
    ("mechanism", "error", "says"),
    [
        (42, UsageError, "mechanism=42 is not callable"),
        ("svt", UsageError, "mechanism='svt' is not callable"),
        (no_data, UsageError, "no_data() takes no data"),
        (only_roles, UsageError, "only_roles() takes no data"),
        (positional, UsageError, "takes 'threshold' by position only"),
        (needs_a_function, UsageError, "needs_a_function() needs 'score'"),
        (always_raises, MechanismError, "always_raises() failed on every trial run"),
        (always_raises, MechanismError, "raised RuntimeError: out of order (data=[1, 1], epsilon=0.5)"),
        (returns_a_generator, MechanismError, "returned a generator, which RefuteDP cannot look into"),
    ],
)
def test_mechanisms(mechanism, error, says):
    with pytest.raises(error) as caught:
        check(mechanism, epsilon=0.5, **SMALL)
    assert says in one_sentence(caught.value)


def test_a_type_that_differs_from_run_to_run_is_said_and_looked_at():
    def moody(queries, epsilon, rng):
        return "low" if rng.random() < 0.5 else 1.5

    result = check(moody, epsilon=0.5, **SMALL)
    assert "The type of the output differs from run to run: float, str." in result.notes
    assert "differs from run to run" in str(result)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"search_runs": 0}, "search_runs=0 must be at least 100"),
        ({"search_runs": 1}, "search_runs=1 must be at least 100"),
        ({"search_runs": 10}, "search_runs=10 must be at least 100"),
        ({"confirm_runs": 0}, "confirm_runs=0 must be at least 1"),
        ({"confirm_runs": 1}, "confirm_runs=1 can never convict epsilon=0.5 at significance=0.001"),
        ({"confirm_runs": 10}, "even if every run agreed: use at least 15"),
        ({"confirm_runs": 2.5}, "confirm_runs=2.5 must be a whole number"),
        ({"significance": 0}, "significance=0 must lie strictly between 0 and 1"),
        ({"significance": 1}, "significance=1 must lie"),
        ({"significance": -0.1}, "significance=-0.1 must lie"),
        ({"significance": math.nan}, "significance=nan must lie"),
        ({"significance": "5%"}, "significance='5%' must lie"),
        ({"method": "t-test"}, "method='t-test' must be one of 'allocation', 'fisher'"),
        ({"goal": "fame"}, "goal='fame' must be one of 'bound', 'speed'"),
        ({"importance": True}, "importance=True must be one of 'needed', 'always', 'never'"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
        ({"jobs": 0}, "jobs=0 must be at least 1"),
        ({"lengths": ()}, "lengths=() is empty"),
        ({"lengths": (0,)}, "lengths=0 must be at least 1"),
        ({"on_error": "ignore"}, "on_error='ignore' must be one of"),
        ({"rarity": 2}, "rarity=2 must lie"),
        ({"epsilom": 1}, "unknown keyword argument 'epsilom': did you mean 'epsilon'?"),
        ({"confirm_run": 1}, "did you mean 'confirm_runs'?"),
        ({"zzz": 1}, "unknown keyword argument 'zzz': known are"),
        ({"epsilon_name": "budget"}, "epsilon_name='budget' is not a parameter of noisy()"),
        ({"args": {"threshold": 1}}, "args has 'threshold', which noisy() does not take"),
        ({"args": 3}, "args=3 must be a dict"),
        ({"adjacency": "all"}, "adjacency='all' is not an adjacency"),
        ({"pairs": []}, "pairs=[] must be a list of (d1, d2)"),
        ({"pairs": [[1, 2, 3]]}, "pairs[0]=[1, 2, 3] must be a tuple (d1, d2)"),
        ({"pairs": [([], [])]}, "pairs[0] holds empty data"),
        ({"pairs": [([1], [2]), ([1], [9])]}, "pairs[1] is not adjacent: at position 0 the inputs are 1 and 9"),
        ({"claim": "private"}, "claim='private' is not a claim"),
        ({"claim": PureDP(0.1)}, "epsilon=0.5 contradicts claim=PureDP(epsilon=0.1)"),
        ({"settings": 5}, "settings=5 must be a Settings record"),
    ],
)
def test_options(options, says):
    with pytest.raises(UsageError) as caught:
        check(noisy, **{"epsilon": 0.5, **SMALL, **options})
    assert says in one_sentence(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"claimed": [], "test": [1]}, "claimed=[] is empty"),
        ({"claimed": 0.5, "test": [1]}, "claimed=0.5 must be a list"),
        ({"claimed": [0.5], "test": [-1]}, "test epsilon=-1 must be positive"),
        ({"claimed": [0.5], "test": [1], "tset": 1}, "did you mean 'test'?"),
    ],
)
def test_sweeps(options, says):
    with pytest.raises(UsageError) as caught:
        sweep(noisy, **SMALL, **options)
    assert says in one_sentence(caught.value)


def test_numpy_numbers_are_numbers():
    result = check(noisy, epsilon=np.float64(0.5), **SMALL)
    assert result.claim == PureDP(0.5)
    assert Settings(seed=np.int64(3)).seed == 3


def test_a_mechanism_that_wants_arrays_gets_them():
    def array_style(queries, epsilon, rng):
        return queries.sum() + rng.laplace(scale=1 / epsilon)

    result = check(array_style, epsilon=0.5, **SMALL)
    assert "The mechanism fails on lists, so the inputs are NumPy arrays." in result.notes


def test_another_name_for_epsilon():
    def odd(queries, budget, rng):
        return queries[0] + rng.laplace(scale=1 / budget)

    assert check(odd, epsilon=0.5, epsilon_name="budget", **SMALL).evidence.pair.arguments == {"budget": 0.5}


def test_a_mechanism_whose_output_never_varies_is_not_called_private():
    result = check(lambda queries: 3, epsilon=0.5, adjacency=ALL_DIFFER, **SMALL)
    assert result.verdict.value == "inconclusive"
    assert result.evidence is None
    assert "nothing was tested" in str(result)
    assert "private" not in str(result).lower().replace("0.5-differential privacy", "").replace(
        "proof of privacy", ""
    )
