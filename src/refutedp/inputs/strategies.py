"""Data sets drawn from a Hypothesis strategy: the same ones for the same seed, small ones first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from refutedp.model.datasets import container_of, one_line
from refutedp.model.errors import UsageError

EXAMPLES = 60
"""Data sets drawn."""
KEPT = 12
"""Data sets kept: one of each size, from the smallest on, before a second one of any."""


def drawn(strategy: Any, seed: int) -> list[Any]:
    """At most `KEPT` different data sets; nothing is printed, stored or read from earlier runs.

    >>> from hypothesis import strategies as st
    >>> first, second = (drawn(st.lists(st.integers(0, 9)), seed=1) for _ in range(2))
    >>> first == second, len(first), first[0]
    (True, 12, [])
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, Verbosity

    found: list[Any] = []

    def collect(data: Any) -> None:
        found.append(data)

    try:
        with _by_seed_alone() as backend:
            quietly = hypothesis.settings(
                max_examples=EXAMPLES,
                database=None,
                derandomize=False,  # that would ignore the seed
                phases=[Phase.generate],
                deadline=None,
                suppress_health_check=list(HealthCheck),
                verbosity=Verbosity.quiet,
                print_blob=False,
                backend=backend,
            )
            hypothesis.seed(seed)(quietly(hypothesis.given(strategy)(collect)))()
    except Exception as error:
        said = str(error).partition("\n")[0] or type(error).__name__
        raise UsageError(f"inputs={one_line(strategy)} cannot be drawn from: {said}") from error
    return _small_first(found)


@contextmanager
def _by_seed_alone() -> Iterator[str]:
    """The name of a backend, for the block, that draws as Hypothesis does but by the seed alone.

    Hypothesis' own now and then draws a constant from the source of the modules that happen to be loaded, and keeps
    a list of them in a folder; the same seed would not draw the same in another program.
    """
    try:
        from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider
    except ImportError:  # a version that knows nothing of such constants
        yield "hypothesis"
        return

    class Seeded(HypothesisProvider):  # type: ignore[misc]
        def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
            return None

    name = "refutedp-seeded"
    AVAILABLE_PROVIDERS[name] = Seeded
    try:
        yield name
    finally:
        del AVAILABLE_PROVIDERS[name]


def _small_first(datasets: list[Any]) -> list[Any]:
    different = {one_line(data) + repr(_size(data)): data for data in datasets}
    by_size: dict[int, list[Any]] = {}
    for data in different.values():
        by_size.setdefault(_size(data), []).append(data)
    chosen: list[Any] = []
    for turn in range(KEPT):
        chosen += [by_size[size][turn] for size in sorted(by_size) if turn < len(by_size[size])]
    return chosen[:KEPT]


def _size(data: Any) -> int:
    container = container_of(data)
    return 0 if container is None else len(container.records(data))
