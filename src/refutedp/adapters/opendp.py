"""OpenDP measurements as mechanisms: domain, metric and privacy map give inputs, adjacency and claim."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from refutedp.adapters import _pairs
from refutedp.inputs.neighbours import two_of
from refutedp.model.adjacency import AddRemove, Adjacency, AllDiffer, AnyTwo, OneDiffers, Replace
from refutedp.model.claims import ZCDP, ApproxDP, Claim, PureDP, RenyiDP
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import OWN_RANDOMNESS, Adapted, Own
from refutedp.model.records import Pair

try:
    import opendp.prelude as dp
    from opendp.context import Query
    from opendp.mod import GLOBAL_FEATURES, Measurement, Transformation

    from refutedp.adapters._opendp_stability import Stability, check_stability
except ImportError as error:
    raise ImportError('refutedp.adapters.opendp needs OpenDP: pip install "refutedp[opendp]"') from error

__all__ = ["Stability", "check_stability", "from_opendp"]

DELTA = 1e-6
"""Where a whole privacy profile is promised, the epsilon at this delta is tested."""
ALPHA = 2.0
LENGTH = 3
_VALUES: dict[str, tuple[Any, ...]] = {
    "bool": (False, True),
    "String": ("a", "b", "", "1"),
    "f64": (0.0, 1.0, -1.0, math.nan, 1e300),
    "f32": (0.0, 1.0, -1.0, math.nan, 1e30),
}
_WHOLE = (0, 1, -1, 100)
_BYTES = (0b0, 0b1, 0b10, 0b1111, 0b11111111)
"""Bit vectors of one byte: no bit, each of two, and many."""


def from_opendp(thing: Any, d_in: Any = None, *, pairs: Any = None, name: str = "OpenDP measurement") -> Adapted:
    """A measurement, or a query of a context, that claims what its privacy map says for inputs at distance `d_in`.

    `d_in` is 1 unless given (2 for data sets of fixed size under the symmetric distance, where one record changes). A
    query brings its own, and its data are not touched: inputs come from the domain. Polars queries are run on frames.

    >>> import opendp.prelude as dp
    >>> from refutedp import check
    >>> dp.enable_features("contrib")
    >>> laplace = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=2.0)
    >>> result = check(from_opendp(laplace), search_runs=500, confirm_runs=1000, significance=1e-9)
    >>> print(result.claim, result.counterexample)
    0.5-differential privacy None
    """
    measurement, d_in = _resolved(thing, d_in)
    if isinstance(measurement, Transformation):
        raise UsageError(
            "a transformation adds no noise: use check_stability(transformation), or end it with dp.m.then_"
        )
    if not isinstance(measurement, Measurement):
        raise UsageError(
            f"measurement is a {type(measurement).__name__}, no OpenDP measurement: end the chain with dp.m.then_..."
        )
    space = space_of(measurement, d_in)
    run = _Run(measurement, space)
    own = Own(
        claim=_claim(measurement, space.d_in),
        adjacency=space.adjacency,
        pairs=_pairs.grown(run, space.pairs) if pairs is None else pairs,
        notes=(OWN_RANDOMNESS,),
        opaque=True,
    )
    if not own.pairs:
        raise UsageError(
            f"none of the built-in inputs fits {measurement.input_domain}: give your own with pairs=[(d1, d2)]"
        )
    return Adapted(run, name, own)


def _resolved(thing: Any, d_in: Any) -> tuple[Any, Any]:
    """The measurement of a query, and at which distance: one record or id, for which its map speaks as for more."""
    query = thing
    with contextlib.suppress(AttributeError):
        query = object.__getattribute__(thing, "_query")  # a plan of Polars hands everything else on
    if not isinstance(query, Query):
        return thing, d_in
    measurement = thing.resolve()
    # What k records give away is more than what one does, and the map speaks of one as well.
    counts = any(word in str(measurement.input_metric) for word in ("Symmetric", "InsertDelete", "Change", "Hamming"))
    if d_in is None and not (counts and isinstance(query._d_in, int | float)):
        d_in = query._d_in
    return measurement, d_in


def space_of(measurement: Any, d_in: Any) -> Any:
    """What the input domain and metric mean for inputs."""
    kind = str(measurement.input_domain.type)
    if "LazyFrameDomain" in kind or "FrameDomain" in kind:
        from refutedp.adapters._opendp_frames import FrameSpace

        return FrameSpace(measurement, d_in)
    if "MapDomain" in kind:
        return _MapSpace(measurement, d_in)
    if "BitVectorDomain" in kind:
        return _BitSpace(measurement, d_in)
    return _Space(measurement, d_in)


@dataclass
class _Run:
    """Calls the measurement; travels to other processes as OpenDP's own JSON."""

    measurement: Any
    space: Any

    def __call__(self, data: Any) -> Any:
        return self.space.run(self.measurement, data)

    def __reduce__(self) -> Any:
        try:
            text = dp.serialize(self.measurement)
        except Exception as error:
            raise UsageError(
                f"this OpenDP measurement cannot be sent to other processes: use jobs=1 ({error})"
            ) from None
        return _revive, (text, tuple(GLOBAL_FEATURES), self.space.d_in)


