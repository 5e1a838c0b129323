"""Lifted execution: call a plain mechanism once with columns for draws, and get thousands of runs."""

from refutedp.sampling.lifted.apart import hit_apart
from refutedp.sampling.lifted.common import CommonNoise
from refutedp.sampling.lifted.known import KnownLifts
from refutedp.sampling.lifted.lift import Lift, prove_lift, sample_lifted
from refutedp.sampling.lifted.refusal import CannotLift
from refutedp.sampling.lifted.twins import hit_alone, hit_steered, hit_twins, sample_twins

__all__ = [
    "CannotLift",
    "CommonNoise",
    "KnownLifts",
    "Lift",
    "hit_alone",
    "hit_apart",
    "hit_steered",
    "hit_twins",
    "prove_lift",
    "sample_lifted",
    "sample_twins",
]
