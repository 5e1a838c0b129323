"""Texts that regular expressions of the code match: a branch on a pattern needs such a text."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

LETTERS = "a0A -_.@/:,;!?#%&*+=~'\"()[]{}<>|$^\\\t\n" + "bcdefghijklmnopqrstuvwxyz123456789BCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Characters in the order in which they are taken for a class of them."""
_SPECIAL = re.compile(r"[\\\[\](){}^$*+?|]")
_CLASSES: dict[Any, Callable[[str], bool]] = {
    c.CATEGORY_DIGIT: str.isdigit,
    c.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdigit(),
    c.CATEGORY_SPACE: str.isspace,
    c.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    c.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    c.CATEGORY_NOT_WORD: lambda letter: not (letter.isalnum() or letter == "_"),
}


def matching(pattern: str | re.Pattern[str]) -> str | None:
    """A short text that the pattern matches; None for plain words, and where none is found.

    >>> matching(r"T-\\d{4}"), matching("^(www|ftp)[.].+@[^a]$"), matching("vip"), matching("(?=x)")
    ('T-0000', 'www.a@0', None, None)
    """
    text = pattern if isinstance(pattern, str) else pattern.pattern
    if isinstance(pattern, str) and not _SPECIAL.search(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what later versions of Python may read in another way
            found = _text(parser.parse(text))
        return found if found and re.search(pattern, found) else None
    except (re.error, LookupError, OverflowError, RecursionError, StopIteration, TypeError):
        return None


def _text(items: Iterable[Any]) -> str:
    """The text for a parsed pattern: the first of several, and as few repetitions as there may be."""
    return "".join(_one(operator, argument) for operator, argument in items)


def _one(operator: Any, argument: Any) -> str:
    if operator is c.LITERAL:
        return chr(int(argument))
    if operator is c.AT:
        return ""
    if operator in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
        least, _, repeated = argument
        return _text(repeated) * min(int(least), 100)
    if operator is c.SUBPATTERN:
        return _text(argument[-1])
    if operator is c.BRANCH:
        return _text(argument[1][0])
    members = {c.IN: argument, c.NOT_LITERAL: [(c.NEGATE, None), (c.LITERAL, argument)], c.ANY: [(c.NEGATE, None)]}
    return next(letter for letter in LETTERS if _is_in(letter, members[operator]))


def _is_in(letter: str, members: list[tuple[Any, Any]]) -> bool:
    negated = bool(members) and members[0][0] is c.NEGATE
    found = False
    for operator, argument in members[1:] if negated else members:
        if operator is c.LITERAL:
            found |= ord(letter) == argument
        elif operator is c.RANGE:
            found |= argument[0] <= ord(letter) <= argument[1]
        else:
            found |= bool(_CLASSES[argument](letter))
    return found is not negated
