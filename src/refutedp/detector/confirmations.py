"""How a candidate is confirmed: one class a strategy. Each knows its runs, its test and its evidence.

`confirm` runs them all in one loop. A strategy is chosen with the candidate, before the first confirmation run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np

from refutedp.detector.plan_importance import ImportancePlan, Piloted, UnpairedImportancePlan, unpaired
from refutedp.detector.plan_tail import TailPlan
from refutedp.hypothesis.betting import anytime
from refutedp.hypothesis.betting.anytime import EProcess
from refutedp.hypothesis.certify import Certified, bounds_from
from refutedp.hypothesis.claim_test import claim_test
from refutedp.hypothesis.tests.line import Frontier
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError
from refutedp.model.records import Candidate, Counts, Estimates, Event, Evidence
from refutedp.model.settings import Settings
from refutedp.sampling.lifted import LiftedSampler
from refutedp.sampling.pool.tasks import Task
from refutedp.sampling.sampler import Sampler

if TYPE_CHECKING:
    from refutedp.sampling.lifted.noise.shared_noise import SharedNoise


class Confirmation(ABC):
    """A way to make and to judge the runs that confirm a candidate; a frozen dataclass."""

    __slots__ = ()

    name: ClassVar[str]
    """How it is called in saved files."""
    needs_pairs: ClassVar[bool] = False
    """Whether its runs come in pairs on the same noise, which neither every claim nor every mechanism allows."""
    needs_plan: ClassVar[bool] = False
    """Whether a plan is made before the first run; then an e-process is all that judges the runs."""
    stands_if_cut_short: ClassVar[bool] = False
    """Whether the evidence so far counts where lifting fails in the midst of the runs."""
    noise_words: ClassVar[str] = ""
    """Where noise is drawn to, for reports; "" where it is drawn as ever."""
    test_words: ClassVar[str] = ""
    """Which test gives the p-value, where the hits are no plain counts."""

    @property
    def share(self) -> float:
        """The part of the runs that go to d1."""
        return 0.5

    def noise(self, runs: int, rng: np.random.Generator) -> SharedNoise:
        """Noise for so many lifted runs on either side, as those that confirm have it on d1."""
        from refutedp.sampling.lifted.noise.shared_noise import SharedNoise

        return SharedNoise(runs)

    def budget(self, settings: Settings) -> Settings:
        """The settings with as many confirmation runs as it takes, where that is known."""
        return settings

    def batches(self) -> Sequence[int] | None:
        """Runs in each batch, where its bets are for batches of known sizes."""
        return None

    @classmethod
    def with_share(cls, share: float) -> Confirmation:
        """As it is read from a file, with this part of independent runs on d1."""
        return cls()

    @abstractmethod
    def start(self, claim: Claim, candidate: Candidate) -> EProcess[Any]:
        """The evidence against the claim before the first run."""

    @abstractmethod
    def task(
        self, sampler: Sampler, events: tuple[Event, ...], runs: int, seeds: np.random.SeedSequence
    ) -> Task[Any]:
        """So many runs on both sides together; what they give depends on the strategy, see `joined`."""

    @abstractmethod
    def joined(self, parts: Sequence[Any]) -> Any:
        """What the e-process takes of the results of some tasks, made for one event."""

    def level(self, significance: float) -> float:
        """The level of the e-process: all of it, unless there is a test on all runs at the end, too."""
        return significance

    @abstractmethod
    def evidence(self, process: Any, plan: Stop, candidate: Candidate, claim: Claim, settings: Settings) -> Evidence:
        """What the runs say in the end."""

    def planned_by(self, piloted: Piloted | None) -> Confirmation:
        """The strategy with the plan that pilots made, or what takes its place where they made none."""
        return self

    def by_plain_calls(self) -> Confirmation:
        """What takes its place where runs cannot be lifted: independent runs, with the same part on d1."""
        return Allocation(self.share)


def confirmation_of(candidate: Candidate) -> Confirmation:
    """The strategy of a candidate."""
    return cast(Confirmation, candidate.confirmation)


@dataclass(frozen=True, slots=True)
class Stop:
    """After how many runs the e-process convicted (0: never), how many there were, and whether more were planned."""

    decided: int
    runs: int
    early: bool


class _Counted(Confirmation):
    """Hits are counted; an e-process watches them, and an exact test judges all of them at the end."""

    __slots__ = ()

    def joined(self, parts: Sequence[tuple[Counts, ...]]) -> Counts:
        """The hits of one event."""
        return reduce(add, (counts for (counts,) in parts))

    def level(self, significance: float) -> float:
        """A part of the significance."""
        return anytime.early_alpha(significance)

    def evidence(
        self, process: EProcess[Counts], plan: Stop, candidate: Candidate, claim: Claim, settings: Settings
    ) -> Evidence:
        """At an early stop everything is valid whenever one stops; at the end the exact test says more."""
        if plan.early:
            confidence = anytime.bound_confidence(settings.significance, early=True)
            bounds = claim_test(claim).bounds_when_stopped(process, confidence, candidate.search)
            told = _evidence(candidate, process.hits, claim, settings, bounds, anytime.log_p_any_time(process))
            rule: Literal["early", "fixed"] = "early" if plan.decided else "fixed"
            return replace(told, rule=rule, decided_after=plan.decided or plan.runs)
        # The e-process has used up a part of the significance; the bound is at what is left of it.
        at_end = anytime.bound_confidence(settings.significance, early=False)
        whole = judge(candidate, process.hits, claim, settings, at_end)
        return replace(
            whole,
            log_p_value=anytime.log_p_at_the_end(process, whole.log_p_value),
            rule="early" if plan.decided else "fixed",
            decided_after=plan.decided or plan.runs,
        )


@dataclass(frozen=True, slots=True)
class Allocation(_Counted):
    """Each run goes to d1 with probability `share`, else to d2: the exact test of random allocation."""

    share: float = 0.5
    name: ClassVar[str] = "allocation"

    def start(self, claim: Claim, candidate: Candidate) -> EProcess[Counts]:
        """Bets on what the search runs of the candidate showed."""
        return claim_test(claim).start(candidate.search, self.share, candidate.tangent)

    def task(
        self, sampler: Sampler, events: tuple[Event, ...], runs: int, seeds: np.random.SeedSequence
    ) -> Task[Any]:
        """Independent runs."""
        return Task(sampler.count, (events, runs, self.share, seeds), sampler.what)

    @classmethod
    def with_share(cls, share: float) -> Allocation:
        """With this share."""
        return cls(share)


@dataclass(frozen=True, slots=True)
class Paired(_Counted):
    """Run i on d1 and run i on d2 share their noise (common random numbers): the exact test on pairs."""

    name: ClassVar[str] = "paired"
    needs_pairs: ClassVar[bool] = True

    def start(self, claim: Claim, candidate: Candidate) -> EProcess[Counts]:
        """Bets on what the search runs of the candidate showed."""
        return claim_test(claim).start_paired(candidate.search)

    def task(
        self, sampler: Sampler, events: tuple[Event, ...], runs: int, seeds: np.random.SeedSequence
    ) -> Task[Any]:
        """Half as many pairs of runs."""
        return Task(sampler.paired, (events, runs // 2, seeds), sampler.what)


@dataclass(frozen=True, slots=True)
class ImportanceSampled(Confirmation):
    """Noise is drawn where the event happens, and weighed; bets on weighted runs are valid whatever the plan is.

    The plan may be missing where a strategy comes from a file: pilots make one before the first run.
    """

    plan: ImportancePlan | UnpairedImportancePlan | None = field(default=None, compare=False, repr=False)
    otherwise: Confirmation = field(default_factory=Allocation, compare=False)
    """What is done where no plan can be made."""
    name: ClassVar[str] = "importance"
    needs_plan: ClassVar[bool] = True
    # A second test after the evidence so far would have a second chance of a false alarm.
    stands_if_cut_short: ClassVar[bool] = True
    noise_words: ClassVar[str] = "towards the event"
    test_words: ClassVar[str] = "a bet on importance-sampled runs by their weights"

    @classmethod
    def with_share(cls, share: float) -> ImportanceSampled:
        """With this share where no plan can be made."""
        return cls(otherwise=Allocation(share))

    def planned_by(self, piloted: Piloted | None) -> Confirmation:
        """With the plan; counted runs without."""
        return self.otherwise if piloted is None else replace(self, plan=self._plan(piloted))

    def _plan(self, piloted: Piloted) -> ImportancePlan | UnpairedImportancePlan:
        return piloted.pairs()

    @property
    def share(self) -> float:
        """The plan's, or half."""
        return 0.5 if self.plan is None else self.plan.share

    def batches(self) -> Sequence[int] | None:
        """As planned."""
        return self.known.batches

    @property
    def known(self) -> ImportancePlan | UnpairedImportancePlan:
        """The plan."""
        assert self.plan is not None, "planned before the first run"
        return self.plan

    def noise(self, runs: int, rng: np.random.Generator) -> SharedNoise:
        """Towards the event, on d1 at least."""
        from refutedp.sampling.lifted.noise.importance_noise import ImportanceNoise

        return ImportanceNoise(runs, self.known.towards_event, rng)

    def start(self, claim: Claim, candidate: Candidate) -> Any:
        """Bets against the claim's line, or the one that the plan aims at."""
        return self.known.start(claim_test(claim).line_of_bets(self.known.line))

    def task(
        self, sampler: Sampler, events: tuple[Event, ...], runs: int, seeds: np.random.SeedSequence
    ) -> Task[Any]:
        """Lifted runs on noise drawn by the plan."""
        (event,) = events
        assert isinstance(sampler, LiftedSampler), "plans are made for these only"
        return self.known.task(sampler, event, runs, seeds)

    def joined(self, parts: Sequence[Any]) -> Any:
        """Weighted hits."""
        return reduce(add, parts)

    def evidence(self, process: Any, plan: Stop, candidate: Candidate, claim: Claim, settings: Settings) -> Evidence:
        """Valid whenever one stops. Counts are no rates; weighted averages stand beside them."""
        bounds = claim_test(claim).bounds_by_weight(process, 1 - settings.significance, self.known.rates)
        counts = replace(process.hits.counts, share=self.share)
        return replace(
            _evidence(candidate, counts, claim, settings, bounds, min(0.0, -process.log_peak)),
            rule="early" if plan.decided else "fixed",
            decided_after=plan.decided or process.hits.runs,
            estimates=Estimates(process.hits.rates, process.hits.spreads),
        )


