"""Pairs by program analysis: for each branch on the data, two adjacent inputs whose runs part there.

A source of the race. The mechanism is followed without noise on data whose numbers are unknown, and Z3 finds numbers
that make the two runs part at a branch where the usual pairs stay together. Those pairs are raced that cost enough
by the ledger.
"""

from __future__ import annotations

import linecache
import types
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from refutedp.inputs.drafts import LARGEST, is_own, reached
from refutedp.inputs.numbers_in_data import AnswerNumbers, NumbersInData, record_kinds
from refutedp.inputs.record_drafts import domain_of
from refutedp.inputs.source import SearchSpace, Seen
from refutedp.model.adjacency import AddRemove, AnyTwo, Replace
from refutedp.model.datasets import CannotHold
from refutedp.model.records import Pair
from refutedp.tracing.copier import instructions, nested_codes
from refutedp.tracing.ledger import Ledger

if TYPE_CHECKING:
    from refutedp.inputs.arguments.explore import Work
    from refutedp.inputs.arguments.parting import Follower, Solved
    from refutedp.inputs.arguments.paths import Site

LENGTHS = (1, 2, 3, 5)
"""Answers, or records before the step, where the user says nothing of them."""
UNITS, PATHS = 4_000_000, 64
"""The solver's work in all, and the paths that are followed at each length; some millions of units take a second."""
SHARE = 0.3
"""The part of the work that is left which goes into the questions about one symbolic pair."""
MOST_PROPOSED = 6
USUAL_PAIRS, COMPARED = 6, 12
"""So many of the usual pairs are followed, to see where their runs part; so many say what pairs usually cost."""
CLEARLY = 1.2
"""How many times what usual pairs cost, and what the claim allows, a pair must cost to be worth runs: less than what
evolution asks for, which picks the largest of hundreds of estimates; these pairs are few."""
IN_VAIN = 6
"""After so many pairs whose runs part at a branch at no cost, the branch is left alone."""
CALLS_A_PATH = 16
"""Of so many calls that the source may make, one may be for a path at one length."""


class Parting(NamedTuple):
    """A pair and the branch at which its two runs part."""

    pair: Pair
    site: Site
    cost: float = 0.0


