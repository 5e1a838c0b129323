"""Programs made up by Hypothesis: every lifted run equals the plain run on the same draws.

The oracle is independent of `Lift.prove`: a generator of a dozen lines that hands out the recorded values in order.
"""

from __future__ import annotations

import linecache
import math
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refutedp.mechanism import describe
from refutedp.sampling.encode import Raised
from refutedp.sampling.lifted import CannotLift, Lift
from refutedp.sampling.lifted.collect import example
from refutedp.sampling.lifted.laws import Source
from refutedp.sampling.lifted.replay import recorded_draws

NAMES = ("a", "b", "c", "d")
DRAWS = (
    "rng.laplace(scale=2.0)",
    "rng.laplace(1, 0.5)",
    "rng.normal(a, 1.0)",
    "rng.random()",
    "rng.exponential()",
    "rng.integers(0, 4)",
    "rng.integers(-2, 3)",
    "rng.geometric(0.6)",
    "rng.choice([0.5, 1.5, 2.5])",
    "rng.laplace(size=3).max()",
    "rng.laplace(size=3)[1]",
    "float(np.sum(rng.normal(size=4)))",
    "int(np.argmax(rng.laplace(size=3)))",
)
ATOMS = (*NAMES, "1", "2.5", "-0.5", "q", "True", "0")
BINARY = ("+", "-", "*", "/", "//", "%", "+", "-", "*")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")
CALLS = (
    "abs({0})",
    "round({0})",
    "int({0})",
    "float({0})",
    "max({0}, {1})",
    "min({0}, {1}, {2})",
    "max([{0}, {1}])",
    "-{0}",
    "({0}) ** 2",
    "math.floor({0})",
    "math.exp(-abs({0}))",
    "math.sqrt(abs({0}))",
    "np.exp(-abs({0}))",
    "np.maximum({0}, {1})",
    "float(np.where({0} > {1}, {0}, {1}))",
    "(True if {0} > {1} else False)",
    "(1 if {0} > {1} else 2.5)",
    "round({0}, 1)",
    "sum([{0}, {1}, {2}])",
    "sorted([{0}, {1}])[0]",
    "({0} if {1} > {2} else {1})",
    "divmod({0}, 3)[1]",
    "bool({0} > {1})",
    "({0} > {1}) + ({1} > {2})",
    "[{0}, {1}].index({1})",
    "np.argmax([{0}, {1}, {2}])",
)

atoms = st.sampled_from(ATOMS)


@st.composite
def expressions(draw: Any, depth: int = 2) -> str:
    kind = draw(st.sampled_from(("atom", "binary", "call", "draw"))) if depth else "atom"
    if kind == "atom":
        return draw(atoms)
    if kind == "draw":
        return draw(st.sampled_from(DRAWS))
    parts = [draw(expressions(depth - 1)) for _ in range(3)]
    if kind == "binary":
        return f"({parts[0]} {draw(st.sampled_from(BINARY))} {parts[1]})"
    return "(" + draw(st.sampled_from(CALLS)).format(*parts) + ")"


@st.composite
def conditions(draw: Any) -> str:
    left, right = draw(expressions(1)), draw(atoms)
    condition = f"{left} {draw(st.sampled_from(COMPARE))} {right}"
    joiner = draw(st.sampled_from(("", "", " and ", " or ")))
    return f"{condition}{joiner}{draw(atoms)} > {draw(atoms)}" if joiner else condition


