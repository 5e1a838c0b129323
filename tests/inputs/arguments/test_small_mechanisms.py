"""Python that mechanism authors really write: the arguments found are confirmed by brute force."""

import enum
import functools
import itertools
import math
import random
from typing import Literal, Optional

import numpy as np
import pytest

from refutedp.inputs.arguments import Between, OneOf, find_arguments
from refutedp.model.mechanism import describe

FINE = np.arange(-1, 4, 0.125).tolist()
COARSE = np.arange(-1, 4, 0.25).tolist()
SMALL = list(range(-3, 9))


def nested(queries, epsilon, low, high, rng):
    out = []
    for q in queries:
        noisy = q + rng.laplace(scale=2 / epsilon)
        if noisy > low:
            if noisy > high:
                out.append("high")
            elif noisy == high:
                out.append("edge")
            else:
                out.append("middle")
        else:
            out.append("low")
    return out


def while_loop(queries, epsilon, threshold, rng):
    i = 0
    noisy = queries[0] + rng.laplace(scale=1 / epsilon)
    while noisy < threshold:  # compare
        i += 1
        if i == len(queries):
            break
        noisy = queries[i] + rng.laplace(scale=1 / epsilon)
    return i


def clamps(queries, epsilon, bound, rng):
    total = 0.0
    for q in queries:
        total += min(max(q, 0), bound)
    noisy = total + rng.laplace(scale=bound / epsilon)
    if noisy > 4:
        return "much"
    return "little"


def index_from_argument(queries, epsilon, k: int, rng):
    value = queries[k - 1] + rng.laplace(scale=1 / epsilon)
    return "above" if value > 1.5 else "below"


def two_thresholds(queries, epsilon, low, high, rng):
    count = 0
    for q in queries:
        if low <= q + rng.laplace(scale=1 / epsilon) < high:
            count += 1
    return count


def early_return(queries, epsilon, threshold, rng):
    for i, q in enumerate(queries):
        if q + rng.laplace(scale=1 / epsilon) >= threshold:
            return i
    return None


def numpy_style(queries, epsilon, threshold, rng):
    values = np.asarray(queries, dtype=float)
    noisy = values + rng.laplace(scale=2 / epsilon, size=len(values))
    above = noisy >= threshold  # compare
    return int(np.argmax(above)) if above.any() else -1


def numpy_functions(queries, epsilon, cap, threshold, rng):
    noisy = np.array(queries) + rng.laplace(scale=2 / epsilon, size=len(queries))
    clipped = np.clip(noisy, 0, cap)
    mask = np.where(clipped > threshold, 1, 0)
    return mask.sum()


def _helper(value, limit):
    return value > limit  # compared where the caller tests it


def helper_function(queries, epsilon, threshold, rng):
    def noisy(q):
        return q + rng.laplace(scale=1 / epsilon)

    return [1 if _helper(noisy(q), threshold) else 0 for q in queries]


def boolean_option(queries, epsilon, strict: bool, rng):
    out = []
    for q in queries:
        noisy = q + rng.laplace(scale=1 / epsilon)
        if strict:
            out.append("a" if noisy > 2 else "b")  # compare
        else:
            out.append("a" if noisy >= 2 else "b")  # compare
    return out


def symbolic_loop_bound(queries, epsilon, rounds: int, rng):
    out = []
    for i in range(rounds):
        if queries[i] + rng.laplace(scale=1 / epsilon) > 1:
            out.append(i)
    return out


def modulo(queries, epsilon, step: int, rng):
    out = []
    for i, q in enumerate(queries):
        if i % step == 0:
            out.append(q + rng.laplace(scale=1 / epsilon) > 1.5 or False)  # compare
        elif q + rng.laplace(scale=1 / epsilon) > 0.5:  # compare
            out.append(None)
    return out


def sorts(queries, epsilon, threshold, rng):
    noisy = sorted((q + rng.laplace(scale=1 / epsilon) for q in queries), reverse=True)
    return [v for v in noisy if v > threshold]


def floor_division(queries, epsilon, width: int, rng):
    out = []
    for q in queries:
        cell = (q + 3) // width
        if cell + rng.laplace(scale=1 / epsilon) > 1:
            out.append(True)
    return out


def rounding(queries, epsilon, shift: float, rng):
    out = []
    for q in queries:
        if round(q + shift) + math.floor(shift) + rng.laplace(scale=1 / epsilon) >= 3:
            out.append(q)
    return out


