"""Lifted execution: call a plain mechanism once with columns for draws, and get thousands of runs."""

from refutedp.sampling.lifted.lift import Lift, prove_lift, sample_lifted
from refutedp.sampling.lifted.lifted_sampler import LiftedSampler
from refutedp.sampling.lifted.noise.common_noise import CommonNoise
from refutedp.sampling.lifted.noise.paired_runs import hit_alone, hit_paired, hit_weighted, sample_paired
from refutedp.sampling.lifted.noise.unpaired import hit_unpaired
from refutedp.sampling.lifted.refusal import CannotLift
from refutedp.sampling.lifted.trust.known import KnownLifts

__all__ = [
    "CannotLift",
    "CommonNoise",
    "KnownLifts",
    "Lift",
    "LiftedSampler",
    "hit_alone",
    "hit_paired",
    "hit_unpaired",
    "hit_weighted",
    "prove_lift",
    "sample_lifted",
    "sample_paired",
]
