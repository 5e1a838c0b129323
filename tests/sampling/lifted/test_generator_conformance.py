"""Every method of NumPy's and Python's generators with every argument: lifted draws are what the real call returns.

Compared are the value on the same bits, its type, dtype, shape and writability, and the exception that a wrong call
raises. A call that lifted runs do not know is refused; it must not be answered otherwise.
"""

from __future__ import annotations

import inspect
import random

import numpy as np
import pytest

from refutedp.sampling.lifted.collect import example
from refutedp.sampling.lifted.drawer import LiftedDrawer
from refutedp.sampling.lifted.execution import NOTHING, Deferred, Refused, Run
from refutedp.sampling.lifted.rewrite.lifted_copies import LiftedStage
from refutedp.sampling.lifted.trust.plain_calls import Continue
from refutedp.tracing.copier import Stage
from refutedp.tracing.distributions import Source

SIZES = ("None", "2", "(2,)", "(2, 3)", "()", "[2]", "np.int64(2)", "0", "2.0", "-1", "'2'")
NUMBERS = (
    "2",
    "2.0",
    "np.float64(2)",
    "np.float32(2)",
    "np.int64(2)",
    "np.array(2.0)",
    "[2.0]",
    "[2.0, 3.0]",
    "True",
)
ODD = ("True", "-1.0", "np.nan", "np.inf", "0", "None", "'a'", "[[1.0], [2.0]]", "[]")
PLACES = {
    "p": "0.5",
    "pvals": "[0.5, 0.5]",
    "cov": "[[1.0]]",
    "mean": "0.5",
    "colors": "[2, 3]",
    "a": "2",
    "x": "[1, 2, 3]",
}
GIVEN = {
    "triangular": "0.0, 1.0, 2.0",
    "hypergeometric": "3, 4, 2",
    "multivariate_normal": "[0.5], [[1.0]]",
    "multivariate_hypergeometric": "[2, 3], 2",
    "multinomial": "3, [0.5, 0.5]",
    "dirichlet": "[1.0, 2.0]",
    "integers": "1, 9",
    "randint": "1, 9",
    "choice": "5",
    "choices": "[1, 2]",
    "sample": "[1, 2, 3], 2",
    "permutation": "3",
    "permuted": "[1, 2, 3]",
    "shuffle": "[1, 2, 3]",
    "bytes": "2",
    "binomialvariate": "3, 0.5",
    "zipf": "2.0",
    "vonmises": "0.0, 1.0",
    "vonmisesvariate": "0.0, 1.0",
    "binomial": "5, 0.5",
    "negative_binomial": "5, 0.5",
    "logseries": "0.5",
    "geometric": "0.5",
    "randrange": "1, 9",
    "getrandbits": "3",
    "gauss": "0.5, 2.0",
    "random_integers": "5",
}
OTHERS = ("size", "dtype", "out", "axis", "shuffle", "replace", "method", "check_valid", "tol")
"""Parameters that are no numbers, and are tried otherwise."""
ENDLESS = ("vonmises", "vonmisesvariate", "zipf", "betavariate", "gammavariate", "binomialvariate")
"""Methods that do not return for some parameters that are not finite."""
EXTRA = {
    "integers": (
        "5",
        "0, 5, endpoint=True",
        "5, dtype=int",
        "5, dtype=np.int32",
        "2, dtype=bool",
        "0, [5, 6]",
        "5, dtype='int64'",
        "2**62, 2**63 - 1",
        "0, 2**63",
        "0",
        "5, 1",
        "1.0, 5.0",
        "np.int8(5)",
        "5, size=2, dtype=int",
    ),
    "randint": ("5", "5, dtype=np.int64", "5, dtype=np.int32", "0, [5, 6]", "0, 2**62", "0"),
    "choice": (
        *("[1, 2]", "[1.5, 2.5]", "['a', 'bc']", "[True, False]", "np.array([1, 2], dtype=np.int8)", "(1, 'a')"),
        *("[[1, 2], [3, 4]]", "5, p=[0.2] * 5", "[1, 2], p=[0.5, 0.5]", "5, 2, False", "5, replace=False"),
        *("5, p=[0.5]", "[None, 1]", "0", "[]", "5, axis=1", "5, shuffle=False", "5, 2, p=[0.2] * 5"),
        *("2, p=[0.9, 0.9]", "2, p=[-1, 2]", "range(3)", "5.0", "np.int64(5)", "5, None, True, [0.2] * 5"),
        *("{1: 2}", "'abc'"),
    ),
    "permutation": (
        *("[1.5, 2]", "['a', 'b']", "[[1, 2], [3, 4]]", "np.arange(3)", "3, axis=0", "3, 1", "[1, 2], axis=-1"),
    ),
    "random": (
        *("dtype=np.float64", "dtype='f'", "2, np.float64", "2, dtype=float", "out=np.zeros(2)"),
        *("2, np.float64, None",),
    ),
    "standard_normal": ("2, dtype=np.float32", "dtype=float", "out=np.zeros(2)"),
    "standard_exponential": ("method='inv'", "2, method='zig'", "dtype=np.float32", "out=np.zeros(2)"),
    "standard_gamma": ("2.0, dtype=np.float32", "2.0, dtype=float", "2.0, out=np.zeros(1)"),
    "randrange": ("5", "1, 9, 2", "0", "5.0", "10, 5"),
    "permuted": ("[1, 2, 3], axis=0", "[1, 2, 3], out=np.zeros(3, dtype=int)"),
    "shuffle": ("[1, 2, 3], axis=0",),
    "multivariate_hypergeometric": ("[2, 3], 2, method='count'",),
    "multivariate_normal": (
        *("[0.5], [[1.0]], method='cholesky'", "[0.5], [[1.0]], check_valid='raise'", "[0.5], [[1.0]], tol=1e-6"),
    ),
    "choices": ("[1, 2], k=2", "[1, 2], cum_weights=[1, 3]"),
    "sample": ("[1, 2], k=1, counts=[2, 1]",),
    "rand": ("", "2", "2, 3"),
    "randn": ("", "2", "2, 3"),
}


