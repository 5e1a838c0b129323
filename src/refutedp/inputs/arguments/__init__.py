"""Arguments by symbolic execution: values that make the two runs of a pair diverge, found by Z3.

`problem` says what is wanted; `diverge` follows both runs along all paths (`explore`, `noise_free_run`: draws without
noise; `watched`, `watched_arrays`, `terms`: numbers that are Z3 terms; `paths`: what is recorded), has Z3 solve for
arguments (`solve`) and checks them by running them; `fallback` is for what cannot be followed. `parting` asks the
other question: arguments are known, and the numbers of two adjacent inputs are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refutedp.inputs.arguments.problem import Between, FoundArguments, Limits, OneOf, Preference, wanted_arguments
from refutedp.model.mechanism import Mechanism

__all__ = ["Between", "FoundArguments", "Limits", "OneOf", "find_arguments"]

_DEFAULT = Limits()


def find_arguments(
    mechanism: Mechanism,
    d1: Any,
    d2: Any,
    known: Mapping[str, Any],
    domains: Mapping[str, Between | OneOf] = {},
    limits: Limits = _DEFAULT,
    *,
    prefer: Preference = "divergence",
) -> FoundArguments:
    """Arguments for which the noise-free runs on `d1` and `d2` diverge on most branches, then with the least noise.

    `known` holds epsilon and every argument the user fixed; required options that are missing there, and those in
    `domains`, are found. The same call gives the same answer. What cannot be followed is a sentence in `notes`; if
    nothing could, the arguments come from the data's own values, and `UsageError` names the argument to pass when
    these fail too.

    With `prefer="noise"` the order is turned around, as in the paper's first heuristic: arguments that noise depends
    on make it smallest, and only the others are chosen for divergence.

    >>> from refutedp.model.mechanism import describe
    >>> def above(queries, epsilon, threshold, rng):
    ...     noisy = threshold + rng.laplace(scale=2 / epsilon)
    ...     return [q + rng.laplace(scale=4 / epsilon) >= noisy for q in queries]
    >>> found = find_arguments(describe(above), [1, 1, 1], [2, 2, 2], {"epsilon": 0.5})
    >>> found.arguments, found.diverging, found.branches
    ({'threshold': 1.5}, 3, 3)
    """
    wanted = wanted_arguments(mechanism, known, domains)
    if not wanted:
        return FoundArguments(why="every argument is known")
    # Z3 takes a tenth of a second to import: only those who need it wait.
    from refutedp.inputs.arguments.diverge import search

    fixed = {name: value for name, value in known.items() if name not in domains}
    return search(mechanism, d1, d2, fixed, wanted, limits, prefer)