def continues(queries, epsilon, threshold, rng):
    total = 0
    for q in queries:
        if not q + rng.laplace(scale=1 / epsilon) > threshold:
            continue
        total += 1
        if total + rng.laplace(scale=1 / epsilon) > threshold + 1:
            break
    return total


def absolute(queries, epsilon, centre, rng):
    out = []
    for a, b in zip(queries, [*queries[1:], 0], strict=True):
        out.append(abs(a + b - centre) + rng.laplace(scale=1 / epsilon) < 1 and a)
    return out


def chooses_generator(queries, epsilon, threshold, rng):
    if any(q + rng.laplace(scale=1 / epsilon) > threshold for q in queries):
        return "some"
    return "none"


def guarded(queries, epsilon, threshold, bound: int, rng):
    if bound < 2:
        raise ValueError("bound must be at least 2")
    if not isinstance(threshold, float):
        raise TypeError("threshold must be a float")
    out = []
    for q in queries:
        if q + rng.laplace(scale=bound / epsilon) >= threshold:  # compare
            out.append(True)
    return out


class Holder:
    scale = 2

    def __init__(self):
        self.calls = 0

    def method(self, queries, epsilon, threshold, rng):
        self.calls += 1
        return [1 for q in queries if q + rng.laplace(scale=self.scale / epsilon) > threshold]


by_lambda = lambda queries, epsilon, t, rng: [1 if q + rng.laplace(scale=1 / epsilon) > t else 0 for q in queries]  # noqa: E731

ALL_ABOVE = [1, 1, 1, 1, 1], [2, 2, 2, 2, 2]
HALF = [1, 1, 1, 1, 1], [0, 0, 0, 2, 2]
SLOPE = [0, 1, 2, 3, 4], [1, 2, 3, 4, 5]

CASES = {
    "nested": (nested, {"low": FINE, "high": FINE}),
    "while loop": (while_loop, {"threshold": FINE}),
    "clamps": (clamps, {"bound": FINE[9:]}),
    "index from an argument": (index_from_argument, {"k": SMALL}),
    "two thresholds": (two_thresholds, {"low": COARSE, "high": COARSE}),
    "early return": (early_return, {"threshold": FINE}),
    "numpy style": (numpy_style, {"threshold": FINE}),
    "numpy functions": (numpy_functions, {"cap": COARSE, "threshold": COARSE}),
    "helper function": (helper_function, {"threshold": FINE}),
    "boolean option": (boolean_option, {"strict": [False, True]}),
    "symbolic loop bound": (symbolic_loop_bound, {"rounds": SMALL}),
    "modulo": (modulo, {"step": SMALL}),
    "sorts": (sorts, {"threshold": FINE}),
    "floor division": (floor_division, {"width": SMALL}),
    "rounding": (rounding, {"shift": FINE}),
    "continues": (continues, {"threshold": FINE}),
    "absolute": (absolute, {"centre": np.arange(-2, 12, 0.125).tolist()}),
    "guarded": (guarded, {"threshold": FINE, "bound": SMALL}),
    "method": (Holder().method, {"threshold": FINE}),
}


@pytest.mark.parametrize("pair", [ALL_ABOVE, HALF, SLOPE], ids=["all above", "half half", "slope"])
@pytest.mark.parametrize("name", CASES)
def test_arguments_are_optimal(name, pair, oracle):
    function, grids = CASES[name]
    plain = oracle(function)
    best, noise = plain.best(*pair, {"epsilon": 0.5}, grids)

    found = find_arguments(describe(function), *pair, {"epsilon": 0.5})

    assert set(found.arguments) == set(grids)
    counted = plain.diverging(*pair, epsilon=0.5, **found.arguments)
    assert counted is not None, f"raises with {found.arguments}"
    assert (found.diverging, found.branches) == counted[:2]
    assert found.diverging >= best, f"{found} but the grid finds {best}"
    assert found.diverging == best
    if function.__name__ != "clamps":  # its noise has no smallest value, only ever smaller ones
        assert counted[2] <= noise + 1e-9


def test_lambda():
    found = find_arguments(describe(by_lambda), *ALL_ABOVE, {"epsilon": 0.5})
    assert found.arguments == {"t": 1.5}
    assert (found.diverging, found.branches) == (5, 5)


