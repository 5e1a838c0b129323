"""The second half of the bugs that only some inputs show, each with a correct twin; written without seeing the search.

No bug shows on zeros, ones and twos, or on neighbours of the few records given as `inputs`. Each case names a witness:
two adjacent inputs, and arguments where they must be found, on which the claim breaks. Twins are private for all
adjacent inputs, in any order of records; answers are bounded by a million where a twin adds noise to them, so that
floats hold what the proofs say of real numbers.
"""

from __future__ import annotations

import datetime
import functools
import itertools
import math
import random
import sys
from collections import Counter, namedtuple
from pathlib import Path

import numpy as np

from refutedp import ADD_REMOVE, ONE_DIFFERS, REPLACE, AddRemove, Command
from tests.battery.case import Case

PROGRAMS = Path(__file__).parent / "programs"


CASES: list[Case] = []

LIMIT = 1e6


def cut(x, low=-LIMIT, high=LIMIT):
    """Between low and high; nan becomes high."""
    return max(low, min(high, x))


# --- Query answers -----------------------------------------------------------------------------------------------


def _co_movement(answers, epsilon, rng, prepare):
    """Covariance of two series, the first and the second half of the answers, in units of 4."""
    half = len(answers) // 2
    if half < 2:
        return 0.0
    xs = [prepare(x) for x in answers[:half]]
    ys = [prepare(y) for y in answers[half : 2 * half]]
    mean_x, mean_y = sum(xs) / half, sum(ys) / half
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / half
    return covariance / 4 + rng.laplace(scale=1 / epsilon)


co_movement_bug = functools.partial(_co_movement, prepare=float)
co_movement_twin = functools.partial(_co_movement, prepare=functools.partial(cut, low=0.0, high=8.0))

CASES.append(
    Case(
        "co_movement",
        co_movement_bug,
        co_movement_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "One x that moves by 1 moves the covariance by |y - mean y|/n, 25 for y = 0 and 100; the twin cuts both series "
        "to [0, 8], where |y - mean y|/n is at most 8(n - 1)/n^2 <= 2 for n >= 2, and a quarter of it at most 0.5.",
        ([0, 0, 0, 100], [1, 0, 0, 100]),
    )
)


def typical_rent_bug(rents, eps):
    """The geometric mean, which a single rent hardly moves."""
    if len(rents) == 0:
        return 0.0
    logs = np.log(np.clip(np.asarray(rents, dtype=float), 1, LIMIT))
    return np.exp(logs.mean()) + np.random.laplace(0, 1 / eps)


def typical_rent_twin(rents, eps):
    if len(rents) == 0:
        return 0.0
    logs = np.log(np.clip(np.asarray(rents, dtype=float), 1, LIMIT))
    return np.exp(logs.mean() + np.random.laplace(0, np.log(2) / len(rents) / eps))


CASES.append(
    Case(
        "typical_rent",
        typical_rent_bug,
        typical_rent_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "The geometric mean of 1 and 900 is 30 and that of 2 and 900 is 42; the twin adds noise to the mean of the logs, "
        "one of which moves by at most log 2 as rents are cut to at least 1, so the mean by log(2)/n.",
        ([1, 900], [2, 900]),
    )
)


def _by_exponential_mechanism(utilities, epsilon):
    best = max(utilities)
    weights = [math.exp(epsilon * (utility - best) / 2) for utility in utilities]
    return random.choices(range(len(weights)), weights)[0]


def winner_bug(votes, epsilon):
    """The winner of an election in which large parties get a bonus; utilities are taken to move by 1."""
    utilities = [cut(vote, 0) ** 1.5 / 3 for vote in votes]
    return f"party {_by_exponential_mechanism(utilities, epsilon)}"


def winner_twin(votes, epsilon):
    utilities = [cut(vote, 0, 4) ** 1.5 / 3 for vote in votes]
    return f"party {_by_exponential_mechanism(utilities, epsilon)}"


CASES.append(
    Case(
        "winner",
        winner_bug,
        winner_twin,
        {"epsilon": 1.0},
        "At 400 votes the utility moves by 10, not by 1; the twin cuts votes to [0, 4], where the slope sqrt(x)/2 is at "
        "most 1, and the exponential mechanism with exponent epsilon*u/2 costs epsilon when every utility moves by 1.",
        ([400, 400], [399, 401]),
    )
)


