"""The documentation site: built without a warning, and opened in Chromium on a screen and on a phone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import refutedp
from tests.browser.test_report_in_chromium import BROWSER, FLAGS

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install 'refutedp[docs]'")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium found: apt-get install chromium")

ROOT = Path(refutedp.__file__).parents[2]
PAGES = ["index.html", "how-to/ci.html", "reference/python.html"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    return folder


def test_the_site_opens_without_scrolling_errors_or_requests(site):
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(executable_path=BROWSER, args=FLAGS)
        for width in (380, 1280):
            page = chromium.new_page(viewport={"width": width, "height": 800})
            complaints = []
            page.on("pageerror", lambda error, seen=complaints: seen.append(str(error)))
            page.on(
                "request",
                lambda one, seen=complaints: None if one.url.startswith(("file:", "data:")) else seen.append(one.url),
            )
            for name in PAGES:
                page.goto((site / name).as_uri())
                assert page.evaluate("document.documentElement.scrollWidth") <= width, name
                assert page.locator("h1").count() == 1, name
            assert complaints == []
        chromium.close()


def test_the_generated_reference_has_every_public_name_and_option(site):
    python, command = ((site / "reference" / f"{name}.html").read_text() for name in ("python", "command-line"))
    assert [name for name in refutedp.__all__ if f'.{name}"' not in python] == []
    assert all(option in command for option in ("--sarif", "--github", "--adjacency", "--no-odd", "--time-limit"))
    assert "&gt;&gt;&gt; </span>" in python  # examples are shown as code
