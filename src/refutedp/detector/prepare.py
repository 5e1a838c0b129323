"""From what the user hands in to pairs that can be run: arguments filled in, one trial of everything."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from refutedp.detector.complete import CLAIMED_NUMBERS, complete
from refutedp.inputs.given import pairs_around, require_one_source
from refutedp.inputs.patterns import pairs_for
from refutedp.model.adjacency import AddRemove, Adjacency, AllDiffer, OneDiffers, Replace, require_adjacent
from refutedp.model.claims import Claim
from refutedp.model.datasets import one_line
from refutedp.model.errors import MechanismError, UsageError
from refutedp.model.mechanism import Mechanism
from refutedp.model.outputs import Group
from refutedp.model.records import Pair
from refutedp.model.settings import Progress, Settings
from refutedp.model.streams import PROOF_STREAM, TRIAL_STREAM, child
from refutedp.sampling.plain import PlainSampler
from refutedp.sampling.sampler import Runs, Sampler
from refutedp.sampling.samplers import Samplers, as_written

if TYPE_CHECKING:
    from refutedp.sampling.lifted import CannotLift

TRIAL_RUNS = 8


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything search needs: pairs complete with arguments, and how each will be run."""

    mechanism: Mechanism
    runners: tuple[Sampler, ...]
    notes: tuple[str, ...]
    calls: int = 0
    """How many runs and calls of the mechanism all this took."""


def prepare(
    mechanism: Mechanism,
    claim: Claim,
    adjacency: Adjacency,
    args: Mapping[str, Any] | None,
    pairs: Sequence[Any] | None,
    inputs: Any,
    settings: Settings,
    report: Callable[[Progress], None],
) -> Prepared:
    """Pairs with all arguments, tried out once; every refusal is one sentence."""
    given = _check_arguments(mechanism, args)
    given = {**given, **_from_claim(mechanism, claim, given)}
    require_one_source(pairs, inputs)
    bare, notes = _pairs(adjacency, pairs, inputs, settings)
    if not bare:
        raise UsageError(f"there are no two different inputs to try ({adjacency}): give pairs= or inputs=")
    if _wants_arrays(mechanism):
        bare = [_as_arrays(pair) for pair in bare]
    filled, found, calls = complete(mechanism, bare, given, settings, report)
    notes += found
    trial = [as_written(mechanism, pair, settings.on_error) for pair in filled]
    own_data = pairs is not None or inputs is not None
    tried, trials = _trial(trial, own_data=own_data, settings=settings, notes=notes)
    runners: list[Sampler] = []
    refusals: list[CannotLift] = []
    samplers = Samplers(mechanism, settings.on_error, lift=settings.lift)
    for number, runner in enumerate(tried):
        chosen, refusal = samplers.of(runner.pair, child(settings.seed, PROOF_STREAM, number))
        runners.append(chosen)
        refusals += [] if refusal is None else [refusal]
    if any(refusal.wrong for refusal in refusals):
        # A lift that is wrong on one input is not to be trusted on another.
        runners = [runner.by_plain_calls() for runner in runners]
        refusals.sort(key=lambda refusal: not refusal.wrong)
    if refusals:
        notes.append(f"Run one call at a time, for it cannot be lifted: {refusals[0]}")
    return Prepared(mechanism, tuple(runners), tuple(notes), calls + trials + samplers.calls)


def _from_claim(mechanism: Mechanism, claim: Claim, given: Mapping[str, Any]) -> dict[str, Any]:
    """The claim's own numbers, for the parameters of the mechanism that are called like them."""
    names = {option.name: option.name for option in mechanism.options if option.required}
    if mechanism.epsilon is not None:
        names["epsilon"] = mechanism.epsilon
    missing = [name for name in names if name in ("delta", "rho", "mu") and name not in given]
    lacking = [name for name in missing if getattr(claim, name, None) is None]
    if lacking:
        raise UsageError(
            f"{mechanism.name}() needs '{lacking[0]}', which the claim {claim} does not have: "
            f'give it with args={{"{lacking[0]}": ...}}, or a claim that has it'
        )
    bound = getattr(mechanism.function, "keywords", {}) if isinstance(mechanism.function, functools.partial) else {}
    found = {}
    for number in ("epsilon", *CLAIMED_NUMBERS):
        name, value = names.get(number), getattr(claim, number, None)
        if name is not None and name not in given and value is not None:
            if bound.get(name, value) != value:
                raise UsageError(
                    f"functools.partial binds {name}={bound[name]!r}, and the claim says {value!r}: "
                    f'claim what is bound, or say which is meant with args={{"{name}": ...}}'
                )
            found[name] = value
    return found


def _check_arguments(mechanism: Mechanism, args: Mapping[str, Any] | None) -> dict[str, Any]:
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise UsageError(f'args={args!r} must be a dict of argument names to values, such as {{"threshold": 1}}')
    names = [option.name for option in mechanism.options]
    if mechanism.epsilon is not None:
        names.append(mechanism.epsilon)
    for name in args:
        if name not in names and not mechanism.open:
            known = f"it takes {', '.join(names)}" if names else "it takes no arguments beside its data"
            raise UsageError(f"args has '{name}', which {mechanism.name}() does not take: {known}")
    return dict(args)


