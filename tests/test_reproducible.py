import pytest

from refutedp import check, sweep
from refutedp.mechanisms import isvt4, noisy_max_laplace_value

SMALL = {"search_runs": 2000, "confirm_runs": 5000}


def test_the_same_seed_gives_the_same_result_and_another_another():
    results = [check(noisy_max_laplace_value, epsilon=0.7, seed=seed, **SMALL) for seed in (5, 5, 6)]
    assert results[0] == results[1]
    assert str(results[0]) == str(results[1])
    assert results[0].evidence.counts != results[2].evidence.counts


@pytest.mark.parametrize("lift", [True, False])
def test_cores_do_not_matter(lift):
    arguments = {"epsilon": 0.7, "args": {"threshold": 1, "bound": 1}, "lift": lift, **SMALL}
    assert check(isvt4, jobs=1, **arguments).evidence == check(isvt4, jobs=2, **arguments).evidence


def test_a_sweep_shares_its_runs_and_reproduces():
    curves = [
        sweep(noisy_max_laplace_value, claimed=[0.5, 1.0], test=[0.2, 1.0, 5.0], seed=3, **SMALL) for _ in range(2)
    ]
    assert curves[0] == curves[1]
    for claimed in (0.5, 1.0):
        curve = curves[0].curve(claimed)
        assert len({point.evidence.counts for point in curve}) == 1
        assert [point.p_value for point in curve] == sorted(point.p_value for point in curve)
        assert curve[0].evidence.epsilon_lower_bound == curve[-1].evidence.epsilon_lower_bound


def test_the_papers_test_is_a_setting():
    result = check(noisy_max_laplace_value, epsilon=0.7, method="fisher", **SMALL)
    assert result.verdict.value == "violation"
    assert result.evidence.counts.share == 0.5
    assert result.evidence.log_p_reverse > result.evidence.log_p_value
    assert "p⊤" in str(result) and "p⊥" in str(result)
