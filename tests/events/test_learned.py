"""What is learned from outputs: conditions, their conjunctions and parities, directions; and when nothing is."""

from dataclasses import replace

import numpy as np
import pytest

from refutedp.events.features.basic import Value
from refutedp.events.features.leaks import Difference
from refutedp.events.features.sums import Factor
from refutedp.events.learned.conditions import Conditions, encoded, held
from refutedp.events.learned.conjunctions import conjunctions, odd
from refutedp.events.learned.learn import _leave_room, learned_events
from refutedp.events.learned.models import logistic, mean_differences
from refutedp.events.learned.split import halves
from refutedp.events.predicates import Equals
from refutedp.events.ranking import Scored
from refutedp.events.screen import clearest, several_may_tell
from refutedp.events.whole import few_outputs
from refutedp.hypothesis.claim_test import claim_test
from refutedp.model.claims import PureDP
from refutedp.model.outputs import Group, Outputs, Shape, merge
from refutedp.model.records import count_hits
from refutedp.sampling.encode import encode


def vectors(table):
    """Outputs of floats, a row of the table each."""
    table = np.asarray(table, dtype=np.float64)
    size = table.shape[1]
    shape = Shape("ndarray", tuple((i,) for i in range(size)), ("float",) * size, length=size)
    return Outputs((Group(shape, len(table), tuple(np.ascontiguousarray(table.T))),))


def random_conditions(rng, count=9, runs=(300, 500)):
    x, y = (rng.random((count, n)) < rng.random((count, 1)) for n in runs)
    return Conditions(tuple(Factor(Value((i,)), equals=True) for i in range(count)), x, y)


def learn(first, second, epsilon=0.1):
    test = claim_test(PureDP(epsilon)).scorer(first.size)
    return learned_events(
        first,
        second,
        [],
        scorer_on=lambda runs: test.on_runs(runs, False),
        significance=0.01,
        seed=np.random.SeedSequence(1),
    )


def test_conditions_hold_where_they_say():
    rng = np.random.default_rng(0)
    rows = [[bool(rng.random() < 0.4), int(rng.integers(0, 40)), None, "ab"[rng.integers(0, 2)]] for _ in range(200)]
    rows += [[True, 3, 0.5, "a"], [False]]
    first, second = encode(rows), encode(rows[::2])
    made = encoded(first, second)
    assert len(made.factors) > 8
    for factor, x, y in zip(made.factors, made.x, made.y, strict=True):
        for column, outputs in ((x, first), (y, second)):
            weighed = [
                (np.asarray(factor.column(g)) > 0) * (np.ones(g.rows) if g.weights is None else g.weights)
                for g in outputs.groups
            ]
            assert column.sum() == sum(part.sum() for part in weighed)
        assert made.hits[0][made.factors.index(factor)] == x.sum()


def test_packed_conditions_count_as_plain_ones():
    made = random_conditions(np.random.default_rng(1))
    for table, words in ((made.x, made.words[0]), (made.y, made.words[1])):
        assert held(words[2] & words).tolist() == (table[2] & table).sum(axis=1).tolist()


def test_the_best_conjunctions_are_those_of_a_plain_search():
    made = random_conditions(np.random.default_rng(2))

    def score(x, y, tries):
        return (x - y).astype(np.float64)

    found = conjunctions(made, score)
    pairs = {
        (a, b): (made.x[a] & made.x[b]).sum() - (made.y[a] & made.y[b]).sum() for a in range(9) for b in range(a)
    }
    assert max(value for value, places in found if len(places) == 2) == max(pairs.values())
    for value, places in found:
        assert value == made.x[list(places)].all(axis=0).sum() - made.y[list(places)].all(axis=0).sum()


def test_the_parity_of_three_conditions_is_found_and_of_fair_coins_is_not():
    rng = np.random.default_rng(3)
    coins = rng.random((10, 4000)) < 0.5
    told = coins.copy()
    told[7] = told[2] ^ told[5] ^ (rng.random(4000) < 0.3)
    factors = tuple(Factor(Value((i,)), equals=True) for i in range(10))
    other = rng.random((10, 4000)) < 0.5
    assert odd(Conditions(factors, told, other))[0] == (2, 5, 7)
    assert odd(Conditions(factors, coins, other)) == []


def test_the_logistic_regression_is_that_of_scikit_learn():
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(4)
    table = rng.random((5, 4000)) < 0.5
    chance = 1 / (1 + np.exp(-(table.T @ np.array([0.8, -0.5, 0.3, 0.0, 0.1]) - 0.3)))
    truth = rng.random(4000) < chance
    order = np.argsort(~truth, kind="stable")
    ours = logistic(table[:, order], int(truth.sum()), least=1e-9)
    theirs = linear.LogisticRegression(C=1 / (1e-4 * 4000), tol=1e-8, max_iter=500).fit(table.T, truth).coef_[0]
    assert np.allclose(ours, theirs, atol=2e-3)


