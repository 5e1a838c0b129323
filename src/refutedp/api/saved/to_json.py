"""Results as files: a versioned JSON that holds all a replay needs, checked when it is read."""

from __future__ import annotations

import math
import os
from dataclasses import fields, replace
from functools import partial, singledispatch
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from refutedp.api.saved import layout
from refutedp.api.saved.files import write_atomically
from refutedp.api.saved.layout import FORMAT, Header, NonFinite, Saved, SavedResult, SavedSweep
from refutedp.api.saved.values import NeedsLibrary, decode, decode_record, encode, encode_record
from refutedp.api.saved.versions import upgraded
from refutedp.detector.confirmations import named
from refutedp.detector.profile import Bin, Profile
from refutedp.detector.result import Point, Result, Sweep, Verdict
from refutedp.events.predicates import AnyEvent
from refutedp.model.claims import Tangent, claim_from_dict
from refutedp.model.errors import RefuteDPError, UsageError
from refutedp.model.records import Candidate, Counts, Estimates, Evidence, ExactEvidence, ExactLoss, Examination, Pair
from refutedp.model.settings import Settings

Part = TypeVar("Part", bound=msgspec.Struct)
Record = TypeVar("Record")


def save(what: Result | Sweep, path: str | os.PathLike[str]) -> None:
    """Write the file in one step: a reader sees the old file or the new one, never half of it."""
    write_atomically(path, dumps(what))


def load(path: str | os.PathLike[str]) -> Result | Sweep:
    """Read a saved result or sweep; a file that is missing, broken or too new gets one sentence.

    >>> import tempfile, os, refutedp
    >>> from refutedp.mechanisms import isvt1
    >>> result = refutedp.check(isvt1, epsilon=1.0, args={"threshold": 1}, search_runs=500, confirm_runs=500)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "result.json")
    ...     result.save(path)
    ...     str(load(path)) == str(result)
    True
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{os.fspath(path)} cannot be read: {error.strerror or error}") from None
    try:
        return loads(text)
    except RefuteDPError as error:
        raise UsageError(f"{os.fspath(path)} {error}") from error


def dumps(what: Result | Sweep) -> bytes:
    """The file's content."""
    return msgspec.json.format(msgspec.json.encode(_saved(what)), indent=2) + b"\n"


def loads(text: bytes | str) -> Result | Sweep:
    """What `dumps` was given; its errors are half a sentence that follows the file's name."""
    try:
        header = msgspec.json.decode(text, type=Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"is not a saved RefuteDP result: {error}") from error
    if header.format > FORMAT:
        raise UsageError(
            f"was written by a newer RefuteDP (format {header.format}; this one reads up to {FORMAT}): "
            "upgrade with pip install --upgrade refutedp"
        )
    try:
        data = upgraded(msgspec.json.decode(text), header.format)
        loaded: Result | Sweep = _loaded(msgspec.convert(data, type=Saved))
        return loaded
    except NeedsLibrary:
        raise
    except (msgspec.MsgspecError, RefuteDPError, TypeError, ValueError, KeyError) as error:
        raise UsageError(f"is damaged: {error}") from error


@singledispatch
def _saved(value: Any) -> Any:
    """A value of a record as the file's layout has it; most are the same."""
    return value


@singledispatch
def _loaded(value: Any) -> Any:
    """The value that `_saved` was given."""
    return value


def _fill(kind: type[Part], record: Any, **others: Any) -> Part:
    """A part of the file with the record's fields, but for `others`."""
    names = (field.name for field in msgspec.structs.fields(kind) if field.name not in others)
    return kind(**{name: _saved(getattr(record, name)) for name in names}, **others)


def _make(kind: type[Record], *parts: msgspec.Struct, **others: Any) -> Record:
    """A record with the fields that these parts of the file have for it, but for `others`."""
    wanted = {field.name for field in fields(kind)} - set(others)  # type: ignore[arg-type]
    found = {name: getattr(part, name) for part in parts for name in part.__struct_fields__ if name in wanted}
    return kind(**{name: _loaded(value) for name, value in found.items()}, **others)


for _record, _part in (
    (Counts, layout.SavedCounts),
    (Examination, layout.SavedExamination),
    (Bin, layout.SavedBin),
    (Profile, layout.SavedProfile),
):
    _saved.register(_record, partial(_fill, _part))
    _loaded.register(_part, partial(_make, _record))


@_saved.register
def _(value: float) -> layout.Number:
    return float(value) if math.isfinite(value) else NonFinite(repr(float(value)))  # type: ignore[arg-type]


@_loaded.register
def _(saved: NonFinite) -> float:
    return float(saved.text)


@_saved.register
def _(items: tuple) -> list[Any]:  # type: ignore[type-arg]
    return [_saved(item) for item in items]


@_loaded.register
def _(saved: list) -> tuple[Any, ...]:  # type: ignore[type-arg]
    return tuple(_loaded(item) for item in saved)


@_saved.register
def _(result: Result) -> SavedResult:
    return _fill(
        SavedResult,
        result.explained().profiled(),
        format=FORMAT,
        versions=_versions(),
        verdict=result.verdict.value,
        claim=encode_record(result.claim.to_dict()),
    )


@_loaded.register
def _(saved: SavedResult) -> Result:
    claim = claim_from_dict(decode_record(saved.claim))
    return _make(Result, saved, verdict=Verdict(saved.verdict), claim=claim, settings=_settings(saved.settings))


@_saved.register
def _(settings: Settings) -> dict[str, Any]:
    names = [field.name for field in fields(settings) if field.name != "progress"]
    return {name: encode(getattr(settings, name), f"the setting '{name}'") for name in names}


