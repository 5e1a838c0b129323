"""A Laplace histogram for RefuteDP's command protocol, in Python without RefuteDP.

refutedp check --command "python laplace.py" --epsilon 0.5 --adjacency one-differs
refutedp check --command "python laplace.py --bug" --epsilon 0.5 --adjacency one-differs
"""

import json
import math
import random
import sys

BATCH = 100


def from_wire(value):
    """A number of a request: plain, {"$float": "nan"} or {"$int": "..."}."""
    if isinstance(value, dict):
        return float(value["$float"]) if "$float" in value else int(value["$int"])
    return value


def to_wire(value):
    """A number of an answer."""
    return value if math.isfinite(value) else {"$float": repr(value)}


def on_grid(value):
    """The last digits of a float tell which numbers were added: round them away."""
    return round(value * 1024) / 1024 if math.isfinite(value) else value


def histogram(data, epsilon, rng, bug):
    """Every count with Laplace noise; the bug is half the noise."""
    rate = (2.0 if bug else 1.0) * epsilon
    return [to_wire(on_grid(query + rng.expovariate(rate) - rng.expovariate(rate))) for query in data]


def main():
    """Answer requests until the standard input ends."""
    bug = "--bug" in sys.argv
    for line in sys.stdin:
        request = json.loads(line)
        rng = random.Random(request["seed"])
        data = [from_wire(query) for query in request["data"]]
        epsilon = from_wire(request["arguments"]["epsilon"])
        for start in range(0, request["count"], BATCH):
            size = min(BATCH, request["count"] - start)
            outputs = [histogram(data, epsilon, rng, bug) for _ in range(size)]
            print(json.dumps({"id": request["id"], "outputs": outputs}))
        print(json.dumps({"id": request["id"], "done": True}), flush=True)


if __name__ == "__main__":
    main()
