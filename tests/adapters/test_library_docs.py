"""docs/how-to/libraries.md: the blocks of each library print what the page says, where the library is installed."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "libraries.md"
PACKAGES = {"OpenDP": "opendp", "diffprivlib": "diffprivlib", "PyDP": "pydp"}
BLOCK = re.compile(r"^```(py|text)\n(.*?)^```$", re.M | re.S)


def pattern(text):
    """The text, "..." standing for anything on its line, or for any lines when alone."""
    parts = [
        "(?:.*\n)*?" if line.strip() == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
        for line in text.splitlines()
    ]
    return re.compile("".join(parts) + r"\Z")


@pytest.mark.parametrize("library", PACKAGES)
def test_the_page_says_what_happens(library):
    if importlib.util.find_spec(PACKAGES[library]) is None:
        pytest.skip(f'needs {library}: pip install "refutedp[{PACKAGES[library]}]"')
    section = PAGE.read_text().partition(f"## {library}\n")[2].partition("\n## ")[0]
    names, printed, blocks = {"__name__": "page"}, "", BLOCK.findall(section)
    assert blocks
    for language, text in blocks:
        if language == "py":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(text, str(PAGE), "exec"), names)
            printed = stream.getvalue()
        else:
            assert pattern(text).match(printed), f"the page says\n{text}\nit prints\n{printed}"
