"""The tax on some incomes, of which one may change by 1. The bug: noise for the lowest rate, though the top rate is 3."""

import json
import random
import sys

FIXED = "--fixed" in sys.argv
BRACKETS = ((0.0, 0.5), (20.0, 1.0), (40.0, 3.0))  # from this income on, this much of each further unit


def number(value):
    """A number of the protocol, which writes what JSON cannot say as an object with one key."""
    if isinstance(value, dict):
        value = float(next(iter(value.values())))
    return max(-1e6, min(1e6, value))


def tax(income):
    owed = 0.0
    for i, (start, rate) in enumerate(BRACKETS):
        end = BRACKETS[i + 1][0] if i + 1 < len(BRACKETS) else income
        if income > start:
            owed += rate * (min(income, end) - start)
    return owed


def release(incomes, epsilon, rng):
    top_rate = BRACKETS[-1][1] if FIXED else 1.0
    total = sum(tax(number(income)) for income in incomes)
    rate = epsilon / top_rate
    return total + rng.expovariate(rate) - rng.expovariate(rate)


for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    epsilon = request["arguments"]["epsilon"]
    outputs = [release(request["data"], epsilon, rng) for _ in range(request["count"])]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