def _revive(text: str, features: tuple[str, ...], d_in: Any) -> _Run:
    dp.enable_features(*features)
    measurement = dp.deserialize(text)
    return _Run(measurement, space_of(measurement, d_in))


class _Space:
    """What the input domain and metric mean for inputs: their adjacency, and a few neighbours."""

    def __init__(self, measurement: Any, d_in: float | None) -> None:
        self.domain = measurement.input_domain
        self.metric = str(measurement.input_metric.type).partition("<")[0].rpartition("::")[2]
        kind = str(self.domain.type)
        self.vector = kind.startswith("VectorDomain<AtomDomain<")
        if not self.vector and not kind.startswith("AtomDomain<"):
            raise UsageError(
                f"the domain {self.domain} is none that from_opendp knows: wrap the measurement in a function "
                "f(data) and give check a claim, an adjacency and pairs"
            )
        self.atom = kind.rpartition("AtomDomain<")[2].rstrip(">")
        element = self.domain.element_domain if self.vector else self.domain
        ordered = self.atom not in ("bool", "String")
        self.bounds: tuple[Any, Any] | None = element.bounds if ordered else None
        self.size: int | None = getattr(self.domain, "size", None) if self.vector else None
        fixed = self.size is not None and self.metric in ("SymmetricDistance", "InsertDeleteDistance")
        self.d_in: Any = (2 if fixed else 1) if d_in is None else d_in
        self.d_in = (float if measurement.input_distance_type.startswith("f") else int)(self.d_in)

    def run(self, measurement: Any, data: Any) -> Any:
        """What is released."""
        return measurement(data)

    @property
    def records(self) -> tuple[Any, ...]:
        return (*(self.bounds or ()), *_VALUES.get(self.atom, _WHOLE))

    @property
    def adjacency(self) -> Adjacency:
        match self.metric:
            case "AbsoluteDistance" | "L1Distance" | "L2Distance":
                return OneDiffers(self.d_in)
            case "LInfDistance":
                return AllDiffer(self.d_in)
            case "SymmetricDistance" | "InsertDeleteDistance" if self.size is None:
                return AddRemove(self.records)
            case "SymmetricDistance" | "InsertDeleteDistance" | "ChangeOneDistance" | "HammingDistance":
                return Replace(self.records)
            case "DiscreteDistance":
                return AnyTwo(self.records)
        raise UsageError(
            f"the metric {self.metric} is none that from_opendp knows: wrap the measurement in a function f(data) "
            "and give check a claim, an adjacency and pairs"
        )

    def pairs(self, size: int = LENGTH) -> list[Pair]:
        """Neighbours, of about this size where the domain leaves it open."""
        return _pairs.fitting(self._candidates(size), self._member, f"the domain {self.domain}")

    def _candidates(self, size: int) -> list[Pair]:
        whole = not self.atom.startswith("f")
        adjacency = self.adjacency
        if self.metric == "AbsoluteDistance":
            return _pairs.number_pairs(self.d_in, *(self.bounds or (None, None)), whole=whole)
        if isinstance(adjacency, OneDiffers | AllDiffer):
            length = self.size or LENGTH
            return _pairs.vector_pairs(self.d_in, length, all_differ=isinstance(adjacency, AllDiffer), whole=whole)
        if isinstance(adjacency, AnyTwo):
            return two_of([record for record in self.records if self._member(record)]).pairs
        # A record the domain refuses would take all the others of its data set with it.
        records = [record for record in self.records if self._member([record] * (self.size or 1))]
        if not records:
            return []
        if isinstance(adjacency, AddRemove):
            return _pairs.added_pairs(records, size)
        return _pairs.replaced_pairs(records, self.size or size)

    def _member(self, data: Any) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(self.domain.member(data))


