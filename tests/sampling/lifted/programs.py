"""Random programs for lifted runs: what people write, in combinations that nobody would.

They draw, branch, loop and return; they alias arrays and lists, write in place and under masks, test types and None,
and pass keywords to the generator.
"""

from __future__ import annotations

import linecache
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import stats

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
    "rng.random(dtype=np.float64)",
    "rng.integers(0, 4, endpoint=True)",
    "rng.integers(5, dtype=int)",
    "rng.integers(low=1, high=4, dtype=np.int64)",
    "rng.standard_exponential(method='zig')",
    "rng.normal(loc=a, scale=1.0, size=None)",
)
VECTORS = ("u", "v", "w")
"""Arrays of three numbers, which may share memory."""
VECTOR_DRAWS = (
    "rng.laplace(size=3)",
    "rng.normal(size=(3,))",
    "rng.exponential(1.5, 3)",
    "np.zeros(3)",
    "np.ones(3)",
)
VIEWS = (
    *("{0}", "{0}[:]", "{0}[::-1]", "{0}.reshape(-1)", "{0}.ravel()", "{0}.T", "np.asarray({0})", "{0}[None][0]"),
    *("np.asarray({0}, dtype=float)", "{0}.astype(float, copy=False)", "np.flip({0})", "{0}.reshape(3, 1)[:, 0]"),
    *("{0}.copy()", "{0}.astype(float)", "np.array({0})", "{0} + 0.0", "{0}.squeeze()", "np.split({0}, 1)[0]"),
)
WRITES = (
    "{0}[{0} > {1}] = {1}",
    "{0}[{0} < {2}] = 0.0",
    "{0}[1:] = {0}[:-1]",
    "{0}[0] = {1}",
    "{0}[-1] += {1}",
    "{0} += {1}",
    "{0} *= 0.5",
    "{0}[...] = np.minimum({0}, {1})",
    "{0}.sort()",
    "{0}.fill({1})",
    "np.clip({0}, -1.0, 1.0, out={0})",
    "{0}[[0, 2]] = {2}",
    "{0}[1:][{0}[1:] > 0] = 1.0",
    "np.maximum({0}, {2}, out={0})",
    "for row in {0}.reshape(3, 1): row[row > 1] = 1",
)
FROM_VECTORS = (
    "{0}.sum()",
    "{0}[1]",
    "float({0}.max())",
    "len({0})",
    "{0}.tolist()[0]",
    "np.mean({0})",
    "({0} > 0).sum()",
)
NESTED = (
    "nest[0].append({0})",
    "alias = nest[0]; alias.append({0})",
    "nest[1] = nest[0]",
    "nest = [list(nest[0]), nest[1]]",
    "table['x'] = {0}",
    "table.setdefault('y', []).append({0})",
    "same = table; same['z'] = {0}",
    "out += [{0}]",
    "kept = out; kept.append({0})",
    "out = out + [{0}]",
    "nest[0][:] = nest[0][-2:]",
    "table = {{**table, 'x': {0}}}",
)
TYPES = (
    "type({0}) == float",
    "type({0}) in (int, float)",
    "isinstance({0}, np.floating)",
    "isinstance({0}, (int, np.integer))",
    "type({0}) is bool",
    "type({0}).__name__ == 'float64'",
    "hasattr({0}, 'dtype')",
)
HELPERS = """
def flip(bit, p, rng):
    if rng.random() < p:
        return bit
    return 1 - bit

def grade(x):
    if x < 0:
        return 0.5
    elif x < 1:
        return 1.5
    else:
        return 2.5

def clamp(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x

def mixed(x, rng):
    y = x * 2
    if x > 0.5:
        y = rng.laplace()
        if y > 1:
            return y - 1
        return 1.0 if rng.random() < 0.5 else float(y)
    if x < -1 and rng.random() < 0.5:
        return float(rng.normal())
    return float(y)
"""
"""Functions that programs call."""
CHOICES = (
    "flip(int({0} > {1}), 0.6, rng)",
    "flip(flip(1, 0.5, rng), 0.75, rng)",
    "grade({0})",
    "grade({0}) if {1} > {2} else 0.5",
    "clamp({0}, {1}, {2})",
    "clamp(float({0}), -1.0, 1.0)",
    "mixed({0}, rng)",
    "helper({0}, {1}, rng)",
    "({0} > {1} and {1} > {2})",
    "({0} > {1} or rng.random() < 0.5)",
    "(not {0} > {1})",
    "({0} and {1})",
    "({0} < {1} < {2})",
    "[1.5, 2.5, 3.5][int(abs({0})) % 3]",
    "[a, b, c][rng.integers(0, 3)]",
    "('x', 'y', 'z')[int(rng.integers(3))]",
    "{{0: 1.0, 1: 2.5, 2: 0.5}}[int(rng.integers(0, 3))]",
    "{{True: 'yes', False: 'no'}}[bool({0} > {1})]",
    "(rng.random() if {0} > {1} else {2})",
    "(1.5 if {0} > 1 else (0.5 if rng.random() < 0.5 else rng.normal()))",
    "sum([(1 if x > {0} else 0) for x in data])",
    "[flip(x % 2, 0.5, rng) for x in data][0]",
    "[x if rng.random() > 0.5 else x + {0} for x in data][1]",
    "sum(x for x in ({0}, {1}) if x > {2})",
    "len(f'{{float({0}):.1f}}')",
    "f'{{{0} > {1}}} {{int({2})}}'.count('1')",
    "round(int({0}) * 7, -1)",
    "laplace.rvs(scale=2.0, random_state=rng)",
    "laplace.rvs({0}, 0.5, random_state=rng)",
    "bernoulli.rvs(0.5, random_state=rng)",
)
"""What a lift may join, in expressions."""
BRANCHES = (
    ("if {0}:", "    {1} = {2}", "elif {3}:", "    {1} = {4}", "else:", "    {1} = 1.5"),
    ("if {0}:", "    {1} = rng.laplace()", "    {5} = {1} + 1", "else:", "    {1} = {2}; {5} = {4}"),
    ("if {0}:", "    if {3}:", "        {1} = {2}", "    else:", "        {1} += 1.5", "else:", "    {5} = {4}"),
    ("if {0}:", "    fresh = rng.random()", "    {1} = fresh * 2", "else:", "    {1} = {4}"),
    ("if {0}:", "    kept[0] = {2}", "    out.append({4})", "else:", "    out.append({2}); out.append(1)"),
    ("if {0}:", "    kept[1] += 1", "else:", "    kept[1] = {4}", "    kept[2] = {2}"),
    ("if {0}: kept[int(rng.integers(3))] += 1",),
    ("kept[int(abs({2})) % 3] = {4}",),
    ("out.append(f'{{float({2}):8.2f}} {{int({4})}}')",),
    ("out.append('%s' % ({2} > {4}) + str(int({2})))",),
    ("out.append(repr({2}))",),
    ("name = 'high' if {0} else 'low'", "out.append(name + '!')"),
    ("kept[int(rng.integers(0, 3))] += 1.0",),
    ("if {0}: out.append(flip(1, 0.5, rng))", "else: out.append(0)"),
    ("if {0}:", "    kept = [1, 2, 3]", "else:", "    kept[0] = not kept[0]"),
    ("if not {0}:", "    {1} = -{2}", "    out.append({1})", "else:", "    out.append({4})"),
    ("while 0 <= {1} <= 1 and ({0}):", "    {1} = {1} + rng.exponential() + 0.1"),
)
"""Branches that a lift may join."""

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
RESULTS = (
    *("out", "a, b", "{'x': a, 'y': out}", "b", "[a, [b, c]], d", "len(out), a", "u, v.tolist(), w.sum()"),
    *("kept, out", "kept, a, b", "tuple(kept), c"),
    *("u.tolist(), v, w", "nest", "nest, table", "a, nest[0], nest[1] is nest[0]", "sorted(table), table, out"),
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
    return "(" + draw(st.sampled_from(draw(st.sampled_from((CALLS, CALLS, CHOICES))))).format(*parts) + ")"


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
    kinds = ("assign", "choose", "draw", "append", "if", "for", "return", "augment")
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from((*kinds, "alias", "write", "write", "read", "nested", "type", "none", "join", "join"))
        )
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
        elif kind == "join":
            first, second = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
            parts = (draw(conditions()), first, draw(atoms), draw(conditions()), draw(expressions(1)), second)
            lines += [pad + line.format(*parts) for line in draw(st.sampled_from(BRANCHES))]
        elif kind == "alias":
            source = draw(st.sampled_from((*VIEWS, *VECTOR_DRAWS))).format(draw(st.sampled_from(VECTORS)))
            lines.append(f"{pad}{draw(st.sampled_from(VECTORS))} = {source}")
        elif kind == "write":
            template = draw(st.sampled_from(WRITES))
            lines.append(pad + template.format(draw(st.sampled_from(VECTORS)), draw(atoms), draw(atoms)))
        elif kind == "read":
            read = draw(st.sampled_from(FROM_VECTORS)).format(draw(st.sampled_from(VECTORS)))
            lines.append(f"{pad}{draw(st.sampled_from(NAMES))} = {read}")
        elif kind == "nested":
            lines.append(pad + draw(st.sampled_from(NESTED)).format(draw(expressions(draw(st.integers(0, 1))))))
        elif kind == "type":
            test = draw(st.sampled_from(TYPES)).format(draw(atoms))
            lines += [f"{pad}if {test}:", f"{pad}    {draw(st.sampled_from(NAMES))} = {draw(atoms)}"]
        elif kind == "none":
            name, value = draw(st.sampled_from(NAMES)), draw(atoms)
            lines += draw(
                st.sampled_from(
                    (
                        [f"{pad}maybe = {value}", f"{pad}if {draw(conditions())}: maybe = None"],
                        [f"{pad}maybe = None", f"{pad}if {draw(conditions())}: maybe = {value}"],
                        [f"{pad}maybe = None if {draw(conditions())} else {value}"],
                        [f"{pad}maybe = {{'k': {value}}}.get('k' if {draw(conditions())} else 'l')"],
                    )
                )
            )
            lines.append(
                pad
                + draw(
                    st.sampled_from(
                        (
                            f"{name} = 0.5 if maybe is None else maybe",
                            f"{name} = maybe or 1.5",
                            "if maybe is not None: out.append(maybe)",
                            "out.append(maybe)",
                        )
                    )
                )
            )
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
def helpers(draw: Any) -> str:
    """A function with early returns, of what it gets and draws."""
    locals_ = st.sampled_from(("x", "y", "z", "1.5", "0", "2", "True"))
    draws = ("rng.laplace()", "rng.random()", "x + y", "x - 1", "float(y)", "rng.integers(0, 3)", "round(x)")
    lines = ["def helper(x, y, rng):", f"    z = {draw(st.sampled_from(draws))}"]
    for _ in range(draw(st.integers(1, 3))):
        test = f"{draw(locals_)} {draw(st.sampled_from(COMPARE))} {draw(locals_)}"
        lines.append(f"    if {test}:")
        if draw(st.booleans()):
            lines.append(f"        z = {draw(st.sampled_from(draws))}")
        if draw(st.booleans()):
            lines.append(f"        return {draw(locals_)}")
        else:
            lines.append(f"        y = {draw(locals_)}")
        if draw(st.booleans()):
            lines += ["    else:", f"        {draw(st.sampled_from(('x = 0.5', 'z = y', 'return z', 'y += 1')))}"]
    result = f"{draw(locals_)} if {draw(locals_)} > {draw(locals_)} else {draw(locals_)}"
    return "\n".join([*lines, f"    return {draw(st.sampled_from((draw(locals_), result)))}", ""])


@st.composite
def programs(draw: Any) -> str:
    body = draw(blocks(1, 2))
    result = draw(st.sampled_from(RESULTS))
    head = "def program(data, rng):\n    a, b, c, d, q, out = 1.0, 0, 2, 0.5, 1, []\n"
    head += "    u, v, nest, table = rng.laplace(size=3), np.zeros(3), [[1.0], [2.0]], {}\n"
    head += "    w, kept = u[:], [0, 1, 2]\n"
    return HELPERS + draw(helpers()) + head + "    a = rng.laplace()\n" + "\n".join(body) + f"\n    return {result}\n"


def compiled(source: str) -> Any:
    """The program, with its source where `inspect` finds it, as that of a notebook's cell is found."""
    filename = f"<program {hash(source)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"np": np, "math": math, "laplace": stats.laplace, "bernoulli": stats.bernoulli}
    exec(compile(source, filename, "exec"), scope)
    return scope["program"]
