"""An oracle that knows nothing of the symbolic code: it rewrites the source so that every test reports its answer."""

import ast
import inspect
import itertools
import textwrap
from dataclasses import dataclass, field

import numpy as np
import pytest


@dataclass
class PlainNoise:
    """Noise-free draws as plain numbers; remembers the scales."""

    scales: list = field(default_factory=list)

    def laplace(self, loc=0.0, scale=1.0, size=None):
        if np.any(np.asarray(scale) <= 0):
            raise ValueError("scale <= 0")
        self.scales.extend(np.ravel(scale).tolist())
        if size is None and np.ndim(loc) == 0 and np.ndim(scale) == 0:
            return float(loc)
        return np.zeros(size if size is not None else np.broadcast_shapes(np.shape(loc), np.shape(scale))) + loc

    normal = gumbel = laplace

    def exponential(self, scale=1.0, size=None):
        return self.laplace(0.0, scale, size)

    def random(self, size=None):
        return 0.5 if size is None else np.full(size, 0.5)


class Instrument(ast.NodeTransformer):
    """Wraps every test in `__report__(position, test)`; a chain becomes the pairs Python evaluates."""

    def _wrap(self, node, kind="__report__"):
        key = ast.Constant(f"{node.lineno}:{node.col_offset}")
        return ast.copy_location(ast.Call(ast.Name(kind, ast.Load()), [key, node], []), node)

    def _test(self, node):
        if isinstance(node, ast.BoolOp):
            return ast.copy_location(ast.BoolOp(node.op, [self._test(v) for v in node.values]), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.copy_location(ast.UnaryOp(node.op, self._test(node.operand)), node)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            sides = [node.left, *node.comparators]
            pairs = [
                ast.copy_location(ast.Compare(a, [op], [b]), a)
                for a, op, b in zip(sides, node.ops, sides[1:], strict=False)
            ]
            return self._test(ast.copy_location(ast.BoolOp(ast.And(), pairs), node))
        return self._wrap(self.visit(node))

    def visit_If(self, node):
        node.test = self._test(node.test)
        node.body = [self.visit(n) for n in node.body]
        node.orelse = [self.visit(n) for n in node.orelse]
        return node

    visit_While = visit_If

    def visit_IfExp(self, node):
        node.test = self._test(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_Assert(self, node):
        node.test = self._test(node.test)
        return node

    def visit_comprehension(self, node):
        node.iter = self.visit(node.iter)
        node.ifs = [self._test(n) for n in node.ifs]
        return node

    def visit_BoolOp(self, node):
        *tests, last = node.values
        node.values = [*(self._test(n) for n in tests), self.visit(last)]
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        return self._wrap(node, "__report_array__")


@dataclass(frozen=True)
class Plain:
    """One plain noise-free run: (position, occurrence) -> answer, the scales, the output, what it raised."""

    answers: dict
    sequence: tuple
    scales: tuple
    output: object
    raised: str | None


class Oracle:
    def __init__(self, function=None, *, source=None, name=None, namespace=None):
        """Take a function, or source text that defines `name`; lines marked `# compare` are the compared ones."""
        if source is None:
            method = getattr(function, "__func__", function)
            source = textwrap.dedent(inspect.getsource(method))
            name = method.__name__
            namespace = dict(method.__globals__)
            if method.__closure__:
                names = zip(method.__code__.co_freevars, method.__closure__, strict=True)
                namespace |= {n: cell.cell_contents for n, cell in names}
        self._owner = getattr(function, "__self__", None)
        lines = source.splitlines()
        marked = {i for i, line in enumerate(lines, 1) if "# compare" in line}
        self._compared = marked or set(range(1, len(lines) + 1))
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = []
                node.returns = None
        tree = ast.fix_missing_locations(Instrument().visit(tree))
        self._namespace = dict(namespace or {"np": np}) | {"__builtins__": __builtins__}
        self._namespace |= {"__report__": self._report, "__report_array__": self._report_array}
        exec(compile(tree, "oracle", "exec"), self._namespace)
        self._function = self._namespace[name]
        self._events = []

    def _report(self, position, value):
        if isinstance(value, np.ndarray) and value.ndim:
            return value
        self._events.append((position, bool(value)))
        return value

    def _report_array(self, position, value):
        if isinstance(value, np.ndarray) and value.ndim:
            self._events.extend((position, bool(v)) for v in value.flat)
        return value

    def run(self, data, /, **arguments):
        self._events = []
        rng = PlainNoise()
        output = raised = None
        first = [] if self._owner is None else [self._owner]
        if "rng" in inspect.signature(self._function).parameters:
            arguments["rng"] = rng
        try:
            output = self._function(*first, data, **arguments)
        except Exception as error:
            raised = type(error).__name__
        counts, answers = {}, {}
        for position, answer in self._events:
            counts[position] = counts.get(position, 0) + 1
            if int(position.split(":")[0]) in self._compared:
                answers[position, counts[position]] = answer
        return Plain(
            answers, tuple((int(p.split(":")[0]), a) for p, a in self._events), tuple(rng.scales), output, raised
        )

    def diverging(self, d1, d2, **arguments):
        """(diverging, compared, noise) of two runs; None when one raises."""
        first, second = self.run(d1, **arguments), self.run(d2, **arguments)
        if first.raised or second.raised:
            return None
        keys = first.answers.keys() | second.answers.keys()
        diverging = sum(first.answers.get(k) is not second.answers.get(k) for k in keys)
        return diverging, len(keys), sum(set(first.scales)) + sum(set(second.scales))

    def best(self, d1, d2, known, grids):
        """Most diverging branches over a grid, then the least noise among those."""
        best = (-1, 0.0)
        for values in itertools.product(*grids.values()):
            counted = self.diverging(d1, d2, **known, **dict(zip(grids, values, strict=True)))
            if counted is not None:
                best = max(best, (counted[0], -counted[2]))
        return best[0], -best[1]


@pytest.fixture
def oracle():
    return Oracle


def _patterns(length):
    """The paper's table of pairs."""
    half = (length + 1) // 2
    ones = [1] * length
    short = length // 2
    return {
        "one above": (ones, [2] + [1] * (length - 1)),
        "one below": (ones, [0] + [1] * (length - 1)),
        "one above, rest below": (ones, [2] + [0] * (length - 1)),
        "one below, rest above": (ones, [0] + [2] * (length - 1)),
        "half half": (ones, [0] * half + [2] * (length - half)),
        "all above": (ones, [2] * length),
        "all below": (ones, [0] * length),
        "x shape": ([1] * short + [0] * (length - short), [0] * short + [1] * (length - short)),
    }


@pytest.fixture
def patterns():
    return _patterns
