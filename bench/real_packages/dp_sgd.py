"""One step of optax's differentially private aggregation, and of three wrong ones.

pip install optax, then python -m bench.real_packages.dp_sgd
"""

import time
from importlib.metadata import version

import jax
import jax.numpy as jnp
import numpy as np
from optax.contrib import differentially_private_aggregate

from refutedp import GaussianDP, check
from refutedp.adapters.training import from_training_step

NOISE, CLIP = 2.0, 1.0
BATCH = np.random.default_rng(7).normal(size=(6, 4)) / 4


def many(update):
    """The step for as many keys as runs: JAX compiles it once for each size."""
    compiled = jax.jit(jax.vmap(update, in_axes=(None, 0)))

    def step(gradients, *, rng, size):
        keys = jax.random.split(jax.random.key(int(rng.integers(2**32))), 1024)
        parts = []
        for start in range(0, size, 1024):
            if start:
                keys = jax.random.split(jax.random.key(int(rng.integers(2**32))), 1024)
            parts.append(np.asarray(compiled(jnp.asarray(gradients, dtype=jnp.float32), keys)))
        return np.concatenate(parts)[:size]

    return step


def aggregated(noise, clip=CLIP):
    def update(gradients, key):
        aggregate = differentially_private_aggregate(clip, noise, key)
        return aggregate.update(gradients, aggregate.init(gradients[0]))[0]

    return update


def by_coordinate(gradients, key):
    total = jnp.clip(gradients, -CLIP, CLIP).sum(axis=0)
    return (total + NOISE * CLIP * jax.random.normal(key, total.shape)) / len(gradients)


def not_clipped(gradients, key):
    total = gradients.sum(axis=0)
    return (total + NOISE * CLIP * jax.random.normal(key, total.shape)) / len(gradients)


STEPS = {
    "differentially_private_aggregate": aggregated(NOISE),
    "half the noise": aggregated(NOISE / 2),
    "no clip of an example": not_clipped,
    "a clip per coordinate": by_coordinate,
}


def main():
    print(f"optax {version('optax')}, jax {version('jax')}")
    for name, update in STEPS.items():
        start = time.perf_counter()
        result = check(from_training_step(many(update), BATCH, claim=GaussianDP(1 / NOISE)), seed=0)
        found = result.counterexample
        told = "" if found is None else f"{found.pair.category}: {found.event.words()}"
        print(f"{name:33} {result.verdict.value:10} {time.perf_counter() - start:5.1f} s  {told}", flush=True)


if __name__ == "__main__":
    main()