@dataclass(frozen=True, slots=True)
class UnpairedImportanceSampled(ImportanceSampled):
    """The same with runs of one side each: towards the event on d1, away from it on d2."""

    name: ClassVar[str] = "unpaired importance"
    noise_words: ClassVar[str] = "towards the event on d1 and, on d2, away from it"

    def _plan(self, piloted: Piloted) -> ImportancePlan | UnpairedImportancePlan:
        return unpaired(piloted) or piloted.pairs()


@dataclass(frozen=True, slots=True)
class WithinTail(Confirmation):
    """Noise is drawn within a half-space of known probability, beyond which the event is impossible on d2."""

    plan: TailPlan | None = field(default=None, compare=False, repr=False)
    name: ClassVar[str] = "tail"
    needs_plan: ClassVar[bool] = True
    noise_words: ClassVar[str] = "from the tail in which the event lies"
    test_words: ClassVar[str] = "a bet on runs within a tail whose probability is known up to rounding"

    @property
    def known(self) -> TailPlan:
        """The plan."""
        assert self.plan is not None, "planned before the first run"
        return self.plan

    def planned_by(self, piloted: Piloted | None) -> Confirmation:
        """Pilots say nothing here."""
        return Allocation() if self.plan is None else self

    def noise(self, runs: int, rng: np.random.Generator) -> SharedNoise:
        """Within the half-space of d1."""
        from refutedp.sampling.lifted.noise.tail_noise import TailNoise

        return TailNoise(runs, self.known.near, rng)

    def budget(self, settings: Settings) -> Settings:
        """Few runs, but where what happens is hardly more than what the claim allows."""
        return replace(settings, confirm_runs=self.known.runs // 2)

    def start(self, claim: Claim, candidate: Candidate) -> EProcess[Any]:
        """Against what the claim allows."""
        return self.known.start()

    def task(
        self, sampler: Sampler, events: tuple[Event, ...], runs: int, seeds: np.random.SeedSequence
    ) -> Task[Any]:
        """Lifted runs on either side, in the tail and out of it."""
        (event,) = events
        assert isinstance(sampler, LiftedSampler), "plans are made for these only"
        return self.known.task(sampler, event, runs, seeds)

    def joined(self, parts: Sequence[Any]) -> Any:
        """All hits."""
        return reduce(add, parts)

    def evidence(self, process: Any, plan: Stop, candidate: Candidate, claim: Claim, settings: Settings) -> Evidence:
        """Counts are hits within the tail; the rates are parts of its probability."""
        least = self.known.at_least * process.share_lower_bound(1 - settings.significance)
        front = Frontier(np.array([0.0]), np.array([self.known.at_most]), np.array([least]))
        told = _evidence(
            candidate, process.hits.counts, claim, settings, bounds_from(front, claim), min(0.0, -process.log_peak)
        )
        share = process.hits.x / max(process.hits.n_x, 1)
        return replace(
            told,
            rule="early" if plan.decided else "fixed",
            decided_after=plan.decided or process.hits.runs,
            estimates=Estimates(
                (self.known.at_least * share, self.known.at_most), (self.known.at_least - least, 0.0)
            ),
        )


_KINDS: dict[str, type[Confirmation]] = {
    kind.name: kind for kind in (Allocation, Paired, ImportanceSampled, UnpairedImportanceSampled, WithinTail)
}


def named(name: str, share: float = 0.5) -> Confirmation:
    """The strategy of this name.

    >>> named("paired"), named("allocation", 0.3)
    (Paired(), Allocation(share=0.3))
    """
    if name not in _KINDS:
        raise UsageError(f"confirmation={name!r} must be one of: {', '.join(_KINDS)}")
    return _KINDS[name].with_share(share)


def judge(
    candidate: Candidate, counts: Counts, claim: Claim, settings: Settings, confidence: float | None = None
) -> Evidence:
    """The test of a fixed number of runs against the claim, in the candidate's direction.

    Its bounds hold with `confidence`, where that is not the one that the settings promise.
    """
    test = claim_test(claim)
    bounds = test.bounds(counts, 1 - settings.significance if confidence is None else confidence, candidate.tangent)
    log_p_value = test.log_p_value(counts, candidate.tangent, settings.method)
    told = _evidence(candidate, counts, claim, settings, bounds, log_p_value)
    return replace(told, log_p_reverse=test.log_p_reverse(counts, settings.method))


def _evidence(
    candidate: Candidate, counts: Counts, claim: Claim, settings: Settings, bounds: Certified, log_p_value: float
) -> Evidence:
    """What all strategies say alike."""
    return Evidence(
        candidate=candidate,
        counts=counts,
        method=settings.method,
        log_p_value=log_p_value,
        log_p_reverse=0.0,
        epsilon_lower_bound=bounds.epsilon,
        confidence=1 - settings.significance,
        decided_after=counts.runs,
        bound_letter=claim.letter,
        bound=bounds.own,
    )