@st.composite
def blocks(draw: Any, indent: int, depth: int) -> list[str]:
    lines: list[str] = []
    pad = "    " * indent
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(("assign", "choose", "draw", "append", "if", "for", "return", "augment")))
        if kind == "draw":
            lines.append(f"{pad}{draw(st.sampled_from(NAMES))} = {draw(st.sampled_from(DRAWS))}")
        elif kind == "append":
            lines.append(f"{pad}out.append({draw(expressions(draw(st.integers(0, 1))))})")
        elif kind == "choose":
            # Branches that a lift may join into one path.
            first, second = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
            sides = (
                (f"out.append({draw(atoms)})", f"out.append({draw(atoms)})"),
                (f"{first} = {draw(atoms)}", f"{second} = {draw(atoms)}"),
                (f"{first}, {second} = {draw(atoms)}, {draw(atoms)}", "pass"),
                (f"{first} += 1; {second} = {draw(atoms)}", f"{first} = {draw(atoms)}"),
                (f"{first} = {draw(atoms)}; {second} = {first}", f"{second} -= 0.5"),
                (f"fresh = {draw(atoms)}", f"{second} = fresh if {draw(atoms)} > 3 else 1.0"),
            )
            then, otherwise = draw(st.sampled_from(sides))
            lines += [f"{pad}if {draw(conditions())}:", f"{pad}    {then}", f"{pad}else:", f"{pad}    {otherwise}"]
        elif kind == "augment":
            lines.append(f"{pad}{draw(st.sampled_from(NAMES))} += {draw(expressions(1))}")
        elif kind == "if" and depth:
            lines.append(f"{pad}if {draw(conditions())}:")
            lines += draw(blocks(indent + 1, depth - 1))
            if draw(st.booleans()):
                lines.append(f"{pad}else:")
                lines += draw(blocks(indent + 1, depth - 1))
        elif kind == "for" and depth:
            loop = draw(st.sampled_from(("q in data", "q in range(int(a) % 3)", "q in data[:2]")))
            lines.append(f"{pad}for {loop}:")
            lines += draw(blocks(indent + 1, depth - 1))
            if draw(st.booleans()):
                lines.append(f"{pad}    if {draw(conditions())}: break")
        elif kind == "return" and indent > 1:
            lines.append(f"{pad}return {draw(expressions(1))}")
        else:
            lines.append(f"{pad}{draw(st.sampled_from(NAMES))} = {draw(expressions())}")
    return lines


@st.composite
def programs(draw: Any) -> str:
    body = draw(blocks(1, 2))
    result = draw(st.sampled_from(("out", "a, b", "{'x': a, 'y': out}", "b", "[a, [b, c]], d", "len(out), a")))
    head = "def program(data, rng):\n    a, b, c, d, q, out = 1.0, 0, 2, 0.5, 1, []\n"
    return head + "    a = rng.laplace()\n" + "\n".join(body) + f"\n    return {result}\n"


def compiled(source: str) -> Any:
    """The program, with its source where `inspect` finds it, as that of a notebook's cell is found."""
    filename = f"<program {hash(source)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(compile(source, filename, "exec"), scope)
    return scope["program"]


class Recorded:
    """Hands out recorded values, whatever is asked for."""

    def __init__(self, records: Any) -> None:
        self._records = list(records)

    def __getattr__(self, name: str) -> Any:
        def next_value(*args: Any, **keywords: Any) -> Any:
            record = self._records.pop(0)
            assert record.law == name
            if name == "choice":
                return np.asarray(args[0])[record.value]
            if record.size is not None:
                return np.array(record.value)
            return record.value if record.convert is None else record.convert(record.value)

        return next_value

    @property
    def left(self) -> int:
        return len(self._records)


def outcome(function: Any, rng: Any) -> Any:
    try:
        return function([1, 0, 2], rng)
    except Exception as error:
        return Raised(type(error).__name__)


def plain(value: Any) -> Any:
    """A value that compares equal to another exactly when the two outputs are the same; NaN equals NaN."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return "array", value.dtype.kind, plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if getattr(value, "error", None) is not None:
        return "error", value.error
    if isinstance(value, float):
        # Python prints a float so that reading it gives the same one; zeros of either sign are equal.
        return "float", repr(value + 0.0)
    return type(value).__name__, value


def honest_refusal(refusal: CannotLift, source: str) -> None:
    """A program may be refused for what it does, not because its lift was wrong."""
    assert "the plain function" not in str(refusal), source


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs())
def test_lifted_runs_equal_plain_runs_on_the_same_draws(source):
    program = compiled(source)
    finished: list[Any] = []
    try:
        lift = Lift(describe(program), [1, 0, 2], {})
        lift._explore(30, Source(np.random.default_rng(3)), 0, lambda run, out: finished.append((run, out)), None)
    except CannotLift as refusal:
        honest_refusal(refusal, source)
        return
    assert sum(run.n for run, _ in finished) == 30
    with np.errstate(all="ignore"):
        for run, output in finished:
            for index in range(run.n):
                rng = Recorded(recorded_draws(run, index))
                got = outcome(program, rng)
                assert plain(got) == plain(example(output, index)), source
                assert rng.left == 0, source
    try:
        assert lift.sample(300, np.random.default_rng(4)).size == 300
    except CannotLift as refusal:
        honest_refusal(refusal, source)


def test_most_programs_can_be_lifted():
    """The test above would be empty if nearly all programs were refused."""
    lifted = refused = 0

    @settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs())
    def count(source: str) -> None:
        nonlocal lifted, refused
        try:
            Lift(describe(compiled(source)), [1, 0, 2], {}).prove(np.random.default_rng(3), runs=10)
            lifted += 1
        except CannotLift:
            refused += 1

    count()
    assert lifted > 2 * refused
