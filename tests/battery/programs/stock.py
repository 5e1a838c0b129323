"""Releases the total of some answers, of which one may change by 1. The bug: little noise from 5,000 on."""

import json
import random
import sys

FIXED = "--fixed" in sys.argv


def number(value):
    """A number of the protocol, which writes what JSON cannot say as an object with one key."""
    if isinstance(value, dict):
        value = float(next(iter(value.values())))
    return max(-1e6, min(1e6, value))


def release(answers, epsilon, rng):
    total = sum(number(answer) for answer in answers)
    scale = 1 / epsilon
    if total >= 5000 and not FIXED:
        scale = scale / 10  # a large total can be told more exactly
    return total + rng.expovariate(1 / scale) - rng.expovariate(1 / scale)


for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    epsilon = request["arguments"]["epsilon"]
    outputs = [release(request["data"], epsilon, rng) for _ in range(request["count"])]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
