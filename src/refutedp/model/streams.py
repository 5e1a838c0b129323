"""One seed, many streams: every chunk of runs has its own child, whoever runs it and in whatever order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

GlobalState: TypeAlias = tuple[Any, Any]
"""Those of `np.random` and `random`."""

TRIAL_STREAM = 0
CONFIRM_STREAM = 2
PROOF_STREAM = 3
TIMING_STREAM = 4
PILOT_STREAM, MAIN_STREAM, ROUND_STREAM, SPRINT_STREAM = 10, 11, 12, 13
PROFILE_STREAM, ROUNDING_STREAM = 20, 21
AIM_STREAM, PLAN_STREAM = 22, 23
LOOK_STREAM = 24
TRY_STREAM = 25
EXAMINE_STREAM, REPEAT_STREAM, COMPARE_STREAM = 30, 31, 32
LEDGER_STREAM, EVOLVE_STREAM = 40, 41
"""The first number of every key, one for each purpose: no two purposes share runs."""
ANEW = 100
"""Added to a stream whose runs could not all be lifted, and are all made again by plain calls."""


def child(seed: int, *key: int) -> np.random.SeedSequence:
    """The stream named by `key` under `seed`; distinct keys give independent streams.

    >>> child(0, 1, 2).generate_state(1).tolist() == child(0, 1, 2).generate_state(1).tolist()
    True
    >>> child(0, 1, 2).generate_state(1).tolist() == child(0, 2, 1).generate_state(1).tolist()
    False
    """
    return np.random.SeedSequence(entropy=seed, spawn_key=key)


@contextmanager
def seeded_globals(seeds: np.random.SeedSequence) -> Iterator[None]:
    """Seed `np.random` and `random` for the block, and give them back their own states afterwards.

    This is how a function that takes no rng but calls `np.random.*` or `random.*` reproduces too.
    """
    with kept_globals():
        _seed_globals(seeds)
        yield


@contextmanager
def kept_globals() -> Iterator[None]:
    """Give `np.random` and `random` back their states after the block."""
    before = _globals()
    try:
        yield
    finally:
        set_globals(before)


def global_state(seeds: np.random.SeedSequence) -> GlobalState:
    """The states of the global generators that these seeds give."""
    with seeded_globals(seeds):
        return _globals()


def set_globals(state: GlobalState) -> None:
    """Put `np.random` and `random` into these states."""
    np.random.set_state(state[0])
    random.setstate(state[1])


def _globals() -> GlobalState:
    return np.random.get_state(), random.getstate()


def _seed_globals(seeds: np.random.SeedSequence) -> None:
    words = seeds.generate_state(16)
    np.random.seed(words[:8])
    random.seed(int.from_bytes(words[8:].tobytes(), "little"))