def size_class_bug(loads, epsilon, rng):
    """The largest load, as the power of two below it."""
    largest = int(cut(max(loads), 0))
    step = 1 << (largest.bit_length() - 1) if largest else 0
    return step + rng.laplace(scale=1 / epsilon)


def size_class_twin(loads, epsilon, rng):
    largest = max(int(cut(max(loads), 0) + rng.laplace(scale=1 / epsilon)), 0)
    return 1 << (largest.bit_length() - 1) if largest else 0


CASES.append(
    Case(
        "size_class",
        size_class_bug,
        size_class_twin,
        {"epsilon": 1.0},
        "A load of 15 is shown as 8 and one of 16 as 16; the twin adds noise to the largest load, which moves by at most "
        "1 when every load does, and classes the noisy one.",
        ([15], [16]),
    )
)

UNITS = ["", "k", "M", "G"]


def pretty_count_bug(counts, epsilon):
    """The total as people read it, such as '3k'."""
    total = sum(cut(count) for count in counts)
    unit = 0
    divisor = 1
    while abs(total) / divisor >= 1000:
        divisor *= 1000
        unit += 1
    noisy = total + np.random.laplace(scale=1 / epsilon)
    return f"{round(noisy / divisor)}{UNITS[min(unit, 3)]}"


def pretty_count_twin(counts, epsilon):
    total = sum(cut(count) for count in counts) + np.random.laplace(scale=1 / epsilon)
    unit = 0
    divisor = 1
    while abs(total) / divisor >= 1000:
        divisor *= 1000
        unit += 1
    return f"{round(total / divisor)}{UNITS[min(unit, 3)]}"


CASES.append(
    Case(
        "pretty_count",
        pretty_count_bug,
        pretty_count_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "A total of 999 never has a unit and one of 1000 always has; the twin writes the noisy total, and the total had "
        "moved by at most 1.",
        ([999], [1000]),
    )
)


def make_overtime(allowance, careful):
    """A release of the root of the hours above an allowance."""

    def overtime(hours, epsilon, rng):
        worked = cut(hours[0])
        if careful:
            worked = max(worked, allowance)
        try:
            root = math.sqrt(worked - allowance)
        except ValueError:
            return None
        return root + rng.laplace(scale=1 / epsilon)

    return overtime


CASES.append(
    Case(
        "overtime",
        make_overtime(25, careful=False),
        make_overtime(25, careful=True),
        {"epsilon": 1.0},
        "24 hours have no root and give None, 25 give a number; the twin raises hours to the allowance, and the root of "
        "what is left moves by at most sqrt(x + 1) - sqrt(x) <= 1.",
        ([24], [25]),
    )
)


def _blocks(answers, size, overlap):
    for start in range(0, len(answers), size):
        yield sum(cut(answer) for answer in answers[start : start + size + overlap])


def yearly_totals_bug(months, epsilon, rng):
    """A total for every twelve months."""
    return [total + rng.laplace(scale=1 / epsilon) for total in _blocks(months, 12, overlap=1)]


def yearly_totals_twin(months, epsilon, rng):
    return [total + rng.laplace(scale=1 / epsilon) for total in _blocks(months, 12, overlap=0)]


CASES.append(
    Case(
        "yearly_totals",
        yearly_totals_bug,
        yearly_totals_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "The thirteenth month is in the first total and in the second; in the twin each month is in one total, which "
        "moves by at most 1 under noise of scale 1/epsilon.",
        ([1] * 13, [1] * 12 + [2]),
    )
)


def decayed_total_bug(daily, epsilon, rate, rng):
    """Today's count, plus `rate` of yesterday's, and so on; with a rate of one half the weights never exceed 2."""
    if not 0 <= rate < 1:
        raise ValueError("rate must lie in [0, 1)")
    total = sum(cut(count) * rate**age for age, count in enumerate(daily))
    return total + rng.laplace(scale=2 / epsilon)