def test_any_over_a_generator():
    found = find_arguments(describe(chooses_generator), *ALL_ABOVE, {"epsilon": 0.5})
    assert found.arguments == {"threshold": 1.5}
    assert (found.diverging, found.branches) == (1, 1)


def test_returned_truths_are_branches():
    def answers(queries, epsilon, threshold, rng):
        noisy = threshold + rng.laplace(scale=2 / epsilon)
        return [q >= noisy for q in queries]

    found = find_arguments(describe(answers), *ALL_ABOVE, {"epsilon": 0.5})
    assert found.arguments == {"threshold": 1.5}
    assert (found.diverging, found.branches) == (5, 5)


class Mode(enum.Enum):
    LOOSE = 1
    TIGHT = 2


def test_enum_and_literal_options_are_tried_case_by_case():
    def by_enum(queries, epsilon, mode: Mode, rng):
        limit = 0 if mode is Mode.LOOSE else 1.5
        return [1 for q in queries if q + rng.laplace(scale=1 / epsilon) > limit]

    def by_literal(queries, epsilon, mode: Literal["loose", "tight"], rng):
        limit = {"loose": 0, "tight": 1.5}[mode]
        return [1 for q in queries if q + rng.laplace(scale=1 / epsilon) > limit]

    found = find_arguments(describe(by_enum), *ALL_ABOVE, {"epsilon": 0.5})
    assert found.arguments == {"mode": Mode.TIGHT}
    assert found.diverging == 5
    found = find_arguments(describe(by_literal), *ALL_ABOVE, {"epsilon": 0.5})
    assert found.arguments == {"mode": "tight"}
    assert found.why.endswith("mode = 'tight' is the best of 2 cases")


def test_optional_and_text_annotations():
    def optional(queries, epsilon, bound: Optional[int], threshold: "float", rng):  # noqa: UP045
        kept = queries[:bound]
        return [1 for q in kept if q + rng.laplace(scale=1 / epsilon) > threshold]

    found = find_arguments(describe(optional), *ALL_ABOVE, {"epsilon": 0.5})
    assert type(found.arguments["bound"]) is int
    assert type(found.arguments["threshold"]) is float
    assert found.diverging == 5


def test_domains_bound_the_search():
    def svt(queries, epsilon, threshold, bound=3, rng=None):
        return [1 for q in queries if q + rng.laplace(scale=bound / epsilon) >= threshold]

    mechanism = describe(svt)
    found = find_arguments(mechanism, *HALF, {"epsilon": 0.5}, {"threshold": Between(1.25, 3)})
    assert 1.25 <= found.arguments["threshold"] <= 2
    assert set(found.arguments) == {"threshold"}  # the default of bound is kept
    found = find_arguments(
        mechanism, *HALF, {"epsilon": 0.5}, {"threshold": OneOf((0.5, 1.5)), "bound": Between(2, 6)}
    )
    assert found.arguments == {"threshold": 0.5, "bound": 2}
    assert found.diverging == 3


def test_draws_without_an_rng_argument_are_left_out_too():
    def by_module(queries, epsilon, threshold):
        return [1 for q in queries if q + np.random.laplace(scale=1 / epsilon) > threshold]

    def by_stdlib(queries, epsilon, threshold):
        return [1 for q in queries if q + random.gauss(0, 1 / epsilon) > threshold]

    state, numpy_state = random.getstate(), np.random.get_state()[1].tolist()
    for function in (by_module, by_stdlib):
        found = find_arguments(describe(function), *ALL_ABOVE, {"epsilon": 0.5})
        assert found.arguments == {"threshold": 1.5}
        assert found.scales == (2.0,)
    assert random.getstate() == state
    assert np.random.get_state()[1].tolist() == numpy_state


class OwnNoise:
    """Draws in a method, from its own generator and from NumPy's global one, and counts its calls."""

    def __init__(self):
        self.calls = 0
        self.generator = np.random.default_rng(1)

    def noise(self, scale):
        self.calls += 1
        return np.random.laplace(scale=scale) + self.generator.normal(scale=2 * scale)

    def __call__(self, queries, epsilon, threshold):
        return [1 for q in queries if q + self.noise(1 / epsilon) > threshold]

    def method(self, queries, epsilon, threshold):
        return self(queries, epsilon, threshold)


