"""Each setting is defined once: keyword, option, check and meaning agree."""

import inspect
from typing import Annotated, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from refutedp import Settings, UsageError, check
from refutedp.api.check import CheckKeywords
from refutedp.cli import options as o
from refutedp.model.settings import SETTINGS, Options, checked


def test_the_keywords_are_the_settings():
    assert get_type_hints(Options) == get_type_hints(Settings)


def test_the_keywords_handed_on_are_those_of_check():
    own = {name for name, one in inspect.signature(check).parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert set(get_type_hints(CheckKeywords)) == own | set(SETTINGS)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_says_what_it_means_and_refuses_what_it_cannot_be(name):
    _, setting = SETTINGS[name]
    assert setting.meaning.endswith(".") and "  " not in setting.meaning
    assert name in ("scheduler", "epsilon_name", "progress") or _refuses(name)


def _refuses(name):
    with pytest.raises(UsageError, match=f"^{name}=.* must ") as caught:
        checked(name, [] if name != "lengths" else [0.5])
    return "\n" not in str(caught.value)


TYPED = {
    "search_runs": (["--search-runs", "200"], 200),
    "confirm_runs": (["--confirm-runs", "300"], 300),
    "significance": (["--significance", "0.01"], 0.01),
    "method": (["--method", "fisher"], "fisher"),
    "stop": (["--stop", "fixed"], "fixed"),
    "goal": (["--goal", "speed"], "speed"),
    "seed": (["--seed", "7"], 7),
    "jobs": (["--jobs", "-1"], -1),
    "engine": (["--engine", "dask"], "dask"),
    "scheduler": (["--scheduler", "tcp://here:1"], "tcp://here:1"),
    "lengths": (["--length", "2", "--length", "3"], (2, 3)),
    "rarity": (["--rarity", "0.001"], 0.001),
    "on_error": (["--fail-on-error"], "raise"),
    "float_leaks": (["--float-leaks", "convict"], "convict"),
    "lift": (["--no-lift"], False),
    "paired": (["--no-paired"], False),
    "importance": (["--importance", "never"], "never"),
    "paths": (["--paths", "50"], 50),
    "epsilon_name": (["--epsilon-name", "budget"], "budget"),
    "time_limit": (["--time-limit", "5m"], 300.0),
    "call_limit": (["--call-limit", "5m"], 300.0),
    "on_limit": (["--on-limit", "output"], "output"),
    "plan": (["--plan", "r.json"], "r.json"),
}


@pytest.mark.parametrize("name", o.NAMES)
def test_an_option_sets_its_setting_and_no_other(name):
    words, value = TYPED[name]
    assert _typed(words) == Settings(**{name: value}) != Settings()


def test_without_options_the_settings_are_the_usual_ones():
    assert _typed([]) == Settings()


def test_a_command_may_have_other_defaults():
    assert _typed([], jobs=-1) == Settings(jobs=-1)


def _typed(words, **defaults):
    found = []
    app = typer.Typer()

    @app.command()
    @o.settings_options(*o.NAMES, **defaults)
    def command(*, before: Annotated[int, typer.Option()] = 1, options: Options) -> None:
        found.append(Settings(**options))

    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return found[0]