def _pairs(adjacency: Any, pairs: Any, inputs: Any, settings: Settings) -> tuple[list[Pair], list[str]]:
    """The pairs to try, and what there is to say about their choice."""
    if not isinstance(adjacency, AllDiffer | OneDiffers | AddRemove | Replace):
        raise UsageError(
            f"adjacency={adjacency!r} is not an adjacency: use ALL_DIFFER, ONE_DIFFERS, ADD_REMOVE or REPLACE"
        )
    if inputs is not None:
        derived = pairs_around(adjacency, inputs, settings.seed)
        return derived.pairs, [_left_out(len(derived.pairs), derived.left_out)] if derived.left_out else []
    return (pairs_for(adjacency, settings.lengths) if pairs is None else _given(adjacency, pairs)), []


def _left_out(tried: int, left_out: int) -> str:
    return (
        f"Of the {tried + left_out} pairs of neighbours that the inputs suggest, {tried} were tried: "
        "give fewer data sets at a time to try them all."
    )


def _given(adjacency: Adjacency, pairs: Any) -> list[Pair]:
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Sequence) or not pairs:
        raise UsageError(f"pairs={pairs!r} must be a list of (d1, d2), such as [([1, 1], [1, 2])]")
    made = []
    for number, pair in enumerate(pairs):
        if isinstance(pair, Pair):
            d1, d2 = pair.d1, pair.d2
        elif isinstance(pair, Sequence) and not isinstance(pair, (str, bytes)) and len(pair) == 2:
            d1, d2 = pair
        else:
            raise UsageError(f"pairs[{number}]={one_line(pair)} must be a tuple (d1, d2) of two adjacent inputs")
        if not isinstance(adjacency, AddRemove | Replace) and (_is_empty(d1) or _is_empty(d2)):
            raise UsageError(f"pairs[{number}] holds empty data: give inputs with at least one query")
        if _same(d1, d2):
            raise UsageError(f"pairs[{number}] holds the same input twice, {one_line(d1)}: nothing could differ")
        require_adjacent(adjacency, d1, d2, number)
        made.append(Pair(d1, d2, "given"))
    return made


def _same(d1: Any, d2: Any) -> bool:
    if type(d1) is not type(d2):
        return False
    if isinstance(d1, np.ndarray):
        return d1.dtype == d2.dtype and np.array_equal(d1, d2)
    return bool(d1.equals(d2)) if hasattr(d1, "equals") else repr(d1) == repr(d2)


def _is_empty(data: Any) -> bool:
    try:
        return len(data) == 0
    except TypeError:
        return False


def _wants_arrays(mechanism: Mechanism) -> bool:
    annotation = mechanism.data_annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "ndarray" in text or "NDArray" in text


def _as_arrays(pair: Pair) -> Pair:
    """Lists of numbers as arrays; what is something else already stays what it is."""
    if not all(isinstance(data, list | tuple) for data in (pair.d1, pair.d2)):
        return pair
    try:
        return replace(pair, d1=np.asarray(pair.d1, dtype=float), d2=np.asarray(pair.d2, dtype=float))
    except (TypeError, ValueError):  # records of another kind
        return pair


def _trial(
    runners: list[PlainSampler], *, own_data: bool, settings: Settings, notes: list[str]
) -> tuple[list[PlainSampler], int]:
    """Run every pair a few times: a mechanism that always fails is an error, not an output; how many runs it took."""
    calls = 2 * TRIAL_RUNS * len(runners)
    tried = [r.run(TRIAL_RUNS, TRIAL_RUNS, child(settings.seed, TRIAL_STREAM, i)) for i, r in enumerate(runners)]
    if _all_failed(tried) and not own_data and isinstance(runners[0].pair.d1, list):
        # A mechanism that calls queries.sum() wants arrays, and fails on every list.
        arrays = [replace(r, pair=_as_arrays(r.pair)) for r in runners] if _numeric(runners[0].pair) else runners
        again = [r.run(TRIAL_RUNS, TRIAL_RUNS, child(settings.seed, TRIAL_STREAM, i)) for i, r in enumerate(arrays)]
        calls *= 2
        if not _all_failed(again):
            notes.append("The mechanism fails on lists, so the inputs are NumPy arrays.")
            runners, tried = arrays, again
    if _all_failed(tried):
        _explain_failure(runners[0], settings)
    labels = {g.shape.label for g in _groups(tried) if not g.shape.error}
    if len(labels) > 1:
        notes.append(f"The type of the output differs from run to run: {', '.join(sorted(labels))}.")
    return runners, calls


def _numeric(pair: Pair) -> bool:
    return all(isinstance(item, (int, float)) for item in [*pair.d1, *pair.d2])


def _groups(tried: list[Runs]) -> list[Group]:
    return [group for runs in tried for side in (runs.first, runs.second) for group in side.groups]


def _all_failed(tried: list[Runs]) -> bool:
    return all(group.shape.error for group in _groups(tried))


def _explain_failure(runner: PlainSampler, settings: Settings) -> None:
    name = runner.mechanism.name
    try:
        replace(runner, on_error="raise").run(1, 1, child(settings.seed, TRIAL_STREAM, 0))
    except MechanismError as error:
        raise MechanismError(f"{name}() failed on every trial run, so nothing can be tested: {error}") from error
    raise MechanismError(f"{name}() failed on nearly every trial run: its outputs cannot be tested")
