"""The import rule of ARCHITECTURE.md, and what `import refutedp` costs and exports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import refutedp

ROOT = Path(refutedp.__file__).parent
LAYERS = (
    ("model",),
    ("tracing",),
    ("inputs", "sampling", "events", "hypothesis"),
    ("exact",),
    ("detector",),
    ("explain",),
    ("api",),
    ("report",),
    ("reproduce", "pytest_plugin"),
    ("cli",),
)
"""From the bottom to the top: a room imports lower layers and itself, never a room beside it or above."""
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
BY_NAME = ("adapters", "mechanisms")
"""Rooms that nobody imports but by a name that a user gives."""
DOORS = {
    "detector/result.py": {"api", "report"},  # A result saves, plots and tells itself.
    "api/assert_private.py": {"pytest_plugin"},  # The running session collects results.
}
"""Imports upwards, made inside functions where a user asks for them."""


def rooms(node: ast.AST) -> set[str]:
    """The rooms that an import leads to."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "refutedp":
        module = (node.module or "").split(".")
        return {module[1]} if len(module) > 1 else {name.name for name in node.names}
    if isinstance(node, ast.Import):
        return {name.name.split(".")[1] for name in node.names if name.name.startswith("refutedp.")}
    return set()


FILES = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0].removesuffix(".py") in (*LEVEL, *BY_NAME)
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_lead_down(path):
    name = str(path.relative_to(ROOT))
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        for room in rooms(node) & {*LEVEL, *BY_NAME} - {own}:
            if node not in tree.body and room in DOORS.get(name, set()):
                continue
            if room in BY_NAME:
                assert own in ("reproduce", "cli"), f"{name} imports {room}"
            elif own in LEVEL:
                assert LEVEL[room] < LEVEL[own], f"{name} imports {room}"


def test_every_file_is_in_a_room_or_at_the_front_door():
    front = {path.stem for path in ROOT.glob("*.py")} - LEVEL.keys()
    assert front == {"__init__", "__main__"}
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == {*LEVEL, *BY_NAME} - {"pytest_plugin"}


def test_no_two_modules_have_one_name():
    names = [path.stem for path in ROOT.rglob("*.py") if path.stem != "__init__"]
    names += [path.name for path in ROOT.rglob("*") if path.is_dir() and path.name != "__pycache__"]
    assert not [name for name in names if names.count(name) > 1]


def test_no_two_classes_have_one_name():
    trees = [ast.parse(path.read_text()) for path in ROOT.rglob("*.py")]
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    assert not [name for name in names if names.count(name) > 1]


def test_heavy_imports_wait_until_they_are_used():
    heavy = (
        "scipy",
        "z3",
        "joblib",
        "matplotlib",
        "jinja2",
        "typer",
        "rich",
        "pandas",
        "polars",
        "sklearn",
        "hypothesis",
    )
    code = f"import sys, refutedp; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def _rank(name):
    return not name.isupper(), name[0].islower(), name


def test_public_names_exist_and_look_like_no_test():
    listed = ast.parse((ROOT / "__init__.pyi").read_text()).body[-1]
    assert isinstance(listed, ast.Assign) and ast.literal_eval(listed.value) == sorted(refutedp.__all__, key=_rank)
    for name in refutedp.__all__:
        assert getattr(refutedp, name) is not None
        assert not name.lower().startswith("test")


def test_no_module_hides_a_public_name():
    modules = {path.stem for path in ROOT.glob("*.py")} | {path.name for path in ROOT.iterdir() if path.is_dir()}
    assert not modules & set(refutedp.__all__)


def test_every_public_name_is_documented():
    for name in refutedp.__all__:
        value = getattr(refutedp, name)
        assert (value.__doc__ or "").strip(), name