def test_a_hidden_direction_is_learned_and_shared_noise_cancels():
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=30)
    noise = rng.normal(size=(8000, 30))
    (line,) = mean_differences(vectors(noise + hidden), vectors(noise))
    weights = {term.factors[0].of.path[0]: term.weight for term in line.terms}
    learned = np.array([weights.get(i, 0.0) for i in range(30)])
    assert abs(learned @ hidden) > 0.99 * np.linalg.norm(learned) * np.linalg.norm(hidden)
    mask = rng.normal(scale=30, size=(8000, 1))
    shared = np.hstack([mask, rng.normal(size=(8000, 1)) - mask])
    lines = mean_differences(vectors(shared), vectors(shared + np.array([0, 1])))
    assert [term.weight for term in lines[-1].terms] == pytest.approx([1.0, 1.0], abs=0.02)


def test_both_parts_of_the_runs_have_every_path():
    group = Group(Shape("bool", ((),), ("bool",)), 1000, (np.arange(1000) < 500,))
    for part in halves(Outputs((group,)), np.random.default_rng(0), 10_000):
        assert part.size == 500
        assert part.groups[0].columns[0].sum() == 250
    weighted = Outputs((Group(group.shape, 2, (np.array([True, False]),), np.array([900, 100])),))
    some, rest = halves(weighted, np.random.default_rng(0), 10_000)
    assert some.size + rest.size == 1000
    assert abs(some.size - 500) < 80


def test_a_learned_event_holds_on_fresh_runs():
    rng = np.random.default_rng(6)

    def outputs(shift):
        return vectors(rng.laplace(scale=10, size=(20_000, 12)) + shift)

    found = learn(outputs(1.0), outputs(0.0))
    assert found, "twelve numbers that all move"
    fresh = outputs(1.0), outputs(0.0)
    best = max(found, key=lambda one: one.score)
    x, y = (count_hits(best.event, side) for side in (fresh[::-1] if best.swapped else fresh))
    assert np.log(x / y) > max(best.score - 0.1, 0.3)


def test_nothing_is_learned_of_one_number_that_moves_among_others():
    noise = np.random.default_rng(7).laplace(size=(4000, 6))
    moved = noise + np.array([1.0, 0, 0, 0, 0, 0])
    assert not several_may_tell(vectors(noise), vectors(moved))
    assert several_may_tell(vectors(noise), vectors(noise + 1))
    assert learn(vectors(noise), vectors(moved)) == []


def test_the_clearest_coordinates_of_many_are_found():
    rng = np.random.default_rng(8)
    first, second = (rng.normal(size=(4000, 300)) for _ in range(2))
    second[:, 217] += 0.4
    assert clearest(vectors(first), vectors(second), 40)[0] == (217,)
    assert clearest(vectors(first[:, :40]), vectors(second[:, :40]), 40) == []


def test_differences_are_of_neighbours_in_one_container():
    made = encoded(encode([[[1.5, 2.5], 3.5], [[1.25, 2.0], 3.0]]), encode([[[1.0, 2.0], 3.0], [[0.5, 2.25], 3.5]]))
    told = {factor.of for factor in made.factors if isinstance(factor.of, Difference)}
    assert told <= {Difference((0, 1), (0, 0))}


def test_few_outputs_leave_room_only_where_a_set_of_them_tells_more():
    rng = np.random.default_rng(9)
    coins = rng.random((2, 4000, 3)) < 0.5
    told, hidden = coins.copy(), coins.copy()
    told[0, :, 0] |= rng.random(4000) < 0.5
    hidden[0, :, 0] ^= (hidden[0].sum(axis=1) % 2 == 0) & (rng.random(4000) < 0.5)
    for table, expected in ((told, False), (hidden, True)):
        first, second = (merge([encode(side.tolist())]) for side in table)
        single = [
            Scored(Equals(Value((i,)), value), x, y, x < y, 0.0, 0.0)
            for i in range(3)
            for value in (True, False)
            for x, y in [[int((side[:, i] == value).sum()) for side in table]]
        ]
        best = [one if not one.swapped else replace(one, x=one.y, y=one.x) for one in single]
        every = few_outputs(first, second, 64)
        assert every.x.sum() == every.y.sum() == 4000
        scorer = claim_test(PureDP(0.1)).scorer(4000).on_runs(4000, False)
        assert _leave_room(every, scorer, best) is expected
        assert few_outputs(first, second, 7) is None