def _settings(saved: dict[str, Any]) -> Settings:
    known = {field.name for field in fields(Settings)} - {"progress"}
    return Settings(**{name: decode(value) for name, value in saved.items() if name in known})


@_saved.register
def _(sweep: Sweep) -> SavedSweep:
    curves = []
    claimed = dict.fromkeys(point.claimed for point in sweep.points)
    for value, effort in zip(claimed, sweep.efforts, strict=True):
        curve = sweep.curve(value)
        points = [layout.SavedPoint(point.test, _fill(layout.SavedTest, point.evidence)) for point in curve]
        shared = curve[0].evidence
        curves.append(_fill(layout.SavedCurve, shared, claimed_epsilon=value, effort=effort, points=points))
    return _fill(SavedSweep, sweep, format=FORMAT, versions=_versions(), curves=curves)


@_loaded.register
def _(saved: SavedSweep) -> Sweep:
    points = []
    for curve in saved.curves:
        runs = curve.counts.n_x + curve.counts.n_y
        for point in curve.points:
            evidence = _make(Evidence, curve, point.test, decided_after=runs)
            points.append(Point(curve.claimed_epsilon, point.test_epsilon, evidence))
    efforts = tuple(curve.effort for curve in saved.curves)
    return _make(Sweep, saved, points=tuple(points), efforts=efforts, settings=_settings(saved.settings))


@_saved.register
def _(evidence: Evidence) -> layout.SavedEvidence:
    return _fill(layout.SavedEvidence, evidence, test=_fill(layout.SavedTest, evidence))


@_loaded.register
def _(saved: layout.SavedEvidence) -> Evidence:
    return _make(Evidence, saved, saved.test)


@_saved.register
def _(estimates: Estimates) -> layout.SavedEstimates:
    return layout.SavedEstimates(*estimates.rates, *estimates.errors)


@_loaded.register
def _(saved: layout.SavedEstimates) -> Estimates:
    return Estimates((saved.rate_d1, saved.rate_d2), (saved.error_d1, saved.error_d2))


@_saved.register
def _(candidate: Candidate) -> layout.SavedCandidate:
    line = candidate.tangent
    return _fill(
        layout.SavedCandidate,
        candidate,
        event=event_to_builtins(candidate.event),
        event_in_words=candidate.event.words(),
        share_d1=candidate.confirmation.share,
        confirmation=candidate.confirmation.name,
        tangent=None if line is None else (line.slope, line.intercept),
    )


@_loaded.register
def _(saved: layout.SavedCandidate) -> Candidate:
    return _make(
        Candidate,
        saved,
        event=event_from_builtins(saved.event),
        confirmation=named(saved.confirmation, saved.share_d1),
        tangent=None if saved.tangent is None else Tangent(*saved.tangent),
    )


@_saved.register
def _(exact: ExactEvidence) -> layout.SavedExact:
    words = exact.event.words()
    event, plain = event_to_builtins(exact.event), {name: getattr(exact, name) for name in _PLAIN_PARTS}
    return layout.SavedExact(pair=_saved(exact.pair), event=event, event_in_words=words, **plain)


@_loaded.register
def _(saved: layout.SavedExact) -> ExactEvidence:
    plain = {name: getattr(saved, name) for name in _PLAIN_PARTS}
    return ExactEvidence(pair=_loaded(saved.pair), event=event_from_builtins(saved.event), **plain)


@_saved.register
def _(loss: ExactLoss) -> layout.SavedLoss:
    low, high = (_saved(end) for end in loss.epsilon)
    return layout.SavedLoss(_saved(loss.pair), (low, high), loss.delta, loss.paths)


@_loaded.register
def _(saved: layout.SavedLoss) -> ExactLoss:
    low, high = (_loaded(end) for end in saved.epsilon)
    return ExactLoss(_loaded(saved.pair), (low, high), saved.delta, saved.paths)


_PLAIN_PARTS = ("low", "high", "paths", "missing", "witnesses", "calls", "pieces")
"""Parts of exact evidence that are the same in a file."""


@_saved.register
def _(pair: Pair) -> Pair:
    arguments = {name: encode(value, f"the argument '{name}'") for name, value in pair.arguments.items()}
    d1, d2 = encode(pair.d1, "the input d1"), encode(pair.d2, "the input d2")
    return replace(pair, d1=d1, d2=d2, arguments=arguments)


@_loaded.register
def _(saved: Pair) -> Pair:
    arguments = {name: decode(value) for name, value in saved.arguments.items()}
    return replace(saved, d1=decode(saved.d1), d2=decode(saved.d2), arguments=arguments)


def event_to_builtins(event: Any) -> dict[str, Any]:
    """An event as JSON-ready data.

    >>> from refutedp.events.features.basic import Value
    >>> from refutedp.events.predicates import Equals
    >>> event_to_builtins(Equals(Value((0,)), True))
    {'event': 'equals', 'of': {'feature': 'value', 'path': [0]}, 'value': True}
    """
    data: dict[str, Any] = encode_record(msgspec.to_builtins(event))
    return data


def event_from_builtins(data: Any) -> AnyEvent:
    """The same predicate again; what is no event gets a sentence."""
    try:
        event: AnyEvent = msgspec.convert(decode_record(data), type=AnyEvent)
    except msgspec.ValidationError as error:
        raise UsageError(f"event={data!r} is not an event: {error}") from error
    return event


def _versions() -> dict[str, str]:
    import importlib.metadata
    import platform

    packages = {name: importlib.metadata.version(name) for name in ("refutedp", "numpy", "scipy")}
    return {"python": platform.python_version(), **packages}
