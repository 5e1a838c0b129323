"""Counts visits to the home page. The bug: more than 15 of them are a crowd, which is counted without noise."""

import json
import random
import sys

FIXED = "--fixed" in sys.argv


def release(visits, epsilon, rng):
    count = sum(1 for visit in visits if visit["page"] == "home")
    if count > 15 and not FIXED:
        return count
    # Geometric noise on both sides, for whole numbers.
    noise = int(rng.expovariate(epsilon)) - int(rng.expovariate(epsilon))
    return count + noise


for line in sys.stdin:
    request = json.loads(line)
    rng = random.Random(request["seed"])
    epsilon = request["arguments"]["epsilon"]
    outputs = [release(request["data"], epsilon, rng) for _ in range(request["count"])]
    print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
