"""One run, watched: which lines it takes, what it draws where, and what each draw is added to.

Run number k has the same draws on every input: each call site has a stream of its own, so that a draw more at one
line does not change those of another. The mechanism is copied, so that draws from modules are seen too. What is
learned here is a hint and never evidence: statements made of it are tested on runs of the mechanism itself.
"""

from __future__ import annotations

import random
import sys
import types
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from refutedp.explain.costs import family
from refutedp.explain.followed_math import FollowingMath
from refutedp.explain.noisy_sums import Book, NoisySum, drawn, plain
from refutedp.model.mechanism import Mechanism, fresh_copies
from refutedp.model.settings import EXPLAIN_STREAM, child, global_state, kept_globals, set_globals
from refutedp.tracing.copier import Copier, is_internal, is_library, module_of, users_frame
from refutedp.tracing.distributions import DISTRIBUTIONS, Distribution, Params, Source
from refutedp.tracing.ledger import LONGEST_CALLS
from refutedp.tracing.rng_proxy import Handler, normal_size
from refutedp.tracing.watchdog import CallBounds, DidNotReturn, Watchdog

MOST_STEPS = 30_000
"""Steps of a run that are watched: the cause of most leaks is met before."""


MOST_DRAWS = 20_000
"""Draws after which a run is given up: draws that are far out may let a mechanism draw again and again."""


ONCE_ENDLESS = 0.5
"""Seconds that a watched run may take once one did not return: a score of them is watched."""


class Endless(BaseException):
    """Raised in a run that draws too often; no `except Exception` of the mechanism catches it."""


