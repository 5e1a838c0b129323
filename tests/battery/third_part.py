"""The third part of the bugs that only some inputs show, each with a correct twin; written when the search was finished.

Each case names a witness: two adjacent inputs, and arguments where they must be found, on which the claim breaks.
Twins are private for all adjacent inputs, in any order of records.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from refutedp import ADD_REMOVE, ONE_DIFFERS, AddRemove, Command
from tests.battery.case import Case

PROGRAMS = Path(__file__).parent / "programs"
CASES: list[Case] = []


def cut(x, low=-1e6, high=1e6):
    """Between low and high; nan becomes high."""
    return max(low, min(high, x))


@dataclass(frozen=True)
class Tariff:
    name: str
    megabytes: int


HOME = Tariff("home", 4_800)


def storage_bug(queries, epsilon, rng):
    """Kilobytes in use, or that the tariff is used up."""
    total = sum(cut(answer, 0, 1e7) for answer in queries)
    if total // 1000 >= HOME.megabytes:
        return "used up"
    return round(total + rng.laplace(scale=1 / epsilon))


def storage_twin(queries, epsilon, rng):
    total = sum(cut(answer, 0, 1e7) for answer in queries) + rng.laplace(scale=1 / epsilon)
    if total // 1000 >= HOME.megabytes:
        return "used up"
    return round(total)


CASES.append(
    Case(
        "storage",
        storage_bug,
        storage_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "At 4,800,000 kilobytes the tariff is used up, one below it is not; the twin decides by the noisy total.",
        ([4_799_999], [4_800_000]),
    )
)


def gate_bug(tickets, epsilon, rng):
    """How many came in, and whether anybody important did."""
    names = [str(ticket).lower() for ticket in tickets]
    important = [name for name in names if name.startswith("vip")]
    return len(names) - len(important) + rng.laplace(scale=1 / epsilon), bool(important)


def gate_twin(tickets, epsilon, rng):
    names = [str(ticket).lower() for ticket in tickets]
    important = [name for name in names if name.startswith("vip")]
    others = len(names) - len(important) + rng.laplace(scale=1 / epsilon)
    return others, bool(len(important) + rng.laplace(scale=1 / epsilon) > 0.5)


CASES.append(
    Case(
        "gate",
        gate_bug,
        gate_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": ["STD-004", "GRP-118", "STD-090"]},
        "One ticket that starts with 'VIP' sets a flag without noise; in the twin a ticket is in one of two noisy counts.",
        (["STD-004"], ["STD-004", "VIP-001"]),
    )
)

TEST_BADGE = re.compile(r"T-\d{4}")


def badges_bug(badges, epsilon, rng):
    """Badges seen today, and how many of them are for tests only."""
    tests = sum(1 for badge in badges if TEST_BADGE.fullmatch(str(badge)))
    return len(badges) - tests + rng.laplace(scale=1 / epsilon), tests


def badges_twin(badges, epsilon, rng):
    tests = sum(1 for badge in badges if TEST_BADGE.fullmatch(str(badge)))
    return len(badges) - tests + rng.laplace(scale=1 / epsilon), tests + rng.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "badges",
        badges_bug,
        badges_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": ["A-1187", "A-0931", "B-4410"]},
        "A badge such as 'T-0001' is counted exactly; in the twin a badge is in one of two noisy counts.",
        (["A-1187"], ["A-1187", "T-0001"]),
    )
)


def slow_calls_bug(calls, epsilon, rng):
    """How many calls were unusually long: by more than two standard deviations."""
    minutes = calls["minutes"]
    distance = (minutes - minutes.mean()).abs()
    return int((distance > 2 * minutes.std(ddof=0)).sum()) + rng.laplace(scale=1 / epsilon)


def slow_calls_twin(calls, epsilon, rng):
    distance = (calls["minutes"] - 15).abs()
    return int((distance > 2 * 4).sum()) + rng.laplace(scale=1 / epsilon)


CASES.append(
    Case(
        "slow_calls",
        slow_calls_bug,
        slow_calls_twin,
        {
            "epsilon": 1.0,
            "adjacency": AddRemove(odd=False),
            "inputs": pd.DataFrame({"minutes": [12.0, 14.0, 13.0, 15.0, 40.0]}),
        },
        "Three of 12 calls of 12 minutes and three of 40 lie beyond two deviations only when a fourth of 40 is missing; "
        "the twin's mean and deviation are fixed.",
        (pd.DataFrame({"minutes": [12.0] * 13 + [40.0] * 3}), pd.DataFrame({"minutes": [12.0] * 13 + [40.0] * 4})),
    )
)


def total_between_bug(values, low, high, epsilon, rng):
    """A sum of clipped values, with noise for the width of the range."""
    if not low < high:
        raise ValueError("low must be less than high")
    return sum(cut(value, low, high) for value in values) + rng.laplace(scale=(high - low) / epsilon)


def total_between_twin(values, low, high, epsilon, rng):
    if not low < high:
        raise ValueError("low must be less than high")
    return sum(cut(value, low, high) for value in values) + rng.laplace(scale=max(abs(low), abs(high)) / epsilon)


CASES.append(
    Case(
        "total_between",
        total_between_bug,
        total_between_twin,
        {"epsilon": 1.0, "adjacency": ADD_REMOVE, "inputs": [3.0, 8.5, 5.0]},
        "Clipped to [3, 5], a record moves the sum by up to 5 under noise for 2; the twin's noise is for the larger bound.",
        ([3.0], [3.0, 8.5]),
        {"low": 3.0, "high": 5.0},
    )
)


def in_steps_bug(queries, step, epsilon, rng):
    """The total, rounded down to whole steps."""
    if not step > 0:
        raise ValueError("step must be positive")
    return math.floor(sum(map(cut, queries)) / step) * step + rng.laplace(scale=1 / epsilon)


def in_steps_twin(queries, step, epsilon, rng):
    if not step > 0:
        raise ValueError("step must be positive")
    return math.floor((sum(map(cut, queries)) + rng.laplace(scale=1 / epsilon)) / step) * step


CASES.append(
    Case(
        "in_steps",
        in_steps_bug,
        in_steps_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "In steps of 10, 9 is shown as 0 and 10 as 10; the twin rounds the noisy total.",
        ([9], [10]),
        {"step": 10},
    )
)


def longest_streak_bug(queries, epsilon, rng):
    """The longest run of days on which anybody came."""
    longest = run = 0
    for visitors in queries:
        run = run + 1 if visitors >= 1 else 0
        longest = max(longest, run)
    return longest + rng.laplace(scale=1 / epsilon)


def longest_streak_twin(queries, epsilon, rng):
    longest = run = 0
    for visitors in queries:
        run = run + 1 if visitors >= 1 else 0
        longest = max(longest, run)
    return longest + rng.laplace(scale=max(len(queries), 1) / epsilon)


CASES.append(
    Case(
        "longest_streak",
        longest_streak_bug,
        longest_streak_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "A day without visitors in the middle of nine halves the longest run; the twin's noise is for all days.",
        ([1] * 9, [1, 1, 1, 1, 0, 1, 1, 1, 1]),
    )
)


def time_online_bug(hours, epsilon, rng):
    """Hours online: breaks of up to six hours count, and one event is thought to end one break."""
    hours = sorted(cut(hour, 0, 168) for hour in hours)
    breaks = [there - here for here, there in itertools.pairwise(hours)]
    return sum(pause for pause in breaks if pause <= 6) + rng.laplace(scale=6 / epsilon)


def time_online_twin(hours, epsilon, rng):
    hours = sorted(cut(hour, 0, 168) for hour in hours)
    breaks = [there - here for here, there in itertools.pairwise(hours)]
    return sum(pause for pause in breaks if pause <= 6) + rng.laplace(scale=12 / epsilon)


CASES.append(
    Case(
        "time_online",
        time_online_bug,
        time_online_twin,
        {"epsilon": 1.0, "adjacency": AddRemove(odd=False), "inputs": [1.0, 3.5, 20.0, 41.0]},
        "An event in the middle of twelve hours adds two breaks of six; the twin's noise is for both.",
        ([8.0, 20.0], [8.0, 14.0, 20.0]),
    )
)


def small_integers_bug(queries, epsilon, rng):
    """Noisy counts, from integers of 16 bits."""
    counts = np.array([int(cut(answer)) for answer in queries]).astype(np.int16)
    return (counts + rng.laplace(scale=1 / epsilon, size=len(counts))).tolist()


def small_integers_twin(queries, epsilon, rng):
    counts = np.array([int(cut(answer)) for answer in queries])
    return (counts + rng.laplace(scale=1 / epsilon, size=len(counts))).astype(np.int16).tolist()


CASES.append(
    Case(
        "small_integers",
        small_integers_bug,
        small_integers_twin,
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "32,767 and one more become 32,767 and -32,768; the twin stores noisy counts in 16 bits.",
        ([32_767], [32_768]),
    )
)


def program(name: str, *flags: str) -> Command:
    """A program that answers requests in JSON lines."""
    return Command([sys.executable, str(PROGRAMS / f"{name}.py"), *flags])


CASES.append(
    Case(
        "program_stock",
        program("stock"),
        program("stock", "--fixed"),
        {"epsilon": 1.0, "adjacency": ONE_DIFFERS},
        "From 5,000 on there is a tenth of the noise; in the twin a total always gets noise of scale 1/epsilon.",
        ([5000], [5001]),
    )
)


def votes_bug(votes, epsilon, rng):
    """Votes for red and blue; a vote may say how much it weighs."""
    counts = {"red": 0.0, "blue": 0.0}
    for vote in votes:
        if vote["choice"] in ("red", "blue"):
            counts[vote["choice"]] += vote.get("weight", 1)
    return {choice: count + rng.laplace(scale=1 / epsilon) for choice, count in counts.items()}


def votes_twin(votes, epsilon, rng):
    counts = {"red": 0.0, "blue": 0.0}
    for vote in votes:
        if vote["choice"] in ("red", "blue"):
            counts[vote["choice"]] += 1
    return {choice: count + rng.laplace(scale=1 / epsilon) for choice, count in counts.items()}


CASES.append(
    Case(
        "votes",
        votes_bug,
        votes_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": [{"choice": "red"}, {"choice": "blue"}, {"choice": "green"}],
        },
        "A vote with a key that no example has weighs what it says; in the twin each vote weighs 1.",
        ([{"choice": "red"}], [{"choice": "red", "weight": 50}]),
    )
)


def tickets_by_status_bug(tickets, epsilon, rng):
    """Open tickets with noise; our own people do not mind."""
    kinds = tickets["status"].astype(str)
    ours = int((kinds == "internal").sum())
    return {"open": int((kinds == "open").sum()) + rng.laplace(scale=1 / epsilon), "ours": ours}


def tickets_by_status_twin(tickets, epsilon, rng):
    kinds = tickets["status"].astype(str)
    ours = int((kinds == "internal").sum())
    open_ones = int((kinds == "open").sum())
    return {"open": open_ones + rng.laplace(scale=1 / epsilon), "ours": ours + rng.laplace(scale=1 / epsilon)}


CASES.append(
    Case(
        "tickets_by_status",
        tickets_by_status_bug,
        tickets_by_status_twin,
        {
            "epsilon": 1.0,
            "adjacency": ADD_REMOVE,
            "inputs": pd.DataFrame({"status": ["open", "closed", "open"], "hours": [1.0, 2.5, 30.0]}),
        },
        "A row of status 'internal' is counted exactly; in the twin a row is in one of two noisy counts.",
        (
            pd.DataFrame({"status": ["open"], "hours": [1.0]}),
            pd.DataFrame({"status": ["open", "internal"], "hours": [1.0, 1.0]}),
        ),
    )
)
