"""Lifted execution: call a plain mechanism once with columns for draws, and get thousands of runs."""

from refutedp.sampling.lifted.lift import Lift, prove_lift, sample_lifted
from refutedp.sampling.lifted.noise.common_noise import CommonNoise
from refutedp.sampling.lifted.noise.paired_runs import hit_alone, hit_steered, hit_twins, sample_twins
from refutedp.sampling.lifted.noise.unpaired import hit_apart
from refutedp.sampling.lifted.refusal import CannotLift
from refutedp.sampling.lifted.trust.known import KnownLifts

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
