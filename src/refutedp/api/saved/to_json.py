"""Results as files: a versioned JSON that holds all a replay needs, checked when it is read."""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import msgspec

from refutedp.api.saved import layout
from refutedp.api.saved.files import write_atomically
from refutedp.api.saved.layout import FORMAT, Header, Saved, SavedResult, SavedSweep, number, plain
from refutedp.api.saved.libraries import NeedsLibrary
from refutedp.api.saved.values import decode, decode_record, encode, encode_record
from refutedp.api.saved.versions import upgraded
from refutedp.detector.confirmations import named
from refutedp.detector.profile import Bin, Profile
from refutedp.detector.result import Effort, Point, Result, Sweep, Verdict
from refutedp.events.predicates import Event
from refutedp.model.claims import Tangent, claim_from_dict
from refutedp.model.errors import RefuteDPError, UsageError
from refutedp.model.origin import Origin
from refutedp.model.records import Candidate, Counts, Estimates, Evidence, Examination, Pair
from refutedp.model.settings import Settings


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
    saved: Saved = _from_result(what) if isinstance(what, Result) else _from_sweep(what)
    return msgspec.json.format(msgspec.json.encode(saved), indent=2) + b"\n"


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
        saved: Saved = msgspec.convert(data, type=Saved)
        return _to_result(saved) if isinstance(saved, SavedResult) else _to_sweep(saved)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise UsageError(f"is damaged: {error}") from error
    except NeedsLibrary:
        raise
    except (RefuteDPError, TypeError, ValueError, KeyError) as error:
        raise UsageError(f"is damaged: {error}") from error


def _from_result(result: Result) -> SavedResult:
    return SavedResult(
        format=FORMAT,
        versions=_versions(),
        verdict=result.verdict.value,
        mechanism=result.mechanism,
        origin=_from_origin(result.origin),
        claim=_from_claim(result.claim),
        adjacency=result.adjacency,
        evidence=None if result.evidence is None else _from_evidence(result.evidence),
        detectable_epsilon=number(result.detectable_epsilon),
        effort=layout.SavedEffort(**asdict(result.effort)),
        settings=_from_settings(result.settings),
        notes=list(result.notes),
        profile=_from_profile(result.profiled().profile),
        float_leak=None if result.float_leak is None else _from_evidence(result.float_leak),
        examination=None if result.examination is None else _from_examination(result.examination),
        vacuous=result.vacuous,
        outside=None if result.outside is None else _from_evidence(result.outside),
    )


def _to_result(saved: SavedResult) -> Result:
    return Result(
        verdict=Verdict(saved.verdict),
        mechanism=saved.mechanism,
        claim=_to_claim(saved.claim),
        adjacency=saved.adjacency,
        evidence=None if saved.evidence is None else _to_evidence(saved.evidence),
        detectable_epsilon=plain(saved.detectable_epsilon),
        effort=Effort(**msgspec.structs.asdict(saved.effort)),
        settings=_to_settings(saved.settings),
        notes=tuple(saved.notes),
        origin=_to_origin(saved.origin),
        profile=_to_profile(saved.profile),
        float_leak=None if saved.float_leak is None else _to_evidence(saved.float_leak),
        examination=None if saved.examination is None else _to_examination(saved.examination),
        vacuous=saved.vacuous,
        outside=None if saved.outside is None else _to_evidence(saved.outside),
    )


def _from_sweep(sweep: Sweep) -> SavedSweep:
    curves = []
    claimed = dict.fromkeys(point.claimed for point in sweep.points)
    for value, effort in zip(claimed, sweep.efforts, strict=True):
        points = sweep.curve(value)
        shared = points[0].evidence
        curves.append(
            layout.SavedCurve(
                claimed_epsilon=value,
                candidate=_from_candidate(shared.candidate),
                counts=_from_counts(shared.counts),
                method=shared.method,
                epsilon_lower_bound=number(shared.epsilon_lower_bound),
                confidence=shared.confidence,
                effort=layout.SavedEffort(**asdict(effort)),
                points=[layout.SavedPoint(point.test, _from_test(point.evidence)) for point in points],
            )
        )
    return SavedSweep(
        format=FORMAT,
        versions=_versions(),
        mechanism=sweep.mechanism,
        origin=_from_origin(sweep.origin),
        adjacency=sweep.adjacency,
        curves=curves,
        settings=_from_settings(sweep.settings),
        notes=list(sweep.notes),
    )


