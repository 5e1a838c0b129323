"""A real report in a real browser: headless Chromium, driven by Playwright.

Debian's package is enough (`apt-get install chromium`), or set CHROMIUM to the path of one.
"""

import os
import shutil
from dataclasses import replace

import pytest

from refutedp import check
from refutedp.mechanisms import isvt4, noisy_max_laplace_value
from refutedp.model.mechanism import Origin
from refutedp.model.records import Pair

playwright = pytest.importorskip(
    "playwright.sync_api", reason="browser tests need playwright: pip install playwright"
)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
SMALL = {"search_runs": 1000, "confirm_runs": 5000, "lengths": (5,)}

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium found: apt-get install chromium, or set CHROMIUM to its path"
)

# The contrast of every text with what lies behind it, by WCAG's formula.
CONTRAST = """
() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (let e = node; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || (c.length === 4 && c[3] === 1)) return c;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  };
  const found = [];
  document.querySelectorAll('details').forEach(d => d.open = true);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ['STYLE', 'title', 'desc'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const colour = rgb(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const [a, b] = [light(colour), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.push([walker.currentNode.data.trim().slice(0, 40), ratio]);
  }
  return found;
}
"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as engine:
        chromium = engine.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    numeric = check(noisy_max_laplace_value, epsilon=0.5, args={"epsilon": 4.0}, **SMALL)
    mixed = check(isvt4, epsilon=0.5, args={"threshold": 1, "bound": 1}, **SMALL)
    pair = Pair([EVIL] * 5, [EVIL] * 4 + ["x"], EVIL, {"a": EVIL}, EVIL)
    candidate = replace(numeric.evidence.candidate, pair=pair)
    evil = replace(
        numeric,
        mechanism=EVIL,
        evidence=replace(numeric.evidence, candidate=candidate),
        notes=(EVIL,),
        origin=Origin(f"{EVIL}.py:f", f'def f():\n    """{EVIL}"""\n    return {"x" * 300}', 1, "0" * 64),
        profile=replace(numeric.profiled().profile, feature=EVIL, given=EVIL),
    )
    for name, result in (("numeric", numeric), ("mixed", mixed), ("evil", evil)):
        result.to_html(folder / f"{name}.html")
    return folder


@pytest.fixture
def visit(browser, reports):
    """Open a report and collect what a reader would never want: errors and requests."""
    contexts = []

    def go(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else page.complaints.append(r.url))
        page.goto((reports / f"{name}.html").as_uri())
        return page

    yield go
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["numeric", "mixed", "evil"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_error_no_request_and_readable_in_both_schemes(visit, name, scheme):
    page = visit(name, color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    assert page.complaints == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_headings_figures_and_names_are_there(visit):
    page = visit("numeric")
    assert page.locator("h1").count() == 1
    for heading in (
        "The two inputs",
        "The event, and how often",
        "What the event looks at",
        "Which ε",
        "The mechanism",
    ):
        assert page.get_by_role("heading", name=heading).count() == 1
    assert page.locator("svg[role=img]").count() == 3
    for i in range(3):
        box = page.locator("svg[role=img]").nth(i).bounding_box()
        assert box["width"] > 200 and box["height"] > 80
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("table").count() >= 2


def test_the_text_is_there_with_scripts_off(visit):
    page = visit("numeric", java_script_enabled=False)
    text = page.locator("body").inner_text()
    assert "does not satisfy 0.5-differential privacy" in text
    assert "return max(noisy)" in text
    assert "recheck(" in text


@pytest.mark.parametrize("name", ["numeric", "mixed", "evil"])
@pytest.mark.parametrize("width", [380, 800])
def test_no_horizontal_scroll(visit, name, width):
    page = visit(name, viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "height"), [(380, 800), (1280, 800)])
def test_the_first_screen_says_what_broke_where_and_how_to_mend_it(visit, width, height):
    page = visit("numeric", viewport={"width": width, "height": height})
    for part in ("h1", ".cause .where", ".cause .statement", ".cause .change", ".numbers"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= height, part


def test_the_keyboard_reaches_what_can_be_opened(visit):
    page = visit("numeric")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1


def test_evil_texts_do_not_run(visit):
    page = visit("evil")
    page.wait_for_timeout(100)
    assert page.title().startswith("Violation: <img src=x")
    assert page.locator("img, script").count() == 0
    assert page.complaints == []


def test_it_prints(visit, tmp_path):
    page = visit("numeric", color_scheme="dark")
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
