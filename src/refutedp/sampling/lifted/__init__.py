"""Lifted execution: call a plain mechanism once with columns for draws, and get thousands of runs."""

from refutedp.sampling.lifted.lift import Lift, prove_lift, sample_lifted
from refutedp.sampling.lifted.refusal import CannotLift

__all__ = ["CannotLift", "Lift", "prove_lift", "sample_lifted"]
