"""Leaks of tiny probability in everyday styles, each with a correct twin; no number of plain runs shows the bugs.

The bugs leak with probability 1e-5 at most, most of them far less. Some twins do something just as rarely that says
nothing about the data.
"""

from __future__ import annotations

import math
import random

import numpy as np

from refutedp import ApproxDP
from tests.battery.case import Case

CASES: list[Case] = []


def _add(name, bug, twin, why, **kwargs):
    CASES.append(Case(name, bug, twin, {"epsilon": 1.0, **kwargs}, why, ([1], [2])))


def paper_bug(queries, epsilon, rng):
    return int(queries[0] == 1 and rng.random() < math.exp(-15))


def paper_twin(queries, epsilon, rng):
    return int(len(queries) > 0 and rng.random() < math.exp(-15))


_add("paper", paper_bug, paper_twin, "Gives 1 with probability e^-15, and only if the first answer is 1.")


def exact_when_far_bug(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    if abs(noise) > 18 / epsilon:
        return float(queries[0])  # "an outlier: better no noise than that"
    return queries[0] + noise


def exact_when_far_twin(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    if abs(queries[0] + noise) > 18 / epsilon:
        return 0.0
    return queries[0] + noise


_add("exact_when_far", exact_when_far_bug, exact_when_far_twin, "Noise beyond 18 scales is left out.")


def two_rare_bug(queries, epsilon, rng):
    first, second = rng.laplace(scale=2 / epsilon, size=2)
    if first > 16 / epsilon and second > 16 / epsilon:
        return [queries[0], queries[0]]
    return [first > 0, second > 0]


def two_rare_twin(queries, epsilon, rng):
    first, second = rng.laplace(scale=2 / epsilon, size=2)
    if first > 16 / epsilon and second > 16 / epsilon:
        return [1, 1]
    return [first > 0, second > 0]


_add("two_rare", two_rare_bug, two_rare_twin, "Two draws that are rare together give the answer away.")


def thirty_tries_bug(queries, epsilon, rng):
    for _ in range(30):
        answer = queries[0] + rng.laplace(scale=1 / epsilon)
        if answer > 0:
            return "positive"
    return f"{queries[0]}"


def thirty_tries_twin(queries, epsilon, rng):
    answer = queries[0] + rng.laplace(scale=1 / epsilon)
    for _ in range(30):
        if answer > 0 or rng.random() < 0.5:
            return "positive"
    return "nothing"


_add("thirty_tries", thirty_tries_bug, thirty_tries_twin, "Asks again until it gives up, and every try costs ε.")


def cut_noise_bug(queries, epsilon, rng):
    noise = np.clip(rng.laplace(scale=1 / epsilon), -15 / epsilon, 15 / epsilon)
    return queries[0] + noise


def cut_noise_twin(queries, epsilon, rng):
    return np.clip(queries[0] + rng.laplace(scale=1 / epsilon), -15 / epsilon, 15 / epsilon)


_add("cut_noise", cut_noise_bug, cut_noise_twin, "Noise is cut at 15 scales: the ends say where the answer is.")


def gaussian_as_pure_bug(queries, epsilon, rng):
    return queries[0] + rng.normal(scale=6 / epsilon)


def gaussian_as_pure_twin(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=6 / epsilon)


_add("gaussian_as_pure", gaussian_as_pure_bug, gaussian_as_pure_twin, "The ratio of two normal tails has no bound.")


def window_bug(queries, epsilon, rng):
    noisy = queries[0] + rng.laplace(0, 1 / epsilon)
    return max(queries[0] - 20, min(queries[0] + 20, noisy))


def window_twin(queries, epsilon, rng):
    noisy = queries[0] + rng.laplace(0, 1 / epsilon)
    return max(-20, min(20, noisy))


_add("window", window_bug, window_twin, "The release is kept within 20 of the true answer.")


def retries_bug(queries, epsilon, rng):
    attempts = 0
    while attempts < 25:
        attempts += 1
        if rng.random() < 0.6:
            return bool(rng.random() < 0.5)
    return int(queries[0])


def retries_twin(queries, epsilon, rng):
    attempts = 0
    while attempts < 25:
        attempts += 1
        if rng.random() < 0.6:
            return bool(rng.random() < 0.5)
    return None


_add("retries", retries_bug, retries_twin, "After 25 failures it falls back to the truth.")


def looped_geometric(rng, epsilon, most):
    steps = 0
    while rng.random() < math.exp(-epsilon) and steps < most:
        steps += 1
    return steps


def looped_geometric_bug(queries, epsilon, rng):
    noise = looped_geometric(rng, epsilon, 40)
    return queries[0] + (noise if rng.random() < 0.5 else -noise)


def looped_geometric_twin(queries, epsilon, rng):
    return queries[0] + looped_geometric(rng, epsilon, math.inf) - looped_geometric(rng, epsilon, math.inf)


_add("looped_geometric", looped_geometric_bug, looped_geometric_twin, "A geometric sampler stops after 40 steps.")


def wrapped_geometric_bug(queries, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    noise = int(rng.geometric(p) - rng.geometric(p))
    if noise > 30 or noise < -30:
        noise = 0  # would not fit into the field
    return queries[0] + noise


def wrapped_geometric_twin(queries, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    noisy = queries[0] + int(rng.geometric(p) - rng.geometric(p))
    return noisy if -30 <= noisy <= 30 else 0


_add("wrapped_geometric", wrapped_geometric_bug, wrapped_geometric_twin, "Noise beyond 30 is dropped.")


def inverse_cdf_bug(queries, epsilon):
    u = min(max(np.random.random(), 1e-9), 1 - 1e-9) - 0.5
    return queries[0] - math.copysign(1, u) * math.log(1 - 2 * abs(u)) / epsilon


def inverse_cdf_twin(queries, epsilon):
    u = np.random.random()
    noise = math.log(2 * u) if u < 0.5 else -math.log(2 - 2 * u)
    return queries[0] + noise / epsilon


_add("inverse_cdf", inverse_cdf_bug, inverse_cdf_twin, "The uniform number is kept off its ends, so noise has ends.")


def capped_exponential_bug(queries, epsilon):
    size = min(np.random.exponential(1 / epsilon), 25 / epsilon)
    return queries[0] + (size if np.random.random() < 0.5 else -size)


def capped_exponential_twin(queries, epsilon):
    size = np.random.exponential(1 / epsilon)
    return queries[0] + (size if np.random.random() < 0.5 else -size)


_add("capped_exponential", capped_exponential_bug, capped_exponential_twin, "The size of the noise is capped.")


def rare_exception_bug(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    if noise > 22 / epsilon:
        raise ValueError("noise too large") if queries[0] > 1 else RuntimeError("noise too large")
    return queries[0] + noise > 0


def rare_exception_twin(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    if queries[0] + noise > 22 / epsilon:
        raise ValueError("answer too large")
    return queries[0] + noise > 0


_add("rare_exception", rare_exception_bug, rare_exception_twin, "Which exception is raised depends on the data.")


def sum_of_two_bug(queries, epsilon, rng):
    one, other = rng.laplace(scale=2 / epsilon), rng.laplace(scale=2 / epsilon)
    if one + other > 50 / epsilon:
        return queries[0] > 1
    return None


def sum_of_two_twin(queries, epsilon, rng):
    one, other = rng.laplace(scale=2 / epsilon), rng.laplace(scale=2 / epsilon)
    if one + other > 50 / epsilon:
        return len(queries) > 100
    return None


_add("sum_of_two", sum_of_two_bug, sum_of_two_twin, "A threshold on the sum of two draws opens the data.")


def far_above_bug(queries, epsilon, rng):
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    answer = queries[0] + rng.laplace(scale=4 / epsilon)
    if answer > threshold + 100 / epsilon:
        return queries[0]
    return "above" if answer > threshold else "below"


def far_above_twin(queries, epsilon, rng):
    threshold = 1 + rng.laplace(scale=2 / epsilon)
    answer = queries[0] + rng.laplace(scale=4 / epsilon)
    if answer > threshold + 100 / epsilon:
        return "far above"
    return "above" if answer > threshold else "below"


_add("far_above", far_above_bug, far_above_twin, "What is far above a noisy threshold is released as it is.")


def binomial_noise_bug(queries, epsilon, rng):
    return int(queries[0]) + int(rng.binomial(120, 0.5)) - 60


def binomial_noise_twin(queries, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    return int(queries[0]) + int(rng.geometric(p)) - int(rng.geometric(p))


_add("binomial_noise", binomial_noise_bug, binomial_noise_twin, "Binomial noise ends, and its tails are normal.")


def debug_flag_bug(queries, epsilon, rng):
    if rng.random() < 1e-10:
        return {"debug": queries[0]}
    return {"answer": bool(rng.random() < 0.5)}


def debug_flag_twin(queries, epsilon, rng):
    if rng.random() < 1e-10:
        return {"debug": len(queries)}
    return {"answer": bool(rng.random() < 0.5)}


_add("debug_flag", debug_flag_bug, debug_flag_twin, "One call in ten thousand millions logs the input.", lengths=(1,))


def mixture_bug(queries, epsilon, rng):
    exact, noisy = queries[0], queries[0] + rng.laplace(scale=1 / epsilon)
    return [exact, noisy][rng.choice(2, p=[1e-11, 1 - 1e-11])]


def mixture_twin(queries, epsilon, rng):
    noisy = queries[0] + rng.laplace(scale=1 / epsilon)
    return [noisy, 7][rng.choice(2, p=[1 - 1e-11, 1e-11])]


_add("mixture", mixture_bug, mixture_twin, "A choice between noisy and exact with a tiny weight on exact.")


def standard_library_bug(queries, epsilon):
    noise = random.expovariate(epsilon) - random.expovariate(epsilon)
    if random.random() < 1e-10:
        noise = 0.0
    return queries[0] + noise


def standard_library_twin(queries, epsilon):
    noise = random.expovariate(epsilon) - random.expovariate(epsilon)
    if random.random() < 1e-10:
        return 0.0
    return queries[0] + noise


_add("standard_library", standard_library_bug, standard_library_twin, "Once in a blue moon there is no noise.")


def gumbel_noise_bug(queries, epsilon, rng):
    return queries[0] + rng.gumbel(scale=2 / epsilon)


def gumbel_noise_twin(queries, epsilon, rng):
    return queries[0] + rng.logistic(scale=1 / epsilon)


_add("gumbel_noise", gumbel_noise_bug, gumbel_noise_twin, "The lower tail of Gumbel noise falls too fast.")


def message_bug(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    if noise < -14 / epsilon:
        return f"clamped {queries[0]}"
    return "ok"


def message_twin(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    if noise < -14 / epsilon:
        return "clamped"
    return "ok"


_add("message", message_bug, message_twin, "A rare message quotes the answer.")


def small_byte_bug(queries, epsilon, rng):
    noise = round(rng.laplace(scale=1 / epsilon))
    noise = (noise + 16) % 32 - 16  # five bits, with a sign
    return queries[0] + noise


def small_byte_twin(queries, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    noisy = queries[0] + int(rng.geometric(p) - rng.geometric(p))
    return (noisy + 16) % 32 - 16


_add("small_byte", small_byte_bug, small_byte_twin, "Noise overflows its five bits; the answer does not.")


def stability_bug(queries, epsilon, rng):
    if queries[0] >= 2 and queries[0] + rng.laplace(scale=1 / epsilon) > 20 / epsilon:
        return "released"
    return "hidden"


def stability_twin(queries, epsilon, rng):
    if queries[0] + rng.laplace(scale=1 / epsilon) > 20 / epsilon:
        return "released"
    return "hidden"


_add("stability", stability_bug, stability_twin, "A key is released only where it exists: that takes a delta.")


def delta_bug(queries, epsilon, rng):
    flag = rng.random()
    if flag < 2e-6:
        return queries[0]
    return "nothing"


def delta_twin(queries, epsilon, rng):
    flag = rng.random()
    if flag < 0.9e-6:
        return queries[0]
    return "nothing"


CASES.append(
    Case(
        "delta",
        delta_bug,
        delta_twin,
        {"claim": ApproxDP(1.0, 1e-6)},
        "The answer itself has a probability of 2e-6 where 1e-6 is allowed.",
        ([1], [2]),
    )
)
