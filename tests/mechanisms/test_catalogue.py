"""Each mechanism of the catalogue under its own claim: bugs are refuted, correct paired runs are not."""

import math

import numpy as np
import pytest

from refutedp.events.ranking import search_events
from refutedp.hypothesis.claim_test import claim_test
from refutedp.inputs.source import pairs_for
from refutedp.mechanisms.catalogue import MORE
from refutedp.model.adjacency import ALL_DIFFER, ONE_DIFFERS
from refutedp.model.mechanism import describe
from refutedp.model.records import Counts, count_hits
from refutedp.sampling.lifted import Lift

SEARCH, CONFIRM, ALPHA = 50_000, 300_000, 0.001
IDS = [f"{number}-{claimed.name}" for number, claimed in enumerate(MORE)]


def sample(claimed, data, n, seed):
    return Lift(describe(claimed.function), data, claimed.arguments).sample(n, np.random.default_rng(seed))


def pairs_of(claimed):
    if claimed.pairs:
        return claimed.pairs
    adjacency = ALL_DIFFER if claimed.adjacency == "all" else ONE_DIFFERS
    return [(pair.d1, pair.d2) for pair in pairs_for(adjacency, claimed.lengths)]


def refute(claimed, seed):
    """log p-value of the event that a small search chose, on fresh runs."""
    test = claim_test(claimed.claim)
    scorer = test.scorer(SEARCH)
    pairs = pairs_of(claimed)
    best = None
    for number, (d1, d2) in enumerate(pairs):
        first, second = (sample(claimed, data, SEARCH, [seed, number, side]) for side, data in enumerate((d1, d2)))
        found = search_events(first, second, [], scorer=scorer, significance=0.05, pairs=len(pairs)).best
        if found and (best is None or found[0].score > best[0].score):
            best = found[0], ((d2, d1) if found[0].swapped else (d1, d2))
    if best is None:
        return 0.0
    scored, (likelier, other) = best
    search = Counts(scored.x, scored.y, SEARCH, SEARCH)
    tangent, share = test.tangent_and_share(search, scored.score, "allocation")
    n_x = int(np.random.default_rng([seed, 99]).binomial(CONFIRM, share))
    x = count_hits(scored.event, sample(claimed, likelier, n_x, [seed, 100]))
    y = count_hits(scored.event, sample(claimed, other, CONFIRM - n_x, [seed, 101]))
    return test.log_p_value(Counts(x, y, n_x, CONFIRM - n_x, share), tangent)


@pytest.mark.parametrize("claimed", MORE, ids=IDS)
def test_a_bug_is_refuted_and_its_correct_twin_is_not(claimed):
    convicted = refute(claimed, seed=1) <= math.log(ALPHA)
    assert convicted is not claimed.correct


def test_every_mechanism_has_a_correct_and_a_wrong_entry_of_its_family():
    assert sum(claimed.correct for claimed in MORE) >= 12
    assert sum(not claimed.correct for claimed in MORE) >= 12
    assert len({claimed.title for claimed in MORE}) == len(MORE)