def decayed_total_twin(daily, epsilon, rate, rng):
    if not 0 <= rate < 1:
        raise ValueError("rate must lie in [0, 1)")
    weights = [rate**age for age, _ in enumerate(daily)]
    total = sum(cut(count) * weight for count, weight in zip(daily, weights, strict=True))
    return total + rng.laplace(scale=sum(weights) / epsilon)


CASES.append(
    Case(
        "decayed_total",
        decayed_total_bug,
        decayed_total_twin,
        {"epsilon": 1.0},
        "With a rate of 0.9, five counts that move by 1 move the total by 4.1 under noise for 2; rates up to 0.5 hide it. "
        "The twin's noise is for the sum of all weights, which the total moves by when every count moves by 1.",
        ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
        {"rate": 0.9},
    )
)


def alarm_bug(readings, epsilon, rng, limit=90, together=500):
    """Whether any reading is beyond its limit, or all of them together are."""
    if max(readings) > limit:
        return True
    total = sum(cut(reading) for reading in readings) + rng.laplace(scale=1 / epsilon)
    return bool(total > together)


def alarm_twin(readings, epsilon, rng, limit=90, together=500):
    if cut(max(readings)) + rng.laplace(scale=2 / epsilon) > limit:
        return True
    total = sum(cut(reading) for reading in readings) + rng.laplace(scale=2 / epsilon)
    return bool(total > together)


CASES.append(
    Case(
        "alarm",
        alarm_bug,
        alarm_twin,
        {"epsilon": 0.5, "adjacency": ONE_DIFFERS},
        "A reading of 91 always sets off the alarm and one of 90 hardly ever; in the twin the largest reading and the "
        "total both move by at most 1, under noise for epsilon/2 each.",
        ([90], [91]),
    )
)


class NoisePool:
    """Draws a pool of noise ahead, for speed, and hands it out in turns."""

    def __init__(self, size):
        self.size = size

    def growth(self, answers, epsilon, rng):
        """How much each answer exceeds the first one."""
        size = self.size if self.size is not None else len(answers)
        pool = [rng.laplace(scale=1 / epsilon) for _ in range(size)]
        noisy = [cut(answer) + pool[i % size] for i, answer in enumerate(answers)]
        return [round(value - noisy[0], 3) for value in noisy[1:]]


CASES.append(
    Case(
        "noise_pool",
        NoisePool(16).growth,
        NoisePool(None).growth,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "The seventeenth answer gets the noise of the first, so their difference is released exactly; the twin's pool is "
        "as long as the answers, so each has noise of its own before differences are taken, and one moves by at most 1.",
        ([3] * 17, [3] * 16 + [4]),
    )
)


def register_bug(changes, epsilon, rng):
    """What a register of 16 bits shows after these changes."""
    shown = int(sum(cut(change) for change in changes)) & 0xFFFF
    return shown + rng.laplace(scale=1 / epsilon)


def register_twin(changes, epsilon, rng):
    noisy = sum(cut(change) for change in changes) + rng.laplace(scale=1 / epsilon)
    return math.floor(noisy) & 0xFFFF


CASES.append(
    Case(
        "register",
        register_bug,
        register_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "0 is shown as 0 and -1 as 65535; the twin adds noise to the sum, which moves by at most 1, and stores the noisy "
        "one in the register.",
        ([0], [-1]),
    )
)


def thermometer_bug(readings, epsilon, rng):
    """Noisy temperatures; 21.5 is what a broken sensor shows."""
    return [reading + rng.laplace(scale=1 / epsilon) for reading in map(cut, readings) if reading != 21.5]


def thermometer_twin(readings, epsilon, rng):
    noisy = [reading + rng.laplace(scale=1 / epsilon) for reading in map(cut, readings)]
    return [reading for reading in noisy if round(reading, 1) != 21.5]


CASES.append(
    Case(
        "thermometer",
        thermometer_bug,
        thermometer_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "With 21.5 the list is one shorter than with 21; the twin looks for 21.5 among the noisy readings, one of which "
        "had moved by at most 1.",
        ([21], [21.5]),
    )
)


# --- Records -----------------------------------------------------------------------------------------------------


