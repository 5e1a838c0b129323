"""Styles that reach for libraries: SciPy's distributions, `np.random`, the standard library, pandas."""

from __future__ import annotations

import functools
import math
import random
import statistics
from collections import Counter, OrderedDict, defaultdict
from itertools import accumulate

import numpy as np
import pandas as pd
import polars as pl
import scipy.stats
from numpy.random import default_rng
from scipy import stats
from scipy.special import expit, softmax
from scipy.stats import laplace, norm

from bench.everyday.registry import everyday

AGES = [23.0, 31.0, 45.0, 52.0, 38.0, 61.0, 29.0]
FRAME = pd.DataFrame(
    {
        "age": [20.0 + (7 * i) % 45 for i in range(50)],
        "income": [1000.0 + 13 * i for i in range(50)],
        "city": [("Basel", "Bern", "Chur")[i % 3] for i in range(50)],
        "smoker": [i % 4 == 0 for i in range(50)],
    }
)


@everyday(AGES, epsilon=1.0)
def scipy_laplace_count(data, epsilon, rng):
    return len(data) + stats.laplace.rvs(scale=1 / epsilon, random_state=rng)


@everyday(AGES, epsilon=1.0)
def scipy_laplace_loc(data, epsilon, rng):
    return laplace.rvs(loc=sum(data), scale=100 / epsilon, random_state=rng)


@everyday(AGES, epsilon=1.0)
def scipy_laplace_vector(data, epsilon, rng):
    noise = stats.laplace.rvs(loc=0, scale=1 / epsilon, size=len(data), random_state=rng)
    return (np.array(data) + noise).tolist()


@everyday(AGES, sigma=2.0)
def scipy_norm_sum(data, sigma, rng):
    return sum(data) + norm.rvs(0, sigma, random_state=rng)


@everyday(AGES, sigma=2.0)
def scipy_norm_vector(data, sigma, rng):
    return np.asarray(data) + norm(scale=sigma).rvs(size=len(data), random_state=rng)


@everyday(AGES, epsilon=1.0)
def scipy_frozen_laplace(data, epsilon, rng):
    noise = stats.laplace(loc=0, scale=1 / epsilon)
    return [x + noise.rvs(random_state=rng) for x in data]


@everyday([1, 0, 1, 1], p=0.75)
def scipy_bernoulli_flip(data, p, rng):
    keep = scipy.stats.bernoulli.rvs(p, size=len(data), random_state=rng)
    return [int(x) if k else 1 - int(x) for x, k in zip(data, keep, strict=True)]


@everyday(12, epsilon=0.5)
def scipy_geometric_difference(count, epsilon, rng):
    p = 1 - math.exp(-epsilon)
    return count + stats.geom.rvs(p, random_state=rng) - stats.geom.rvs(p, random_state=rng)


@everyday(12, epsilon=0.5)
def scipy_discrete_laplace(count, epsilon, rng):
    return count + stats.dlaplace.rvs(epsilon, random_state=rng)


@everyday([3, 5, 2], epsilon=0.5)
def scipy_exponential_max(data, epsilon, rng):
    noisy = [q + stats.expon.rvs(scale=2 / epsilon, random_state=rng) for q in data]
    return noisy.index(max(noisy))


@everyday([3, 5, 2], epsilon=0.5)
def scipy_gumbel_max(data, epsilon, rng):
    return int(np.argmax(np.array(data) * epsilon / 2 + stats.gumbel_r.rvs(size=len(data), random_state=rng)))


@everyday(AGES, epsilon=1.0)
def scipy_uniform_inverse(data, epsilon, rng):
    u = stats.uniform.rvs(-0.5, 1, random_state=rng)
    return len(data) - math.copysign(1, u) * math.log(1 - 2 * abs(u)) / epsilon


@everyday([3, 5, 2], epsilon=1.0)
def softmax_exponential(data, epsilon, rng):
    return rng.choice(len(data), p=softmax(np.array(data) * epsilon / 2))


