"""OpenDP measurements as mechanisms: domain, metric and privacy map give inputs, adjacency and claim."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from refutedp.adapters import _pairs
from refutedp.model.adjacency import AddRemove, Adjacency, AllDiffer, OneDiffers, Replace
from refutedp.model.claims import ZCDP, ApproxDP, Claim, PureDP, RenyiDP
from refutedp.model.errors import UsageError
from refutedp.model.mechanism import OWN_RANDOMNESS, Adapted, Own
from refutedp.model.records import Pair

try:
    import opendp.prelude as dp
    from opendp.mod import GLOBAL_FEATURES, Measurement
except ImportError as error:
    raise ImportError('refutedp.adapters.opendp needs OpenDP: pip install "refutedp[opendp]"') from error

DELTA = 1e-6
"""Where a whole privacy profile is promised, the epsilon at this delta is tested."""
ALPHA = 2.0
LENGTH = 3
_VALUES: dict[str, tuple[Any, ...]] = {
    "bool": (False, True),
    "String": ("a", "b", ""),
    "f64": (0.0, 1.0, -1.0, math.nan, 1e300),
    "f32": (0.0, 1.0, -1.0, math.nan, 1e30),
}
_WHOLE = (0, 1, -1, 100)


def from_opendp(
    measurement: Any, d_in: float | None = None, *, pairs: Any = None, name: str = "OpenDP measurement"
) -> Adapted:
    """The measurement as a mechanism that claims what its privacy map says for inputs at distance `d_in`.

    `d_in` is 1 unless given (2 for data sets of fixed size under the symmetric distance, where one record changes).

    >>> import opendp.prelude as dp
    >>> from refutedp import check
    >>> dp.enable_features("contrib")
    >>> laplace = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=2.0)
    >>> result = check(from_opendp(laplace), search_runs=500, confirm_runs=1000, significance=1e-9)
    >>> print(result.claim, result.counterexample)
    0.5-differential privacy None
    """
    if not isinstance(measurement, Measurement):
        raise UsageError(
            f"measurement is a {type(measurement).__name__}, no OpenDP measurement: end the chain with dp.m.then_..."
        )
    space = _Space(measurement, d_in)
    own = Own(
        claim=_claim(measurement, space.d_in),
        adjacency=space.adjacency,
        pairs=space.pairs() if pairs is None else pairs,
        notes=(OWN_RANDOMNESS,),
    )
    return Adapted(_Run(measurement, space.wrapped), name, own)


@dataclass
class _Run:
    """Calls the measurement; travels to other processes as OpenDP's own JSON."""

    measurement: Any
    wrapped: bool

    def __call__(self, data: Any, *, size: int) -> list[Any]:
        value = data[0] if self.wrapped else data
        return _pairs.repeat(lambda: self.measurement(value), size)

    def __reduce__(self) -> Any:
        try:
            text = dp.serialize(self.measurement)
        except Exception as error:
            raise UsageError(
                f"this OpenDP measurement cannot be sent to other processes: use jobs=1 ({error})"
            ) from None
        return _revive, (text, tuple(GLOBAL_FEATURES), self.wrapped)


def _revive(text: str, features: tuple[str, ...], wrapped: bool) -> _Run:
    dp.enable_features(*features)
    return _Run(dp.deserialize(text), wrapped)


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
        self.wrapped = self.metric == "DiscreteDistance"
        fixed = self.size is not None and self.metric in ("SymmetricDistance", "InsertDeleteDistance")
        self.d_in: Any = (2 if fixed else 1) if d_in is None else d_in
        self.d_in = (float if measurement.input_distance_type.startswith("f") else int)(self.d_in)

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
                return Replace(self.records)
        raise UsageError(
            f"the metric {self.metric} is none that from_opendp knows: wrap the measurement in a function f(data) "
            "and give check a claim, an adjacency and pairs"
        )

    def pairs(self) -> list[Pair]:
        return _pairs.fitting(self._candidates(), self._member, f"the domain {self.domain}")

    def _candidates(self) -> list[Pair]:
        whole = not self.atom.startswith("f")
        adjacency = self.adjacency
        if self.metric == "AbsoluteDistance":
            return _pairs.number_pairs(self.d_in, *(self.bounds or (None, None)), whole=whole)
        if isinstance(adjacency, OneDiffers | AllDiffer):
            length = self.size or LENGTH
            return _pairs.vector_pairs(self.d_in, length, all_differ=isinstance(adjacency, AllDiffer), whole=whole)
        # A record the domain refuses would take all the others of its data set with it.
        size = 1 if self.wrapped else self.size or LENGTH
        records = [record for record in self.records if self._member([record] * size)]
        if not records:
            return []
        if isinstance(adjacency, AddRemove):
            return _pairs.added_pairs(records)
        return _pairs.replaced_pairs(records, size)

    def _member(self, data: Any) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(self.domain.member(data[0] if self.wrapped else data))


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