def _district(points, low, high, level, draw, decide):
    """The noisy count of a stretch and, if many live there, of its halves."""
    noisy = len(points) + draw()
    if level == 3 or decide(len(points), noisy) <= 6:
        return [noisy]
    middle = (low + high) / 2
    left = [point for point in points if point < middle]
    right = [point for point in points if not point < middle]
    return [
        noisy,
        _district(left, low, middle, level + 1, draw, decide),
        _district(right, middle, high, level + 1, draw, decide),
    ]


def districts_bug(points, epsilon, rng):
    return _district(points, 0.0, 1.0, 1, lambda: rng.laplace(scale=3 / epsilon), lambda count, noisy: count)


def districts_twin(points, epsilon, rng):
    return _district(points, 0.0, 1.0, 1, lambda: rng.laplace(scale=3 / epsilon), lambda count, noisy: noisy)


CASES.append(
    Case(
        "districts",
        districts_bug,
        districts_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": [0.1, 0.35, 0.6, 0.85]},
        "Six points are one district and seven are split; the twin splits by noisy counts that it releases, and a point "
        "is in one district on each of three levels, each counted with noise of scale 3/epsilon.",
        ([0.1] * 6, [0.1] * 7),
    )
)


def mean_delay_bug(delays, epsilon, rng):
    """The mean of delays from 0 to 100; the noise fits the delays that there are."""
    delays = np.clip(np.nan_to_num(np.array(delays, dtype=float)), 0, 100)
    if delays.size < 8:
        return None
    spread = max(np.ptp(delays), 1.0)
    return float(delays.mean() + rng.laplace(scale=spread / (delays.size * epsilon)))


def mean_delay_twin(delays, epsilon, rng):
    delays = np.clip(np.nan_to_num(np.array(delays, dtype=float)), 0, 100)
    if delays.size < 8:
        return None
    return float(delays.mean() + rng.laplace(scale=100 / (delays.size * epsilon)))


CASES.append(
    Case(
        "mean_delay",
        mean_delay_bug,
        mean_delay_twin,
        {"epsilon": 1.0, "adjacency": REPLACE, "inputs": [42.0, 50.0, 55.0, 61.0]},
        "Eight delays of 50 get noise for 1/8, and with a 61 among them noise for 11/8; in the twin the mean moves by at "
        "most 100/n, which the noise is for, and n is the same on neighbours.",
        ([50.0] * 8, [50.0] * 7 + [61.0]),
    )
)


def age_bands_bug(ages, epsilon, lo, hi, bands, rng):
    """How many people are in each of some bands of equal width."""
    if not lo < hi:
        raise ValueError("lo must be less than hi")
    if not 1 <= bands <= 50:
        raise ValueError("there must be from 1 to 50 bands")
    edges = [lo + (hi - lo) * i / bands for i in range(int(bands) + 1)]
    counts = [sum(left <= age <= right for age in ages) for left, right in itertools.pairwise(edges)]
    return [count + rng.laplace(scale=1 / epsilon) for count in counts]


def age_bands_twin(ages, epsilon, lo, hi, bands, rng):
    if not lo < hi:
        raise ValueError("lo must be less than hi")
    if not 1 <= bands <= 50:
        raise ValueError("there must be from 1 to 50 bands")
    edges = [lo + (hi - lo) * i / bands for i in range(int(bands) + 1)]
    counts = [sum(left <= age < right for age in ages) for left, right in itertools.pairwise(edges)]
    return [count + rng.laplace(scale=1 / epsilon) for count in counts]


CASES.append(
    Case(
        "age_bands",
        age_bands_bug,
        age_bands_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": [31, 46, 52]},
        "A person of 40 is in both of the bands 20 to 40 and 40 to 60; a single band, or bounds that are equal, hide it. "
        "The twin's bands are half open with shared edges that never fall, so a person is in at most one of them.",
        ([31], [31, 40]),
        {"lo": 20, "hi": 60, "bands": 2},
    )
)

WAYS = ("bus", "train", "car", "bike", "walk")


