"""PyDP's algorithms as they come."""

import cloudpickle
import pytest

pytest.importorskip("pydp", reason='needs PyDP: pip install "refutedp[pydp]"')

from pydp.algorithms import laplacian

from refutedp import PureDP, UsageError, Verdict, check
from refutedp.adapters.pydp import from_pydp

# Secure randomness cannot be seeded: the significance makes a false alarm a matter of one suite in a million.
SMALL = {"search_runs": 500, "confirm_runs": 1500, "significance": 1e-7}


def mean():
    return laplacian.BoundedMean(epsilon=1.0, lower_bound=0, upper_bound=10, dtype="float")


@pytest.mark.parametrize(
    "algorithm",
    [
        laplacian.Count(epsilon=1.0, dtype="int"),
        laplacian.BoundedSum(epsilon=1.0, lower_bound=0, upper_bound=10, dtype="float"),
        mean(),
    ],
    ids=lambda algorithm: type(algorithm).__name__,
)
def test_algorithms_claim_their_epsilon_and_keep_it(algorithm):
    adapted = from_pydp(algorithm)
    assert adapted.own.claim == PureDP(1.0)
    result = check(adapted, **SMALL)
    assert result.verdict is not Verdict.VIOLATION
    assert "a seed cannot reproduce this result exactly" in " ".join(result.notes)


def test_they_do_not_keep_a_third_of_it():
    assert (
        check(from_pydp(laplacian.Count(epsilon=1.0, dtype="int")), epsilon=0.3, **SMALL).verdict is Verdict.VIOLATION
    )


def test_one_that_can_be_made_anew_travels_to_other_processes():
    copied = cloudpickle.loads(cloudpickle.dumps(from_pydp(mean)))
    assert isinstance(copied([1.0]), float)
    with pytest.raises(UsageError, match="cannot be sent to other processes: use jobs=1"):
        cloudpickle.dumps(from_pydp(mean()))


def test_what_is_no_algorithm():
    with pytest.raises(UsageError, match="is no PyDP algorithm, nor a function that makes one"):
        from_pydp(3)
