"""Releases the balance of an account. The bug: a negative balance gets its noise divided, not multiplied, by the rate."""

import json
import random
import sys

FIXED = "--fixed" in sys.argv


def number(value):
    """A number of the protocol, which writes what JSON cannot say as an object with one key."""
    if isinstance(value, dict):
        value = float(next(iter(value.values())))
    return max(-1e6, min(1e6, value))


def release(bookings, epsilon, rng):
    balance = sum(number(booking) for booking in bookings)
    rate = epsilon
    if balance < 0 and not FIXED:
        rate = 4 * epsilon
    return balance + rng.expovariate(rate) - rng.expovariate(rate)


for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    epsilon = request["arguments"]["epsilon"]
    outputs = [release(request["data"], epsilon, rng) for _ in range(request["count"])]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
