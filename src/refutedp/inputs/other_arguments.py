"""Other values for the arguments that were found: symbolic execution asks for branches that part, not for a leak.

At lower = upper = 1 a clip lets nothing through, and at a window of 1 a mean of the last answers is one answer. So
ordinary values are tried one argument at a time, and those stay at which a pair costs more by the ledger.
"""

from __future__ import annotations

import copy
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from refutedp.inputs.arguments.problem import Wanted
from refutedp.inputs.drafts import Mined, is_number
from refutedp.model.datasets import container_of
from refutedp.model.mechanism import Mechanism
from refutedp.model.records import Pair
from refutedp.model.settings import child, seeded_globals
from refutedp.tracing.copier import Stage
from refutedp.tracing.ledger import Ledger, Release, told
from refutedp.tracing.watchdog import DidNotReturn, now_on, one_call
from refutedp.tracing.without_noise import NoiseFree

WHOLE_VALUES, SHARES = (2, 3, 4, 5, 10, 1, 20, 0), (0.5, 0.9, 0.1, 1, 0)
"""Ordinary values, in the order in which they are tried."""
FAR = 1e5
"""No argument is tried further out, to see whether the output still depends on it there."""
ROUNDS = 2
"""How often each argument gets its turn: what one should be may depend on another."""
PROBED = 4
"""So many pairs tell whether the output depends on an argument at all."""
NOTHING_MINED = Mined((), ())
CLEARLY = 1.2
"""How many times what a pair costs now it must cost at another value, for that to be chosen."""


class Role(Enum):
    """What the output without noise shows of an argument; nothing, where only noise depends on it."""

    BOUND = "far out it makes no difference: a bound, a threshold, a window"
    COUNT = "it is whole, or decides the shape of the output: a number of bins, of repetitions, of last answers"
    WEIGHT = "anything else: a rate, a weight, a factor, whose size the author may promise to keep small"


def values_of(wanted: Wanted, role: Role, now: Any, mined: Mined, data: Sequence[float]) -> list[Any]:
    """Ordinary values of one argument besides the present one, within its domain.

    >>> values_of(Wanted("lower", "real", high=1), Role.BOUND, 1, Mined((7.0,), ()), [-3.5, 0.5, 8.0])
    [0.5, 0.9, 0.1, 0.0, -3.5]
    >>> values_of(Wanted("rate", "real"), Role.WEIGHT, 1, Mined((7.0,), ()), [-3.5, 0.5, 8.0])
    [0.5, 0.9, 0.1, 0.0]
    """
    if wanted.kind in ("cases", "bool"):
        found: list[Any] = list(wanted.cases) or [False, True]
    else:
        # What is an integer now may be a number of something, which a fraction is not.
        whole = role is not Role.WEIGHT and (wanted.kind == "int" or (isinstance(now, int) and not wanted.typed))
        found = [*(WHOLE_VALUES if whole else ()), *SHARES]
        if role is Role.BOUND:
            found += [*([min(data), max(data), statistics.median(data)] if data else []), *mined.numbers]
        low = -math.inf if wanted.low is None else wanted.low
        high = math.inf if wanted.high is None else wanted.high
        found = [value for value in found if low <= value <= high]
        if wanted.kind == "int":
            found = [int(value) for value in found if float(value).is_integer()]
        elif wanted.typed:
            found = [float(value) for value in found]
    return [value for value in dict.fromkeys(found) if value != now]


