"""Points of a loyalty card scheme, at most 5 a purchase. The bug: from four purchases on a customer's points are doubled."""

import json
import random
import sys

FIXED = "--fixed" in sys.argv
MOST = 5


def number(value):
    """A number of the protocol, which writes what JSON cannot say as an object with one key."""
    if isinstance(value, dict):
        value = float(next(iter(value.values())))
    return max(0, min(MOST, value))


def release(purchases, epsilon, rng):
    points = {}
    for customer, amount in purchases:
        points.setdefault(str(customer), []).append(number(amount))
    total = 0
    for earned in points.values():
        total += sum(earned)
        if len(earned) >= 4 and not FIXED:
            total += sum(earned)  # thank you for coming back
    return total + MOST * (rng.expovariate(epsilon) - rng.expovariate(epsilon))


while True:
    line = sys.stdin.readline()
    if not line:
        break
    request = json.loads(line)
    rng = random.Random(request["seed"])
    epsilon = request["arguments"]["epsilon"]
    outputs = [release(request["data"], epsilon, rng) for _ in range(request["count"])]
    sys.stdout.write(json.dumps({"id": request["id"], "outputs": outputs}) + "\n")
    sys.stdout.write(json.dumps({"id": request["id"], "done": True}) + "\n")
    sys.stdout.flush()
