"""What the draws of two runs hide: how far the values that they are added to move, and what that costs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from refutedp.explain.costs import cost_of_moves, cost_of_probabilities, family
from refutedp.explain.noisy_sums import BENT, Key, NoisySum
from refutedp.explain.observed import CallSite, Observed, WatchedDraw, scale_of
from refutedp.explain.releases import CLOSE
from refutedp.model.claims import Claim


class Moves(NamedTuple):
    """What happens at the draws of one call site."""

    sizes: list[float]
    """How far what they hide moves, over their scale, draw by draw."""
    distances: list[float]
    unbounded: bool
    cost: float
    shared: float
    """How far apart values that share one draw move; 0.0 where none do."""
    compared: tuple[CodeType, int] | None = None
    """Where they are compared, if nothing else is done with them."""
    joined: tuple[CallSite, str] | None = None
    """Where noise that a function made of them is added to a value that moves, and on which side it stands."""


def moves_of(one: Observed, other: Observed, sites: dict[Any, WatchedDraw], claim: Claim) -> dict[Any, Moves]:
    """What the draws of each site hide on these two runs."""
    first, second = _by_draws(one.forms), _by_draws(other.forms)
    sizes: dict[Any, list[float]] = defaultdict(list)
    distances: dict[Any, list[float]] = defaultdict(list)
    extra: dict[Any, float] = defaultdict(float)
    apart: dict[Any, float] = defaultdict(float)
    unbounded: set[Any] = set()
    hidden: dict[Key, list[float]] = defaultdict(list)
    joined: dict[Any, tuple[CallSite, str]] = {}
    compared: dict[Any, tuple[CodeType, int]] = {}
    released = {key for forms in (first, second) for keys in forms for key in keys if not _only_compared(forms[keys])}
    released_alone = [keys for keys in first if any(not one.compared and not one.decided for one in first[keys])]
    for keys in (one for one in first if one in second):  # in the order of the run, whatever the seed of hashes
        forms = first[keys], second[keys]
        if all(key in released for key in keys) and _only_compared(forms[0]):
            continue  # These were compared, and the sums themselves are accounted for.
        for a, b in zip(*forms, strict=False):
            if np.shape(a.base) != np.shape(b.base):
                continue
            if a.compared and a.line is not None and len(a.terms) == 1:
                compared[a.terms[0].key[0]] = a.line
            moved = np.abs(np.asarray(a.base, float) - np.asarray(b.base, float)).ravel()
            if a.bent or b.bent:
                key = next((term.key[0] for term in a.terms if term.key[-1] == BENT), None)
                known = key in sites and a.joined is not None and a.joined[0] is not None
                if known and moved.any() and not a.compared and _same_noise(a, b):
                    joined[key] = a.joined
                    distances[key].append(float(np.sum(moved)))
                continue
            _account(a, b, moved, sites, sizes, distances, extra, unbounded, hidden)
    for key, signed in hidden.items():
        if len(signed) > 1 and max(signed) - min(signed) > CLOSE * max(map(abs, signed)):
            apart[key[0]] = max(apart[key[0]], max(signed) - min(signed))
    for a_draw, b_draw in zip(one.draws, other.draws, strict=False):
        if a_draw.site.key == b_draw.site.key:
            extra[a_draw.site.key] += _by_parameters(a_draw, b_draw)
    answer = {}
    for key in dict.fromkeys((*sizes, *extra, *apart, *joined)):
        name = sites[key].distribution
        kind = "laplace" if family(name) == "one-sided" and key not in unbounded else name
        cost = cost_of_moves(kind, sizes[key], claim) + cost_of_moves("laplace", [extra[key]], claim)
        where = None if any(one[0] == key for keys in released_alone for one in keys) else compared.get(key)
        unbounded_cost = not math.isfinite(cost)
        answer[key] = Moves(sizes[key], distances[key], unbounded_cost, cost, apart[key], where, joined.get(key))
    return answer


def _same_noise(a: NoisySum, b: NoisySum) -> bool:
    """Whether functions were applied to the same numbers in both: else what they give is no noise beside a value."""
    return len(a.bent) == len(b.bent) and all(
        np.array_equal(x.base, y.base) and _same_noise(x, y) for x, y in zip(a.bent, b.bent, strict=True)
    )


def _by_draws(forms: Sequence[NoisySum]) -> dict[tuple[Key, ...], list[NoisySum]]:
    """Sums by the draws in them."""
    found: dict[tuple[Key, ...], list[NoisySum]] = defaultdict(list)
    for form in forms:
        found[form.keys].append(form)
    return found


def _only_compared(forms: Sequence[NoisySum]) -> bool:
    return all(form.compared for form in forms)


def _account(
    a: NoisySum,
    b: NoisySum,
    moved: Any,
    sites: dict[Any, WatchedDraw],
    sizes: dict[Any, list[float]],
    distances: dict[Any, list[float]],
    extra: dict[Any, float],
    unbounded: set[Any],
    hidden: dict[Key, list[float]],
) -> None:
    """Charge what two sums of the same draws differ by to the draw that hides it best."""
    best: tuple[float, Key, Any] | None = None
    two_sided = len({np.sign(np.ravel(term.factor)[0]) for term in a.terms if np.size(term.factor)}) > 1
    for term in a.terms:
        draw = sites.get(term.key[0])
        if draw is None:
            continue
        factor = np.abs(np.broadcast_to(np.asarray(term.factor, float), np.shape(a.base))).ravel()
        if np.ndim(a.base) == 0 and np.ndim(b.base) == 0 and np.all(factor > 0):
            signed = float(np.ravel(np.asarray(a.base) - np.asarray(b.base))[0] / np.ravel(term.factor)[0])
            if len(a.terms) == 1:
                hidden[term.key].append(signed)
        elif draw.size == 1 and len(a.terms) == 1 and np.all(factor > 0):
            hidden[term.key] += ((np.asarray(a.base) - np.asarray(b.base)).ravel() / factor).tolist()
        kind = family(draw.distribution)
        if kind == "uniform" and a.compared and len(a.terms) == 1:
            p, q = (
                float(np.clip(-np.ravel(form.base)[0] / np.ravel(form.terms[0].factor)[0], 0, 1)) for form in (a, b)
            )
            extra[term.key[0]] = max(extra[term.key[0]], cost_of_probabilities([p, 1 - p], [q, 1 - q]))
            return
        scale = noise_scale(draw)
        if scale is None and kind not in ("uniform", "one-sided", "normal"):
            continue  # How much noise there is, is not known.
        if scale is None or kind == "uniform":
            if moved.any():
                unbounded.add(term.key[0])
            size = math.inf if moved.any() else 0.0
        else:
            with np.errstate(all="ignore"):
                size = float(np.sum(np.where(moved > 0, moved / (factor * scale), 0.0)))
        if kind == "one-sided" and not two_sided and moved.any():
            unbounded.add(term.key[0])
        if best is None or size < best[0]:
            best = size, term.key, moved
    if best is None or not np.any(best[2]):
        return
    if math.isinf(best[0]):
        extra[best[1][0]] = math.inf
    else:
        sizes[best[1][0]].append(best[0])
    distances[best[1][0]].append(float(np.sum(best[2])))


def noise_scale(draw: WatchedDraw) -> float | None:
    """The scale of a draw; for geometric noise, that of the exponential noise that it rounds."""
    if family(draw.distribution) == "one-sided" and draw.distribution.rpartition(".")[2] == "geometric":
        p = float(np.ravel(draw.params[0])[0])
        return -1 / math.log1p(-p) if 0 < p < 1 else None
    return scale_of(draw)


def _by_parameters(a: WatchedDraw, b: WatchedDraw) -> float:
    """What it costs that the probabilities of a choice differ."""
    name = a.distribution.rpartition(".")[2]
    try:
        if name == "choice" and len(a.params) == 2:
            return _of_weights(a.params[1], b.params[1])
        if name == "choices" and len(a.params) > 1:
            return _of_weights(a.params[1], b.params[1])
        if name == "binomial" and a.params[0] == b.params[0] == 1:
            p, q = float(a.params[1]), float(b.params[1])
            return cost_of_probabilities([p, 1 - p], [q, 1 - q])
        if name == "multinomial" and a.params[0] == b.params[0]:
            return _of_weights(a.params[1], b.params[1])
    except (TypeError, ValueError):
        return 0.0
    return 0.0


def _of_weights(one: Any, other: Any) -> float:
    if one is None or other is None:
        return 0.0
    p, q = (np.asarray(weights, dtype=float) for weights in (one, other))
    return cost_of_probabilities((p / p.sum()).tolist(), (q / q.sum()).tolist())