def test_objects_are_followed_and_left_untouched():
    mechanism = OwnNoise()
    for function in (mechanism, mechanism.method):
        found = find_arguments(describe(function), *ALL_ABOVE, {"epsilon": 0.5})
        assert found.arguments == {"threshold": 1.5}
        assert (found.diverging, found.branches) == (5, 5)
        assert found.scales == (2.0, 4.0)
    assert mechanism.calls == 0
    assert mechanism.generator.normal() == np.random.default_rng(1).normal()


def test_generators_decorators_and_recursion():
    def decorated(function):
        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            return function(*arguments, **keywords)

        return wrapper

    @decorated
    def yields(queries, epsilon, threshold, rng):
        for q in queries:
            if q + rng.laplace(scale=1 / epsilon) > threshold:
                yield q

    def recursive(queries, epsilon, threshold, rng):
        if not queries:
            return []
        head = queries[0] + rng.laplace(scale=1 / epsilon) > threshold
        return [head, *recursive(queries[1:], epsilon, threshold, rng)]

    for function in (yields, recursive):
        found = find_arguments(describe(function), *ALL_ABOVE, {"epsilon": 0.5})
        assert found.arguments == {"threshold": 1.5}
        assert (found.diverging, found.branches) == (5, 5)


def test_an_unannotated_bound_is_whole():
    def svt(queries, epsilon, threshold, bound, rng):
        count = 0
        for q in queries:
            if q + rng.laplace(scale=bound / epsilon) >= threshold:
                count += 1
            if count >= bound:
                break
        return count

    found = find_arguments(describe(svt), [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], {"epsilon": 0.5})
    assert type(found.arguments["bound"]) is int
    found = find_arguments(describe(svt), [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], {"epsilon": 0.5}, prefer="noise")
    assert found.arguments["bound"] == 1


def test_float_of_an_argument_is_followed():
    def converts(queries, epsilon, threshold, rng):
        limit = float(threshold)
        return [float(q + limit) for q in queries if q + rng.laplace(scale=1 / epsilon) > limit]

    found = find_arguments(describe(converts), *ALL_ABOVE, {"epsilon": 0.5})
    assert found.arguments == {"threshold": 1.5}
    assert found.notes == ()


def test_generators_of_every_make_are_without_noise():
    def checked(queries, epsilon, threshold, rng):
        assert isinstance(rng, np.random.Generator)
        own = np.random.Generator(np.random.PCG64(7))
        return [q + rng.laplace(scale=1 / epsilon) + own.normal() > threshold for q in queries]

    def imports(queries, epsilon, threshold):
        import random as standard

        import numpy.random as legacy

        return [q + standard.gauss(0, 1 / epsilon) + legacy.standard_normal() > threshold for q in queries]

    def older(queries, epsilon, threshold, random_state):
        return [q + random_state.randn() + random_state.laplace(0, 1 / epsilon) > threshold for q in queries]

    for function in (checked, imports, older):
        found = find_arguments(describe(function), *ALL_ABOVE, {"epsilon": 0.5})
        assert found.arguments == {"threshold": 1.5}
        assert found.notes == ()


def test_nothing_to_find():
    found = find_arguments(describe(early_return), *ALL_ABOVE, {"epsilon": 0.5, "threshold": 1})
    assert found.arguments == {}


def test_an_argument_that_matters_nowhere_is_one():
    def output_only(queries, epsilon, sensitivity, rng):
        return [sensitivity * (q + rng.laplace(scale=1 / epsilon)) for q in queries]

    found = find_arguments(describe(output_only), *ALL_ABOVE, {"epsilon": 0.5})
    assert found.arguments == {"sensitivity": 1}
    assert found.why == "sensitivity = 1 changes no branch and no noise"


def test_combinations_of_arguments_agree_with_a_grid_on_random_pairs(oracle):
    generator = np.random.default_rng(5)
    plain = oracle(two_thresholds)
    for _ in range(6):
        d1 = generator.integers(0, 4, 5).tolist()
        d2 = [q + int(s) for q, s in zip(d1, generator.integers(-1, 2, 5), strict=True)]
        grid = np.arange(-2, 6, 0.5).tolist()
        best = max(
            plain.diverging(d1, d2, epsilon=1.0, low=low, high=high)[0] for low, high in itertools.product(grid, grid)
        )
        found = find_arguments(describe(two_thresholds), d1, d2, {"epsilon": 1.0})
        assert found.diverging == best == plain.diverging(d1, d2, epsilon=1.0, **found.arguments)[0]
