"""Known kinds of mistakes, told only where the ledger or a tested change supports them."""

from __future__ import annotations

from refutedp.detector.result import Result
from refutedp.explain.blame import FIXED, SHARED, Blame, Suspect
from refutedp.explain.costs import amount, family
from refutedp.explain.source_lines import clipped_after
from refutedp.model.claims import PureDP
from refutedp.model.datasets import container_of
from refutedp.model.explanation import Explanation, Hint, LedgerRow

_DISCREPANCIES = {
    "length": ("data-dependent length", "how many parts the output has depends on exact data"),
    "order": ("data-dependent order", "the order of the output's parts depends on exact data: sort by noisy values"),
    "keys": ("data-dependent keys", "which keys the output has depends on exact data"),
    "error": ("exception", "whether it raises an exception depends on exact data"),
    "type": ("data-dependent kind of answer", "whether it returns a number, text or nothing depends on exact data"),
    "seed": ("fixed seed", FIXED),
    "scale": ("data-dependent scale", "the scale of the noise depends on exact data"),
}


def hints_of(
    told: Explanation, named: Suspect | None, blamed: Blame, result: Result, grows: float | None = None
) -> tuple[Hint, ...]:
    """What kinds of mistakes this looks like; `grows` is the scale at twice the ε, where that is larger."""
    found: list[Hint] = []
    for one in told.discrepancies:
        if one.kind in _DISCREPANCIES:
            name, words = _DISCREPANCIES[one.kind]
            found.append(Hint(name, words))
    if named is None:
        return tuple(dict.fromkeys(found))
    if named.kind == "shared":
        found.append(Hint("noise shared", SHARED))
    if named.kind == "exact" and any(one.kind in ("value", "text") for one in told.discrepancies):
        found.append(Hint("no noise on a path", "a released value has no noise at all"))
    if named.kind == "branch" and not found:
        found.append(Hint("decision on exact data", "compare a noisy value instead, and pay for its noise out of ε"))
    if named.kind == "noise":
        found += _of_noise(told, named, result, grows)
    return tuple(dict.fromkeys(found))


def _of_noise(told: Explanation, named: Suspect, result: Result, grows: float | None) -> list[Hint]:
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
    if grows is not None:
        words = f"the scale grows with ε, to {grows:.4g} at twice the ε: noise for ε has a scale of 1/ε"
        found.append(Hint("noise scale inverted", words))
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
                f"line {row.place.line} draws {row.times} times, and together they cost ε {amount(row.cost)}",
            )
        )
    elif (
        row.moves is not None
        and row.cost > 1.02 * claimed
        and not any(h.name == "noise scale inverted" for h in found)
    ):
        enough = row.moves * claimed / row.cost
        words = f"this noise is enough for a value that moves by {amount(enough)}; "
        words += f"the value here moves by {amount(row.moves, 4)}"
        too_small = Hint("sensitivity too small", words)
        clips = None if named.site is None else clipped_after(named.site)
        if clips is not None:
            words = (
                f"line {clips} clips when the noise is there already: clip the values before, so that they move less"
            )
            found.append(Hint("clipping after noise", words))
        found += [*_wrong_adjacency(row, claimed, result), too_small]
    return found


def _wrong_adjacency(row: LedgerRow, claimed: float, result: Result) -> list[Hint]:
    """Noise that would be enough if one record differed, where several do."""
    assert result.counterexample is not None and row.cost is not None
    pair = result.counterexample.pair
    container = container_of(pair.d1)
    if container is None or container is not container_of(pair.d2):
        return []
    one, other = ([repr(record) for record in container.records(data)] for data in (pair.d1, pair.d2))
    apart = sum(a != b for a, b in zip(one, other, strict=True)) if len(one) == len(other) else 0
    if apart < 2 or row.cost > apart * claimed * 1.001:
        return []
    words = f"the noise is enough where one record differs, and {apart} differ between d1 and d2 (adjacency=)"
    return [Hint("wrong adjacency", words)]
