"""The HTML report as text: complete, self-contained, and nothing from mechanisms or data can run in it."""

import html
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markupsafe import escape

from refutedp import PureDP, Verdict
from refutedp.detector.profile import Bin, Profile
from refutedp.events.features.basic import Value
from refutedp.events.predicates import Equals
from refutedp.model.mechanism import Origin
from refutedp.model.records import Pair
from refutedp.report import figures
from refutedp.report.exhibits import side_by_side
from refutedp.report.html import report_html

EVIL = '<img src=x onerror="alert(1)"></script><script>alert(2)</script>{{ 7*7 }}\'"&'


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.open, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "link", "br", "wbr", "img", "rect", "line", "path", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def test_the_report_says_what_the_function_itself_said(violation, tmp_path):
    violation.to_html(tmp_path / "report.html")
    assert "plain calls of the function" in (tmp_path / "report.html").read_text()


def test_where_all_runs_did_the_same_the_report_hints_at_nothing(violation):
    same = replace(violation, verdict=Verdict.INCONCLUSIVE, vacuous="the output = 0")
    words = " ".join(parse(report_html(same)).text)
    assert "Nothing was tested: in nearly every run, the output = 0." in words
    assert "hint at a violation" not in words
    assert "more than chance readily explains" not in words


def test_every_kind_of_result_has_a_well_formed_report(any_result):
    page = report_html(any_result)
    tags = parse(page)
    assert tags.tags.count("h1") == 1
    ids = [value for name, value in tags.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for name, value in tags.attributes:
        if name in ("aria-labelledby", "aria-describedby"):
            assert set(value.split()) <= set(ids)


def test_the_report_needs_no_network(any_result):
    page = report_html(any_result)
    assert "<script" not in page
    assert "@import" not in page and "url(" not in page
    links = [value for name, value in parse(page).attributes if name in ("src", "href")]
    assert all(link.startswith(("#", "data:")) for link in links)


def test_the_report_says_what_a_reader_needs(violation):
    page = report_html(violation)
    text = " ".join(" ".join(parse(page.replace("<wbr>", "")).text).split())
    evidence = violation.evidence
    for part in (
        "Violation",
        "does not satisfy 0.5-differential privacy",
        f"{evidence.counts.x:,}",
        f"{evidence.counts.n_y:,}",
        "return max(noisy)",
        "recheck(",
        "search runs",
        "the claim allows at most",
        "confidence",
        violation.origin.sha256,
    ):
        assert part in text, part
    assert page.count("<svg") == 3
    assert page.count("<desc") == 3


@pytest.mark.parametrize("verdict", list(Verdict))
def test_evil_texts_stay_text(violation, verdict):
    candidate = replace(
        violation.evidence.candidate,
        pair=Pair([EVIL, 1], [EVIL, 2], EVIL, {"name": EVIL}, EVIL),
        event=Equals(Value((EVIL,)), EVIL),
    )
    evil = replace(
        violation,
        verdict=verdict,
        mechanism=EVIL,
        adjacency=EVIL,
        evidence=replace(violation.evidence, candidate=candidate),
        notes=(EVIL,),
        origin=Origin(f"{EVIL}.py:f", f'def f():\n    """{EVIL}"""', 1, EVIL),
        profile=Profile(EVIL, EVIL, 10, 10, (Bin(EVIL, None, None, 4, 5, True), Bin("b", None, None, 6, 5, False))),
    )
    page = report_html(evil)
    tags = parse(page)
    assert not {"img", "script", "iframe", "object", "embed"} & set(tags.tags)
    assert not [name for name, _ in tags.attributes if name.startswith("on")]
    assert not re.search(r"<img|<script", page)
    assert "{{ 7*7 }}" in page
    for fragment in (evil._repr_html_(),):
        assert not {"img", "script"} & set(parse(fragment).tags)


def test_the_report_starts_with_the_cause_and_marks_its_line(violation):
    page = report_html(violation)
    told = violation.explained().explanation
    head, _, body = page.replace("<wbr>", "").partition("</header>")
    assert f"line {told.place.line}" in head and str(escape(told.place.text)) in head
    assert "Tested: " in head and "<ins>" in head
    (marked,) = re.findall(r'<li class="leak"><span class="no">(\d+)</span>', body)
    assert int(marked) == told.place.line
    assert '<table class="ledger">' in body


def test_the_limit_is_never_cut_off(violation):
    profile = Profile("x", "", 1000, 1000, tuple(Bin(str(i), i, i + 1, 50, y, i == 0) for i, y in enumerate((5, 50))))
    # Eight times the second bar would leave the figure: the limit is drawn over the event alone, and whole.
    drawn = figures.histogram(profile, PureDP(math.log(8)))
    (limit,) = re.findall(r'<path d="([^"]*)" class="line bound"', drawn)
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", limit)]
    assert len(heights) == 2 and len(set(heights)) == 1 and heights[0] > figures.Panel(0, 1, 1).top
    (limit,) = re.findall(r'<path d="([^"]*)" class="line bound"', figures.histogram(profile, PureDP(math.log(2))))
    assert limit.count("L") == 3


def test_a_notebook_shows_inputs_arguments_and_a_coloured_verdict(violation, none_found, curves):
    shown = violation._repr_html_()
    assert 'class="verdict violation"' in shown and 'class="verdict not-found"' in none_found._repr_html_()
    assert "<code>epsilon = 4.0</code>" in shown and "<th>0 to 4</th>" in shown
    assert violation.explained().explanation.place.text in html.unescape(shown.replace("<wbr>", ""))
    assert curves._repr_html_().count('class="key s') == 2


def test_long_inputs_show_what_differs():
    table = side_by_side(Pair([0] * 500, [0] * 499 + [1], "given"))
    assert [(row.position, row.count) for row in table.rows] == [("0 to 498", 499), ("499", 1)]
    alternating = side_by_side(Pair([0, 1] * 250, [0, 1] * 249 + [0, 2], "given"))
    assert [row.position for row in alternating.rows] == ["499"]
    assert alternating.left_out == 499


def test_inputs_of_different_lengths_and_other_kinds():
    table = side_by_side(Pair([1], [1, 2], "given"))
    assert [(row.d1, row.d2, row.differs) for row in table.rows] == [("1", "1", False), (None, "2", True)]
    assert side_by_side(Pair({"a": 1}, {"a": 2}, "given")).whole == ("{'a': 1}", "{'a': 2}")
