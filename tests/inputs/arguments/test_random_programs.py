"""For random small programs, the symbolic run with values substituted equals the plain run, branch for branch."""

import linecache
from fractions import Fraction

import numpy as np
import z3
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from refutedp.inputs.arguments.explore import WatchedMemory, Work, explore, trace
from refutedp.inputs.arguments.noise_free_run import NoiseFreeRunner
from refutedp.inputs.arguments.problem import Limits
from refutedp.inputs.arguments.watched import Number, Truth
from refutedp.model.mechanism import describe

LIMITS = Limits(paths=120, branches=300, values=12)


@st.composite
def numbers(draw, depth=0):
    """A numeric expression; every variable in it is watched, so that no comparison is invisible."""
    names = st.sampled_from(["x", "y", "a", "b", "q", "rng.laplace(scale=1.0)", "rng.laplace(loc=x)"])
    if depth >= 2:
        return draw(names)
    inner = numbers(depth=depth + 1)
    constant = st.sampled_from(["1", "2", "-1", "0.5", "3"])
    divisor = st.sampled_from(["2", "3", "-2", "0.5", "b"])
    shape = draw(st.integers(0, 13))
    if shape <= 2:
        return draw(names)
    if shape == 3:
        return f"({draw(inner)} + {draw(inner)})"
    if shape == 4:
        return f"({draw(inner)} - {draw(constant)})"
    if shape == 5:
        return f"{draw(constant)} * {draw(inner)}"
    if shape == 6:
        return f"{draw(inner)} // {draw(divisor)}"
    if shape == 7:
        return f"{draw(inner)} % {draw(divisor)}"
    if shape == 8:
        return f"{draw(st.sampled_from(['max', 'min']))}({draw(inner)}, {draw(inner)}, {draw(constant)})"
    if shape == 9:
        return f"abs({draw(inner)})"
    if shape == 10:
        return f"round({draw(inner)})"
    if shape == 11:
        return f"sorted([{draw(inner)}, {draw(names)}])[{draw(st.sampled_from(['0', '-1']))}]"
    if shape == 12:
        return f"sum((v for v in data if v > {draw(names)}), q * 0)"
    return f"({draw(inner)} if {draw(conditions(depth=2))} else {draw(inner)})"


@st.composite
def conditions(draw, depth=0):
    number = numbers(depth=1)
    compare = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    shape = draw(st.integers(0, 6)) if depth < 2 else 0
    if shape <= 1:
        return f"{draw(number)} {draw(compare)} {draw(number)}"
    if shape == 2:
        # The oracle writes the middle of a chain twice, so nothing may be tested in there.
        return f"{draw(st.sampled_from(['-1', '0']))} < {draw(numbers(depth=2))} <= {draw(number)}"
    if shape == 3:
        return "flag"
    inner = conditions(depth=depth + 1)
    if shape == 4:
        return f"not ({draw(inner)})"
    return f"({draw(inner)} {draw(st.sampled_from(['and', 'or']))} {draw(inner)})"


@st.composite
def blocks(draw, depth=0, in_loop=False):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["assign", "assign", "append", "if", "if", "for", "while", "range", "leave"]))
        if kind == "assign" or (depth >= 2 and kind not in ("append", "leave")):
            lines.append(f"{draw(st.sampled_from(['x', 'y']))} = {draw(numbers())}")
        elif kind == "append":
            lines.append(f"out.append({draw(numbers())})")
        elif kind == "if":
            lines.append(f"if {draw(conditions())}:")
            lines += ["    " + line for line in draw(blocks(depth=depth + 1, in_loop=in_loop))]
            if draw(st.booleans()):
                lines.append(f"elif {draw(conditions())}:")
                lines += ["    " + line for line in draw(blocks(depth=depth + 1, in_loop=in_loop))]
            if draw(st.booleans()):
                lines.append("else:")
                lines += ["    " + line for line in draw(blocks(depth=depth + 1, in_loop=in_loop))]
        elif kind == "for":
            lines.append("for q in data:")
            lines += ["    " + line for line in draw(blocks(depth=depth + 1, in_loop=True))]
        elif kind == "range":
            lines.append("for _ in range(b):")
            lines += ["    " + line for line in draw(blocks(depth=depth + 1, in_loop=True))]
        elif kind == "while":
            lines.append(f"n{depth} = q * 0")
            lines.append(f"while n{depth} < 2 and {draw(conditions(depth=1))}:")
            lines.append(f"    n{depth} += 1")
            lines += ["    " + line for line in draw(blocks(depth=depth + 1, in_loop=True))]
        elif in_loop:
            lines.append(f"if {draw(conditions(depth=2))}: {draw(st.sampled_from(['break', 'continue']))}")
        else:
            lines.append(f"if {draw(conditions(depth=2))}: return out, y")
    return lines


