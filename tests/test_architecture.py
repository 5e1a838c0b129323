"""The import rule of ARCHITECTURE.md, and what `import refutedp` costs and exports."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import refutedp

ROOT = Path(refutedp.__file__).parent
STAGES = ("inputs", "sampling", "events", "stats")
BASE = {
    "records",
    "claims",
    "errors",
    "outputs",
    "mechanism",
    "settings",
    "datasets",
    "weights",
    "weights_apart",
    "tracing",
}


def imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("refutedp"):
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names if name.name.startswith("refutedp"))
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_imports_the_base_and_itself_only(stage):
    files = sorted((ROOT / stage).rglob("*.py"))
    assert files
    for path in files:
        for module in imported_modules(path):
            part = module.split(".")[1] if "." in module else ""
            assert part == stage or part in BASE, f"{path.relative_to(ROOT)} imports {module}"


def test_the_base_imports_no_stage():
    for name in sorted(BASE):
        files = sorted((ROOT / name).rglob("*.py")) or [ROOT / f"{name}.py"]
        for module in set().union(*map(imported_modules, files)):
            assert module.split(".")[1] in BASE, f"{name} imports {module}"


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


def test_public_names_exist_are_sorted_and_look_like_no_test():
    assert list(refutedp.__all__) == sorted(refutedp.__all__, key=lambda n: (not n.isupper(), n[0].islower(), n))
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