def ways_to_work_bug(ways, epsilon, rng):
    """The three most usual ways to work, and all others together."""
    counts = {way: ways.count(way) for way in WAYS}
    usual = sorted(WAYS, key=lambda way: -counts[way])[:3]
    table = {way: counts[way] + rng.laplace(scale=1 / epsilon) for way in usual}
    table["other"] = sum(counts[way] for way in WAYS if way not in usual) + rng.laplace(scale=1 / epsilon)
    return table


def ways_to_work_twin(ways, epsilon, rng):
    counts = {way: ways.count(way) + rng.laplace(scale=1 / epsilon) for way in WAYS}
    usual = sorted(WAYS, key=lambda way: -counts[way])[:3]
    table = {way: counts[way] for way in usual}
    table["other"] = sum(counts[way] for way in WAYS if way not in usual)
    return table


CASES.append(
    Case(
        "ways_to_work",
        ways_to_work_bug,
        ways_to_work_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": ["bus", "car", "train", "bus"]},
        "One who walks, where nobody goes by car, takes the third place in the table; the twin picks the three from "
        "noisy counts, and a person is in at most one of five of these.",
        (["bus", "train"], ["bus", "train", "walk"]),
    )
)

CATALOGUE = ("pen", "ink", "cup")


def items_sold_bug(orders, epsilon, rng):
    """How often each item was sold; an order has an item or two."""
    sold = dict.fromkeys(CATALOGUE, 0)
    for order in orders:
        items = order.get("items")
        for item in items if isinstance(items, list) else []:
            if item in CATALOGUE:
                sold[item] += 1
    return {item: count + rng.laplace(scale=2 / epsilon) for item, count in sold.items()}


def items_sold_twin(orders, epsilon, rng):
    sold = dict.fromkeys(CATALOGUE, 0)
    for order in orders:
        items = order.get("items")
        for item in items[:2] if isinstance(items, list) else []:
            if item in CATALOGUE:
                sold[item] += 1
    return {item: count + rng.laplace(scale=2 / epsilon) for item, count in sold.items()}


CASES.append(
    Case(
        "items_sold",
        items_sold_bug,
        items_sold_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [
                {"customer": "ada", "items": ["pen", "ink"]},
                {"customer": "bo", "items": ["cup"]},
                {"customer": "cy", "items": ["ink", "ink"]},
            ],
        },
        "An order of eight pens moves a count by 8 under noise for 2; the twin takes two items of an order, so one order "
        "moves the counts by at most 2 altogether.",
        (
            [{"customer": "bo", "items": ["cup"]}],
            [{"customer": "bo", "items": ["cup"]}, {"customer": "ada", "items": ["pen"] * 8}],
        ),
    )
)

Gift = namedtuple("Gift", ["donor", "amount"])


def gifts_bug(gifts, epsilon, rng, cap=50.0):
    """The sum of gifts, of which each counts for at most the cap; many are added up by NumPy."""
    if len(gifts) > 15:
        total = float(np.sum([gift.amount for gift in gifts]))
    else:
        total = sum(max(0.0, min(cap, gift.amount)) for gift in gifts)
    return total + rng.laplace(scale=cap / epsilon)


def gifts_twin(gifts, epsilon, rng, cap=50.0):
    if len(gifts) > 15:
        total = float(np.sum([max(0.0, min(cap, gift.amount)) for gift in gifts]))
    else:
        total = sum(max(0.0, min(cap, gift.amount)) for gift in gifts)
    return total + rng.laplace(scale=cap / epsilon)


CASES.append(
    Case(
        "gifts",
        gifts_bug,
        gifts_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [Gift("ana", 20.0), Gift("bo", 35.0), Gift("cy", 300.0)],
        },
        "Among sixteen gifts and more one of 300 moves the sum by 300 under noise for 50; the twin cuts every gift to "
        "[0, 50], however many there are.",
        ([Gift("ana", 20.0)] * 16, [*[Gift("ana", 20.0)] * 16, Gift("cy", 300.0)]),
    )
)