@st.composite
def programs(draw):
    body = ["out = []", "q = data[0]", "x = data[-1]", "y = rng.laplace(scale=0.5)", *draw(blocks())]
    lines = ["def program(data, epsilon, a, b: int, flag: bool, rng):", *("    " + line for line in body)]
    return "\n".join([*lines, "    return out, x, y", ""])


def plain_value(value, pairs):
    """A possibly symbolic output with the values substituted."""
    if type(value) in (list, tuple):
        return [plain_value(v, pairs) for v in value]
    if type(value) in (Number, Truth):
        value = value.value
    if isinstance(value, z3.ExprRef):
        value = z3.simplify(z3.substitute(value, *pairs))
        return (
            Fraction(value.numerator_as_long(), value.denominator_as_long()) if value.is_real() else value.as_long()
        )
    return Fraction(value)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)
@given(
    source=programs(),
    data=st.lists(st.integers(-2, 3), min_size=1, max_size=3),
    choices=st.lists(
        st.tuples(st.integers(-8, 12).map(lambda n: n / 4), st.integers(-2, 4), st.booleans()), min_size=4, max_size=4
    ),
)
def test_symbolic_runs_equal_plain_runs(source, data, choices, oracle):
    name = f"random program {hash(source)}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace = {"np": np}
    exec(compile(source, name, "exec"), namespace)
    runner = NoiseFreeRunner(describe(namespace["program"]), {"epsilon": 1.0})
    plain = oracle(source=source, name="program")
    context = z3.Context()
    a, b, flag = z3.Real("a", context), z3.Int("b", context), z3.Bool("flag", context)

    def watched(tracing, **arguments):
        numbers = [Number(tracing, value) for value in data]
        return runner(tracing, numbers, arguments)

    explored = explore(
        lambda t: watched(t, a=Number(t, a), b=Number(t, b), flag=Truth(t, flag)),
        (),
        context,
        LIMITS,
        Work(LIMITS.units, LIMITS.events),
        WatchedMemory(),
    )
    complete = [path for path in explored.paths if not path.cut]
    assume(complete)
    for a_value, b_value, flag_value in choices:
        exact = Fraction(a_value)
        pairs = [
            (a, z3.RealVal(f"{exact.numerator}/{exact.denominator}", context)),
            (b, z3.IntVal(b_value, context)),
            (flag, z3.BoolVal(flag_value, context)),
        ]
        taken = [
            path
            for path in explored.paths
            if all(z3.is_true(z3.simplify(z3.substitute(c, *pairs))) for c in path.condition)
        ]
        expected = plain.run(data, epsilon=1.0, a=a_value, b=b_value, flag=flag_value)
        if taken and taken[-1].cut:
            continue
        if not taken:
            assert explored.notes, "a path is missing and no limit is reported"
            continue
        assert len(taken) == 1, "paths of one run exclude each other"
        (path,) = taken
        assert [(b.site.line, b.outcome) for b in path.branches] == list(expected.sequence)
        assert path.raised == expected.raised
        if path.raised is None:
            assert plain_value(path.output, pairs) == plain_value(expected.output, pairs)
        concrete = trace(
            lambda t, v=(a_value, b_value, flag_value): watched(t, a=v[0], b=v[1], flag=v[2]),
            LIMITS,
            Work(LIMITS.units, LIMITS.events),
        )
        assert [(b.site.line, b.outcome) for b in concrete.branches] == list(expected.sequence)
