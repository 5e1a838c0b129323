"""Arguments by symbolic execution: values that make the two runs of a pair diverge, found by Z3."""

from refutedp.inputs.arguments.find import find_arguments
from refutedp.inputs.arguments.problem import Between, FoundArguments, Limits, OneOf

__all__ = ["Between", "FoundArguments", "Limits", "OneOf", "find_arguments"]