def same_birthday_bug(births, epsilon, rng):
    """How many pairs of people share their birthday."""
    days = Counter((birth.month, birth.day) for birth in births)
    pairs = sum(people * (people - 1) // 2 for people in days.values())
    return pairs + rng.laplace(scale=2 / epsilon)


def same_birthday_twin(births, epsilon, rng):
    """How many people share their birthday with somebody."""
    days = Counter((birth.month, birth.day) for birth in births)
    sharing = sum(people for people in days.values() if people > 1)
    return sharing + rng.laplace(scale=2 / epsilon)


CASES.append(
    Case(
        "same_birthday",
        same_birthday_bug,
        same_birthday_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [datetime.date(1990, 5, 17), datetime.date(1984, 11, 2), datetime.date(2001, 5, 18)],
        },
        "A person more where eight were born on one day makes eight pairs more; the twin counts people, of whom one more "
        "makes at most two more that share a birthday.",
        ([datetime.date(1990, 5, 17)] * 8, [datetime.date(1990, 5, 17)] * 9),
    )
)


def first_come_bug(requests, epsilon, rng):
    """Hours given to the first five who asked, at most ten each."""
    served = list(itertools.islice(requests, 5))
    return sum(cut(hours, 0, 10) for hours in served) + rng.laplace(scale=10 / epsilon)


def first_come_twin(requests, epsilon, rng):
    """Hours given to the five who need the most."""
    served = sorted((cut(hours, 0, 10) for hours in requests), reverse=True)[:5]
    return sum(served) + rng.laplace(scale=10 / epsilon)


CASES.append(
    Case(
        "first_come",
        first_come_bug,
        first_come_twin,
        {"epsilon": 1.0, "adjacency": AddRemove(odd=False), "inputs": [1, 10, 10, 2]},
        "Data sets have no order, so one record more may come with five others in front; the sum of the five largest "
        "moves by at most 10 when a record comes or goes.",
        ([1, 1, 1, 1, 1, 10, 10, 10, 10], [10, 10, 10, 10, 1, 1, 1, 1, 1, 1]),
    )
)


def newsletter_bug(addresses, epsilon, rng):
    """How many subscribe; addresses of our own firm show that somebody left test data in."""
    for address in addresses:
        if address.endswith("@example.org"):
            return f"refused after a look at {len(addresses) // 100} hundred addresses"
    return str(round(len(addresses) + rng.laplace(scale=1 / epsilon)))


def newsletter_twin(addresses, epsilon, rng):
    others = [address for address in addresses if not address.endswith("@example.org")]
    return str(round(len(others) + rng.laplace(scale=1 / epsilon)))


CASES.append(
    Case(
        "newsletter",
        newsletter_bug,
        newsletter_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": ["ana@mail.net", "bo@web.de", "cy@mail.net"]},
        "One address at example.org turns a number into a refusal; the twin leaves such addresses out, and the count of "
        "the others moves by at most 1.",
        (["bo@web.de"], ["bo@web.de", "ana@example.org"]),
    )
)


def sampled_total_bug(amounts, epsilon):
    """The sum of amounts up to 10; of many, half are drawn, which allows for twice the epsilon."""
    amounts = [cut(amount, 0.0, 10.0) for amount in amounts]
    if len(amounts) > 30:
        amounts = [amount for amount in amounts if random.random() < 0.5]
        epsilon = 2 * epsilon
    rate = epsilon / 10
    return sum(amounts) + random.expovariate(rate) - random.expovariate(rate)


def sampled_total_twin(amounts, epsilon):
    amounts = [cut(amount, 0.0, 10.0) for amount in amounts if random.random() < 0.5]
    rate = math.log(1 + 2 * (math.exp(epsilon) - 1)) / 10
    return sum(amounts) + random.expovariate(rate) - random.expovariate(rate)


CASES.append(
    Case(
        "sampled_total",
        sampled_total_bug,
        sampled_total_twin,
        {"epsilon": 1.0, "adjacency": AddRemove(odd=False), "inputs": [0.0, 10.0, 4.0, 0.0]},
        "Drawing half brings 2 epsilon down to log(1 + (e^2 - 1)/2) = 1.43, not to 1; the twin always draws half and "
        "uses epsilon' = log(1 + 2(e^epsilon - 1)), which Poisson sampling at 1/2 brings down to epsilon.",
        ([0.0] * 31, [0.0] * 31 + [10.0]),
    )
)


