"""What looking beyond the usual pairs costs the paper's mechanisms: `python -m bench.sources [REPEATS]`.

One check at the paper's budgets on one core, with and without program analysis, evolution and other arguments, in
turns; seconds of the processor, best of so many (3). Arguments are given, and found where there are any. Asked: at
most a quarter of a point more, and the same verdicts.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

from bench.speed import EPSILON, _common
from refutedp import check
from refutedp.detector.prepare import Prepared
from refutedp.mechanisms import PAPER

ASKED = 0.25


def point(function: Any, beyond: bool, options: dict[str, Any]) -> tuple[float, str]:
    """Seconds of a check, and its verdict; with the usual sources alone, or those beyond them, too."""
    alone = patch.object(Prepared, "_beyond_the_usual", lambda *_: [])
    with nullcontext() if beyond else alone:
        start = time.process_time()
        result = check(function, epsilon=EPSILON, jobs=1, **options)
        return time.process_time() - start, result.verdict.value


def main(repeats: int = 3) -> int:
    failed = 0
    print(f"{'mechanism':<44}{'with':>8}{'without':>8}")
    for built_in in PAPER:
        given = _common(built_in)
        for options in (given, {**given, "args": {}}) if given["args"] else (given,):
            point(built_in.function, True, options)  # loads what it needs
            done = [
                (point(built_in.function, True, options), point(built_in.function, False, options))
                for _ in range(repeats)
            ]
            more, less = (min(seconds for seconds, _ in side) for side in zip(*done, strict=True))
            verdicts = sorted({verdict for pair in done for _, verdict in pair})
            failed += more > (1 + ASKED) * less or len(verdicts) > 1
            name = built_in.name + ("" if options is given else ", arguments found")
            print(f"{name:<44}{more:>7.2f}s{less:>7.2f}s{more / less - 1:>7.0%}  {' or '.join(verdicts)}", flush=True)
    print(f"{failed} cost over {ASKED:.0%} of a point more, or change their verdict")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3))
