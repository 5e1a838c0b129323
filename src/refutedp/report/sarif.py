"""Results as SARIF 2.1.0, the format of code scanners, which GitHub, GitLab, Azure DevOps and editors read."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import refutedp
from refutedp.api.saved.files import write_atomically
from refutedp.detector.result import Result, Verdict
from refutedp.detector.verdict import p_value_text
from refutedp.model.explanation import Place
from refutedp.report.cause import row_line
from refutedp.report.findings import finding
from refutedp.report.locations import from_repository, in_a_file, main_place
from refutedp.report.text import own_bound

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES: dict[Verdict, dict[str, Any]] = {
    Verdict.VIOLATION: {
        "id": "dp-violation",
        "name": "DifferentialPrivacyViolation",
        "shortDescription": {"text": "The mechanism violates the differential privacy that it claims."},
        "fullDescription": {
            "text": "An event was found whose probabilities on two adjacent inputs the claim forbids, "
            "by a test on fresh runs or by arithmetic."
        },
        "help": {"text": "Mend the line, then run the same check again. Replay the counterexample: refutedp replay."},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["security", "privacy"], "security-severity": "7.5", "precision": "very-high"},
    },
    Verdict.INCONCLUSIVE: {
        "id": "dp-inconclusive",
        "name": "DifferentialPrivacyInconclusive",
        "shortDescription": {"text": "The check could not tell whether the claim holds."},
        "fullDescription": {
            "text": "Fresh runs hint at a violation without reaching the significance, or nothing could be tested."
        },
        "help": {"text": "Give the check more runs, or inputs on which the mechanism answers."},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["privacy"], "precision": "medium"},
    },
}


def save_sarif(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the log in one step."""
    write_atomically(path, json.dumps(sarif_log(result), indent=2, ensure_ascii=False) + "\n")


def sarif_log(result: Result) -> dict[str, Any]:
    """The log of one check: one result for a violation or an inconclusive check, none where nothing was found.

    >>> from refutedp import check
    >>> log = sarif_log(check(lambda data, rng: 0, epsilon=1.0, search_runs=100, confirm_runs=100))
    >>> [one["ruleId"] for one in log["runs"][0]["results"]]
    ['dp-inconclusive']
    """
    result = result.explained()
    rules = list(_RULES.values())
    driver = {"name": "RefuteDP", "version": refutedp.__version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        # Uploads of several checks must differ in their category.
        "automationDetails": {"id": f"refutedp/{_identity(result)}/"},
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": [] if result.verdict is Verdict.NOT_FOUND else [_found(result)],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _found(result: Result) -> dict[str, Any]:
    rule = _RULES[result.verdict]
    place = main_place(result)
    told: dict[str, Any] = {
        "ruleId": rule["id"],
        "ruleIndex": list(_RULES).index(result.verdict),
        "level": rule["defaultConfiguration"]["level"],
        "message": {"text": finding(result)},
        "locations": [_location(place, result.mechanism)],
        "partialFingerprints": {"refutedp/v1": _fingerprint(result, place)},
        "properties": _properties(result),
    }
    related = _related(result, place)
    return {**told, "relatedLocations": related} if related else told


def _location(place: Place | None, function: str) -> dict[str, Any]:
    name = function if place is None else place.function
    logical = {"logicalLocations": [{"name": name, "kind": "function"}]}
    if place is None:
        return logical
    region: dict[str, Any] = {"startLine": place.line}
    if place.text:
        region["snippet"] = {"text": place.text}
    return {"physicalLocation": {"artifactLocation": _artifact(place.file), "region": region}, **logical}


def _artifact(file: str) -> dict[str, str]:
    path = from_repository(file)
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _related(result: Result, place: Place | None) -> list[dict[str, Any]]:
    """Other lines: noise in the ledger, and what differs without noise."""
    told = result.explanation
    if told is None:
        return []
    others = [(row.place, row_line(row, result.claim)) for row in told.ledger]
    others += [(one.place, one.words) for one in told.discrepancies if one.place is not None]
    others = [(one, words) for one, words in others if in_a_file(one)]
    return [
        {**_location(one, result.mechanism), "id": number, "message": {"text": words}}
        for number, (one, words) in enumerate(others, start=1)
        if one != place or len(others) > 1
    ]


def _properties(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = {"claim": str(result.claim), "adjacency": result.adjacency, "seed": result.settings.seed}
    if result.exact is not None:
        return {**found, "basis": "known Gaussian noise" if result.exact.pieces else "enumerated paths"}
    if result.evidence is not None:
        found |= {
            "pValue": p_value_text(result.evidence.log_p_value),
            "certifiedLowerBound": f"{result.evidence.bound_letter} ≥ {own_bound(result.claim, result.evidence):.3g}",
        }
    return found


def _identity(result: Result) -> str:
    reference = None if result.origin is None else result.origin.reference
    return quote(reference or result.mechanism, safe="")


def _fingerprint(result: Result, place: Place | None) -> str:
    """The same for the same mechanism, claim and line, wherever the line moves to."""
    parts = [_RULES[result.verdict]["id"], _identity(result), str(result.claim), "" if place is None else place.text]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
