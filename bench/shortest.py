"""Are printed counterexamples as short as they could be? The battery's against brute force over short inputs.

`python -m bench.shortest [NAME ...]`: for each bug of `tests/battery` that is found (quick ones unless named), the
number of queries or records of the printed pair, and the fewest of any pair of up to four with small values,
constants of the code and the witness's values that costs twice what the claim allows by the ledger, and breaks the
claim in a check of its own. Prints "longer" where the printed pair has over one more.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

from refutedp import ALL_DIFFER, Verdict, check
from refutedp.inputs.drafts import QueryDraft, mine
from refutedp.inputs.given import datasets_of
from refutedp.inputs.record_drafts import RecordDraft, domain_of
from refutedp.model.adjacency import AddRemove, Replace
from refutedp.model.mechanism import describe
from refutedp.tracing.ledger import Ledger
from tests.battery.case import Case
from tests.battery.test_battery import CASES, SLOW

LONGEST, MOST = 4, 20_000
"""Queries or records, and pairs that are looked at for each length."""


def candidates(case: Case, length: int, found: Any) -> Iterator[tuple[Any, Any]]:
    """Adjacent pairs of this length, small values first."""
    adjacency = case.kwargs.get("adjacency", ALL_DIFFER)
    mined = mine(case.bug)
    if isinstance(adjacency, AddRemove | Replace):
        inputs = case.kwargs.get("inputs")
        datasets = [] if inputs is None else datasets_of(adjacency, inputs, 0)
        domain, _ = domain_of(adjacency, datasets) or (None, [])
        if domain is None:
            return
        records = {repr(one): one for one in (*domain.known, *_records(case.witness), *_records(found))}
        for crowd in itertools.product(records.values(), repeat=length):
            for record in records.values():
                if not domain.allows(crowd, record):
                    continue
                for place in {domain.placed(n, length) for n in range(length + 1)}:
                    yield RecordDraft(domain, crowd, record, place, "").inputs()
        return
    witness = [value for data in (*case.witness, *found) for value in data]
    values = list(dict.fromkeys([0, 1, 2, *mined.numbers, *(n - 1 for n in mined.numbers), *witness]))
    signs = [one for one in itertools.product((1, -1, 0), repeat=length) if any(one)]
    for chosen in itertools.product(values, repeat=length):
        for sign in signs if adjacency is ALL_DIFFER else [one for one in signs if sum(map(abs, one)) == 1]:
            yield QueryDraft(adjacency, chosen, sign, "").inputs()


def _records(pair: tuple[Any, Any]) -> list[Any]:
    return [record for data in pair for record in (data if isinstance(data, list | tuple) else [])]


def shortest(case: Case, found: Any, arguments: dict[str, Any]) -> int | None:
    """The fewest queries or records of a pair that costs twice what the claim allows; None beyond `LONGEST`."""
    allowed = 2 * case.kwargs.get("epsilon", 1.0)
    with Ledger(describe(case.bug), seed=0).open() as ledger:
        for length in range(LONGEST + 1):
            for d1, d2 in itertools.islice(candidates(case, length, found), MOST):
                loss = ledger.loss(d1, d2, arguments, beyond=allowed)
                if loss.size > allowed and not loss.raised and _breaks(case, d1, d2, arguments):
                    return min(len(d1), len(d2))
    return None


def _breaks(case: Case, d1: Any, d2: Any, arguments: dict[str, Any]) -> bool:
    """Whether a check of this pair alone finds a violation: the ledger only hints at one."""
    given = {name: value for name, value in case.kwargs.items() if name not in ("inputs", "args", "lengths")}
    small = {"search_runs": 5_000, "confirm_runs": 20_000, "progress": False}
    result = check(case.bug, **given, args=arguments, pairs=[(d1, d2)], **small)
    return result.verdict is Verdict.VIOLATION


def main(*names: str) -> None:
    longer = compared = 0
    for case in CASES.values():
        if case.name in SLOW if not names else case.name not in names:
            continue
        result = check(case.bug, **case.kwargs, confirm_runs=20_000, progress=False)
        if result.verdict is not Verdict.VIOLATION:
            continue
        pair = result.evidence.pair
        printed = min(len(pair.d1), len(pair.d2))
        fewest = shortest(case, (pair.d1, pair.d2), dict(pair.arguments))
        beyond = fewest is not None and printed > fewest + 1
        longer, compared = longer + beyond, compared + 1
        told = "over 4" if fewest is None else str(fewest)
        print(f"{case.name:<22}{printed:>4}  brute force: {told:<7}{'longer' if beyond else ''}", flush=True)
    print(f"{longer} of {compared} are longer than brute force by over one")


if __name__ == "__main__":
    main(*sys.argv[1:])