class CallSite(NamedTuple):
    """A call in the source: its code, and where the expression stands in the file."""

    code: CodeType
    line: int
    end_line: int
    column: int
    end_column: int
    caller: tuple[CodeType, int, int] | None = None
    """Where the mechanism called the helper in which this is: its code, line and column."""

    @property
    def spot(self) -> tuple[Any, ...]:
        """Where it is in the source, whoever called it."""
        return self.code.co_qualname, self.line, self.column

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from other sites, whatever the run."""
        return (*self.spot, None if self.caller is None else self.caller[1:])


class WatchedDraw(NamedTuple):
    """One call for randomness."""

    site: CallSite
    distribution: str
    params: Params
    size: int
    """How many numbers were drawn."""


class Step(NamedTuple):
    """A point that a run passed: an instruction of the mechanism, or a draw."""

    code: CodeType
    instruction: int
    draw: bool = False


@dataclass(slots=True)
class Observed:
    """What was seen of one run."""

    steps: list[Step] = field(default_factory=list)
    noisy: list[int] = field(default_factory=list)
    """How many steps there were when a drawn number was compared with something."""
    draws: list[WatchedDraw] = field(default_factory=list)
    seeds: list[CallSite] = field(default_factory=list)
    """Where the run made a generator with a seed of its own."""
    forms: list[NoisySum] = field(default_factory=list)
    lines: dict[tuple[CodeType, int], None] = field(default_factory=dict)
    """The lines that it took, in order of the first time."""
    output: Any = None
    error: BaseException | None = None


class _Recorder(Handler):
    """A handler that draws, each call site from a stream of its own, and notes what was drawn."""

    def __init__(self, number: int, seen: Observed, stretch: float) -> None:
        self._number = number
        self._seen = seen
        self._stretch = stretch
        self._sources: dict[Any, Source] = {}
        self._times: dict[Any, int] = {}
        self._book = Book()
        self._book.on_compare = self._compared
        self._book.where = call_site

    @property
    def book(self) -> Book:
        """The sums that the run made of its draws."""
        return self._book

    def _compared(self, form: NoisySum) -> None:
        self._seen.noisy.append(len(self._seen.steps))
        site = call_site()
        form.line = None if site is None else (site.code, site.line)

    def _next(self, distribution: str, params: Params) -> tuple[Source, tuple[Any, int], CallSite]:
        if len(self._seen.draws) >= MOST_DRAWS:
            raise Endless(f"it drew {MOST_DRAWS:,} times")
        site = call_site() or _NOWHERE
        key = site.key
        source = self._sources.get(key)
        if source is None:
            stream = zlib.crc32(repr(key).encode())
            source = Source(np.random.default_rng(child(self._number, EXPLAIN_STREAM, stream)))
            self._sources[key] = source
        times = self._times[key] = self._times.get(key, -1) + 1
        self._seen.steps.append(Step(site.code, site.column, draw=True))
        return source, (key, times), site

    def _note(self, site: CallSite, distribution: str, params: Params, value: Any) -> None:
        self._seen.draws.append(WatchedDraw(site, distribution, tuple(map(plain, params)), int(np.size(value))))

    def draw(self, distribution: Distribution, params: Params, size: Any) -> Any:
        """A draw that remembers what it is added to."""
        exact = tuple(map(plain, params))
        source, key, site = self._next(distribution.name, exact)
        shape = None if size is None else normal_size(size, self)
        value = distribution.sample(source, exact, shape)
        if not isinstance(value, np.ndarray) and distribution.convert is not None:
            value = distribution.convert(value)
        self._note(site, distribution.name, exact, value)
        located = (
            distribution.noise.standard is not None and len(params) == 2 and distribution.noise.scale is not None
        )
        if self._stretch != 1 and distribution.noise.scale is not None and not isinstance(value, (int, np.integer)):
            middle = np.asarray(exact[0] if located else 0.0)
            value = middle + self._stretch * (value - middle)
            value = value if np.ndim(value) else float(value)
        if self._stretch != 1 and family(distribution.name) == "uniform":
            value = self._end(exact, value)
        return drawn(self._book, key, value, exact[0] if located else 0.0)

    def _end(self, bounds: Params, value: Any) -> Any:
        """A uniform draw at one of its ends, so that each coin that is tossed with it falls either way."""
        low, high = map(float, bounds) if len(bounds) == 2 else (0.0, 1.0)
        return value * 0 + low + (high - low) * (1e-9 if self._number % 2 else 1 - 1e-9)

    def choose(self, distribution: str, options: Any, size: Any, p: Any, replace: bool) -> Any:
        """As `Generator.choice`."""
        source, key, site = self._next(distribution, ())
        value = source.generator.choice(options, size, p=None if p is None else np.asarray(p, float), replace=replace)
        given = (np.asarray(options), None if p is None else np.array(p, dtype=float))
        self._note(site, distribution, given, value)
        if size is None and np.ndim(options) == 0:
            return int(value)
        numbers = np.ndim(options) == 1 and np.asarray(options).dtype.kind in "if"
        return drawn(self._book, key, value) if numbers else value

    def permute(self, distribution: str, values: Any) -> Any:
        """As `Generator.permutation`."""
        source, _, site = self._next(distribution, ())
        self._note(site, distribution, (), values)
        return source.generator.permutation(values)

    def pick(self, options: Any) -> Any:
        """As `random.choice`."""
        source, _, site = self._next("random.choice", ())
        self._note(site, "random.choice", (len(options),), 0)
        return options[int(source.generator.integers(0, len(options)))]

    def refuse(self, why: str) -> NoReturn:
        """Something that no proxy knows."""
        raise NotImplementedError(why)

    def limit(self, why: str) -> None:
        """Dtypes, axes and the like do not matter; a seed does."""
        if "seeds" in why:
            self._seen.seeds.append(call_site() or _NOWHERE)

    def positive(self, value: Any) -> bool:
        """Left to the distribution itself."""
        return True

    def unlisted(self, proxy: Any, name: str) -> Any:
        """Generators, which are this one, and methods of the real ones."""
        if name in ("RandomState", "Random", "SystemRandom", "PCG64", "MT19937", "Philox", "SFC64"):
            return lambda seed=None, *_: self._seeded(proxy, seed)
        if name == "bit_generator":
            return proxy
        real: Any = {"GeneratorProxy": np.random.Generator, "RandomStateProxy": np.random.RandomState}.get(
            type(proxy).__name__, random.Random
        )
        if not callable(getattr(real, name, None)):
            self.refuse(f"there is no {name}")
        return self._real(real, name)

    def _seeded(self, proxy: Any, seed: Any) -> Any:
        if isinstance(seed, (int, list, tuple)):
            self.limit("it seeds a generator")
        return proxy

    def _real(self, kind: Any, name: str) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            args = tuple(map(plain, args))
            source, _, site = self._next(name, args)
            owner: Any = source.generator
            if kind is np.random.RandomState:
                owner = source.legacy
            elif kind is random.Random:
                owner = random.Random(int(source.generator.integers(2**63)))
            value = getattr(owner, name)(*args, **keywords)
            given = (*args, *keywords.values()) if name == "choices" else args
            self._note(site, name if kind is np.random.Generator else f"{kind.__module__}.{name}", given, value)
            return value

        return call


def call_site() -> CallSite | None:
    """Where the mechanism calls for randomness: the innermost call in the user's code."""
    frame = users_frame()
    if frame is None or _is_ours(module_of(frame)):
        return None
    return CallSite(frame.f_code, *_position(frame), _caller(frame))


