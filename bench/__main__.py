"""Every study, one after the other: `make bench`."""

from __future__ import annotations

import importlib
import sys

STUDIES = (
    "soundness",
    "programs",
    "examination",
    "bounds",
    "calibration",
    "claims",
    "gaussian",
    "gaussian_gap",
    "svt_limit",
    "symbolic",
    "found_arguments",
    "speed",
)


def main() -> None:
    """Run the studies named on the command line, or all."""
    for name in sys.argv[1:] or STUDIES:
        print(f"\n### bench.{name}\n", flush=True)
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
