"""Leaks that several coordinates show together, and their correct twins: local reports, tags, gradients, trees.

No single coordinate shows them, or none shows enough. The first half was written before anything of the search that
learns. Gradients are vectors, and the direction in which one record moves them is drawn once, by a fixed seed.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from refutedp import REPLACE, ApproxDP
from refutedp.mechanisms.added_noise import analytic_sigma
from tests.battery.case import Case

CASES: list[Case] = []
REPORT = [([0], [1]), ([0], [2])]
"""Local reports: one value, which may be any other."""


def case(name, bug, twin, kwargs, why, witness):
    CASES.append(Case(name, bug, twin, kwargs, why, witness))


# --- Local reports -----------------------------------------------------------------------------------------------


def _unary(values, epsilon, rng, size, changed):
    """Symmetric unary encoding: each bit told with the epsilon that one of the bits that change may cost."""
    truth = 1 / (1 + math.exp(-epsilon / changed))
    bits = np.arange(size) == values[0]
    return np.where(rng.random(size) < truth, bits, ~bits)


case(
    "symmetric_unary",
    functools.partial(_unary, size=16, changed=1),
    functools.partial(_unary, size=16, changed=2),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "Two bits change with the value; each bit alone keeps to epsilon.",
    ([0], [1]),
)


def _optimised(values, epsilon, rng, size, p, share):
    """Optimised unary encoding: a set bit is told with p, another with q."""
    q = 1 / (1 + math.exp(share * epsilon))
    return [bool(rng.random() < (p if values[0] == place else q)) for place in range(size)]


case(
    "optimised_unary",
    functools.partial(_optimised, size=6, p=0.6, share=1.0),
    functools.partial(_optimised, size=6, p=0.5, share=1.0),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "With p = 0.6 the two bits that change cost log(0.6/q) + log((1 - q)/0.4) = epsilon + 0.405 together; p = 1/2 costs epsilon.",
    ([0], [1]),
)


def _with_hash(values, epsilon, rng, buckets, truth):
    """Optimised local hashing: a random hash function, its value of the input told with `truth`, as the support set."""
    seed = rng.integers(0, 50)
    hashed = [(37 * value * (seed + 1) + 11 * value * value + seed) % 101 % buckets for value in range(8)]
    told = hashed[values[0]]
    if rng.random() >= truth(epsilon, buckets):
        told = (told + rng.integers(1, buckets)) % buckets
    return [bucket == told for bucket in hashed]


def _right_truth(epsilon, buckets):
    return math.exp(epsilon) / (math.exp(epsilon) + buckets - 1)


def _wrong_truth(epsilon, buckets):
    """That of two buckets."""
    return math.exp(epsilon) / (math.exp(epsilon) + 1)


case(
    "local_hashing",
    functools.partial(_with_hash, buckets=4, truth=_wrong_truth),
    functools.partial(_with_hash, buckets=4, truth=_right_truth),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "Of four buckets the other three share a chance of 1/(1 + e): each is told 3e times less often than the right one. The "
    "report is the set of values that the told bucket holds.",
    ([0], [1]),
)


def _rappor(values, epsilon, rng, size, hashes, changed):
    """A Bloom filter of one value, each bit told with what `changed` bits that change may cost."""
    bits = np.zeros(size, dtype=bool)
    for number in range(hashes):
        bits[(values[0] * 7 + number * 5 + values[0] * number * 3) % size] = True
    truth = 1 / (1 + math.exp(-epsilon / changed))
    return (np.where(rng.random(size) < truth, bits, ~bits)).tolist()


case(
    "bloom_filter",
    functools.partial(_rappor, size=24, hashes=3, changed=3),
    functools.partial(_rappor, size=24, hashes=3, changed=6),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "Three hashes of either value are six bits that change, and the noise is for three.",
    ([0], [1]),
)


def _subset(values, epsilon, rng, size, chosen, weight):
    """Subset selection: a random set of `chosen` values, which holds the true one more often."""
    others = [value for value in range(size) if value != values[0]]
    places = rng.permutation(size - 1)
    heavy = weight(epsilon) * chosen
    if rng.random() < heavy / (heavy + size - chosen):
        return sorted([values[0]] + [others[place] for place in places[: chosen - 1]])
    return sorted(others[place] for place in places[:chosen])


case(
    "subset_selection",
    functools.partial(_subset, size=7, chosen=2, weight=lambda epsilon: math.exp(1.5 * epsilon)),
    functools.partial(_subset, size=7, chosen=2, weight=math.exp),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "The true value is in the set with e^1.5 times the odds; it may be at either place of the sorted list.",
    ([0], [1]),
)


def _hadamard(values, epsilon, rng, size, reports, share):
    """Hadamard response: random rows of the transform, each entry told with noise."""
    told = []
    for _ in range(reports):
        row = rng.integers(0, size)
        entry = bin(row & (values[0] + 1)).count("1") % 2
        flip = rng.random() >= 1 / (1 + math.exp(-epsilon / share))
        told.append((int(row), bool(entry ^ flip)))
    return told


case(
    "hadamard",
    functools.partial(_hadamard, size=4, reports=2, share=1),
    functools.partial(_hadamard, size=4, reports=2, share=2),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "Two reports, each with all of epsilon: where both rows tell the values from each other, the pair costs twice epsilon.",
    ([0], [1]),
)


# --- Tags, parities ----------------------------------------------------------------------------------------------


def _tagged(values, epsilon, rng, size, leaky):
    """A public random cohort, and a bit vector told with randomised response."""
    cohort = int(rng.integers(0, 8))
    truth = 1 / (1 + math.exp(-epsilon / 2))
    bits = np.arange(size) == (values[0] + cohort) % size
    told = np.where(rng.random(size) < truth, bits, ~bits)
    return [cohort, *(np.where((cohort == 6) & leaky, bits, told)).tolist()]


case(
    "cohort_told_exactly",
    functools.partial(_tagged, size=20, leaky=True),
    functools.partial(_tagged, size=20, leaky=False),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "Cohort 6 tells its bits without noise.",
    ([0], [1]),
)


def _masked(values, epsilon, rng, size, truth):
    """Random bits whose parity over some places is the noisy secret."""
    bits = rng.integers(0, 2, size=size)
    secret = (values[0] > 0) ^ (rng.random() >= truth(epsilon))
    bits[5] = (bits[1] + bits[8] + secret) % 2
    return bits


case(
    "parity_of_three",
    functools.partial(_masked, size=24, truth=lambda epsilon: 1 / (1 + math.exp(-2 * epsilon))),
    functools.partial(_masked, size=24, truth=lambda epsilon: 1 / (1 + math.exp(-epsilon))),
    {"epsilon": 1.0, "pairs": [([0], [1])]},
    "The parity of bits 1, 5 and 8 is the secret, told with twice epsilon; any two of them are fair coins.",
    ([0], [1]),
)


# --- Vectors -----------------------------------------------------------------------------------------------------


@functools.cache
def direction(size):
    """Where one record moves a gradient: a unit vector."""
    drawn = np.random.default_rng(size).normal(size=size)
    return drawn / np.sqrt(np.sum(drawn**2))


def _gradient(records, rng, size, less):
    """A sum of clipped gradients with Gaussian noise; the noise is `less` times too small."""
    total = np.zeros(size)
    for record in records:
        total = total + direction(size) * min(abs(record), 1.0)
    return total + rng.normal(scale=analytic_sigma(1.0, 1e-5) / less, size=size)


def gradient(size, less, name):
    case(
        name,
        functools.partial(_gradient, size=size, less=less),
        functools.partial(_gradient, size=size, less=1.0),
        {"claim": ApproxDP(1.0, 1e-5), "pairs": [([0.0], [1.0])]},
        f"Noise {less} times too small along a direction that no coordinate shows.",
        ([0.0], [1.0]),
    )


gradient(20, 2.0, "gradient_20_half_noise")
gradient(20, 1.5, "gradient_20_two_thirds_noise")


def _tree(counts, epsilon, rng, levels):
    """Noisy counts of all nodes of a binary tree over four cells, noise for `levels` of the three."""
    left, right = counts[0] + counts[1], counts[2] + counts[3]
    nodes = [left + right, left, right, *counts]
    return [node + rng.laplace(scale=levels / epsilon) for node in nodes]


case(
    "count_tree",
    functools.partial(_tree, levels=2.5),
    functools.partial(_tree, levels=3),
    {"epsilon": 1.0, "pairs": [([3, 1, 4, 1], [4, 1, 4, 1])]},
    "A record is in three nodes, and the noise is for two and a half.",
    ([3, 1, 4, 1], [4, 1, 4, 1]),
)


def _prefix_sums(queries, epsilon, rng, factor):
    """All prefix sums of noisy queries, of which all may change."""
    total, out = 0.0, []
    for query in queries:
        total = total + query + rng.laplace(scale=factor / epsilon)
        out.append(total)
    return out


case(
    "prefix_sums",
    functools.partial(_prefix_sums, factor=4),
    functools.partial(_prefix_sums, factor=6),
    {"epsilon": 1.0, "pairs": [([0] * 6, [1] * 6)]},
    "Six queries that all change, noise for four of them; the first sum alone costs a quarter.",
    ([0] * 6, [1] * 6),
)


# --- The second half ---------------------------------------------------------------------------------------------


gradient(100, 1.2, "gradient_100_five_sixths_noise")


def _generalised(values, epsilon, rng, size, scale):
    """Generalised randomised response, told three times over."""
    told = []
    for _ in range(3):
        lie = rng.integers(1, size)
        keep = rng.random() < math.exp(epsilon / scale) / (math.exp(epsilon / scale) + size - 1)
        told.append(int(np.where(keep, values[0], (values[0] + lie) % size)))
    return told


case(
    "randomised_response_thrice",
    functools.partial(_generalised, size=5, scale=2),
    functools.partial(_generalised, size=5, scale=3),
    {"epsilon": 1.0, "pairs": REPORT, "adjacency": REPLACE},
    "Three reports of epsilon / 2.",
    ([0], [1]),
)


def _one_in_a_hundred(values, epsilon, rng, scale):
    """A hundred noisy numbers, of which the sixty-first one holds the secret."""
    numbers = rng.laplace(scale=scale / epsilon, size=100)
    numbers[60] = numbers[60] + values[0]
    return numbers


case(
    "sixtieth_of_a_hundred",
    functools.partial(_one_in_a_hundred, scale=0.5),
    functools.partial(_one_in_a_hundred, scale=1.0),
    {"epsilon": 1.0, "pairs": [([0], [1])]},
    "The noise of output[60] is half of what it needs.",
    ([0], [1]),
)


def _group_sums(values, epsilon, rng, scale):
    """Two hundred cells, fifty of which the secret raises."""
    cells = rng.laplace(scale=scale / epsilon, size=200)
    cells[50:100] = cells[50:100] + values[0]
    return cells


case(
    "fifty_cells_of_two_hundred",
    functools.partial(_group_sums, scale=10),
    functools.partial(_group_sums, scale=50),
    {"epsilon": 1.0, "pairs": [([0], [1])]},
    "Fifty cells move by 1, and the noise is for ten.",
    ([0], [1]),
)


def _top_list(scores, epsilon, rng, length, share):
    """The indices of the largest noisy scores, best first."""
    noisy = [score + rng.laplace(scale=2 * share / epsilon) for score in scores]
    return [int(place) for place in np.argsort([-value for value in noisy])[:length]]


case(
    "top_list",
    functools.partial(_top_list, length=3, share=1),
    functools.partial(_top_list, length=3, share=3),
    {"epsilon": 1.0, "pairs": [([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0])]},
    "Three picks under noise for one.",
    ([0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]),
)


def _synthetic(records, epsilon, rng, rows, scale):
    """A table of synthetic records, each drawn from the noisy share of ones."""
    noisy = sum(records) / 4 + rng.laplace(scale=scale / epsilon)
    share = min(max(noisy, 0.1), 0.9)
    return [{"smoker": bool(rng.random() < share), "age": int(rng.integers(20, 60))} for _ in range(rows)]


case(
    "synthetic_table",
    functools.partial(_synthetic, rows=8, scale=0.02),
    functools.partial(_synthetic, rows=8, scale=0.25),
    {"epsilon": 1.0, "pairs": [([0, 0, 1, 1], [1, 0, 1, 1])]},
    "The share moves by a quarter under noise for a fiftieth; every row tells a little of it.",
    ([0, 0, 1, 1], [1, 0, 1, 1]),
)


def _hidden_pair(values, epsilon, rng, scale):
    """Two numbers whose noise is shared with opposite signs, among eight."""
    numbers = rng.laplace(scale=8 / epsilon, size=8)
    mask = rng.normal(scale=50.0)
    numbers[2] = numbers[2] + mask
    numbers[6] = values[0] + rng.laplace(scale=scale / epsilon) - numbers[2]
    return numbers


case(
    "sum_of_two_hidden_numbers",
    functools.partial(_hidden_pair, scale=0.5),
    functools.partial(_hidden_pair, scale=1.0),
    {"epsilon": 1.0, "pairs": [([0], [1])]},
    "output[2] hides the number in output[6]; their sum has half the noise it needs.",
    ([0], [1]),
)


def _tag_and_number(values, epsilon, rng, size, weak):
    """A random device, and a number under the noise of that device."""
    device = int(rng.integers(0, size))
    scale = np.where(device == 4, weak, 1.0) / epsilon
    return {"device": device, "load": float(values[0] + scale * rng.laplace())}


case(
    "weak_device",
    functools.partial(_tag_and_number, size=9, weak=0.4),
    functools.partial(_tag_and_number, size=9, weak=1.0),
    {"epsilon": 1.0, "pairs": [([0], [1])]},
    "One device of nine has too little noise.",
    ([0], [1]),
)


def _sign_pair(values, epsilon, rng, truth):
    """Two fair coins, equal more often when the secret is 1; four others in between."""
    coins = rng.integers(0, 2, size=30)
    same = (values[0] == 1) ^ (rng.random() >= truth(epsilon))
    coins[21] = np.where(same, coins[4], 1 - coins[4])
    return coins


case(
    "two_coins_agree",
    functools.partial(_sign_pair, truth=lambda epsilon: 1 / (1 + math.exp(-1.6 * epsilon))),
    functools.partial(_sign_pair, truth=lambda epsilon: 1 / (1 + math.exp(-epsilon))),
    {"epsilon": 1.0, "pairs": [([0], [1])]},
    "Each of the thirty coins is fair; two of them agree too often.",
    ([0], [1]),
)


def _votes(values, epsilon, rng, size, share):
    """One answer told as many reports, each flipped by itself."""
    truth = 1 / (1 + math.exp(-epsilon / share))
    return (rng.random(size) < truth) == bool(values[0])


case(
    "forty_reports_of_one_answer",
    functools.partial(_votes, size=40, share=10),
    functools.partial(_votes, size=40, share=40),
    {"epsilon": 1.0, "pairs": [([0], [1])]},
    "Forty reports with the noise for ten.",
    ([0], [1]),
)


def _levels(counts, epsilon, rng, share):
    """Noisy counts of a tree over eight cells, by level."""
    out = []
    for width in (8, 4, 2, 1):
        starts = range(0, 8, width)
        out.append([sum(counts[s : s + width]) + rng.laplace(scale=share / epsilon) for s in starts])
    return out


case(
    "tree_by_level",
    functools.partial(_levels, share=3),
    functools.partial(_levels, share=4),
    {"epsilon": 1.0, "pairs": [([3, 1, 4, 1, 5, 9, 2, 6], [4, 1, 4, 1, 5, 9, 2, 6])]},
    "A record is in four nodes, and the noise is for three.",
    ([3, 1, 4, 1, 5, 9, 2, 6], [4, 1, 4, 1, 5, 9, 2, 6]),
)


def _noisy_model(records, epsilon, rng, scale):
    """The weights of a linear model and its intercept, all moved by one record."""
    moved = np.array([0.5, -0.3, 0.2, 0.4, -0.6, 0.1]) * records[0]
    return {
        "weights": moved + rng.laplace(scale=scale / epsilon, size=6),
        "intercept": records[0] + rng.laplace(scale=scale / epsilon),
    }


case(
    "model_and_intercept",
    functools.partial(_noisy_model, scale=2.0),
    functools.partial(_noisy_model, scale=3.1),
    {"epsilon": 1.0, "pairs": [([0.0], [1.0])]},
    "All weights together move by 3.1 under noise for 2.",
    ([0.0], [1.0]),
)
