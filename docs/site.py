"""What the documentation site has that no file in docs holds: the front page and the generated reference.

A hook of MkDocs, named in mkdocs.yml. The front page is the README; the reference follows the public names and the
options of every command, so that none can be missing.
"""

import ast
import re
from pathlib import Path

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
GROUPS = {
    "Checking": ("check", "sweep", "assert_private", "replay", "recheck", "load", "load_mechanism", "Command"),
    "Results": ("Result", "Verdict", "Evidence", "Counts", "Pair", "Sweep", "Settings", "Progress"),
}
REST = {"claims": "Claims", "adjacency": "Adjacencies", "errors": "Errors"}


DOCTEST = re.compile(r"(?:^ *>>> .*\n?(?:^ *\S.*\n?)*)+", re.M)


class FencedExamples(griffe.Extension):
    """Doctests as code: elsewhere a `>>>` would be a quotation."""

    def on_instance(self, *, obj, **_):
        """Fence the examples of one docstring."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = DOCTEST.sub(lambda found: f"\n```pycon\n{found[0].rstrip()}\n```\n", text)


def on_files(files, config):
    """Add the generated pages."""
    for path, content in (
        ("index.md", front_page()),
        ("reference/python.md", python_page()),
        ("reference/command-line.md", command_page()),
    ):
        files.append(File.generated(config, path, content=content))
    return files


def front_page():
    """The README with its links as seen from docs; what the site does not hold is named without a link."""
    text = (ROOT / "README.md").read_text().replace('"docs/', '"')

    def link(found):
        words, target = found[1], found[2]
        inside = target.removeprefix("docs/")
        return f"[{words}]({inside})" if inside != target else words

    return re.sub(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)", link, text)


def public_names():
    """Each public name and the module that defines it, by the list in `__init__.pyi`."""
    stub = ast.parse((ROOT / "src" / "refutedp" / "__init__.pyi").read_text())
    return {
        alias.name: f"refutedp.{node.module}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def python_page():
    """Every public name, by what it is for."""
    modules = public_names()
    groups = {title: [name for name in names if name in modules] for title, names in GROUPS.items()}
    told = {name for names in groups.values() for name in names}
    for name, module in modules.items():
        if name not in told:
            title = next((title for part, title in REST.items() if part in module), "Further names")
            groups.setdefault(title, []).append(name)
    lines = ["# Python", "", "Every public name, imported from `refutedp`."]
    for title, names in groups.items():
        lines += ["", f"## {title}"]
        lines += [f"\n::: {modules[name]}.{name}" for name in names]
    return "\n".join(lines) + "\n"


def command_page():
    """Every command with every option, by the help that the commands print."""
    from typer.main import get_command

    from refutedp.cli.app import app

    lines = ["# Command line", "", "Every command and option, as `--help` says."]
    waiting = [(f"refutedp {name}", one) for name, one in get_command(app).commands.items()]
    while waiting:
        name, command = waiting.pop(0)
        inner = getattr(command, "commands", {})
        waiting = [(f"{name} {word}", one) for word, one in inner.items()] + waiting
        if inner:
            continue
        about, _, examples = (command.help or "").partition("\b")
        lines += ["", f"## `{name}`", "", about.strip()]
        if examples.strip():
            lines += ["", "```text", examples.strip(), "```"]
        lines += ["", "| option | default | meaning |", "|---|---|---|"]
        for parameter in command.params:
            names = ", ".join(
                f'<code class="option">{word}</code>' for word in (*parameter.opts, *parameter.secondary_opts)
            )
            if parameter.param_type_name == "argument":
                names = f"`{(parameter.metavar or parameter.name or '').upper()}`"
            default = "" if parameter.default in (None, (), [], False) else f"`{parameter.default}`"
            meaning = (getattr(parameter, "help", None) or "").replace("|", "\\|")
            lines.append(f"| {names} | {default} | {' '.join(meaning.split())} |")
    return "\n".join(lines) + "\n"
