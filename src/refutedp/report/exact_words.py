"""Exact evidence in words: what it says, and what it rests on."""

from __future__ import annotations

import math
import textwrap

from refutedp.events.predicates import Pieces
from refutedp.model.claims import Claim
from refutedp.model.records import ExactEvidence, ExactLoss
from refutedp.report.readable import ratio_words, shortened


def exact_sentence(exact: ExactEvidence, claim: Claim) -> str:
    """What the evidence says, for a person who was not there."""
    event = shortened(exact.event.words())
    if exact.pieces:
        return (
            f"Even if all that is known of the output is {event}, the divergence between d1 and d2 is at least "
            f"{exact_bound(exact, claim)}{claim.where}, more than the claim allows. This is arithmetic over the "
            "mechanism's noise, not a test."
        )
    return (
        f"The event “{event}” has a probability of at least {probability_text(exact.low)} on d1 and of "
        f"{_at_most(exact.high)} on d2. {_allowed(claim, exact)}. "
        "This is arithmetic over the mechanism's paths, not a test."
    )


def exact_lines(exact: ExactEvidence, claim: Claim, most: int = 8) -> list[str]:
    """The evidence as lines of a report."""
    bound = f"real {claim.letter} ≥ {exact_bound(exact, claim)}"
    if exact.pieces:
        pieces = piece_rows(exact)
        rows = [f"    {low:>14}  {high:>14}  {words}" for words, low, high in pieces[:most]]
        rows += [f"    and {len(pieces) - most} pieces more"] if len(pieces) > most else []
        return [
            "    P(M(d1)) ≥      P(M(d2)) ≤",
            *rows,
            f"  claimed: {claim}; {bound} by arithmetic, up to rounding: there is no p-value",
            *_wrapped(exact),
        ]
    return [
        f"  P(M(d1) in the event) ≥ {probability_text(exact.low)}",
        f"  P(M(d2) in the event) ≤ {probability_text(exact.high)}",
        f"  {_allowed(claim, exact)}",
        f"  claimed: {claim}; {bound} by arithmetic, up to rounding: there is no p-value",
        *_wrapped(exact),
    ]


def _wrapped(exact: ExactEvidence) -> list[str]:
    """The sentences on what it rests on, in lines of a text."""
    return [f"  {line}" for sentence in basis(exact) for line in textwrap.wrap(sentence, 108)]


def piece_rows(exact: ExactEvidence) -> list[tuple[str, str, str]]:
    """Each piece of a partition in words, with its probabilities."""
    assert isinstance(exact.event, Pieces)
    chances = zip(exact.event.intervals, exact.pieces, strict=True)
    return [(piece.words(), probability_text(low), probability_text(high)) for piece, (low, high) in chances]


def basis(exact: ExactEvidence) -> list[str]:
    """What the evidence rests on, a sentence each."""
    if exact.pieces:
        return [
            "No event has to break the claim alone: the divergence of the outputs is at least that of the pieces.",
            "It rests on Gaussian noise that is only added up and scaled: it was followed as symbols, lifted runs "
            "gave the numbers that this says, and the function itself on the same draws; and on real numbers.",
            f"{exact.calls:,} plain calls a side agree with the probabilities.",
        ]
    first, second = exact.paths
    missing = max(exact.missing)
    listed = (
        "all of them" if missing == 0 else f"the others have a probability of at most {missing:.2g}, counted in full"
    )
    lines = [
        f"It rests on {first:,} {'path' if first == 1 else 'paths'} on d1 and {second:,} on d2 ({listed}), each "
        f"repeated by the function itself, and on real numbers; {exact.calls:,} plain calls a side agree with the "
        "probabilities of common outputs.",
    ]
    for one in exact.witnesses:
        draws = ", ".join(f"{value:.6g}" for value in one.draws[:6])
        more = f" and {len(one.draws) - 6} more" if len(one.draws) > 6 else ""
        output = one.output if len(one.output) <= 60 else f"{one.output[:57]}..."
        lines.append(f"On d1 the draws {draws}{more} (in units of their scale) give {output}.")
    return lines


def loss_lines(loss: ExactLoss | None) -> list[str]:
    """The exact ε of the pair, where it is known."""
    if loss is None:
        return []
    first, second = loss.paths
    low, high = loss.epsilon
    value = "infinite" if math.isinf(low) else f"{(low + high) / 2:.6g}"
    exact = ""
    if loss.delta is not None and loss.delta[0] > 0:
        exact = f" (at the claimed ε, its δ is {sum(loss.delta) / 2:.6g})"
    paths = f"{first:,} on d1 and {second:,} on d2"
    return [f"  the exact ε of this pair is {value}{exact}, up to rounding: all its paths are known ({paths})"]


def probability_text(value: float) -> str:
    """A probability that keeps its digits however small.

    >>> probability_text(3.059e-7), probability_text(0.25), probability_text(0.0)
    ('3.06e-07', '0.25', '0')
    """
    return f"{value:.3g}"


def exact_bound(exact: ExactEvidence, claim: Claim) -> str:
    """The least parameter of such a claim that permits the probabilities, as text."""
    bound = exact.bound(claim)
    return "∞" if math.isinf(bound) else f"{bound:.4g}"


def _at_most(high: float) -> str:
    return "0" if high == 0 else f"at most {probability_text(high)}"


def _allowed(claim: Claim, exact: ExactEvidence) -> str:
    if claim.pure_epsilon is not None:
        most = f"{probability_text(claim.largest(exact.high))} on d1" if exact.high else "no probability at all on d1"
        return f"The claim allows a ratio of at most {ratio_words(claim.pure_epsilon)}: {most}"
    return f"At d2's probability the claim allows at most {probability_text(claim.largest(exact.high))} on d1"
