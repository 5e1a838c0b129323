"""Clients of local protocols in pure-ldp, 1.2.0 and 1.1.2.

pip install --no-deps pure-ldp==1.2.0    (or 1.1.2)
pip install "xxhash<4" bitarray bitstring statsmodels
python -m bench.real_packages.local_dp
"""

import random
import time
import warnings
from importlib.metadata import version

import numpy as np

from refutedp import ANY_TWO, check

warnings.simplefilter("ignore")
from pure_ldp.frequency_oracles.direct_encoding.de_client import DEClient  # noqa: E402
from pure_ldp.frequency_oracles.local_hashing.lh_client import LHClient  # noqa: E402
from pure_ldp.frequency_oracles.rappor.rappor_client import RAPPORClient  # noqa: E402
from pure_ldp.frequency_oracles.unary_encoding.ue_client import UEClient  # noqa: E402

DOMAIN = range(1, 5)
EPSILONS = (0.5, 1.0, 3.0)


def seeded(client, rng):
    """These clients draw from the two global generators."""
    random.seed(int(rng.integers(2**32)))
    np.random.seed(int(rng.integers(2**32)))
    return client


def report(client):
    def privatise(value, rng):
        return seeded(client, rng).privatise(value)

    return privatise


def support(client, hashed):
    """Which values a hashed report speaks for: the report itself names a fresh hash function each time."""

    def privatise(value, rng):
        bit, seed = seeded(client, rng).privatise(value)
        return [hashed(other - 1, seed, client.g) == bit for other in DOMAIN]

    return privatise


def xxhashed(index, seed, buckets):
    import xxhash

    return xxhash.xxh32(str(index), seed=seed).intdigest() % buckets


def rappor(epsilon):
    client = RAPPORClient(f=0.5, m=8, hash_funcs=[[lambda text: int(text) % 8]], num_of_cohorts=1)
    client.f = client.convert_eps_to_f(epsilon)  # for one hash function
    return client


def clients(epsilon):
    size = len(DOMAIN)
    yield "GRR", report(DEClient(epsilon, size))
    yield "SUE", report(UEClient(epsilon, size))
    yield "OUE", report(UEClient(epsilon, size, use_oue=True))
    yield "OLH", support(LHClient(epsilon, size, use_olh=True), xxhashed)
    yield "RAPPOR", report(rappor(epsilon))


def main():
    print(f"pure-ldp {version('pure-ldp')}")
    for epsilon in EPSILONS:
        for name, client in clients(epsilon):
            start = time.perf_counter()
            try:
                result = check(client, epsilon=epsilon, adjacency=ANY_TWO, inputs=DOMAIN, seed=0)
                found = result.counterexample
                told = "" if found is None else f"{found.pair.d1} against {found.pair.d2}: {found.event.words()}"
                verdict = result.verdict.value
            except Exception as error:
                verdict, told = type(error).__name__, str(error)[:120]
            print(f"{name:7} ε = {epsilon:<4} {verdict:12} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
