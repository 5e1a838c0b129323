"""Golden results: about eighty checks, sweeps and replays, saved before a change and compared after it.

    python -m bench.golden save FOLDER      # before
    python -m bench.golden compare FOLDER   # after: prints every field that differs; exit code 1 if any does

Results are compared field by field as they are saved, but for the versions of the libraries and the seconds of a run.
Files of an earlier format are upgraded first; every difference that is meant is to be listed, with its
reason, where the change is described.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from refutedp import (
    ADD_REMOVE,
    FDP,
    ONE_DIFFERS,
    REPLACE,
    ZCDP,
    AddRemove,
    ApproxDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    check,
    replay,
    sweep,
)
from refutedp.api.saved.versions import upgraded
from refutedp.mechanisms import PAPER, isvt1, isvt2, isvt4, noisy_max_laplace

SMALL: dict[str, Any] = {"search_runs": 3_000, "confirm_runs": 20_000}


def gaussian(queries, rng):
    return queries[0] + rng.normal(scale=0.9)


def laplace(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=0.8 / epsilon)


def opaque(queries, epsilon):
    return queries[0] + np.random.laplace(scale=0.5 / epsilon)


def batched(queries, epsilon, rng, *, size):
    return queries[0] + rng.laplace(scale=0.5 / epsilon, size=size)


def formatted(queries, epsilon, rng):
    return f"{sum(queries) + rng.laplace(scale=0.5 / epsilon):.1f}"


def rare(queries, epsilon, rng):
    noise = rng.laplace(scale=1 / epsilon)
    return (queries[0], noise) if noise > 7 / epsilon else (0, noise)


def keys(data, epsilon, rng):
    return {x: data.count(x) + rng.laplace(scale=1 / epsilon) for x in sorted(set(data))}


def frame_sum(data, epsilon, rng):
    return float(data["x"].sum()) + rng.laplace(scale=0.5 / epsilon)


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of results, and what makes each."""
    for built_in in PAPER:
        for epsilon in (0.2, 0.7, 1.5):
            yield f"{built_in.name} {epsilon}", lambda b=built_in, e=epsilon: check(b.function, epsilon=e, **SMALL)
    one: dict[str, Any] = {"pairs": [([0], [1])], **SMALL}
    claims = (
        *(PureDP(0.5), ApproxDP(1.0, 1e-3), ZCDP(0.4), RenyiDP(2.0, 0.8), GaussianDP(0.9)),
        FDP(lambda a: max(0.0, 1 - 2 * a)),
    )
    for claim in claims:
        for importance in ("needed", "always", "never"):
            yield (
                f"gaussian {type(claim).__name__} {importance}",
                lambda c=claim, i=importance: check(gaussian, c, **one, importance=i),
            )
    for seed in range(3):
        yield f"seed {seed}", lambda s=seed: check(laplace, epsilon=1.0, seed=s, **SMALL)
    for name, more in {
        "fisher": {"method": "fisher"},
        "speed": {"goal": "speed"},
        "fixed": {"stop": "fixed"},
        "unpaired": {"paired": False},
        "no lift": {"lift": False, "lengths": (1,)},
        "two cores": {"jobs": 2},
        "one differs": {"adjacency": ONE_DIFFERS},
        "floats": {"float_leaks": "convict"},
    }.items():
        yield f"laplace {name}", lambda m=more: check(laplace, epsilon=0.7, **SMALL, **m)
        yield f"isvt4 {name}", lambda m=more: check(isvt4, epsilon=0.7, **{**SMALL, "lengths": (5,), **m})
    for function in (batched, formatted, rare):
        yield function.__name__, lambda f=function: check(f, epsilon=1.0, lengths=(1, 2), **SMALL)
    yield "keys", lambda: check(keys, epsilon=1.0, adjacency=ADD_REMOVE, **SMALL)
    yield "records", lambda: check(keys, epsilon=1.0, adjacency=AddRemove(["a", "b"], odd=False), **SMALL)
    yield "frames", _frames
    for name, epsilons in (("noisy max", (0.2, 0.7)), ("isvt2", (0.7, 1.5))):
        function = noisy_max_laplace if name == "noisy max" else isvt2
        yield (
            f"sweep {name}",
            lambda f=function, e=epsilons: sweep(f, claimed=e, test=(0.1, 0.5, 1.0, 1.5, 2.0), lengths=(5,), **SMALL),
        )
    yield "replay", lambda: _again(replay)
    yield "replay of a fixed size", lambda: _again(lambda path: replay(path, stop="fixed", seed=5))


def _frames() -> Any:
    import pandas as pd

    data = pd.DataFrame({"x": [0.5, 1.0, 0.25]})
    return check(
        frame_sum, epsilon=1.0, adjacency=REPLACE, inputs=data, search_runs=300, confirm_runs=1000, lift=False
    )


def _again(how: Callable[[Any], Any]) -> Any:
    path = Path("out/golden-replay.json")
    path.parent.mkdir(exist_ok=True)
    check(isvt1, epsilon=0.7, lengths=(5,), **SMALL).save(path)
    return how(path)


def stable(text: str) -> Any:
    """A saved result without what may differ: versions of libraries, and where this file has its functions."""
    saved = json.loads(text)
    saved = upgraded(saved, saved.pop("format"))
    saved.pop("versions", None)
    if saved.get("origin"):
        saved["origin"].pop("line", None)
    return saved


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Every field that differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key not in before or key not in after:
                yield f"{where}.{key}: only {'after' if key in after else 'before'}"
            else:
                yield from differences(before[key], after[key], f"{where}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{where}[{i}]")
    elif before != after:
        yield f"{where}: {str(before)[:80]} -> {str(after)[:80]}"


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in ("save", "compare"):
        sys.exit(__doc__)
    mode, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    differ = count = 0
    for name, make in cases():
        path = folder / f"{name.replace(' ', '-')}.json"
        if mode == "compare" and not path.exists():
            print(f"{name}: not saved before")
            continue
        count += 1
        if mode == "save":
            make().save(path)
            continue
        with TemporaryDirectory() as scratch:
            make().save(new := Path(scratch) / path.name)
            found = list(differences(stable(path.read_text()), stable(new.read_text())))
        differ += bool(found)
        for line in found[:5]:
            print(f"{name}{line}", flush=True)
    print(f"{count} results" + (f", {differ} differ" if mode == "compare" else f" saved in {folder}"))
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