def _position(frame: FrameType) -> tuple[int, int, int, int]:
    """First and last line and column of what a frame is doing."""
    position = next(
        (p for number, p in enumerate(frame.f_code.co_positions()) if number == frame.f_lasti // 2),
        (frame.f_lineno, frame.f_lineno, 0, 0),
    )
    line, end, column, last = position
    return line or frame.f_lineno, end or frame.f_lineno, column or 0, last or 0


def _caller(frame: FrameType) -> tuple[CodeType, int, int] | None:
    """Where another function of the user's called the one of this frame; None where the mechanism itself is."""
    name = frame.f_code.co_qualname.partition(".<locals>")[0]
    outer = frame.f_back
    while outer is not None and not _is_ours(module_of(outer)):
        users = not is_library(module_of(outer))
        if users and outer.f_code.co_qualname.partition(".<locals>")[0] != name:
            return outer.f_code, outer.f_lineno, _position(outer)[2]
        outer = outer.f_back
    return None


_NOWHERE = CallSite((lambda: None).__code__, 0, 0, 0, 0)


class Following(Copier):
    """Copies the user's helpers, too, so that what they draw is seen and their lines can be changed."""

    def replacement(self, name: str, value: Any, used: set[str]) -> Any:
        """What the stage has for it, or a copy of a function of the user's."""
        stand_in = super().replacement(name, value, used)
        users = isinstance(value, types.FunctionType) and not is_library(str(value.__module__ or ""))
        return self.copy(value) if stand_in is value and users and not _is_ours(value.__module__ or "") else stand_in


class Watcher:
    """Runs a mechanism and watches; `calls` counts the runs."""

    def __init__(self, mechanism: Mechanism, seed: int) -> None:
        self._mechanism = mechanism
        self._seed = seed
        self._seconds = LONGEST_CALLS
        self.calls = 0

    @property
    def epsilon(self) -> str | None:
        """The argument that the mechanism is told ε by."""
        return self._mechanism.epsilon

    def run(self, data: Any, arguments: Mapping[str, Any], number: int, *, stretch: float = 1.0) -> Observed:
        """Run number `number` on these inputs; draws are `stretch` times as far from their middle as usual."""
        seen = Observed()
        seed = self._seed * 1_000 + number
        recorder = _Recorder(seed, seen, stretch)
        self.watch(data, arguments, recorder, seen, seed)
        seen.forms = recorder.book.final()
        return seen

    def watch(self, data: Any, arguments: Mapping[str, Any], draws: Handler, seen: Observed, seed: int = 0) -> None:
        """A run whose draws some handler answers; what is seen of it is noted."""
        self.calls += 1
        stage = FollowingMath(draws)
        copier = Following(stage)
        function = copier.copy(self._mechanism.function)
        copied = {
            name: copier.copy(value) if isinstance(value, types.FunctionType) else value
            for name, value in arguments.items()
        }
        mechanism = replace(self._mechanism, function=function)
        given, rest = fresh_copies(data)(), fresh_copies(dict(copied))()
        with kept_globals(), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            set_globals(global_state(child(seed, EXPLAIN_STREAM)))
            with _traced(seen), Watchdog(CallBounds(self._seconds)) as watchdog:
                try:
                    rng = stage.generator(mechanism.draws_from)
                    with watchdog.call():
                        output = mechanism.call(given, rest, rng=rng, size=1)
                        seen.output = output[0] if mechanism.batched else output
                except (Exception, Endless, DidNotReturn) as error:
                    seen.error = error
                    if isinstance(error, DidNotReturn):
                        self._seconds = ONCE_ENDLESS


@contextmanager
def _traced(seen: Observed) -> Iterator[None]:
    """For the block, instructions of the user's code are noted, as far as there is room."""
    users: dict[CodeType, bool] = {}

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            if len(seen.steps) >= MOST_STEPS:
                frame.f_trace_opcodes = False
                return None
            seen.steps.append(Step(frame.f_code, frame.f_lasti))
        elif event == "line":
            seen.lines[(frame.f_code, frame.f_lineno)] = None
        return local

    def entered(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        known = users.get(code)
        if known is None:
            module = module_of(frame)
            known = users[code] = not (is_library(module) or is_internal(code) or _is_ours(module))
        if not known or len(seen.steps) >= MOST_STEPS:
            return None
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(before)


def _is_ours(module: str) -> bool:
    """Whether the module is a part of this tool that is no mechanism."""
    return module.startswith("refutedp.") and not module.startswith(("refutedp.mechanisms", "refutedp.adapters"))


def scale_of(draw: WatchedDraw) -> float | None:
    """The scale of a draw, where one number says it."""
    known = DISTRIBUTIONS.get(draw.distribution)
    if known is None or known.noise.scale is None:
        return None
    try:
        scale = np.asarray(known.noise.scale(*draw.params), dtype=float)
    except (TypeError, ValueError, ZeroDivisionError):
        return None
    return (
        float(scale.flat[0]) if scale.size and np.all(scale == scale.flat[0]) and np.isfinite(scale.flat[0]) else None
    )


def line_at(code: CodeType, instruction: int) -> int:
    """The line of an instruction."""
    spot = next((p for number, p in enumerate(code.co_positions()) if number == instruction // 2), (None,) * 4)
    return spot[0] or code.co_firstlineno
