"""`__refutedp__`: mechanisms that bring their own claim, and what the caller's words are worth beside it."""

import subprocess
import sys
from dataclasses import replace

import pytest

from refutedp import ONE_DIFFERS, AllDiffer, PureDP, UsageError, Verdict, check
from refutedp.model.mechanism import Adapted, Own, describe, own_of

SMALL = {"search_runs": 500, "confirm_runs": 1000}


def count(data, rng):
    return data[0] + rng.laplace(scale=1.0)


OWN = Own(PureDP(1.0), ONE_DIFFERS, pairs=[([0], [1])], notes=("As the library says.",))
COUNT = Adapted(count, "count", OWN)


def test_check_needs_nothing_but_the_object():
    result = check(COUNT, **SMALL)
    assert (result.claim, result.mechanism, result.effort.pairs) == (PureDP(1.0), "count", 1)
    assert result.adjacency == str(ONE_DIFFERS) and "As the library says." in result.notes


def test_what_the_caller_says_comes_first():
    assert check(COUNT, epsilon=0.2, **SMALL).claim == PureDP(0.2)
    assert check(COUNT, PureDP(0.3), **SMALL).claim == PureDP(0.3)
    wide = check(COUNT, adjacency=AllDiffer(2.0), lengths=(2,), **SMALL)
    assert wide.adjacency == str(AllDiffer(2.0)) and wide.effort.pairs > 1


def test_a_claim_too_good_to_be_true_is_refuted():
    boast = Adapted(count, "boast", Own(PureDP(0.1), ONE_DIFFERS, pairs=[([0], [1])]))
    assert check(boast, **SMALL).verdict is Verdict.VIOLATION


def test_plain_functions_say_nothing_about_themselves():
    assert own_of(count) == Own()
    with pytest.raises(UsageError, match="no claim was given"):
        check(count)


def test_the_attribute_must_hold_the_record():
    class Odd:
        __refutedp__ = {"epsilon": 1.0}

        def __call__(self, data, rng):
            return 0

    with pytest.raises(UsageError, match=r"__refutedp__ is a dict: it must be a refutedp\.model\.mechanism\.Own"):
        check(Odd())


@pytest.mark.parametrize("name", ["opendp", "diffprivlib", "pydp"])
def test_a_missing_package_prints_its_install_line(name):
    code = f"""
import sys
sys.modules["{name}"] = None
try:
    import refutedp.adapters.{name}
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f'pip install "refutedp[{name}]"' in done.stdout


def test_nobody_looks_into_an_opaque_object():
    opaque = Adapted(count, "count", replace(OWN, opaque=True))
    looked_into, called = (check(one, search_runs=500, confirm_runs=500) for one in (COUNT, opaque))
    assert describe(opaque).opaque and not describe(COUNT).opaque
    assert "cannot be lifted" in " ".join(looked_into.notes)
    assert called.examination is None and called.notes == OWN.notes