def _to_sweep(saved: SavedSweep) -> Sweep:
    points = []
    for curve in saved.curves:
        candidate, counts = _to_candidate(curve.candidate), _to_counts(curve.counts)
        for point in curve.points:
            evidence = Evidence(
                candidate=candidate,
                counts=counts,
                method=curve.method,
                log_p_value=plain(point.test.log_p_value),
                log_p_reverse=plain(point.test.log_p_reverse),
                epsilon_lower_bound=plain(curve.epsilon_lower_bound),
                confidence=curve.confidence,
                decided_after=counts.n_x + counts.n_y,
            )
            points.append(Point(curve.claimed_epsilon, point.test_epsilon, evidence))
    return Sweep(
        mechanism=saved.mechanism,
        adjacency=saved.adjacency,
        points=tuple(points),
        efforts=tuple(Effort(**msgspec.structs.asdict(curve.effort)) for curve in saved.curves),
        settings=_to_settings(saved.settings),
        notes=tuple(saved.notes),
        origin=_to_origin(saved.origin),
    )


def _from_evidence(evidence: Evidence) -> layout.SavedEvidence:
    return layout.SavedEvidence(
        candidate=_from_candidate(evidence.candidate),
        counts=_from_counts(evidence.counts),
        method=evidence.method,
        test=_from_test(evidence),
        epsilon_lower_bound=number(evidence.epsilon_lower_bound),
        confidence=evidence.confidence,
        rule=evidence.rule,
        decided_after=evidence.decided_after,
        bound_letter=evidence.bound_letter,
        bound=None if evidence.bound is None else number(evidence.bound),
        estimates=None if evidence.estimates is None else _from_estimates(evidence.estimates),
        fallback=evidence.fallback,
    )


def _to_evidence(saved: layout.SavedEvidence) -> Evidence:
    return Evidence(
        candidate=_to_candidate(saved.candidate),
        counts=_to_counts(saved.counts),
        method=saved.method,
        log_p_value=plain(saved.test.log_p_value),
        log_p_reverse=plain(saved.test.log_p_reverse),
        epsilon_lower_bound=plain(saved.epsilon_lower_bound),
        confidence=saved.confidence,
        rule=saved.rule,
        decided_after=saved.decided_after,
        bound_letter=saved.bound_letter,
        bound=None if saved.bound is None else plain(saved.bound),
        estimates=None if saved.estimates is None else _to_estimates(saved.estimates),
        fallback=saved.fallback,
    )


def _from_examination(one: Examination) -> layout.SavedExamination:
    plain = None if one.plain is None else _from_evidence(one.plain)
    return layout.SavedExamination(one.calls, plain, one.repeated)


def _to_examination(saved: layout.SavedExamination) -> Examination:
    return Examination(saved.calls, None if saved.plain is None else _to_evidence(saved.plain), saved.repeated)


def _from_estimates(estimates: Estimates) -> layout.SavedEstimates:
    return layout.SavedEstimates(*estimates.rates, *estimates.errors)


def _to_estimates(saved: layout.SavedEstimates) -> Estimates:
    return Estimates((saved.rate_d1, saved.rate_d2), (saved.error_d1, saved.error_d2))


def _from_test(evidence: Evidence) -> layout.SavedTest:
    return layout.SavedTest(number(evidence.log_p_value), number(evidence.log_p_reverse))


def _from_candidate(candidate: Candidate) -> layout.SavedCandidate:
    pair = candidate.pair
    return layout.SavedCandidate(
        pair=layout.SavedPair(
            d1=encode(pair.d1, "the input d1"),
            d2=encode(pair.d2, "the input d2"),
            category=pair.category,
            arguments={name: encode(value, f"the argument '{name}'") for name, value in pair.arguments.items()},
            why=pair.why,
            outside=pair.outside,
        ),
        event=event_to_builtins(candidate.event),
        event_in_words=candidate.event.words(),
        share_d1=candidate.confirmation.share,
        score=number(candidate.score),
        search=_from_counts(candidate.search),
        tangent=None if candidate.tangent is None else (candidate.tangent.slope, candidate.tangent.intercept),
        confirmation=candidate.confirmation.name,
    )


