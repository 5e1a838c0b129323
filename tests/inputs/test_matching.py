"""Texts for regular expressions: `re` itself says whether they match."""

import re

import pytest

from refutedp.inputs.matching import matching

PATTERNS = [
    r"T-\d{4}",
    r"^vip.*$",
    r"[A-Z]{2}\d+",
    r"(?P<user>\w+)@(example|test)\.org",
    r"\s*#[^\W_]+",
    r"[^a-z0]x|yy",
    r"(ab){3,}?c*",
    r"\bstaff\b",
    re.compile("admin", re.IGNORECASE),
    re.compile(r"a.c", re.DOTALL),
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_the_text_matches(pattern):
    text = matching(pattern)
    assert text
    assert re.search(pattern, text)


@pytest.mark.parametrize("word", ["vip", "", "T-0000", "(", "[", r"(\d)\1", "(?=x)", "a*", "x{100000}"])
def test_plain_words_and_what_is_not_understood_have_none(word):
    assert matching(word) is None
