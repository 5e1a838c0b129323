"""Figures: files of the right kind, the same bytes each time, and nothing left behind in matplotlib."""

import xml.etree.ElementTree as ET

import matplotlib as mpl
import pytest

from refutedp.detector.profile import BINS, profile_of
from refutedp.events.features.basic import Value
from refutedp.events.predicates import Both, Equals, Exactly, Interval
from refutedp.model.errors import UsageError
from refutedp.report import facts, figures
from refutedp.sampling.encode import encode

STARTS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", STARTS)
def test_plots_are_written(violation, curves, tmp_path, kind):
    before = dict(mpl.rcParams)
    for what, name in ((violation, "result"), (curves, "sweep")):
        path = tmp_path / f"{name}.{kind}"
        what.plot(path)
        first = path.read_bytes()
        assert first.startswith(STARTS[kind])
        what.plot(path)
        assert path.read_bytes() == first
    assert dict(mpl.rcParams) == before


def test_plots_of_categories_and_without_a_path(categories):
    assert len(categories.plot().axes) == 2


def test_bad_paths_and_empty_results_get_a_sentence(violation, constant, tmp_path):
    with pytest.raises(UsageError, match=r"must end in \.svg, \.png or \.pdf"):
        violation.plot(tmp_path / "figure.gif")
    with pytest.raises(UsageError, match="nothing to plot"):
        constant.plot()


def test_inline_figures_are_valid_svg(violation, categories, curves):
    for result in (violation, categories):
        for drawn in (
            figures.histogram(result.profiled().profile, result.claim),
            figures.p_curve(result.evidence, 0.5, 0.001),
            figures.rates(result.evidence, result.claim),
        ):
            assert ET.fromstring(drawn).tag.endswith("svg")
    assert ET.fromstring(figures.sweep_curves(curves)).tag.endswith("svg")


def test_notebooks_show_results_and_sweeps(any_result, curves):
    assert "refutedp" in any_result._repr_html_()
    assert "<svg" in curves._repr_html_()


def test_the_p_value_curve_passes_through_the_p_value(violation):
    assert facts.p_value_at(violation.evidence, 0.5) == pytest.approx(violation.evidence.p_value)
    curve = facts.p_value_curve(violation.evidence, 0.5)
    values = [p for _, p in curve]
    assert values == sorted(values)
    assert curve[-1][0] >= 1.0


def test_a_profile_counts_every_run_once(violation):
    profile = violation.profiled().profile
    assert sum(one.x for one in profile.bins) == profile.n_x
    assert sum(one.y for one in profile.bins) == profile.n_y
    assert len(profile.bins) <= BINS + 4


def test_a_value_among_thousands_is_shown_with_the_rest_joined():
    first, second = encode([0.5] * 500 + [float(i) for i in range(500)]), encode([float(i) for i in range(1000)])
    bars = profile_of(Equals(Value(), 0.5), first, second).bins
    assert [(one.label, one.x, one.y, one.inside) for one in bars] == [
        ("0.5", 500, 0, True),
        ("1,000 others", 500, 1000, False),
    ]


def test_the_shaded_bars_are_the_event():
    first, second = encode([0.1 * i for i in range(100)]), encode([0.05 * i for i in range(100)])
    profile = profile_of(Interval(Value(), 2.0, 5.0), first, second)
    assert sum(one.x for one in profile.bins if one.inside) == sum(2.0 <= 0.1 * i < 5.0 for i in range(100))
    assert sum(one.y for one in profile.bins if one.inside) == sum(2.0 <= 0.05 * i < 5.0 for i in range(100))


def test_profiles_of_products_and_whole_outputs():
    first = encode([[True, 0.5], [False, 1.5], [True, 2.5]])
    second = encode([[True, 0.5], [True, 0.25], [True, 3.5]])
    both = Both(Equals(Value((0,)), True), Interval(Value((1,)), 1.0, None))
    profile = profile_of(both, first, second)
    assert profile.feature == "output[1]" and profile.given == "output[0] = True"
    assert sum(one.x for one in profile.bins) == 2
    assert sum(one.y for one in profile.bins if one.inside) == 1
    whole = profile_of(Exactly("list", (True, 1)), encode([[True, 1], [True, 2]]), encode([[True, 2], [True, 2]]))
    assert [(one.label, one.x, one.y, one.inside) for one in whole.bins] == [
        ("[True, 1]", 1, 0, True),
        ("[True, 2]", 1, 2, False),
    ]
