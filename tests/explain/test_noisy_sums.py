"""Drawn numbers remember what they are added to, and are otherwise the numbers that they are."""

import copy
import math
import pickle

import numpy as np
import pytest

from refutedp.explain.followed_math import FollowingMath
from refutedp.explain.noisy_sums import Book, drawn, form_of


@pytest.fixture
def book():
    return Book()


def bases(book):
    return [form.base for form in book.final() if not form.compared]


def test_sums_and_multiples_are_followed(book):
    noise = drawn(book, ("a", 0), 0.25)
    value = np.float64(3) + 2 * noise - 1
    assert value == 2.5
    (form,) = [one for one in book.final() if not one.compared]
    assert form.base == 2.0 and form.terms[0].factor == 2.0


def test_arrays_are_followed_and_their_elements_too(book):
    noise = drawn(book, ("a", 0), np.array([0.1, 0.2]))
    total = np.array([5, 6]) + noise
    assert total.tolist() == [5.1, 6.2]
    assert [form_of(one).base for one in total] == [5.0, 6.0]
    total += 1
    assert form_of(total).base.tolist() == [6.0, 7.0]


def test_a_comparison_is_told_with_its_distance(book):
    told = []
    book.on_compare = told.append
    assert (7 + drawn(book, ("a", 0), 0.5) > 5) is True
    assert [form.base for form in told] == [2.0]


def test_functions_of_noise_are_noise_of_unknown_scale_beside_what_they_are_added_to(book):
    noise = drawn(book, ("a", 0), 0.5)
    for made in (np.log(noise), abs(noise), noise**2, 2**noise, FollowingMath(None).module(math).log(noise)):
        assert form_of(made).base == 0.0 and math.isnan(form_of(made).terms[0].factor)
        total = form_of(7 - 3 * made)
        assert total.base == 7.0 and total.joined[1] == "right"
    assert form_of(np.abs(drawn(book, ("b", 0), np.array([1.0, -2.0])))).base.tolist() == [0.0, 0.0]


def test_whatever_else_is_done_gives_plain_numbers(book):
    noise = drawn(book, ("a", 0), 0.5)
    assert type(math.exp(noise)) is float and not isinstance(np.isnan(noise), float)
    assert f"{noise:.1f}" == "0.5" and round(noise) == 0 and int(noise) == 0
    assert type(pickle.loads(pickle.dumps(noise))) is float and copy.deepcopy(noise) == 0.5
    assert {0.5: "found"}[noise] == "found"
    assert np.argmax([noise, 1.0]) == 1 and np.array([noise]).dtype == np.float64


def test_whole_numbers_stay_whole(book):
    count = drawn(book, ("a", 0), np.int64(4))
    assert 7 - count == 3 and isinstance(7 - count, int)
    assert [1, 2, 3, 4, 5][count] == 5