def parameters(owner, name):
    try:
        return [p for p in inspect.signature(getattr(owner, name)).parameters.values() if p.name != "self"]
    except (TypeError, ValueError):
        return []


def calls(prefix, owner):
    """Every public method, by position and by keyword, with each kind of value for each of its parameters."""
    for name in dir(owner):
        method = getattr(owner, name)
        if name.startswith("_") or not callable(method) or isinstance(method, type):
            continue
        given = GIVEN.get(name)
        taken = [p for p in parameters(owner, name) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        needed = [p.name for p in taken if p.default is p.empty]
        if given is None:
            given = ", ".join(PLACES.get(parameter, "1.5") for parameter in needed)
        yield f"{prefix}.{name}({given})"
        yield f"{prefix}.{name}()"
        yield f"{prefix}.{name}({given}, no_such_keyword=1)".replace("(, ", "(")
        yield f"{prefix}.{name}({', '.join(['0.5'] * 9)})"
        if any(p.name == "size" for p in taken):
            for size in SIZES:
                yield f"{prefix}.{name}({given}, size={size})".replace("(, ", "(")
        for parameter in taken:
            if parameter.name in OTHERS:
                continue
            others = [p for p in needed if p != parameter.name]
            rest = ", ".join(f"{other}={PLACES.get(other, '1.5')}" for other in others)
            for value in (*NUMBERS, *ODD):
                if value in ("np.inf", "np.nan") and name in ENDLESS:
                    continue
                yield f"{prefix}.{name}({parameter.name}={value}{', ' + rest if rest else ''})"
        for arguments in EXTRA.get(name, ()):
            yield f"{prefix}.{name}({arguments})"


CALLS = [
    *calls("rng", np.random.Generator),
    *calls("np.random", np.random.RandomState),
    *calls("random", random.Random),
]


def outcome(call, *, of=lambda value: (value, type(value))):
    try:
        value, kind = of(call())
    except Exception as error:
        return "raises", type(error).__name__
    array = isinstance(value, np.ndarray)
    return (
        kind,
        value.tolist() if isinstance(value, np.ndarray | np.generic) else value,
        value.dtype if array else None,
        value.shape if array else None,
        value.flags.writeable if array else None,
    )


def as_a_run_sees_it(value):
    return example(value, 0), value.__class__


def on(expression, stage):
    scope = {"rng": stage.rng, "np": NumPy(stage.numpy_random), "random": stage.standard_random}
    return lambda: eval(expression, scope)


class NumPy:
    """NumPy with another `random`."""

    def __init__(self, module):
        self.random = module

    def __getattr__(self, name):
        return getattr(np, name)


def of_the_library(expression):
    rng, legacy = np.random.default_rng(7), np.random.RandomState(np.random.default_rng(7).bit_generator)
    scope = {"rng": rng, "np": NumPy(legacy), "random": random.Random(7)}
    return lambda: eval(expression, scope)


def same(got, expected, expression):
    # Draws of `random`, choices and permutations have the distribution of the library's, on other bits.
    if expression.startswith("random.") or ".choice(" in expression or ".permutation(" in expression:
        return got[0] == expected[0] and got[2:] == expected[2:]
    if got[0] == "raises" or expected[0] == "raises":
        return got == expected
    return got[0] is expected[0] and np.array_equal(got[1], expected[1], equal_nan=True) and got[2:] == expected[2:]


@pytest.mark.parametrize("method", sorted({call[: call.index("(")] for call in CALLS}))
def test_lifted_draws_are_what_the_real_call_returns(method):
    wrong = []
    for expression in CALLS:
        if expression[: expression.index("(")] != method:
            continue
        drawer = LiftedDrawer()
        drawer.run = Run(Deferred(1, (), NOTHING), lambda _: None)
        drawer.source = Source(np.random.default_rng(7), exact=True)
        fresh = Stage(Continue(Source(np.random.default_rng(7), exact=True)))
        with np.errstate(all="ignore"):
            expected = outcome(of_the_library(expression))
            for name, stage, of in (
                ("lifted", LiftedStage(drawer), as_a_run_sees_it),
                ("one by one", fresh, lambda value: (value, type(value))),
            ):
                try:
                    got = outcome(on(expression, stage), of=of)
                except Refused:
                    continue
                if not same(got, expected, expression):
                    wrong.append((name, expression, got, expected))
    assert not wrong, "\n".join(map(str, wrong))


ORDINARY = (
    *("rng.laplace(0.5, 2)", "rng.normal(size=3)", "rng.integers(5)", "rng.integers(5, dtype=int)"),
    *("rng.choice([1, 2])", "rng.permutation(3)", "np.random.laplace(1.0)", "np.random.choice(3)"),
    *("random.gauss(0, 1)", "random.choice('ab')"),
)


@pytest.mark.parametrize(
    ("prefix", "owner"),
    [("rng", np.random.Generator), ("np.random", np.random.RandomState), ("random", random.Random)],
)
def test_every_keyword_of_every_method_is_in_the_table(prefix, owner):
    methods = [name for name in dir(owner) if not name.startswith("_") and callable(getattr(owner, name))]
    untried = [
        f"{name}({parameter.name}=)"
        for name in methods
        for parameter in parameters(owner, name)
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and not any(call.startswith(f"{prefix}.{name}(") and f"{parameter.name}=" in call for call in CALLS)
    ]
    assert not untried


def test_the_table_is_long_and_ordinary_calls_are_lifted():
    assert len(CALLS) > 4000
    for expression in ORDINARY:
        drawer = LiftedDrawer()
        drawer.run = Run(Deferred(5, (), NOTHING), lambda _: None)
        drawer.source = Source(np.random.default_rng(7))
        on(expression, LiftedStage(drawer))()
