"""A counterexample as Python that can be run, a script or a test: values as literals, the mechanism by import."""

from __future__ import annotations

import datetime
import decimal
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from refutedp.api.saved.files import write_atomically
from refutedp.api.saved.pandas_values import pandas_literal
from refutedp.api.saved.polars_values import polars_literal
from refutedp.api.saved.to_json import event_to_builtins
from refutedp.detector.result import Result
from refutedp.model.datasets import is_frame
from refutedp.model.errors import UsageError
from refutedp.model.records import ExactEvidence

STANDARD = {"datetime": "import datetime", "decimal": "import decimal"}
THIRD_PARTY = {"np": "import numpy as np", "pd": "import pandas as pd", "pl": "import polars as pl"}
"""The names that literals use, and the lines that bind them."""


def literal(value: Any) -> str:
    """Python source that evaluates to an equal value, with the names that `imports_of` binds.

    >>> literal([1, float("nan"), (2.0,)])
    '[1, float("nan"), (2.0,)]'
    """
    if type(value) is float and not math.isfinite(value):
        return f'float("{value!r}")'
    if value is None or type(value) in (bool, int, float, str, bytes):
        return repr(value)
    if type(value) is list:
        return f"[{', '.join(map(literal, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUO":
        return f"np.array({literal(value.tolist())}, dtype={literal(str(value.dtype))})"
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return f"np.{type(value).__name__}({literal(value.item())})"
    if type(value) in (datetime.date, datetime.datetime) and getattr(value, "tzinfo", None) is None:
        return repr(value)
    if type(value) is decimal.Decimal:
        return f"decimal.{value!r}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM":
        return f"np.array({value.view('i8').tolist()}, dtype='i8').view({literal(str(value.dtype))})"
    if is_frame(value, "pandas"):
        return pandas_literal(value, literal)
    if is_frame(value, "polars"):
        return polars_literal(value, literal)
    raise UsageError(
        f"a {type(value).__qualname__} cannot be written as Python source: save the result as JSON instead"
    )


def _binding(result: Result, beside: Path | None = None) -> tuple[str, str]:
    """The line that imports the mechanism, if any, and the one that binds the name `mechanism` to it.

    A file is found from the folder `beside`, when given.
    """
    reference = None if result.origin is None else result.origin.reference
    if reference is None:
        raise UsageError(
            f"{result.mechanism}() cannot be imported again: define it at the top level of a file or a module first"
        )
    place, _, name = reference.rpartition(":")
    program = reference.startswith("command:")  # found from the current folder like any command
    if not program and not place.endswith(".py"):
        return f"from {place} import {name.partition('.')[0]}", f"mechanism = {name}"
    if program or beside is None:
        return "", f"mechanism = load_mechanism({reference!r})"
    try:
        path = Path(os.path.relpath(Path(place).resolve(), beside.resolve())).as_posix()
    except ValueError:  # another drive
        path = Path(place).resolve().as_posix()
    return "", f'mechanism = load_mechanism(f"{{Path(__file__).parent / {path!r}}}:{name}")'


def _recheck_call(result: Result, indent: str = "") -> str:
    """A call of `refutedp.recheck` with all parts written out."""
    evidence = result.evidence
    if result.exact is not None:
        return _exact_call(result, result.exact, indent)
    if evidence is None:
        raise UsageError(f"there is no event to write down: {result.mechanism}() always gave the same output")
    settings = result.settings
    parts = {
        **{name: literal(value) for name, value in result.claim.stated().items()},
        "d1": literal(evidence.pair.d1),
        "d2": literal(evidence.pair.d2),
        "args": literal(dict(evidence.pair.arguments)),
        "event": literal(event_to_builtins(evidence.event)),
        "confirmation": literal(evidence.candidate.confirmation.name),
        "share": literal(round(evidence.candidate.confirmation.share, 6)),
        "confirm_runs": f"{settings.confirm_runs:_}",
        "significance": literal(settings.significance),
        "seed": literal(settings.seed),
    }
    if evidence.candidate.tangent is not None:
        line = evidence.candidate.tangent
        parts["tangent"] = literal((line.slope, line.intercept))
    if settings.method != "allocation":
        parts["method"] = literal(settings.method)
    if settings.epsilon_name is not None:
        parts["epsilon_name"] = literal(settings.epsilon_name)
    return _call(parts, indent)


def _exact_call(result: Result, exact: ExactEvidence, indent: str) -> str:
    """The same for evidence that is arithmetic."""
    parts = {
        **{name: literal(value) for name, value in result.claim.stated().items()},
        "d1": literal(exact.pair.d1),
        "d2": literal(exact.pair.d2),
        "args": literal(dict(exact.pair.arguments)),
        "event": literal(event_to_builtins(exact.event)),
        "confirmation": literal("exact"),
        "paths": f"{result.settings.paths:_}",
        "seed": literal(result.settings.seed),
    }
    return _call(parts, indent)


def _call(parts: Mapping[str, str], indent: str) -> str:
    lines = [f"{indent}    {name}={value}," for name, value in parts.items()]
    return "\n".join(["recheck(", f"{indent}    mechanism,", *lines, f"{indent})"])


def imports_of(code: str, lines: Mapping[str, str]) -> list[str]:
    """The lines that bind the names which the code uses.

    >>> imports_of("np.array([1])", THIRD_PARTY)
    ['import numpy as np']
    """
    return [line for name, line in lines.items() if re.search(rf"(?<![\w.]){name}\.", code)]


def _preamble(imported: str, bound: str, call: str) -> list[str]:
    """The imports of a script in the usual order: standard library, others, ours; then the mechanism."""
    standard = imports_of(call, STANDARD) + ["from pathlib import Path"] * ("Path(__file__)" in bound)
    others = imports_of(call, THIRD_PARTY)
    own = [f"from refutedp import {'load_mechanism, ' if 'load_mechanism(' in bound else ''}recheck"]
    if imported:
        (own if "refutedp" in imported else others).append(imported)
    return [*standard, *([""] if standard else []), *others, *sorted(own), "", bound]


def snippet(result: Result) -> str:
    """A script that tests the counterexample anew, as the report prints it."""
    call = _recheck_call(result)
    try:
        imported, bound = _binding(result)
    except UsageError:
        imported, bound = "", "mechanism = ...  # the function above"
    return "\n".join([*_preamble(imported, bound, call), "", f"print({call})", ""])


def save_pytest(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a test that fails while the leak is there; a result without a counterexample is refused."""
    if result.counterexample is None:
        raise UsageError(f"there is no counterexample to write a test for: the verdict is '{result.verdict.value}'")
    binding = _binding(result, beside=Path(path).parent)
    call = _recheck_call(result, indent="    ")
    name = re.sub(r"\W+", "_", result.mechanism).strip("_").lower() or "mechanism"
    lines = [
        f'"""A counterexample found by RefuteDP: {_one_line(result.mechanism)} does not satisfy {result.claim}.',
        "",
        "The test runs the mechanism afresh. It fails while the leak is there, and passes once it is mended.",
        '"""',
        "",
        *_preamble(*binding, call),
        "",
        "",
        f"def test_{name}_does_not_leak():",
        f"    # The event: {_one_line(result.counterexample.event.words())}.",
        f"    result = {call}",
        '    assert result.verdict.value != "violation", f"\\n{result}"',
        "",
    ]
    write_atomically(path, "\n".join(lines))


def _one_line(words: str) -> str:
    """Words that cannot end the docstring or the comment they stand in."""
    return " ".join(words.split()).replace("\\", "\\\\").replace('"""', "'''")
