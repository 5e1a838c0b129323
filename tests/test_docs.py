"""Every command and snippet in README and docs runs, and prints what the page says.

A block ```python is run, in the order of the page and in a folder of the page's own; when its first line is
`# file: name`, it is written to that file instead. An ```output block after it is what it prints. In a ```console
block, lines that start with "$ " are commands and the lines below are what they print; a line "..." stands for any
lines, and "..." inside a line for anything. A command without output below may print what it likes.

REFUTEDP_UPDATE_DOCS=1 python -m pytest tests/test_docs.py writes what is printed now into the pages; read the diff.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import refutedp

ROOT = Path(refutedp.__file__).parents[2]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if path.is_file()]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
UPDATE = bool(os.environ.get("REFUTEDP_UPDATE_DOCS"))
# Setting up is for the reader: the suite runs in an environment that is set up already.
SETUP = re.compile(r"^(pip install|git clone|cd |make |python -m venv|source )")
PREFIX = "$ "


def pattern(lines):
    parts = [
        "(?:.*\n)*?" if line.strip() == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
        for line in lines
    ]
    return re.compile("".join(parts) + r"\Z")


def run_command(command, folder):
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
    }
    # A pytest inside this one must not take itself for one of its workers.
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        shlex.split(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment,
        timeout=300,
    )
    assert done.returncode in (0, 1, 3), f"{command}\n{done.stdout}"
    return done.stdout


def run_console(text, folder, problems):
    """Run the commands of a block; return the block with what they print now."""
    commands = []
    for line in text.splitlines():
        if line.startswith(PREFIX):
            commands.append((line.removeprefix(PREFIX), []))
        else:
            commands[-1][1].append(line)
    updated = []
    for command, shown in commands:
        updated.append(PREFIX + command)
        if SETUP.match(command):
            updated += shown
            continue
        printed = run_command(command, folder)
        if not shown or pattern(shown).match(printed):
            updated += shown
            continue
        problems.append(f"$ {command}\n--- the page says\n" + "\n".join(shown) + f"\n--- it prints\n{printed}")
        # What was written with dots is for a person to mend.
        dotted = any("..." in line for line in shown)
        updated += shown if dotted else printed.rstrip("\n").splitlines()
    return "\n".join(updated) + "\n"


def run_python(text, folder, names):
    first, _, rest = text.partition("\n")
    if first.startswith("# file: "):
        (folder / first.removeprefix("# file: ").strip()).write_text(rest)
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "page", "exec"), names)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_what_the_page_says_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    content = page.read_text()
    problems, names, printed = [], {"__name__": "page"}, ""

    def run_block(match):
        nonlocal printed
        language, text = match[1], match[2]
        if language == "console":
            text = run_console(text, tmp_path, problems)
        elif language == "python":
            printed = run_python(text, tmp_path, names)
        elif language == "output":
            if text != printed:
                problems.append(f"the page says\n{text}\nit prints\n{printed}")
            text = printed
        return f"```{language}\n{text}```"

    updated = BLOCK.sub(run_block, content)
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    if UPDATE:
        page.write_text(updated)
    else:
        assert not problems, "\n\n".join(problems)


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


REFERENCE = ROOT / "docs" / "reference.md"


def test_the_reference_names_everything_public():
    text = REFERENCE.read_text()
    for name in refutedp.__all__:
        assert f"`{name}" in text, name


def test_the_reference_lists_every_option_of_every_command():
    from typer.main import get_command

    from refutedp.cli.app import app

    text = REFERENCE.read_text()
    waiting = [(f"refutedp {name}", command) for name, command in get_command(app).commands.items()]
    while waiting:
        name, command = waiting.pop()
        assert name in text, name
        waiting += [(f"{name} {inner}", one) for inner, one in getattr(command, "commands", {}).items()]
        for option in (option for parameter in command.params for option in parameter.opts):
            assert not option.startswith("--") or f"`{option}" in text, f"{name} {option}"


def settings_table():
    """Name, option, default and meaning of each setting, as `Settings` defines them."""
    from refutedp.cli.options import NAMES, spelling
    from refutedp.model.settings import SETTINGS

    lines = ["| setting | option | value, the default first | meaning |", "|---|---|---|---|"]
    for name, (kind, setting) in SETTINGS.items():
        default = getattr(refutedp.Settings(), name)
        others = [f"`{value!r}`" for value in typing.get_args(kind) if value != default and type(value) is str]
        option = f"`{spelling(name).option.replace('/', '`, `')}`" if name in NAMES else ""
        lines.append(f"| `{name}` | {option} | {', '.join([f'`{default!r}`', *others])} | {setting.meaning} |")
    return "\n".join(lines) + "\n"


def test_the_reference_has_the_table_of_settings():
    text = REFERENCE.read_text()
    head, start, rest = text.partition("<!-- settings: written by tests/test_docs.py -->\n")
    table, end, tail = rest.partition("<!-- end of settings -->\n")
    assert start and end
    if UPDATE:
        REFERENCE.write_text("".join((head, start, settings_table(), end, tail)))
    else:
        assert table == settings_table()


def test_the_reference_describes_every_field_of_a_saved_file():
    import msgspec

    from refutedp.api.saved.layout import SavedResult, SavedSweep

    text = REFERENCE.read_text()
    for kind in (SavedResult, SavedSweep):
        for field in msgspec.structs.fields(kind):
            assert f"`{field.encode_name}`" in text, field.encode_name