@everyday([1, 0, 1], epsilon=1.0)
def expit_flip(data, epsilon, rng):
    keep = expit(epsilon)
    return [x if rng.random() < keep else 1 - x for x in data]


@everyday(AGES, epsilon=1.0)
def laplace_quantile(data, epsilon, rng):
    return len(data) + laplace.ppf(rng.uniform(), scale=1 / epsilon)


@everyday(AGES, epsilon=1.0)
def legacy_count(data, epsilon):
    return len(data) + np.random.laplace(0, 1 / epsilon)


@everyday(AGES, epsilon=1.0)
def legacy_beside_rng(data, epsilon, rng):
    noisy = sum(data) + rng.laplace(scale=100 / epsilon)
    return noisy if np.random.random() < 0.99 else 0.0


@everyday([1, 0, 1, 1])
def legacy_binomial(data):
    keep = np.random.binomial(1, 0.75, len(data))
    return np.where(keep == 1, data, 1 - np.array(data))


@everyday(AGES, epsilon=1.0)
def own_generator(data, epsilon):
    rng = default_rng()
    return np.mean(data) + rng.laplace(scale=60 / len(data) / epsilon)


@everyday([1, 0, 1])
def standard_flip(data):
    return [x if random.random() < 0.75 else random.randint(0, 1) for x in data]


@everyday(["red", "blue", "green"], truth="red")
def standard_grr(options, truth):
    if random.random() < 0.6:
        return truth
    return random.choice([option for option in options if option != truth])


@everyday(AGES, epsilon=1.0)
def local_import_numpy(data, epsilon, rng):
    import numpy as numpy_here

    return float(numpy_here.clip(data, 0, 60).mean() + rng.laplace(scale=60 / len(data) / epsilon))


@everyday(AGES, epsilon=1.0)
def local_import_math(data, epsilon, rng):
    import math as m

    u = rng.uniform(-0.5, 0.5)
    return len(data) - m.copysign(1.0, u) * m.log1p(-2 * abs(u)) / epsilon


@everyday([4, 2, 7], epsilon=1.0)
def local_from_import(data, epsilon, rng):
    from math import exp, floor

    return [floor(x + rng.laplace(scale=1 / epsilon)) * exp(0) for x in data]


@everyday(AGES, epsilon=1.0)
def local_import_scipy(data, epsilon, rng):
    from scipy.stats import laplace as noise

    return len(data) + noise.rvs(scale=1 / epsilon, random_state=rng)


@everyday(AGES, epsilon=1.0)
def local_import_stats(data, epsilon, rng):
    import statistics as st

    return st.mean(data) + rng.laplace(scale=60 / len(data) / epsilon)


@everyday(AGES, epsilon=1.0)
def statistics_of_noisy(data, epsilon, rng):
    return statistics.median([x + rng.laplace(scale=1 / epsilon) for x in data])


@everyday(AGES, epsilon=1.0)
def statistics_mean_of_noisy(data, epsilon, rng):
    return statistics.fmean(x + rng.laplace(scale=1 / epsilon) for x in data)


@everyday([1, 2, 3], epsilon=1.0)
def accumulated(data, epsilon, rng):
    return list(accumulate(x + rng.laplace(scale=1 / epsilon) for x in data))


@everyday([1, 2, 3], epsilon=1.0)
def reduced(data, epsilon, rng):
    return functools.reduce(lambda total, x: total + x + rng.laplace(scale=1 / epsilon), data, 0.0)


def _noisy(value, scale, rng, digits=None):
    noisy = value + rng.laplace(scale=scale)
    return noisy if digits is None else round(noisy, digits)


@everyday([1, 2, 3], epsilon=1.0)
def partial_helper(data, epsilon, rng):
    release = functools.partial(_noisy, scale=1 / epsilon, rng=rng, digits=2)
    return list(map(release, data))