def typical_wait_bug(waits, epsilon):
    """A wait from 0 to 10 minutes near the median, drawn by its distance to it."""
    if len(waits) < 5:
        return None
    waits = sorted(cut(wait, 0, 10) for wait in waits)
    median = waits[len(waits) // 2]
    weights = [math.exp(-epsilon * abs(minutes - median) / 2) for minutes in range(11)]
    return random.choices(range(11), weights)[0]


def typical_wait_twin(waits, epsilon):
    """Drawn by how many waits more lie on one side than on the other."""
    if len(waits) < 5:
        return None
    weights = []
    for minutes in range(11):
        shorter = sum(wait < minutes for wait in waits)
        longer = sum(wait > minutes for wait in waits)
        weights.append(math.exp(-epsilon * abs(longer - shorter) / 4))
    return random.choices(range(11), weights)[0]


CASES.append(
    Case(
        "typical_wait",
        typical_wait_bug,
        typical_wait_twin,
        {"epsilon": 1.0, "adjacency": REPLACE, "inputs": [0, 4, 5, 5, 6, 5, 10]},
        "With three waits of 0 and four of 10, one moves the median by 10 and so the utilities; in the twin replacing a "
        "wait moves |longer - shorter| by at most 2, so the exponent epsilon*u/4 is right for sensitivity 2.",
        ([0, 0, 0, 10, 10, 10, 10], [0, 0, 0, 0, 10, 10, 10]),
    )
)

UNKNOWN = datetime.date(1970, 1, 1)


def membership_bug(members, epsilon, rng):
    """How many joined in which decade, and the names of those to be asked again when they joined."""
    decades = {1980: 0, 1990: 0, 2000: 0, 2010: 0, 2020: 0}
    ask = []
    for name, joined in members:
        if joined == UNKNOWN:
            ask.append(name)
        elif joined.year // 10 * 10 in decades:
            decades[joined.year // 10 * 10] += 1
    noisy = {decade: count + rng.laplace(scale=1 / epsilon) for decade, count in decades.items()}
    return {"decades": noisy, "to ask": len(ask)}


def membership_twin(members, epsilon, rng):
    decades = {1980: 0, 1990: 0, 2000: 0, 2010: 0, 2020: 0}
    ask = []
    for name, joined in members:
        if joined == UNKNOWN:
            ask.append(name)
        elif joined.year // 10 * 10 in decades:
            decades[joined.year // 10 * 10] += 1
    noisy = {decade: count + rng.laplace(scale=1 / epsilon) for decade, count in decades.items()}
    return {"decades": noisy, "to ask": len(ask) + rng.laplace(scale=1 / epsilon)}


CASES.append(
    Case(
        "membership",
        membership_bug,
        membership_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [("ana", datetime.date(2012, 4, 1)), ("bo", datetime.date(1996, 9, 12))],
        },
        "A member who joined on 1 January 1970 is counted exactly; in the twin a member is in at most one of six counts, "
        "each with noise of scale 1/epsilon.",
        (
            [("ana", datetime.date(2012, 4, 1))],
            [("ana", datetime.date(2012, 4, 1)), ("bo", datetime.date(1970, 1, 1))],
        ),
    )
)


# --- Programs over the protocol ----------------------------------------------------------------------------------


def program(name: str, *flags: str) -> Command:
    """A program that answers requests in JSON lines."""
    return Command([sys.executable, str(PROGRAMS / f"{name}.py"), *flags])


CASES.append(
    Case(
        "program_tax",
        program("tax"),
        program("tax", "--fixed"),
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "From 50 to 51 the tax grows by 3 under noise for 1; the twin's noise is for the top rate of 3, the steepest slope "
        "of the tax on one income, of which one moves by 1.",
        ([50], [51]),
    )
)
CASES.append(
    Case(
        "program_loyalty",
        program("loyalty"),
        program("loyalty", "--fixed"),
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [("ana", 3), ("bo", 5), ("cy", 1)],
        },
        "A fourth purchase of 5 by one customer brings 25 points under noise for 5; in the twin a purchase brings at most "
        "5 points.",
        ([("bo", 5)] * 3, [("bo", 5)] * 4),
    )
)
