"""The files of the package that a default check passes through: `python -m bench.files`.

A file counts if one of its functions runs in `check(noisy_max_laplace, epsilon=1.0)` or in printing the result.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import refutedp
from refutedp import check
from refutedp.mechanisms import noisy_max_laplace

ROOT = Path(refutedp.__file__).parent


def main() -> None:
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(note)
    str(check(noisy_max_laplace, epsilon=1.0, progress=False))
    sys.setprofile(None)
    ours = sorted(Path(name).relative_to(ROOT) for name in seen if Path(name).is_relative_to(ROOT))
    ours = [path for path in ours if path.parts[0] != "mechanisms"]
    print("\n".join(map(str, ours)))
    print(f"{len(ours)} files")


if __name__ == "__main__":
    main()
