"""Arguments drawn from the data's own values, for mechanisms that cannot be followed symbolically."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from refutedp.inputs.arguments.explore import Work
from refutedp.inputs.arguments.paths import Divergence, Path, compared_sites, defined_at, divergence
from refutedp.inputs.arguments.problem import FoundArguments, Limits, Wanted, needs
from refutedp.model.mechanism import Mechanism

# Combinations of candidate values that are run; each costs two noise-free calls.
_TRIALS = 128


def from_data(
    mechanism: Mechanism,
    run: Callable[[Any, Mapping[str, Any], Work], Path],
    d1: Any,
    d2: Any,
    wanted: Sequence[Wanted],
    cases: Mapping[str, Any],
    limits: Limits,
    notes: tuple[str, ...],
) -> FoundArguments:
    """The candidates with most diverging branches (then different outputs, then least noise), by running each.

    Raises `UsageError` that names the arguments to pass when the mechanism raises with every candidate.
    """
    numbers = sorted({value for data in (d1, d2) for value in _numbers(data)})
    candidates = [[cases[w.name]] if w.kind == "cases" else list(_candidates(w, numbers)) for w in wanted]
    best: tuple[tuple[int, bool, float], dict[str, Any], Divergence, tuple[float, ...]] | None = None
    place = defined_at(mechanism.function)
    work = Work(limits.units, limits.events)
    tried = 0
    all_scales: set[tuple[float, ...]] = set()
    for values in itertools.islice(itertools.product(*candidates), _TRIALS):
        arguments = dict(zip((w.name for w in wanted), values, strict=True))
        paths = run(d1, arguments, work), run(d2, arguments, work)
        if work.over:
            said = f"{place} was run with {tried} candidates drawn from the data until the work was used up"
            notes = (*notes, said)
            break
        tried += 1
        scales = tuple(float(scale) for path in paths for scale in path.scales)
        all_scales.add(scales)
        if any(scale <= 0 for scale in scales) or any(path.raised is not None for path in paths):
            continue
        sites = compared_sites(paths)
        counted = divergence(*(path.answers(sites) for path in paths))
        differ = repr(paths[0].output) != repr(paths[1].output)
        score = counted.diverging, differ, -sum(set(scales))
        if best is None or score > best[0]:
            best = score, arguments, counted, tuple(dict.fromkeys(scales))
    if best is None:
        reason = f" ({notes[0]})" if notes else ""
        raise needs(mechanism, [w.name for w in wanted if w.kind != "cases"], reason)
    _, arguments, counted, scales = best
    listed = " and ".join(f"{name} = {value!r}" for name, value in arguments.items())
    return FoundArguments(
        arguments=arguments,
        diverging=counted.diverging,
        branches=counted.branches,
        scales=scales,
        why=f"{listed}: the best of {tried} candidates drawn from the data, "
        f"{counted.diverging} of {counted.branches} branches diverge",
        notes=notes,
        # Which of them it is cannot be told; where noise varies, each may.
        scaling=frozenset(w.name for w in wanted if len(all_scales) > 1 and w.kind != "cases"),
    )


def _candidates(wanted: Wanted, numbers: Sequence[float]) -> Iterator[Any]:
    """Values to try for one argument, the most plausible first, inside its declared bounds."""
    if wanted.kind == "bool":
        yield from (False, True)
        return
    low, high = wanted.low, wanted.high
    middles = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    ends = [end for end in (low, high) if end is not None]
    if wanted.kind == "int":
        plausible: list[float] = [1, 2, 3, 5, 0, *(round(n) for n in numbers), *(round(end) for end in ends)]
    else:
        plausible = [*middles, 1.0, *numbers, 0.5, 0.0, *(sum(ends) / 2 for _ in ends[1:]), *ends]
    for value in dict.fromkeys(plausible):
        if (low is None or value >= low) and (high is None or value <= high):
            whole = float(value).is_integer() and (wanted.kind == "int" or not wanted.typed)
            yield int(value) if whole else float(value)


def _numbers(data: Any) -> Iterator[float]:
    """Every finite number in nested data."""
    if isinstance(data, Mapping):
        for value in data.values():
            yield from _numbers(value)
    elif isinstance(data, np.ndarray | list | tuple | set | frozenset):
        for value in data.tolist() if isinstance(data, np.ndarray) and data.ndim else list(data):
            yield from _numbers(value)
    elif isinstance(data, bool | np.bool_):
        return
    elif isinstance(data, int | float | np.number) and np.isfinite(data):
        yield float(data)