class OtherArguments:
    """Chooses among ordinary values of the `wanted` arguments, by what pairs cost there.

    An argument that only noise depends on stays as it is: no value of a sensitivity, or of a share of the budget, is
    wrong by itself, and the mechanism may promise nothing for it. Nor may it for a weight above 1.
    """

    def __init__(self, mechanism: Mechanism, wanted: Sequence[Wanted], ledger: Ledger) -> None:
        self._mechanism, self._wanted, self._ledger = mechanism, wanted, ledger
        self.calls = 0
        """Calls without noise; the others are the ledger's."""

    def better(
        self, probes: Sequence[Pair], mined: Mined, cost: float, calls: int, enough: float = 0.0
    ) -> Mapping[str, Any] | None:
        """Arguments at which some of the pairs cost clearly more than `cost`, the best of those tried; or None.

        Values at which there is no noise at all are chosen only where no others cost `enough`: they are the ends of
        their range. The ledger is asked as long as it has made fewer than `calls` calls.
        """
        if not self._wanted or not probes:
            return None
        data = sorted({number for pair in probes for number in _numbers(pair.d1)})
        chosen, best = dict(probes[0].arguments), cost
        noiseless: dict[str, Any] | None = None
        roles = {one.name: self._role(one, probes, chosen, data) for one in self._wanted}
        for _ in range(ROUNDS):
            before = best
            for wanted in self._wanted:
                role = roles[wanted.name]
                if role is None:
                    continue
                for value in values_of(wanted, role, chosen.get(wanted.name), mined, data):
                    arguments = {**chosen, wanted.name: value}
                    for pair in probes:
                        if self._ledger.calls >= calls:
                            break
                        loss = self._ledger.loss(pair.d1, pair.d2, arguments, beyond=CLEARLY * best)
                        if loss.size <= CLEARLY * best or loss.raised:
                            continue
                        if loss.bare:
                            noiseless = noiseless or arguments
                        else:
                            chosen, best = arguments, loss.size
            if best <= before:
                break
        if noiseless is not None and best <= max(cost, enough):
            return noiseless
        return chosen if best > cost else None

    def _role(
        self, wanted: Wanted, probes: Sequence[Pair], arguments: Mapping[str, Any], data: Sequence[float]
    ) -> Role | None:
        """What the argument is for; None where the output without noise does not depend on it."""
        shapes, moves = set(), False
        for pair in probes[:PROBED]:
            now = self._noise_free(pair.d1, arguments)
            if now is None:
                continue
            for value in values_of(wanted, Role.BOUND, arguments.get(wanted.name), NOTHING_MINED, data):
                other = self._noise_free(pair.d1, {**arguments, wanted.name: value})
                if other is not None:
                    moves |= other != now
                    shapes.add(repr(other.structure))
        if not moves:
            return None
        if wanted.kind in ("cases", "bool"):
            return Role.WEIGHT
        # A mechanism may add the numbers up.
        total = sum(map(abs, _numbers(probes[0].d1)))
        far = min(10 * max([1.0, total, *map(abs, data)]), FAR)
        for ends in ((far, 2 * far), (-far, -2 * far)):
            values = [int(end) if wanted.kind == "int" or not wanted.typed else end for end in ends]
            outputs = [self._noise_free(probes[0].d1, {**arguments, wanted.name: value}) for value in values]
            if outputs[0] is not None and outputs[0] == outputs[1]:
                return Role.BOUND
        at_two, between = (self._noise_free(probes[0].d1, {**arguments, wanted.name: value}) for value in (2, 2.5))
        whole = wanted.kind == "int" or (at_two is not None and between is None)
        return Role.COUNT if whole or len(shapes) > 1 else Role.WEIGHT

    def _noise_free(self, data: Any, arguments: Mapping[str, Any]) -> Release | None:
        """The output without noise; None where there is none."""
        if self._mechanism.rng is None:
            return None
        self.calls += 1
        now_on(self._mechanism.name, data)
        try:
            rng = Stage(NoiseFree()).generator(self._mechanism.draws_from)
            with seeded_globals(child(0)), one_call():
                output = self._mechanism.call(copy.deepcopy(data), dict(arguments), rng=rng, size=1)
            return told(output[0] if self._mechanism.batched else output)
        except (Exception, DidNotReturn):  # whatever a mechanism raises at such a value
            return None


def _numbers(data: Any) -> Iterator[float]:
    container = container_of(data)
    for record in () if container is None else container.records(data):
        for cell in record if isinstance(record, list | tuple) else (record,):
            if is_number(cell):
                yield cell
