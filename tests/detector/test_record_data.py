"""Leaks of real code on arrays and frames, found around a small data set, and their corrections."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import strategies as st

from refutedp import ADD_REMOVE, REPLACE, AddRemove, UsageError, Verdict, assert_private, check, load, replay, sweep

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

SMALL = {"search_runs": 200, "confirm_runs": 600}
PEOPLE = {"age": [30.0, 41.0, 70.0], "city": ["Bern", "Bern", "Genf"]}
CITIES = ("Bern", "Genf")

SOURCE = '''\
import numpy as np


def mean_age(people, epsilon, rng):
    """Clipping bounds every age but nan."""
    return np.clip(people["age"].to_numpy(), 0, 100).sum() / 100 + rng.laplace(scale=1 / epsilon)


def mean_age_of_known(people, epsilon, rng):
    ages = np.nan_to_num(people["age"].to_numpy(), posinf=0, neginf=0)
    return np.clip(ages, 0, 100).sum() / 100 + rng.laplace(scale=1 / epsilon)
'''


@pytest.fixture(scope="module")
def ages(tmp_path_factory):
    """A file with a mean that lets nan through, and its correction."""
    from refutedp import load_mechanism

    path = tmp_path_factory.mktemp("ages") / "ages.py"
    path.write_text(SOURCE)
    yield load_mechanism(f"{path}:mean_age"), load_mechanism(f"{path}:mean_age_of_known")
    sys.modules.pop("ages", None)


@pytest.fixture(scope="module")
def leak(ages):
    return check(ages[0], epsilon=1.0, adjacency=REPLACE, inputs=pd.DataFrame(PEOPLE), **SMALL)


def by_city(people, epsilon, rng):
    """The keys are the cities of those who are present."""
    counts = people.group_by("city", maintain_order=True).len()
    return {city: count + rng.laplace(scale=1 / epsilon) for city, count in counts.rows()}


def by_known_city(people, epsilon, rng):
    counts = dict(people.group_by("city").len().rows())
    return {city: counts.get(city, 0) + rng.laplace(scale=1 / epsilon) for city in CITIES}


def largest(values, epsilon, rng):
    """The largest of no values is an error."""
    return float(np.nan_to_num(values).clip(0, 1).max()) + rng.laplace(scale=1 / epsilon)


def largest_or_zero(values, epsilon, rng):
    return float(np.nan_to_num(values).clip(0, 1).max(initial=0.0)) + rng.laplace(scale=1 / epsilon)


def test_a_mean_that_lets_nan_through_and_its_correction(ages, leak):
    assert leak.verdict is Verdict.VIOLATION
    assert "age = nan" in leak.evidence.pair.category
    assert "d1 and d2: pandas DataFrame, " in str(leak) and "   d2   nan  " in str(leak)
    for seed in (0, 1):
        twin = check(ages[1], epsilon=1.0, adjacency=REPLACE, inputs=pd.DataFrame(PEOPLE), seed=seed, **SMALL)
        assert twin.verdict is not Verdict.VIOLATION, str(twin)


def test_without_odd_records_the_mean_stands(ages):
    known = AddRemove(odd=False)
    result = check(ages[0], epsilon=1.0, adjacency=known, inputs=pd.DataFrame(PEOPLE), **SMALL)
    assert result.verdict is not Verdict.VIOLATION, str(result)


def test_keys_that_depend_on_who_is_present_and_their_correction():
    people = pl.DataFrame(PEOPLE)
    found = check(by_city, epsilon=1.0, adjacency=ADD_REMOVE, inputs=people, **SMALL)
    assert found.verdict is Verdict.VIOLATION
    assert isinstance(found.evidence.pair.d1, pl.DataFrame)
    for seed in (0, 1):
        twin = check(by_known_city, epsilon=1.0, adjacency=ADD_REMOVE, inputs=people, seed=seed, **SMALL)
        assert twin.verdict is not Verdict.VIOLATION, str(twin)


def test_an_error_on_empty_data_and_its_correction():
    values = np.array([0.25, 0.75])
    found = check(largest, epsilon=1.0, adjacency=ADD_REMOVE, inputs=values, **SMALL)
    assert found.verdict is Verdict.VIOLATION
    assert 0 in (len(found.evidence.pair.d1), len(found.evidence.pair.d2))
    for seed in (0, 1):
        twin = check(largest_or_zero, epsilon=1.0, adjacency=ADD_REMOVE, inputs=values, seed=seed, **SMALL)
        assert twin.verdict is not Verdict.VIOLATION, str(twin)


def test_a_leak_on_frames_is_saved_replayed_reported_and_written_as_a_test(leak, tmp_path):
    leak.save(tmp_path / "leak.json")
    back = load(tmp_path / "leak.json")
    assert str(back) == str(leak)
    for side in ("d1", "d2"):
        pd.testing.assert_frame_equal(getattr(back.evidence.pair, side), getattr(leak.evidence.pair, side))
    again = replay(tmp_path / "leak.json")
    assert again.verdict is Verdict.VIOLATION
    leak.to_html(tmp_path / "leak.html")
    page = (tmp_path / "leak.html").read_text().replace("<wbr>", "")
    assert "age=nan, city=" in page and "pd.DataFrame(" in page and "import pandas as pd" in page
    leak.to_pytest(tmp_path / "test_leak.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_leak.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "VIOLATION: mean_age" in done.stdout, done.stdout + done.stderr


def test_a_mechanism_that_changes_its_input_harms_nobody():
    def greedy(people, epsilon, rng):
        count = int((people["age"] > 0).sum())
        people["age"] = 0
        return [bool(count + rng.laplace(scale=1 / epsilon) > 2)]

    people = pd.DataFrame({"age": [1, 2, 3]})
    result = check(greedy, epsilon=1.0, adjacency=AddRemove(odd=False), inputs=people, **SMALL)
    assert result.verdict is not Verdict.VIOLATION
    for frame in (people, result.evidence.pair.d1, result.evidence.pair.d2):
        assert (frame["age"] > 0).all()


def test_a_strategy_of_data_sets_gives_the_same_result_for_the_same_seed():
    data = st.lists(st.floats(0, 1), max_size=5)

    def total(values, epsilon, rng):
        return sum(values) + rng.laplace(scale=0.2 / epsilon)

    one, other = (
        check(total, epsilon=1.0, adjacency=AddRemove(odd=False), inputs=data, seed=3, **SMALL) for _ in range(2)
    )
    assert one == other and one.verdict is Verdict.VIOLATION
    assert any("pairs of neighbours that the inputs suggest" in note for note in one.notes)


def test_the_command_that_finds_it_again_names_the_adjacency_where_the_data_can_be_typed(leak):
    from refutedp.api.assert_private import _check_command

    assert _check_command(leak) is None
    listed = check(largest, epsilon=1.0, adjacency=ADD_REMOVE, pairs=[([0.5], [])], **SMALL)
    assert "--adjacency add-remove --pair" in _check_command(listed)


def test_inputs_flow_through_sweep_and_assert_private():
    curve = sweep(largest_or_zero, claimed=[1.0], test=[5.0], adjacency=ADD_REMOVE, inputs=np.array([0.5]), **SMALL)
    assert len(curve.points[0].evidence.pair.d1) <= 2
    with pytest.raises(AssertionError, match="VIOLATION: largest"):
        assert_private(largest, epsilon=1.0, adjacency=ADD_REMOVE, inputs=np.array([0.5]), **SMALL)
    with pytest.raises(UsageError, match="pairs= and inputs= were both given"):
        check(largest, epsilon=1.0, adjacency=ADD_REMOVE, inputs=[1], pairs=[([1], [])], **SMALL)
