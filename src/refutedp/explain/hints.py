"""Known kinds of mistakes, told only where the ledger or a tested change supports them."""

from __future__ import annotations

from refutedp.detector.result import Result
from refutedp.explain.blame import FIXED, SHARED, Blame, Suspect
from refutedp.explain.costs import family
from refutedp.model.claims import PureDP
from refutedp.model.explanation import Explanation, Hint, LedgerRow

_DISCREPANCIES = {
    "length": ("data-dependent length", "how many parts the output has depends on exact data"),
    "keys": ("data-dependent keys", "which keys the output has depends on exact data"),
    "error": ("exception", "whether it raises an exception depends on exact data"),
    "type": ("data-dependent kind of answer", "whether it returns a number, text or nothing depends on exact data"),
    "seed": ("fixed seed", FIXED),
    "scale": ("data-dependent scale", "the scale of the noise depends on exact data"),
}


def hints_of(told: Explanation, named: Suspect | None, blamed: Blame, result: Result) -> tuple[Hint, ...]:
    """What kinds of mistakes this looks like."""
    found: list[Hint] = []
    for one in told.discrepancies:
        if one.kind in _DISCREPANCIES:
            name, words = _DISCREPANCIES[one.kind]
            found.append(Hint(name, words))
    if named is None:
        return tuple(dict.fromkeys(found))
    if named.kind == "shared":
        found.append(Hint("noise shared", SHARED))
    if named.kind == "exact" and any(one.kind == "value" for one in told.discrepancies):
        found.append(Hint("no noise on a path", "a released number has no noise at all"))
    if named.kind == "branch" and not found:
        found.append(Hint("decision on exact data", "compare a noisy value instead, and pay for its noise out of ε"))
    if named.kind == "noise":
        found += _of_noise(told, named, result)
    return tuple(dict.fromkeys(found))


def _of_noise(told: Explanation, named: Suspect, result: Result) -> list[Hint]:
    rows = [row for row in told.ledger if row.cost]
    row = next((one for one in rows if one.place == named.place), None)
    found: list[Hint] = []
    claimed = told.claimed
    if any(one.unbounded and family(one.distribution) == "normal" for one in told.ledger):
        if isinstance(result.claim, PureDP):
            found.append(Hint("Gaussian noise", "Gaussian noise gives no pure ε: claim (ε, δ), or use Laplace noise"))
    elif any(one.unbounded and family(one.distribution) == "one-sided" for one in told.ledger):
        found.append(Hint("one-sided noise", "noise that only adds gives away the smallest output"))
    if row is None or claimed is None or row.cost is None:
        return found
    found += _inverted(row, claimed, result)
    if len(rows) > 1 and all(one.cost is not None and one.cost <= claimed * 1.001 for one in rows):
        found.append(
            Hint("budget spent twice", f"{len(rows)} lines draw noise for the whole ε each: share ε among them")
            if len(rows) == 2
            else Hint("budget spent several times", f"{len(rows)} lines draw noise: share ε among them")
        )
    elif (
        row.times > 1 and row.moves is not None and row.scale and row.moves / row.times <= claimed * row.scale * 1.001
    ):
        found.append(
            Hint(
                "budget spent several times",
                f"line {row.place.line} draws {row.times} times, and together they cost ε {row.cost:.3g}",
            )
        )
    elif (
        row.moves is not None
        and row.cost > 1.02 * claimed
        and not any(h.name == "noise scale inverted" for h in found)
    ):
        enough = row.moves * claimed / row.cost
        words = (
            f"this noise is enough for a value that moves by {enough:.3g}; the value here moves by {row.moves:.4g}"
        )
        found.append(Hint("sensitivity too small", words))
    return found


def _inverted(row: LedgerRow, claimed: float, result: Result) -> list[Hint]:
    """Noise whose scale is ε where 1/ε is meant."""
    if row.scale is None or row.moves is None or claimed == 1.0:
        return []
    each = row.moves / max(row.times, 1)
    for scale in {each, row.moves}:
        if scale and abs(row.scale - claimed * scale) <= 1e-9 * row.scale and claimed < 1:
            return [
                Hint("noise scale inverted", f"the scale {row.scale:.4g} is ε itself: noise for ε has a scale of 1/ε")
            ]
    return []
