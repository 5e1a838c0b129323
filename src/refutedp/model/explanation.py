"""What is known of the cause of a violation: the guilty line, the ledger of its noise, and what would mend it.

Saved with a result, as they are. Numbers are finite; None stands for what is not known, or is beyond any bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from refutedp.model.records import Counts

DiscrepancyKind: TypeAlias = Literal[
    "branch", "count", "length", "keys", "order", "type", "text", "error", "value", "scale", "seed", "draws"
]
"""What differs between d1 and d2 without noise: the way that a branch goes, how often a loop turns, the length,
keys, order or type of the output, a text or flag in it, an exception, a released number, the scale of noise; or
noise that a fixed seed makes the same in every run, or that the two inputs draw at other lines."""
Change: TypeAlias = Literal["scale", "fresh", "seed", "noise", "branch", "epsilon"]
"""What was changed: the scale of noise at a line, noise shared between values drawn afresh, a fixed seed left out,
noise added to what had none, a branch taken alike on both inputs, the ε that the mechanism is told."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the mechanism's source: its file as seen from the working folder, the function, the text."""

    file: str
    line: int
    function: str
    text: str


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The noise drawn at one line, and what it hides.

    `scale` is that of the distribution, None where no one number says it. `times` is how many numbers were drawn
    on d1. On the same draws, the value that the noise is added to `moves` by so much between d1 and d2 (the sum
    over all numbers drawn), which costs `cost` in units of the claim (ε, ρ or μ); None where that is not known,
    and `unbounded` where no number is enough. `hides` is that value in words, "" where nothing is known of it.
    """

    place: Place
    distribution: str
    scale: float | None
    times: int
    hides: str = ""
    moves: float | None = None
    cost: float | None = None
    unbounded: bool = False


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """What differs between d1 and d2 whatever the draws, in words such as "line 9 decides on exact data"."""

    kind: DiscrepancyKind
    words: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change to the mechanism, and what fresh runs of this pair of inputs said of the changed one.

    `words` is the tested statement. `factor` is the size of the change: of the noise or of ε, by the kind of change.
    `event` is the event that distinguished the changed runs best; it happened in `counts` of further runs, and
    `log_p_value` is what they say against the claim. `mends` says whether the claim is no longer refuted.
    `replaced` and `replacement` are source text at the place, where the change can be written down.
    """

    change: Change
    words: str
    place: Place | None
    factor: float
    event: str
    counts: Counts
    log_p_value: float
    mends: bool
    replaced: str = ""
    replacement: str = ""


@dataclass(frozen=True, slots=True)
class Hint:
    """A known kind of mistake that the ledger or a tested change supports, such as "budget spent twice"."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the counterexample breaks the claim, as far as that is known; `place` is None where no line is to blame.

    `statement` is one sentence. `spent` is the sum of the ledger in units of ε, None where a part of it is not known
    or not bounded, beside the `claimed` ε. `calls` is how many runs and calls it took to find all this out.
    """

    place: Place | None
    statement: str
    ledger: tuple[LedgerRow, ...] = ()
    spent: float | None = None
    claimed: float | None = None
    discrepancies: tuple[Discrepancy, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    hints: tuple[Hint, ...] = ()
    calls: int = 0
