"""Saved files of earlier formats go on loading: one golden file for each kind of evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from refutedp import Result, Sweep, load, replay
from refutedp.api.saved.layout import FORMAT
from refutedp.api.saved.to_json import dumps, loads

FOLDER = Path(__file__).parent / "saved"
CONFIRMATIONS = {
    "allocation": "allocation",
    "paired": "paired",
    "importance": "importance",
    "unpaired": "unpaired importance",
    "not-found": "paired",
}


@pytest.mark.parametrize("name", CONFIRMATIONS)
def test_a_result_of_format_1_loads_and_says_how_it_was_confirmed(name):
    result = load(FOLDER / f"version-1-{name}.json")
    assert isinstance(result, Result)
    assert result.evidence.candidate.confirmation.name == CONFIRMATIONS[name]
    assert (result.evidence.estimates is not None) == ("importance" in CONFIRMATIONS[name])
    assert result.settings.paired is True
    assert result.settings.importance == ("always" if name == "importance" else "needed")
    assert loads(dumps(result)) == result


def test_a_sweep_of_format_1_loads():
    sweep = load(FOLDER / "version-1-sweep.json")
    assert isinstance(sweep, Sweep)
    assert loads(dumps(sweep)) == sweep


@pytest.mark.parametrize("name", CONFIRMATIONS)
def test_a_result_of_format_1_is_replayed_by_its_strategy(name):
    again = replay(FOLDER / f"version-1-{name}.json")
    assert again.evidence.candidate.confirmation.name == CONFIRMATIONS[name]
    assert again.verdict.value == ("not found" if name == "not-found" else "violation")


@pytest.mark.parametrize("name", ["allocation", "not-found"])
def test_a_result_of_format_2_loads_and_is_replayed(name):
    result = load(FOLDER / f"version-2-{name}.json")
    assert result.evidence.candidate.confirmation.name == CONFIRMATIONS[name]
    assert result.exact is None
    assert loads(dumps(result)) == result
    assert replay(FOLDER / f"version-2-{name}.json").verdict is result.verdict


def test_every_format_has_a_golden_file():
    formats = {int(path.name.split("-")[1]) for path in FOLDER.glob("version-*.json")}
    assert formats >= set(range(1, FORMAT)), "before a format changes, files of the old one are saved here"
