"""`make demo`: a buggy mechanism is caught, its correct twin is not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from refutedp.api.check import check
from refutedp.mechanisms import noisy_max_laplace, noisy_max_laplace_value


def main() -> None:
    """Check both at ε = 1 with the default budgets and print what was found."""
    _show("A mechanism with a bug: it returns the largest noisy value instead of its index", noisy_max_laplace_value)
    _show("Its correct twin returns the index", noisy_max_laplace)


def _show(title: str, mechanism: Callable[..., Any]) -> None:
    print(f"{title}\n{'=' * len(title)}\n")
    print(inspect.getsource(mechanism))
    print(f">>> print(check({mechanism.__name__}, epsilon=1.0))\n")
    print(check(mechanism, epsilon=1.0))
    print()


if __name__ == "__main__":
    main()
