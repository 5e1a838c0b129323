"""A counterexample as a test of its own: it fails while the leak is there, and passes once it is mended."""

from __future__ import annotations

import os
import re
from pathlib import Path

from refutedp.api.saved.files import write_atomically
from refutedp.detector.result import Result
from refutedp.model.errors import UsageError
from refutedp.report.python_code import arranged, import_lines, recheck_call


def save_pytest(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the test; a result without a counterexample is refused."""
    write_atomically(path, pytest_source(result, Path(path)))


def pytest_source(result: Result, path: Path) -> str:
    """The text of the test that will stand at `path`."""
    if result.counterexample is None:
        raise UsageError(f"there is no counterexample to write a test for: the verdict is '{result.verdict.value}'")
    imports = import_lines(result, beside=path.parent)
    call = recheck_call(result, indent="    ")
    name = re.sub(r"\W+", "_", result.mechanism).strip("_").lower() or "mechanism"
    words = _one_line(result.counterexample.event.words())
    head = [
        f'"""A counterexample found by RefuteDP: {_one_line(result.mechanism)} does not satisfy {result.claim}.',
        "",
        "The test runs the mechanism afresh. It fails while the leak is there, and passes once it is mended.",
        '"""',
        "",
    ]
    body = [
        "",
        "",
        f"def test_{name}_does_not_leak():",
        f"    # The event: {words}.",
        f"    result = {call}",
        '    assert result.verdict.value != "violation", f"\\n{result}"',
        "",
    ]
    return "\n".join([*head, *arranged(imports, call), *body])


def _one_line(words: str) -> str:
    """Words that cannot end the docstring or the comment they stand in."""
    return " ".join(words.split()).replace("\\", "\\\\").replace('"""', "'''")
