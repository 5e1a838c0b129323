"""Numbers in bins answer as sorted numbers do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refutedp.events.numbers import Numbers

values = st.floats(allow_nan=False) | st.floats(0, 1e-307) | st.floats(-1, 1) | st.integers(-3, 3).map(float)


@pytest.fixture(autouse=True, scope="module")
def bins_for_all():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("refutedp.events.numbers.FEW", 2)
        yield


@given(st.lists(values, max_size=60), st.lists(values, max_size=10), st.data())
@pytest.mark.filterwarnings("ignore:overflow")
def test_as_sorted_numbers_do(some, asked, data):
    ascending, ends = np.sort(np.array(some, dtype=float)), np.array([*asked, *some[:5]], dtype=float)
    places = np.array(data.draw(st.lists(st.integers(0, len(some) - 1), max_size=5)) if some else [], dtype=np.int64)
    numbers = Numbers(np.array(some, dtype=float))
    for ask in data.draw(st.permutations(["at", "below", "equal_to", "repeats"])):
        if ask == "at":
            assert numbers.at(places).tolist() == ascending[places].tolist()
        elif ask == "below":
            assert numbers.below(ends).tolist() == [int((ascending < end).sum()) for end in ends]
        elif ask == "equal_to":
            assert numbers.equal_to(ends).tolist() == [int((ascending == end).sum()) for end in ends]
        else:
            again = {value: some.count(value) - 1 for value in some if some.count(value) > 2}
            assert numbers.repeats == again


def test_long_columns_with_atoms_and_outliers():
    rng = np.random.default_rng(0)
    for column in (
        rng.laplace(size=50_000),
        np.clip(rng.normal(size=50_000), -1, 1),
        np.append(rng.normal(size=50_000), 1e12),
        rng.standard_cauchy(50_000),
    ):
        numbers, ascending = Numbers(column), np.sort(column)
        places = rng.integers(0, len(column), 200)
        assert numbers.at(places).tolist() == ascending[places].tolist()
        assert numbers.below(column[:200]).tolist() == ascending.searchsorted(column[:200]).tolist()
        values, counts = np.unique(column, return_counts=True)
        often = {v: c - 1 for v, c in zip(values.tolist(), counts.tolist(), strict=True) if c > 10}
        assert numbers.repeats == often
