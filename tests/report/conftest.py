"""Results that several tests look at, made once."""

import pytest

from refutedp import check, sweep
from refutedp.mechanisms import isvt1, isvt4, noisy_max_laplace_value, svt

SMALL = {"search_runs": 1000, "confirm_runs": 5000}


@pytest.fixture(scope="session")
def violation():
    return check(noisy_max_laplace_value, epsilon=0.5, args={"epsilon": 4.0}, lengths=(5,), **SMALL)


@pytest.fixture(scope="session")
def categories():
    return check(isvt1, epsilon=0.5, args={"threshold": 1}, lengths=(5,), **SMALL)


@pytest.fixture(scope="session")
def mixed():
    return check(isvt4, epsilon=0.5, args={"threshold": 1, "bound": 1}, lengths=(5,), **SMALL)


@pytest.fixture(scope="session")
def none_found():
    return check(svt, epsilon=0.5, args={"threshold": 1, "bound": 1}, lengths=(5,), **SMALL)


@pytest.fixture(scope="session")
def constant():
    return check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100)


@pytest.fixture(scope="session")
def curves():
    return sweep(noisy_max_laplace_value, claimed=[0.5, 1.0], test=[0.25, 0.5, 1.0, 2.0], lengths=(5,), **SMALL)


@pytest.fixture(params=["violation", "categories", "mixed", "none_found", "constant"])
def any_result(request):
    return request.getfixturevalue(request.param)