@everyday(["a", "b", "a", "c"], epsilon=1.0)
def counter_histogram(data, epsilon, rng):
    return {key: count + rng.laplace(scale=1 / epsilon) for key, count in Counter(data).items()}


@everyday(["a", "b", "a", "c"])
def counter_of_reports(data, rng):
    return Counter(x if rng.random() < 0.6 else rng.choice(["a", "b", "c"]) for x in data)


@everyday(["a", "b", "a", "c"])
def counter_most_common(data, rng):
    reports = Counter()
    for x in data:
        reports[x if rng.random() < 0.6 else "abc"[rng.integers(3)]] += 1
    return reports.most_common(1)[0][0]


@everyday(["a", "b", "a", "c"], epsilon=1.0)
def defaultdict_histogram(data, epsilon, rng):
    counts = defaultdict(float)
    for x in data:
        counts[x] += 1
    for key in counts:
        counts[key] += rng.laplace(scale=1 / epsilon)
    return dict(counts)


@everyday(["a", "b", "a", "c"], epsilon=1.0, threshold=1.5)
def ordered_stability(data, epsilon, threshold, rng):
    out = OrderedDict()
    for key, count in sorted(Counter(data).items()):
        noisy = count + rng.laplace(scale=1 / epsilon)
        if noisy > threshold:
            out[key] = noisy
    return out


@everyday(FRAME, epsilon=1.0)
def frame_mean(frame, epsilon, rng):
    return frame["age"].clip(18, 65).mean() + rng.laplace(scale=47 / len(frame) / epsilon)


@everyday(FRAME, epsilon=1.0)
def frame_count(frame, epsilon, rng):
    return int(frame["smoker"].sum()) + rng.laplace(scale=1 / epsilon)


@everyday(FRAME, epsilon=1.0)
def frame_group_counts(frame, epsilon, rng):
    counts = frame.groupby("city").size()
    return {city: count + rng.laplace(scale=1 / epsilon) for city, count in counts.items()}


@everyday(FRAME, epsilon=1.0)
def frame_noisy_column(frame, epsilon, rng):
    noisy = frame["age"] + rng.laplace(scale=1 / epsilon, size=len(frame))
    return noisy.mean()


@everyday(FRAME, epsilon=1.0)
def frame_value_counts(frame, epsilon, rng):
    counts = frame["city"].value_counts().sort_index()
    return (counts.to_numpy() + rng.laplace(scale=1 / epsilon, size=len(counts))).tolist()


@everyday(FRAME, epsilon=1.0)
def frame_query(frame, epsilon, rng):
    smokers = frame.query("smoker and age > 30")
    return round(len(smokers) + rng.laplace(scale=1 / epsilon))


@everyday(FRAME, epsilon=1.0)
def frame_group_means(frame, epsilon, rng):
    means = frame.groupby("city")["income"].mean()
    return [float(value) + rng.laplace(scale=100 / epsilon) for value in means]


@everyday(FRAME, epsilon=1.0)
def frame_loc(frame, epsilon, rng):
    total = frame.loc[frame["city"] == "Bern", "income"].clip(upper=1500).sum()
    return float(total) + float(rng.laplace(scale=1500 / epsilon))


@everyday(FRAME, epsilon=1.0)
def frame_values(frame, epsilon, rng):
    values = frame["income"].values
    return np.clip(values, 0, 1500).sum() + rng.laplace(scale=1500 / epsilon)


@everyday(AGES, epsilon=1.0)
def series_inside(data, epsilon, rng):
    series = pd.Series(data)
    return series.clip(0, 60).mean() + rng.laplace(0, 60 / len(series) / epsilon)


@everyday(pl.DataFrame({"age": FRAME["age"].to_list(), "city": FRAME["city"].to_list()}), epsilon=1.0)
def polars_mean(frame, epsilon, rng):
    mean = frame.filter(pl.col("city") == "Bern")["age"].clip(18, 65).mean()
    return mean + rng.laplace(scale=47 / len(frame) / epsilon)