class Analysed:
    """Proposes at most `MOST_PROPOSED` pairs, once, after others have been tried and none broke the claim.

    Of each the two noise-free runs part at the branch that the category names.

    >>> from refutedp.model.adjacency import ALL_DIFFER
    >>> from refutedp.model.mechanism import describe
    >>> def special(queries, epsilon, rng):
    ...     return 0.0 if sum(queries) == 1234 else sum(queries) + rng.laplace(scale=1 / epsilon)
    >>> source = Analysed(SearchSpace(describe(special), ALL_DIFFER, lengths=(1,)))
    >>> pair, *_ = source.propose([Seen(Pair([1], [2], "One Above", {"epsilon": 1.0}), -1.0)])
    >>> pair.d1, pair.d2, pair.category
    ([1234], [1235], 'the two runs part at line 2: sum(queries) == 1234')
    """

    def __init__(self, space: SearchSpace) -> None:
        self._space = space
        self._ledger = Ledger(space.mechanism, space.seed)
        self._followers: list[Follower] = []
        self._done = self._outside_done = False
        self._words = "program analysis was not needed"

    def shorter(self, pair: Pair) -> None:
        """None: short lengths are asked for first."""

    def told(self) -> str:
        """How many paths were followed and how many pairs are worth runs, or why none were."""
        return self._words

    @property
    def calls(self) -> int:
        """How often the mechanism was called."""
        return self._ledger.calls + sum(one.calls for one in self._followers)

    def propose(self, seen: Sequence[Seen]) -> list[Pair]:
        """The pairs that cost more than the claim allows; nothing where the claim is broken already."""
        if not seen or self._done:
            return []
        self._done = True
        if any(one.score > 0 and not one.pair.outside for one in seen):
            return []
        if not _tests_something(self._space.mechanism.function):
            self._words = "program analysis found no comparison in the code"
            return []
        # What unusual inputs show is told already; it is ordinary ones that are looked for then.
        self._outside_done = any(one.score > 0 for one in seen)
        tried = sorted(seen, key=lambda one: -one.score)
        usual = [one.pair for one in tried if not one.pair.outside] or [one.pair for one in tried]
        try:
            with self._ledger.open():
                return self._analysed(usual)
        except Exception as error:  # code of any kind is followed; what that meets must not end the check
            self._words = f"program analysis gave up: {type(error).__name__}: {error}"
            return []

    def _analysed(self, usual: Sequence[Pair]) -> list[Pair]:
        # Z3 takes a tenth of a second to import: only those who need it wait.
        from refutedp.inputs.arguments.explore import Work
        from refutedp.inputs.arguments.parting import Follower
        from refutedp.inputs.arguments.problem import Limits

        limits = Limits(paths=min(PATHS, max(self._space.calls // CALLS_A_PATH, 4)), units=UNITS)
        work = Work(limits.units, limits.events)
        found: list[Parting] = []
        for numbers in self._kinds(usual[0]):
            follower = Follower(
                self._space.mechanism, usual[0].arguments, numbers.fill, numbers.whole, int(LARGEST), limits, work
            )
            self._followers.append(follower)
            found += islice(self._worth_runs(follower, numbers, usual, work), MOST_PROPOSED)
        chosen = sorted(found, key=lambda one: (bool(one.pair.outside), -one.cost))[:MOST_PROPOSED]
        notes = [note for follower in self._followers for note in follower.notes]
        paths = sum(follower.paths for follower in self._followers)
        self._words = "program analysis found no branch that the data alone decides"
        if paths:
            self._words = f"program analysis followed {paths} paths, and {len(chosen)} pairs are worth runs"
            self._words += f" ({notes[0]})" if notes and not chosen else ""
        return [one.pair for one in chosen]

    def _kinds(self, usual: Pair) -> Sequence[NumbersInData]:
        if not isinstance(self._space.adjacency, AddRemove | Replace):
            assert not isinstance(self._space.adjacency, AnyTwo)  # whose values are given
            return [AnswerNumbers(self._space.adjacency, isinstance(usual.d1, np.ndarray))]
        found = domain_of(self._space.adjacency, self._space.datasets)
        return [] if found is None else record_kinds(found[0])

    def _worth_runs(
        self, follower: Follower, numbers: NumbersInData, usual: Sequence[Pair], work: Work
    ) -> Iterator[Parting]:
        """The first parting at each branch that costs enough, in an order that prefers short and ordinary inputs."""
        varied = _of_all_lengths(usual)[:USUAL_PAIRS]
        tested, done = _where_usual_runs_part(follower, numbers, varied)
        if not tested and any("float" in code.co_names for code in _codes(self._space.mechanism.function)):
            # `float(total)` hides what is tested later.
            follower.own_float = True
            tested, done = _where_usual_runs_part(follower, numbers, varied)
        if not tested:
            return
        enough = 0.0
        in_vain: Counter[Site] = Counter()
        for parting in self._partings(follower, numbers, tested, done, work):
            if enough == 0:
                enough = CLEARLY * max(self._ledger.usual(usual[:COMPARED]), self._space.allowed)
            pair = parting.pair
            loss = self._ledger.loss(pair.d1, pair.d2, pair.arguments, beyond=enough)
            in_vain[parting.site] += 1
            if loss.size > enough and not loss.raised:
                done.add(parting.site)
                yield parting._replace(cost=loss.size)
            elif in_vain[parting.site] == IN_VAIN:
                done.add(parting.site)

    def _partings(
        self, follower: Follower, numbers: NumbersInData, tested: set[Site], done: set[Site], work: Work
    ) -> Iterator[Parting]:
        """Pairs whose runs part at branches that are not done, each pair once; `tested` are known branches."""
        known: set[str] = set()
        asked: set[Site] = set()
        for length in sorted(set(LENGTHS if self._space.lengths is None else self._space.lengths)):
            here: set[Site] = set()
            for symbolic in numbers.symbolic(follower, length):
                if self.calls > self._space.calls:
                    return
                questions = follower.questions(symbolic)
                here |= questions.sites
                answered: set[Site] = set()
                for ordinary in (True, False) if symbolic.ordinary and not self._outside_done else (True,):
                    for answer in questions.answers(done | answered, work.part(SHARE), ordinary=ordinary):
                        parting = self._checked(follower, numbers, answer)
                        if parting is not None and parting.site not in done and repr(parting.pair) not in known:
                            known.add(repr(parting.pair))
                            answered.add(parting.site)
                            yield parting
            if here <= asked & done and tested <= asked:
                # Longer inputs would only meet the same branches again.
                return
            asked |= here

    def _checked(self, follower: Follower, numbers: NumbersInData, answer: Solved) -> Parting | None:
        """The answer as a pair, if it is adjacent and its runs part, in Python's numbers as in the solver's."""
        from refutedp.inputs.arguments.parting import parted_at

        try:
            made = numbers.inputs(answer.first, answer.second)
        except (CannotHold, OverflowError, TypeError, ValueError):
            return None
        if made is None or self._space.adjacency.difference(made.d1, made.d2) is not None:
            return None
        values = [numbers.numbers(data) for data in (made.d1, made.d2)]
        branch = parted_at(*(follower.run(value or ()) for value in values))
        if branch is None:
            return None
        category = f"the two runs part at {_place(branch.site)}"
        return Parting(Pair(made.d1, made.d2, category, dict(follower.arguments), outside=made.outside), branch.site)


def _of_all_lengths(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs in another order: one of each length before a second one of any."""
    met: Counter[int] = Counter()
    places = []
    for pair in pairs:
        met[len(pair.d1)] += 1
        places.append(met[len(pair.d1)])
    return [pair for _, _, pair in sorted(zip(places, range(len(pairs)), pairs, strict=True))]


def _where_usual_runs_part(
    follower: Follower, numbers: NumbersInData, usual: Sequence[Pair]
) -> tuple[set[Site], set[Site]]:
    """The branches that data alone decides in the runs of usual pairs, and those at which two runs part."""
    from refutedp.inputs.arguments.parting import parted_at

    tested: set[Site] = set()
    parted: set[Site] = set()
    for pair in usual:
        sides = [numbers.numbers(data) for data in (pair.d1, pair.d2)]
        paths = [follower.run(side) for side in sides if side is not None]
        tested |= {branch.site for path in paths for branch in path.branches if not branch.noisy}
        branch = parted_at(*paths) if len(paths) == 2 else None
        if branch is not None:
            parted.add(branch.site)
    return tested, parted


def _codes(function: Any) -> list[types.CodeType]:
    """The user's code that a function reaches."""
    return [code for part in reached(function) if isinstance(part, types.CodeType) for code in nested_codes(part)]


def _tests_something(function: Any) -> bool:
    """Whether the user's code compares anything, or branches on it.

    >>> _tests_something(lambda queries: sum(queries)), _tests_something(lambda queries: queries[0] > 3)
    (False, True)
    """
    module = getattr(function, "__module__", None) or type(function).__module__
    if is_own(module):
        return False
    names = {one.opname for code in _codes(function) for one in instructions(code)}
    return any(
        name in ("COMPARE_OP", "CONTAINS_OP") or ("JUMP" in name and name.endswith(("_TRUE", "_FALSE", "_OR_POP")))
        for name in names
    )


def _place(site: Site) -> str:
    """The line of a branch and, where its source can be read, what it tests."""
    line = linecache.getline(site.file, site.line).encode()
    one_line = site.line == site.end_line
    text = line[site.column : site.end_column].decode(errors="ignore") if one_line else line.decode().strip()
    return f"line {site.line}: {text}" if text else f"line {site.line}"
