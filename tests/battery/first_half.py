"""Bugs that only some inputs show, each with a correct twin; written before any search for such inputs existed.

No bug shows on zeros, ones and twos, or on neighbours of the few records given as `inputs`. Each case names a witness:
two adjacent inputs, and arguments where they must be found, on which the claim breaks by a factor of at least 1.5.
Twins are private for all adjacent inputs, in any order of records; answers are bounded by a million where a twin adds
noise to them, so that floats hold what the proofs say of real numbers.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from refutedp import ADD_REMOVE, ONE_DIFFERS, REPLACE, AddRemove, ApproxDP, Command, Replace
from tests.battery.case import Case

PROGRAMS = Path(__file__).parent / "programs"


CASES: list[Case] = []


def bounded(answers):
    """Nobody expects an answer beyond a million."""
    return [max(-1e6, min(1e6, answer)) for answer in answers]


def within(low, high, value):
    """The value, or the bound that it exceeds; nan becomes the upper bound."""
    return max(low, min(high, value))


# --- Query answers -----------------------------------------------------------------------------------------------


def risk_index_bug(queries, epsilon):
    """The square of a count, in hundreds."""
    index = (queries[0] / 10) ** 2
    return index + np.random.laplace(scale=1 / epsilon)


def risk_index_twin(queries, epsilon):
    count = min(max(queries[0], 0), 40)
    index = (count / 10) ** 2
    return index + np.random.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "risk_index",
        risk_index_bug,
        risk_index_twin,
        {"epsilon": 1.0},
        "A square moves by (2x + 1)/100, which exceeds 1 from 50 on; the twin cuts the count to [0, 40], where it moves "
        "by at most 0.8.",
        ([200], [201]),
    )
)


def order_value_bug(queries, epsilon, rng):
    """Orders times items per order, in units of 50."""
    orders, items = queries[0], queries[1]
    return orders * items / 50 + rng.laplace(0, 1 / epsilon)


def order_value_twin(queries, epsilon, rng):
    orders, items = np.clip(queries[:2], 0, 50)
    return orders * items / 50 + rng.laplace(0, 1 / epsilon)


CASES.append(
    Case(
        "order_value",
        order_value_bug,
        order_value_twin,
        {"epsilon": 0.5, "adjacency": ONE_DIFFERS},
        "One answer moves the product by the other one, here 200, over 50; the twin cuts both to [0, 50], so that the "
        "product over 50 moves by at most 1.",
        ([1, 200], [2, 200]),
    )
)


def conversion_rate_bug(queries, epsilon, rng):
    """Orders per visit, a rate that is expected to lie between 0 and 1."""
    orders, visits = queries[0], queries[-1]
    rate = orders / max(visits, 1)
    return rate + rng.laplace(scale=1 / epsilon)


def conversion_rate_twin(queries, epsilon, rng):
    orders, visits = queries[0], queries[-1]
    rate = min(max(orders / max(visits, 1), 0), 1)
    return rate + rng.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "conversion_rate",
        conversion_rate_bug,
        conversion_rate_twin,
        {"epsilon": 1.0},
        "Ten orders and one visit give 10, ten orders and two visits 5; the twin cuts the rate to [0, 1], whose width "
        "the noise is for.",
        ([10, 1], [10, 2]),
    )
)


def minute_of_the_hour_bug(queries, eps):
    """Where the hand of the clock stands after all these minutes."""
    minute = sum(bounded(queries)) % 60
    return minute + np.random.laplace(scale=1 / eps)


def minute_of_the_hour_twin(queries, eps):
    minutes = sum(bounded(queries)) + np.random.laplace(scale=1 / eps)
    return minutes % 60


CASES.append(
    Case(
        "minute_of_the_hour",
        minute_of_the_hour_bug,
        minute_of_the_hour_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "59 minutes and 60 are shown as 59 and 0; the twin adds noise to the total, which moves by at most 1, and wraps "
        "the noisy number.",
        ([59], [60]),
    )
)


def attendance_bug(queries, epsilon):
    """The total; large crowds hide people well, so they get less noise."""
    total = sum(bounded(queries))
    rate = epsilon
    if total > 100:
        rate = 3 * epsilon
    return total + random.expovariate(rate) - random.expovariate(rate)


def attendance_twin(queries, epsilon):
    total = sum(bounded(queries))
    rate = epsilon
    return total + random.expovariate(rate) - random.expovariate(rate)


CASES.append(
    Case(
        "attendance",
        attendance_bug,
        attendance_twin,
        {"epsilon": 0.8, "adjacency": ONE_DIFFERS},
        "Totals of 110 and 111 get a third of the noise; in the twin a total moves by at most 1 and always gets noise of "
        "scale 1/epsilon.",
        ([110], [111]),
    )
)


def survey_answers_bug(queries, epsilon, rng):
    """Noisy answers; 999 stands for a question that was not answered."""
    released = []
    for answer in bounded(queries):
        if answer == 999:
            released.append(None)
        else:
            released.append(answer + rng.laplace(scale=1 / epsilon))
    return released


def survey_answers_twin(queries, epsilon, rng):
    released = []
    for answer in bounded(queries):
        noisy = answer + rng.laplace(scale=1 / epsilon)
        released.append(None if round(noisy) == 999 else noisy)
    return released


CASES.append(
    Case(
        "survey_answers",
        survey_answers_bug,
        survey_answers_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "998 and 999 are neighbours and only the second gives None; the twin decides by the noisy answer, after noise of "
        "scale 1/epsilon for the one that moves by 1.",
        ([998], [999]),
    )
)


def recent_mean_bug(queries, epsilon, window, rng):
    """The mean of the last answers, with noise as if only one of them could change."""
    if window < 1:
        raise ValueError("window must be positive")
    mean = sum(bounded(queries)[-window:]) / window
    return mean + rng.laplace(scale=1 / (window * epsilon))


def recent_mean_twin(queries, epsilon, window, rng):
    if window < 1:
        raise ValueError("window must be positive")
    mean = sum(bounded(queries)[-window:]) / window
    return mean + rng.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "recent_mean",
        recent_mean_bug,
        recent_mean_twin,
        {"epsilon": 1.0},
        "With a window of 4, all four answers move by 1 and so does the mean, under noise of scale 1/4; in the twin at "
        "most `window` answers move by 1 each, so the mean moves by at most 1, for any window.",
        ([1, 1, 1, 1], [2, 2, 2, 2]),
        {"window": 4},
    )
)


def monthly_counts_bug(queries, epsilon, rng):
    """Noise for every month of a year."""
    counts = np.array(bounded(queries), dtype=float)
    noise = rng.laplace(scale=1 / epsilon, size=12)
    counts[:12] += noise[: len(counts)]
    return counts.tolist()


def monthly_counts_twin(queries, epsilon, rng):
    counts = np.array(bounded(queries), dtype=float)
    counts += rng.laplace(scale=1 / epsilon, size=len(counts))
    return counts.tolist()


CASES.append(
    Case(
        "monthly_counts",
        monthly_counts_bug,
        monthly_counts_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "A thirteenth month is released as it is; the twin adds noise to every month, one of which moves by at most 1.",
        ([3] * 13, [3] * 12 + [4]),
    )
)


def sound_power_bug(queries, epsilon, rng):
    """A level in decibels, released as a power."""
    level = max(0, min(queries[0], 120))
    power = 10 ** (level / 10)
    return power + rng.laplace(scale=1 / epsilon)


def sound_power_twin(queries, epsilon, rng):
    level = max(0, min(queries[0], 120))
    noisy_level = level + rng.laplace(scale=1 / epsilon)
    return 10 ** (noisy_level / 10)


CASES.append(
    Case(
        "sound_power",
        sound_power_bug,
        sound_power_twin,
        {"epsilon": 1.0},
        "From 40 to 41 decibels the power grows by 2,589; the twin adds noise on the log scale, where the level moves by "
        "at most 1, and converts the noisy level.",
        ([40], [41]),
    )
)


def expensive_counts_bug(queries, epsilon, rng):
    """Large counts take long to release, so what was released for a value is kept."""
    kept = {}

    def release(count):
        noisy = count + rng.laplace(scale=1 / epsilon)
        return kept.setdefault(count, noisy) if count >= 100 else noisy

    return [round(release(count)) for count in bounded(queries)]


def expensive_counts_twin(queries, epsilon, rng):
    kept = {}

    def release(position, count):
        noisy = count + rng.laplace(scale=1 / epsilon)
        return kept.setdefault(position, noisy) if count >= 100 else noisy

    return [round(release(position, count)) for position, count in enumerate(bounded(queries))]


CASES.append(
    Case(
        "expensive_counts",
        expensive_counts_bug,
        expensive_counts_twin,
        {"epsilon": 0.5, "adjacency": ONE_DIFFERS},
        "Two equal counts from 100 on share their noise, and are released as equal; the twin keeps one answer for each "
        "position, so every count has noise of its own and one of them moves by at most 1.",
        ([100, 100], [100, 101]),
    )
)


def until_enough_bug(queries, epsilon, rng):
    """Noisy counts, until fifty people have been counted."""
    released, seen = [], 0
    for count in bounded(queries):
        released.append(count + rng.laplace(scale=1 / epsilon))
        seen += count
        if seen > 50:
            break
    return released


def until_enough_twin(queries, epsilon, rng):
    released, seen = [], 0
    for count in bounded(queries):
        released.append(count + rng.laplace(scale=1 / epsilon))
        seen += released[-1]
        if seen > 50:
            break
    return released


CASES.append(
    Case(
        "until_enough",
        until_enough_bug,
        until_enough_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "After a count of 50 a second one is released, after 51 it is not; the twin stops by the noisy counts, which it "
        "releases anyway, and one of which has moved by at most 1.",
        ([50, 5], [51, 5]),
    )
)


def most_popular_bug(queries, epsilon, k, rng):
    """The k largest, the largest first, of those with at least ten votes; there may be fewer than k."""
    answers = bounded(queries)
    left, chosen = [i for i, votes in enumerate(answers) if votes >= 10], []
    for _ in range(min(k, len(left))):
        best = max(left, key=lambda i: answers[i] + rng.laplace(scale=2 * k / epsilon))
        left.remove(best)
        chosen.append(best)
    return chosen


def most_popular_twin(queries, epsilon, k, rng):
    answers = bounded(queries)
    left, chosen = list(range(len(answers))), []
    for _ in range(min(k, len(left))):
        best = max(left, key=lambda i: answers[i] + rng.laplace(scale=2 * k / epsilon))
        left.remove(best)
        chosen.append(best)
    return chosen


CASES.append(
    Case(
        "most_popular",
        most_popular_bug,
        most_popular_twin,
        {"epsilon": 1.0},
        "With nine votes nothing is chosen and with ten something is; the twin chooses among all, at most k times by "
        "noisy maximum with noise of scale 2k/epsilon, which costs epsilon/k each time.",
        ([30, 9], [30, 10]),
        {"k": 3},
    )
)


def bar_heights_bug(queries, epsilon, rng):
    """Bars of a chart, 200 pixels high at most; small counts are not blown up."""
    counts = np.array(bounded(queries))
    pixels = 200 / max(10.0, counts.max())
    return [pixels * count + rng.laplace(scale=pixels / epsilon) for count in counts]


def bar_heights_twin(queries, epsilon, rng):
    counts = np.array(bounded(queries))
    noisy = [count + rng.laplace(scale=1 / epsilon) for count in counts]
    pixels = 200 / max([10.0, *noisy])
    return [pixels * count for count in noisy]


CASES.append(
    Case(
        "bar_heights",
        bar_heights_bug,
        bar_heights_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "When the largest of several counts of 10 grows to 11, all other bars and their noise shrink; the twin adds noise "
        "to the counts, one of which moves by 1, and draws the noisy ones.",
        ([10, 10, 10, 10, 10, 10], [11, 10, 10, 10, 10, 10]),
    )
)


def rounded_to_fifty_bug(queries, epsilon, rng):
    """The total in bands of fifty."""
    band = round(sum(bounded(queries)) / 50) * 50
    return band + rng.laplace(scale=1 / epsilon)


def rounded_to_fifty_twin(queries, epsilon, rng):
    total = sum(bounded(queries)) + rng.laplace(scale=1 / epsilon)
    return round(total / 50) * 50


CASES.append(
    Case(
        "rounded_to_fifty",
        rounded_to_fifty_bug,
        rounded_to_fifty_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "A total of 74 lies in the band of 50 and one of 75 in that of 100; the twin rounds the noisy total, which had moved by at "
        "most 1.",
        ([74], [75]),
    )
)


def rolling_totals_bug(queries, epsilon, rng, days=3):
    """Totals of every three days in a row; one day changes by at most 1."""
    answers = bounded(queries)
    return [
        sum(answers[start : start + days]) + rng.laplace(scale=1 / epsilon)
        for start in range(len(answers) - days + 1)
    ]


def rolling_totals_twin(queries, epsilon, rng, days=3):
    answers = bounded(queries)
    return [
        sum(answers[start : start + days]) + rng.laplace(scale=days / epsilon)
        for start in range(len(answers) - days + 1)
    ]


CASES.append(
    Case(
        "rolling_totals",
        rolling_totals_bug,
        rolling_totals_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "The first day is in one total and a day in the middle in three; the twin's noise is for three totals that move "
        "by 1 each.",
        ([1, 1, 1, 1, 1], [1, 1, 2, 1, 1]),
    )
)


def account_health_bug(queries, epsilon, rng):
    """What is owed weighs five times as much as what is there."""
    balance = sum(bounded(queries))
    weight = 1 if balance >= 0 else 5
    return weight * balance + rng.laplace(scale=1 / epsilon)


def account_health_twin(queries, epsilon, rng):
    balance = sum(bounded(queries)) + rng.laplace(scale=1 / epsilon)
    weight = 1 if balance >= 0 else 5
    return weight * balance


CASES.append(
    Case(
        "account_health",
        account_health_bug,
        account_health_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "From -1 to -2 the weighted balance falls by 5; the twin weighs the noisy balance, and the balance moves by at "
        "most 1.",
        ([-1], [-2]),
    )
)


def growth_in_percent_bug(queries, epsilon, rng):
    """How much the second answer exceeds the first, in percent; few cases are not compared."""
    before, after = bounded(queries[:2])
    growth = 0 if before < 3 else 100 * (after - before) / before
    return growth + rng.laplace(scale=50 / epsilon)


def growth_in_percent_twin(queries, epsilon, rng):
    before, after = (answer + rng.laplace(scale=2 / epsilon) for answer in bounded(queries[:2]))
    return 0 if before < 3 else 100 * (after - before) / before


CASES.append(
    Case(
        "growth_in_percent",
        growth_in_percent_bug,
        growth_in_percent_twin,
        {"epsilon": 1.0},
        "From 3 to 90 is 2,900 percent and from 4 to 90 is 2,150; the twin adds noise of scale 2/epsilon to both answers, "
        "which together move by 2, and computes with the noisy ones.",
        ([3, 90], [4, 90]),
    )
)


# --- Records -----------------------------------------------------------------------------------------------------


def member_count_bug(members, epsilon, rng):
    """In a club of more than twenty nobody stands out."""
    if len(members) > 20:
        return float(len(members))
    return len(members) + rng.laplace(scale=1 / epsilon)


def member_count_twin(members, epsilon, rng):
    return len(members) + rng.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "member_count",
        member_count_bug,
        member_count_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": ["Ana", "Ben", "Cem", "Dot"]},
        "21 and 22 members are released as they are; the twin adds noise of scale 1/epsilon to a count that moves by 1.",
        (["Ana"] * 21, ["Ana"] * 22),
    )
)


def median_age_bug(people, epsilon, rng):
    """Half of the people are younger; one person hardly moves it."""
    if len(people) < 5:
        return None
    ages = sorted(within(0, 120, age) for age in people)
    median = ages[len(ages) // 2]
    return median + rng.laplace(scale=10 / epsilon)


def median_age_twin(people, epsilon, rng):
    if len(people) < 5:
        return None
    ages = sorted(within(0, 120, age) for age in people)
    median = ages[len(ages) // 2]
    return median + rng.laplace(scale=120 / epsilon)


CASES.append(
    Case(
        "median_age",
        median_age_bug,
        median_age_twin,
        {"epsilon": 1.0, "adjacency": Replace(records=(0, 120)), "inputs": [34, 35, 35, 36, 36, 37, 35]},
        "With three people of age 0 and four of 120 one person moves the median by 120; the twin's noise is for 120, and "
        "how many people there are is the same on neighbours.",
        ([0, 0, 0, 120, 120, 120, 120], [0, 0, 0, 0, 120, 120, 120]),
    )
)


def clipped_sum_bug(values, epsilon, lower, upper, rng):
    """The sum of values within bounds; the noise forgets the lower bound."""
    if lower >= upper:
        raise ValueError("lower must be less than upper")
    clipped = [max(lower, min(upper, value)) for value in values]
    return sum(clipped) + rng.laplace(scale=abs(upper) / epsilon)


def clipped_sum_twin(values, epsilon, lower, upper, rng):
    if lower >= upper:
        raise ValueError("lower must be less than upper")
    clipped = [max(lower, min(upper, value)) for value in values]
    return sum(clipped) + rng.laplace(scale=(upper - lower) / epsilon)


CASES.append(
    Case(
        "clipped_sum",
        clipped_sum_bug,
        clipped_sum_twin,
        {"epsilon": 1.0, "adjacency": REPLACE, "inputs": [2.0, -3.5, 7.25, 0.5]},
        "With bounds -3 and 1, replacing -3.5 by 7.25 moves the sum by 4 under noise for 1; in the twin a value within "
        "the bounds is replaced by another, so the sum moves by at most upper - lower.",
        ([-3.5, 2.0], [7.25, 2.0]),
        {"lower": -3, "upper": 1},
    )
)

ROLES = ("user", "guest", "staff")


def role_counts_bug(roles, epsilon, rng):
    """How many have which role; who is on the staff is no secret."""
    released = {}
    for role in ROLES:
        count = roles.count(role)
        released[role] = count if role == "staff" else count + rng.laplace(scale=1 / epsilon)
    return released


def role_counts_twin(roles, epsilon, rng):
    return {role: roles.count(role) + rng.laplace(scale=1 / epsilon) for role in ROLES}


CASES.append(
    Case(
        "role_counts",
        role_counts_bug,
        role_counts_twin,
        {"epsilon": 1.0, "adjacency": AddRemove(records=("user", "guest"))},
        "One more record 'staff' moves an exact count; in the twin one record is in at most one of three noisy counts.",
        (["user"], ["user", "staff"]),
    )
)


def mean_score_bug(scores, epsilon, rng):
    """The mean of scores from 0 to 10; where all agree, there is nothing to average."""
    if len(scores) >= 3 and len(set(scores)) == 1:
        return float(within(0, 10, scores[0]))
    total = sum(within(0, 10, score) for score in scores) + rng.laplace(scale=20 / epsilon)
    count = len(scores) + rng.laplace(scale=2 / epsilon)
    return total / max(count, 1)


def mean_score_twin(scores, epsilon, rng):
    total = sum(within(0, 10, score) for score in scores) + rng.laplace(scale=20 / epsilon)
    count = len(scores) + rng.laplace(scale=2 / epsilon)
    return total / max(count, 1)


CASES.append(
    Case(
        "mean_score",
        mean_score_bug,
        mean_score_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": [3, 4, 5, 4]},
        "Three scores of 4 give 4 exactly, and a score of 5 beside them does not; the twin spends epsilon/2 on a sum that "
        "moves by at most 10 and epsilon/2 on a count that moves by 1.",
        ([4, 4, 4], [4, 4, 4, 5]),
    )
)


class ShopReport:
    """The turnover of a shop, in which one purchase counts for at most fifty."""

    cap = 50.0

    def price(self, purchase):
        return within(0.0, self.cap, purchase["price"])

    def turnover(self, purchases, epsilon, rng):
        total = sum(self.price(purchase) for purchase in purchases)
        return total + rng.laplace(scale=self.cap / epsilon)


class ShopReportWithGiftCards(ShopReport):
    """A gift card is worth what is written on it."""

    def price(self, purchase):
        if purchase["item"] == "gift card":
            return within(0.0, 1000.0, purchase["price"])
        return super().price(purchase)


CASES.append(
    Case(
        "turnover",
        ShopReportWithGiftCards().turnover,
        ShopReport().turnover,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [
                {"item": "book", "price": 12.5},
                {"item": "lamp", "price": 45.0},
                {"item": "laptop", "price": 700.0},
            ],
        },
        "A gift card of 700 moves the turnover by 700 under noise for 50; the twin cuts every price to [0, 50].",
        (
            [{"item": "book", "price": 12.5}],
            [{"item": "book", "price": 12.5}, {"item": "gift card", "price": 700.0}],
        ),
    )
)


def distance_walked_bug(places, epsilon, rng):
    """The way from place to place on a street of length 1; one more place is one more step."""
    places = [within(0.0, 1.0, place) for place in places]
    steps = [abs(there - here) for here, there in itertools.pairwise(places)]
    return sum(steps) + rng.laplace(scale=1 / epsilon)


def distance_walked_twin(places, epsilon, rng):
    places = sorted(within(0.0, 1.0, place) for place in places)
    steps = [abs(there - here) for here, there in itertools.pairwise(places)]
    return sum(steps) + rng.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "distance_walked",
        distance_walked_bug,
        distance_walked_twin,
        {"epsilon": 1.0, "adjacency": AddRemove(odd=False), "inputs": [0.05, 0.3, 0.6, 0.95]},
        "A place at the other end put between others adds two steps, and records have no order, so many steps may come "
        "and go; sorted, the steps of the twin add up to the largest place less the smallest, within [0, 1].",
        ([0.05, 0.05, 0.95, 0.95], [0.95, 0.05, 0.95, 0.05, 0.95]),
    )
)

SIZES = ("S", "M", "L")


def shirt_sizes_bug(sizes, epsilon):
    """How many wear which size; ten and more who wear the same hide each other."""
    counts = Counter(sizes)
    return [
        counts[size] if counts[size] >= 10 else counts[size] + np.random.laplace(scale=1 / epsilon) for size in SIZES
    ]


def shirt_sizes_twin(sizes, epsilon):
    counts = Counter(sizes)
    return [counts[size] + np.random.laplace(scale=1 / epsilon) for size in SIZES]


CASES.append(
    Case(
        "shirt_sizes",
        shirt_sizes_bug,
        shirt_sizes_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": ["M", "L", "M", "S", "M"]},
        "Ten and eleven records 'M' are counted exactly; in the twin a record is in at most one of three noisy counts.",
        (["M"] * 10, ["M"] * 11),
    )
)


def visits_by_weekday_bug(visits, epsilon, rng):
    """Visits on every weekday, and whether anybody came on Christmas Day."""
    counts = [0] * 7
    came_on_christmas = False
    for day in visits:
        if (day.month, day.day) == (12, 25):
            came_on_christmas = True
        else:
            counts[day.weekday()] += 1
    return [count + rng.laplace(scale=1 / epsilon) for count in counts], came_on_christmas


def visits_by_weekday_twin(visits, epsilon, rng):
    counts = [0] * 7
    on_christmas = 0
    for day in visits:
        if (day.month, day.day) == (12, 25):
            on_christmas += 1
        else:
            counts[day.weekday()] += 1
    came_on_christmas = on_christmas + rng.laplace(scale=1 / epsilon) > 0.5
    return [count + rng.laplace(scale=1 / epsilon) for count in counts], came_on_christmas


CASES.append(
    Case(
        "visits_by_weekday",
        visits_by_weekday_bug,
        visits_by_weekday_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [datetime.date(2024, 3, 4), datetime.date(2024, 9, 17), datetime.date(2025, 2, 8)],
        },
        "A visit on 25 December 2024 sets a flag without noise; in the twin a visit is in one of eight counts, each with "
        "noise of scale 1/epsilon.",
        ([datetime.date(2024, 3, 4)], [datetime.date(2024, 3, 4), datetime.date(2024, 12, 25)]),
    )
)


def mean_pay_in_sales_bug(people, epsilon, rng):
    """Mean pay in one department; pay lies between 0 and 100."""
    pay = [within(0, 100, amount) for department, amount in people if department == "sales"]
    mean = sum(pay) / max(len(pay), 1)
    return mean + rng.laplace(scale=100 / (len(people) * epsilon))


def mean_pay_in_sales_twin(people, epsilon, rng):
    """Pay in one department, per person of the whole firm."""
    pay = [within(0, 100, amount) for department, amount in people if department == "sales"]
    mean = sum(pay) / len(people)
    return mean + rng.laplace(scale=100 / (len(people) * epsilon))


CASES.append(
    Case(
        "mean_pay_in_sales",
        mean_pay_in_sales_bug,
        mean_pay_in_sales_twin,
        {
            "epsilon": 1.0,
            "adjacency": REPLACE,
            "inputs": [("sales", 40), ("sales", 55), ("support", 60), ("sales", 48)],
        },
        "One person in sales among five moves the mean of sales by their whole pay, under noise for a fifth of 100; the "
        "twin divides by all people, whose number is the same on neighbours, so the mean moves by at most 100/n.",
        (
            [("sales", 0), ("support", 60), ("support", 60), ("support", 60), ("support", 60)],
            [("sales", 100), ("support", 60), ("support", 60), ("support", 60), ("support", 60)],
        ),
    )
)


def buses_needed_bug(pupils, epsilon, rng):
    """Buses for eight; so coarse a number tells nothing about a single pupil."""
    return math.ceil(len(pupils) / 8)


def buses_needed_twin(pupils, epsilon, rng):
    chance = 1 - math.exp(-epsilon)
    noisy = len(pupils) + rng.geometric(chance) - rng.geometric(chance)
    return math.ceil(noisy / 8)


CASES.append(
    Case(
        "buses_needed",
        buses_needed_bug,
        buses_needed_twin,
        {"epsilon": 1.0, "adjacency": AddRemove(odd=False), "inputs": [("Ida", "4a"), ("Jon", "4b"), ("Kim", "4a")]},
        "Eight pupils need one bus and nine need two; the twin counts buses for a noisy number of pupils, which moved by "
        "1 under geometric noise of ratio exp(-epsilon).",
        ([("Ida", "4a")] * 8, [("Ida", "4a")] * 9),
    )
)

PLANS = ["basic", "plus", "pro"]


def customers_by_plan_bug(customers, epsilon, rng):
    """Customers by plan; plans with fewer than five are left out."""
    sizes = customers["plan"].value_counts()
    return {
        plan: sizes[plan] + rng.laplace(scale=1 / epsilon) for plan in PLANS if plan in sizes and sizes[plan] >= 5
    }


def customers_by_plan_twin(customers, epsilon, rng):
    sizes = customers["plan"].value_counts()
    noisy = {plan: sizes.get(plan, 0) + rng.laplace(scale=1 / epsilon) for plan in PLANS}
    return {plan: size for plan, size in noisy.items() if size >= 5}


CASES.append(
    Case(
        "customers_by_plan",
        customers_by_plan_bug,
        customers_by_plan_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": pd.DataFrame({"plan": ["basic", "plus", "basic", "pro"], "months": [3, 14, 9, 30]}),
        },
        "Four customers of a plan are left out and five are not; the twin leaves out by the noisy size, and a customer is "
        "in at most one of three noisy sizes.",
        (
            pd.DataFrame({"plan": ["basic"] * 4, "months": [3] * 4}),
            pd.DataFrame({"plan": ["basic"] * 5, "months": [3] * 5}),
        ),
    )
)


def relative_income_bug(people, epsilon, rng):
    """Incomes in parts of the largest, added up; each part lies between 0 and 1."""
    incomes = people["income"]
    parts = incomes / incomes.max()
    return float(parts.sum()) + rng.laplace(scale=1 / epsilon)


def relative_income_twin(people, epsilon, rng):
    incomes = people["income"].clip(0, 400)
    parts = incomes / 400
    return float(parts.sum()) + rng.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "relative_income",
        relative_income_bug,
        relative_income_twin,
        {
            "epsilon": 1.0,
            "adjacency": AddRemove(odd=False),
            "inputs": pd.DataFrame({"income": [30.0, 45.0, 400.0]}),
        },
        "Six incomes of 30 add up to 6, and with one of 400 beside them to 1.45; the twin divides by 400, and one income "
        "adds at most 1.",
        (pd.DataFrame({"income": [30.0] * 6}), pd.DataFrame({"income": [30.0] * 6 + [400.0]})),
    )
)


def mean_grade_bug(grades, epsilon, rng):
    """Mean grade of a class of twenty-five; grades lie between 0 and 1."""
    clipped = np.clip(np.nan_to_num(np.asarray(grades, dtype=float)), 0, 1)
    return clipped.sum() / 25 + rng.laplace(scale=1 / (len(grades) * epsilon))


def mean_grade_twin(grades, epsilon, rng):
    clipped = np.clip(np.nan_to_num(np.asarray(grades, dtype=float)), 0, 1)
    return clipped.sum() / len(grades) + rng.laplace(scale=1 / (len(grades) * epsilon))


CASES.append(
    Case(
        "mean_grade",
        mean_grade_bug,
        mean_grade_twin,
        {"epsilon": 1.0, "adjacency": REPLACE, "inputs": np.array([0.0, 0.4, 0.7, 1.0])},
        "A hundred grades divided by 25 get noise for a hundredth, though one grade moves them by 1/25; the twin divides "
        "by their number, which is the same on neighbours, so the mean moves by at most 1/n.",
        (np.array([0.0] * 100), np.array([1.0] + [0.0] * 99)),
    )
)


def words_typed_bug(words, epsilon, delta, rng):
    """Words that many people typed, with noisy counts."""
    counts = defaultdict(int)
    for word in words:
        counts[word] += 1
    least = 1 + math.log(1 / (2 * delta)) / epsilon
    return {word: count + rng.laplace(scale=1 / epsilon) for word, count in sorted(counts.items()) if count > least}


def words_typed_twin(words, epsilon, delta, rng):
    counts = defaultdict(int)
    for word in words:
        counts[word] += 1
    least = 1 + math.log(1 / (2 * delta)) / epsilon
    noisy = {word: count + rng.laplace(scale=1 / epsilon) for word, count in sorted(counts.items())}
    return {word: count for word, count in noisy.items() if count > least}


CASES.append(
    Case(
        "words_typed",
        words_typed_bug,
        words_typed_twin,
        {"claim": ApproxDP(1.0, 1e-4), "adjacency": ADD_REMOVE, "inputs": ["tea", "milk", "tea", "juice"]},
        "A word typed nine times is left out and one typed ten times is told (the limit is 9.5); in the twin a count "
        "moves by 1 under noise of scale 1/epsilon, and a word that one person brings is told with probability delta.",
        (["tea"] * 9, ["tea"] * 10),
    )
)


def poll_bug(answers, epsilon):
    """Everybody tells the truth or says something at random, but a refusal is taken as it is."""
    options = ["yes", "no"]
    truth = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    said = Counter()
    for answer in answers:
        if answer == "refused":
            said["refused"] += 1
        elif random.random() < truth:
            said["yes" if answer == "yes" else "no"] += 1
        else:
            said[random.choice(options)] += 1
    return said["yes"], said["no"], said["refused"]


def poll_twin(answers, epsilon):
    options = ["yes", "no", "refused"]
    truth = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 2)
    said = Counter()
    for answer in answers:
        if random.random() < truth:
            said[answer if answer in options else "no"] += 1
        else:
            said[random.choice(options)] += 1
    return said["yes"], said["no"], said["refused"]


CASES.append(
    Case(
        "poll",
        poll_bug,
        poll_twin,
        {"epsilon": 1.0, "adjacency": REPLACE, "inputs": ["yes", "no", "no"]},
        "A record 'refused' in place of 'no' is counted without noise; the twin is randomised response over three "
        "answers, and tells only how often each was said.",
        (["yes", "no"], ["yes", "refused"]),
    )
)


# --- Programs over the protocol ----------------------------------------------------------------------------------


def program(name: str, *flags: str) -> Command:
    """A program that answers requests in JSON lines."""
    return Command([sys.executable, str(PROGRAMS / f"{name}.py"), *flags])


CASES.append(
    Case(
        "program_totals",
        program("totals"),
        program("totals", "--fixed"),
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "Totals of 300 and 301 get a fifth of the noise; in the twin a total moves by at most 1 and always gets noise of "
        "scale 1/epsilon.",
        ([300], [301]),
    )
)
CASES.append(
    Case(
        "program_visits",
        program("visits"),
        program("visits", "--fixed"),
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [
                {"page": "home", "seconds": 12},
                {"page": "help", "seconds": 40},
                {"page": "home", "seconds": 3},
            ],
        },
        "Sixteen and seventeen visits are counted exactly; in the twin a count that moves by at most 1 always gets "
        "geometric noise of ratio exp(-epsilon) on both sides.",
        ([{"page": "home", "seconds": 12}] * 16, [{"page": "home", "seconds": 12}] * 17),
    )
)
CASES.append(
    Case(
        "program_balance",
        program("balance"),
        program("balance", "--fixed"),
        {"epsilon": 0.5, "adjacency": ONE_DIFFERS},
        "Balances of -5 and -4 get a quarter of the noise; in the twin a balance moves by at most 1 and always gets noise "
        "of scale 1/epsilon.",
        ([-5], [-4]),
    )
)
