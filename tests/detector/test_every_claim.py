"""Each common bug is refuted under its own claim, and each correct twin is not."""

import pytest

from refutedp import ADD_REMOVE, ALL_DIFFER, ONE_DIFFERS, REPLACE, Verdict, check
from refutedp.mechanisms.catalogue import MORE

ADJACENCY = {"all": ALL_DIFFER, "one": ONE_DIFFERS, "add_remove": ADD_REMOVE, "replace": REPLACE}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("case", MORE, ids=[case.title for case in MORE])
def test_verdicts_under_their_own_claims(case, seed):
    result = check(
        case.function,
        case.claim,
        adjacency=ADJACENCY[case.adjacency],
        args=dict(case.arguments),
        pairs=list(case.pairs) or None,
        lengths=case.lengths,
        search_runs=50_000,
        confirm_runs=250_000,
        seed=seed,
    )
    assert (result.verdict is Verdict.VIOLATION) == (not case.correct), str(result)
    if not case.correct:
        assert (result.evidence.bound if result.exact is None else result.exact.bound(case.claim)) > 0
        assert str(case.claim) in str(result)


def test_a_blatant_bug_is_convicted_after_a_few_runs_and_the_result_says_so():
    from refutedp.mechanisms import isvt1

    scalar = check(isvt1, epsilon=0.2, args={"threshold": 1}, search_runs=5_000, lift=False, lengths=(5,))
    assert scalar.verdict is Verdict.VIOLATION
    assert scalar.evidence.rule == "early"
    assert scalar.effort.confirm_runs == scalar.evidence.decided_after <= 2_000
    lifted = check(isvt1, epsilon=0.2, args={"threshold": 1}, search_runs=5_000, confirm_runs=50_000, lengths=(5,))
    assert lifted.evidence.decided_after <= 2_000
    assert lifted.effort.confirm_runs == 100_000
    assert "convicted after" in str(lifted)
    fixed = check(isvt1, epsilon=0.2, args={"threshold": 1}, search_runs=5_000, confirm_runs=50_000, stop="fixed")
    assert fixed.evidence.rule == "fixed"