def _to_candidate(saved: layout.SavedCandidate) -> Candidate:
    return Candidate(
        pair=Pair(
            d1=decode(saved.pair.d1),
            d2=decode(saved.pair.d2),
            category=saved.pair.category,
            arguments={name: decode(value) for name, value in saved.pair.arguments.items()},
            why=saved.pair.why,
            outside=saved.pair.outside,
        ),
        event=event_from_builtins(saved.event),
        confirmation=named(saved.confirmation, saved.share_d1),
        score=plain(saved.score),
        search=_to_counts(saved.search),
        tangent=None if saved.tangent is None else Tangent(*saved.tangent),
    )


def event_to_builtins(event: Any) -> dict[str, Any]:
    """An event as JSON-ready data.

    >>> from refutedp.events.features.basic import Value
    >>> from refutedp.events.predicates import Equals
    >>> event_to_builtins(Equals(Value((0,)), True))
    {'event': 'equals', 'of': {'feature': 'value', 'path': [0]}, 'value': True}
    """
    data: dict[str, Any] = encode_record(msgspec.to_builtins(event))
    return data


def event_from_builtins(data: Any) -> Event:
    """The same predicate again; what is no event gets a sentence."""
    try:
        event: Event = msgspec.convert(decode_record(data), type=Event)
    except msgspec.ValidationError as error:
        raise UsageError(f"event={data!r} is not an event: {error}") from error
    return event


def _from_counts(counts: Counts) -> layout.SavedCounts:
    return layout.SavedCounts(counts.x, counts.y, counts.n_x, counts.n_y, counts.share, counts.both)


def _to_counts(saved: layout.SavedCounts) -> Counts:
    return Counts(saved.hits_d1, saved.hits_d2, saved.runs_d1, saved.runs_d2, saved.share_d1, saved.hits_both)


def _from_claim(claim: Any) -> dict[str, Any]:
    data: dict[str, Any] = encode_record(claim.to_dict())
    return data


def _to_claim(saved: dict[str, Any]) -> Any:
    return claim_from_dict(decode_record(saved))


def _from_settings(settings: Settings) -> dict[str, Any]:
    names = [field.name for field in fields(settings) if field.name != "progress"]
    return {name: encode(getattr(settings, name), f"the setting '{name}'") for name in names}


def _to_settings(saved: dict[str, Any]) -> Settings:
    known = {field.name for field in fields(Settings)} - {"progress"}
    return Settings(**{name: decode(value) for name, value in saved.items() if name in known})


def _from_origin(origin: Origin | None) -> layout.SavedOrigin | None:
    return None if origin is None else layout.SavedOrigin(**asdict(origin))


def _to_origin(saved: layout.SavedOrigin | None) -> Origin | None:
    return None if saved is None else Origin(**msgspec.structs.asdict(saved))


def _from_profile(profile: Profile | None) -> layout.SavedProfile | None:
    if profile is None:
        return None
    bins = [layout.SavedBin(b.label, b.low, b.high, b.x, b.y, b.inside) for b in profile.bins]
    return layout.SavedProfile(profile.feature, profile.given, profile.n_x, profile.n_y, bins)


def _to_profile(saved: layout.SavedProfile | None) -> Profile | None:
    if saved is None:
        return None
    bins = tuple(Bin(b.label, b.low, b.high, b.hits_d1, b.hits_d2, b.inside) for b in saved.bins)
    return Profile(saved.feature, saved.given, saved.runs_d1, saved.runs_d2, bins)


def _versions() -> dict[str, str]:
    import importlib.metadata
    import platform

    packages = {name: importlib.metadata.version(name) for name in ("refutedp", "numpy", "scipy")}
    return {"python": platform.python_version(), **packages}
