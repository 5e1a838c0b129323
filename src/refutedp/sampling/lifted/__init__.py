"""Lifted execution: call a plain mechanism once with columns for draws, and get thousands of runs."""

from refutedp.sampling.lifted.execution import CannotLift
from refutedp.sampling.lifted.lift import Lift
from refutedp.sampling.lifted.lifted_sampler import KnownLifts, LiftedSampler
from refutedp.sampling.lifted.noise.shared_noise import CommonNoise

__all__ = ["CannotLift", "CommonNoise", "KnownLifts", "Lift", "LiftedSampler"]
