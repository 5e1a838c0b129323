"""Adjacency of whole users, and of any two inputs."""

import pandas as pd
import polars as pl
import pytest

from refutedp import ANY_TWO, AddRemove, AnyTwo, Replace, UsageError

ANN, BOB = ("ann", 1), ("bob", 2)


@pytest.mark.parametrize(
    ("adjacency", "d1", "d2", "adjacent"),
    [
        (AddRemove(by=0), [ANN, ANN, BOB], [BOB], True),
        (AddRemove(by=0), [ANN, BOB], [BOB, ("cy", 1), ANN, ("cy", 2)], True),
        (AddRemove(by=0), [ANN, ANN, BOB], [ANN, BOB], False),  # a part of what ann has
        (AddRemove(by=0), [ANN, BOB], [], False),
        (AddRemove(by=0), [ANN], [ANN], False),
        (Replace(by=0), [ANN, ANN, BOB], [("ann", 7), BOB], True),
        (Replace(by=0), [ANN, ANN, BOB], [("cy", 7), BOB], True),
        (Replace(by=0), [ANN, BOB], [("ann", 7), ("bob", 7)], False),
        (Replace(by=0), [ANN, BOB], [ANN], False),
        (Replace(by=0), [ANN, BOB], [("ann", 1), ("ann", 2)], False),  # bob goes, and ann changes
        (AddRemove(by="who"), [{"who": 1, "n": 1}, {"who": 1, "n": 2}], [], True),
    ],
)
def test_users(adjacency, d1, d2, adjacent):
    assert (adjacency.difference(d1, d2) is None) is adjacent
    assert (adjacency.difference(d2, d1) is None) is adjacent


@pytest.mark.parametrize("library", [pd, pl])
def test_users_of_frames(library):
    one = library.DataFrame({"who": [1, 1, 2], "n": [5, 6, 7]})
    other = library.DataFrame({"who": [2], "n": [7]})
    assert AddRemove(by="who").difference(one, other) is None
    assert "the ids whose records differ are [1, 2]" in AddRemove(by="who").difference(one, one[:0])
    assert "by='whom' is none of them" in AddRemove(by="whom").difference(one, other)


def test_refusals_name_what_is_wrong():
    assert "has no part 3" in AddRemove(by=3).difference([ANN], [ANN, BOB])
    with pytest.raises(UsageError, match=r"by=1\.5 must name a column"):
        AddRemove(by=1.5)
    with pytest.raises(UsageError, match="records='yes' must be a list"):
        AnyTwo("yes")


def test_words():
    assert str(AddRemove(by="who")) == "all records of one who may be added or removed"
    assert str(Replace(by=0)) == "all records of one id may be replaced"
    assert str(ANY_TWO) == "any two inputs are neighbours"
