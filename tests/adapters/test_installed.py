"""The list of adapters names functions that are there."""

import importlib

import pytest
from typer.testing import CliRunner

from refutedp.adapters.installed import ADAPTERS
from refutedp.cli.app import app


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda one: f"{one.package} {one.function}")
def test_the_function_is_there(adapter):
    if adapter.installed is None:
        pytest.skip(f'needs {adapter.package}: pip install "refutedp[{adapter.extra}]"')
    module, _, name = adapter.function.rpartition(".")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_command_line_lists_them():
    printed = CliRunner().invoke(app, ["adapters"]).output
    assert all(adapter.function in printed and adapter.checks in printed for adapter in ADAPTERS)
