"""What search chooses: the event whose bound confirmation will certify highest, not the one that looks safest now."""

import pytest

from refutedp import check
from refutedp.detector.arms import LAST_EVENTS, Arm, still_racing
from refutedp.detector.look import Contender, Looked, distinct
from refutedp.detector.profile import PROFILE_CALLS
from refutedp.detector.race import LAST_ROUNDS, Rounds
from refutedp.events.features.basic import Length
from refutedp.events.predicates import Equals
from refutedp.events.ranking import Scored, Search
from refutedp.hypothesis.claim_test import RatioScorer
from refutedp.model.claims import PureDP
from refutedp.model.settings import Settings
from refutedp.sampling.sampler import PlainSampler


def rare_and_common(queries, epsilon, rng):
    """Where the last query is 0, a rare output has a log ratio of about 1.0; elsewhere a common one has 0.5."""
    draw = rng.random()
    rare, common = (0.006, 0.33) if queries[0] == 1 else (0.0022, 0.2)
    if queries[-1] == 0:
        return "rare" if draw < rare else "other"
    return "common" if draw < common else "other"


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_event_wins_where_confirmation_can_certify_it(seed):
    """Its 120 hits against 44 are no match for the others at the price of all events, but they are when fresh."""
    pairs = [([1, last], [0, last]) for last in range(5)]
    result = check(
        rare_and_common, epsilon=0.2, pairs=pairs, search_runs=20_000, confirm_runs=100_000, seed=seed, progress=False
    )
    assert "rare" in result.evidence.event.words() or result.evidence.pair.d1[-1] == 0
    # 600 hits against 220 on 100,000 runs a side: 1.0 less 3.1 standard deviations of 0.08, and 3 more for luck.
    assert result.evidence.epsilon_lower_bound > 1.0 - 6.1 * 0.08


def contender(score, x=10):
    return Contender(Scored(Equals(Length(), 1), x, 1, False, 0.0, 0.0), score=score)


def test_few_contenders_reach_the_last_round():
    arms = [Arm(n, None, contenders=tuple(contender(n + i / 10) for i in range(5))) for n in range(LAST_ROUNDS[0][0])]
    racing = still_racing(arms, LAST_ROUNDS[1][0])
    scores = [one.score for arm in racing for one in arm.contenders]
    assert len(scores) == LAST_EVENTS
    assert min(scores) >= max(one.score for arm in arms for one in arm.contenders) - 2


def test_the_same_event_in_other_words_races_once():
    same = [Scored(Equals(Length(), n), 10, 1, False, 0.5, 0.6) for n in (1, 2)]
    other = Scored(Equals(Length(), 3), 10, 2, False, 0.5, 0.6)
    assert [one.found for one in distinct([*same, other])] == [same[0], other]


def arm(number, *events):
    return Arm(number, None, Looked(1000, Search(events, len(events))))


def test_events_that_cannot_come_near_the_best_stay_behind():
    leader = Scored(Equals(Length(), 1), 900, 90, False, score=2.0, optimistic_score=2.2)
    rare = Scored(Equals(Length(), 2), 20, 0, False, score=0.5, optimistic_score=2.1)
    outclassed = Scored(Equals(Length(), 3), 900, 600, False, score=0.4, optimistic_score=0.45)
    race = Rounds(PureDP(1.0), RatioScorer(1.0), Settings(), None, None, {})
    racing = race.finalists([arm(0, leader, outclassed), arm(1, outclassed), arm(2, rare)])
    assert [(one.number, [c.found for c in one.contenders]) for one in racing] == [(0, [leader]), (2, [rare])]


def test_the_search_runs_reported_are_those_made(monkeypatch):
    made = []
    real = PlainSampler.run
    monkeypatch.setattr(
        PlainSampler, "run", lambda self, n1, n2, seeds: made.append(n1 + n2) or real(self, n1, n2, seeds)
    )
    pairs = [([1, last], [0, last]) for last in range(2)]
    result = check(
        rare_and_common, epsilon=0.2, pairs=pairs, search_runs=3_000, confirm_runs=1_000, lift=False, progress=False
    )
    search, confirm = result.effort.search_runs, result.effort.confirm_runs
    # Trials of each pair and the profile of the event come on top, a few thousand at most.
    assert search + confirm <= sum(made) <= search + confirm + 2 * PROFILE_CALLS + 100