class _BitSpace:
    """Bit vectors, as bytes: any two of them are neighbours. Released bits are told one by one."""

    def __init__(self, measurement: Any, d_in: Any) -> None:
        self.domain = measurement.input_domain
        self.d_in = 1 if d_in is None else int(d_in)

    @property
    def adjacency(self) -> Adjacency:
        return AnyTwo()

    def run(self, measurement: Any, data: Any) -> Any:
        released = measurement(data)
        return np.unpackbits(np.frombuffer(released, dtype=np.uint8)).astype(bool).tolist()

    def pairs(self, size: int = LENGTH) -> list[Pair]:
        members = [value for value in _BYTES if self.domain.member(bytes([value]))]
        return two_of([bytes([value]) for value in members]).pairs


@dataclass(frozen=True, slots=True)
class KeyedCounts(AnyTwo):
    """Data are counts by key; of adjacent ones at most `l0` differ, by `l1` in sum and `linf` each."""

    l0: int = 1
    l1: float = 1
    linf: float = 1

    def difference(self, d1: Any, d2: Any) -> str | None:
        """Why two inputs are not adjacent, or None if they are."""
        changes = [abs(d1.get(key, 0) - d2.get(key, 0)) for key in {**d1, **d2}]
        changes += [1 for key in {**d1, **d2} if (key in d1) != (key in d2) and d1.get(key, 0) == d2.get(key, 0)]
        changes = [change for change in changes if change]
        if len(changes) <= self.l0 and sum(changes) <= self.l1 and max(changes, default=0) <= self.linf:
            return None
        return f"{len(changes)} keys change, by {sum(changes):g} in all"

    def __str__(self) -> str:
        return f"{self.l0} keys may change, by {self.linf:g} each and {self.l1:g} in all"


class _MapSpace:
    """Counts by key."""

    def __init__(self, measurement: Any, d_in: Any) -> None:
        self.domain = measurement.input_domain
        self.d_in = (1, 1, 1) if d_in is None else tuple(d_in)
        kind = str(self.domain).partition("AtomDomain(")[2].partition(")")[0].rpartition("T=")[2]
        self.keys = _VALUES.get(kind, _WHOLE)
        if "L01Inf" not in str(measurement.input_metric.type):
            raise UsageError(f"the metric {measurement.input_metric} is none that from_opendp knows for maps")

    @property
    def adjacency(self) -> Adjacency:
        return KeyedCounts((), *self.d_in)

    def run(self, measurement: Any, data: Any) -> Any:
        return measurement(data)

    def pairs(self, size: int = LENGTH) -> list[Pair]:
        first, second, third = self.keys[0], self.keys[1], self.keys[-1]
        crowd = {first: size, second: size}
        step = int(min(self.d_in[1], self.d_in[2]))
        made = [
            Pair(crowd, {**crowd, first: size + step}, "one count more"),
            Pair(crowd, {**crowd, third: step}, "a new key"),
            Pair({}, {first: step}, "a key in empty data"),
        ]
        return _pairs.fitting(made, self.domain.member, f"the domain {self.domain}")


def _claim(measurement: Any, d_in: Any) -> Claim:
    """What the privacy map promises, in the words of the output measure."""
    try:
        promised = measurement.map(d_in)
    except Exception as error:
        raise UsageError(
            f"the measurement promises nothing for d_in={d_in!r}: {' '.join(str(error).split())[:200]}"
        ) from None
    measure = str(measurement.output_measure.type)
    claims: dict[str, Callable[[Any], Claim]] = {
        "MaxDivergence": PureDP,
        "ZeroConcentratedDivergence": ZCDP,
        "Approximate<MaxDivergence>": lambda both: _pairs.stated_claim(*both),
        "SmoothedMaxDivergence": lambda profile: ApproxDP(profile.epsilon(DELTA), DELTA),
        "RenyiDivergence": lambda curve: RenyiDP(ALPHA, curve(ALPHA)),
    }
    if measure not in claims:
        raise UsageError(f"the measure {measure} is none that from_opendp knows: give check a claim of your own")
    return claims[measure](promised)
