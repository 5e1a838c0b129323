"""Keep freed memory for the next columns, instead of handing it back to the system with each of them."""

from __future__ import annotations

from functools import cache

import numpy as np

_ROOM = 2**25 - 2**16
"""Bytes; just below the largest block from which the C library learns."""


@cache
def keep_freed_memory() -> None:
    """Let the C library keep up to 64 MB of freed memory.

    glibc gives a large block back to the system as soon as it is freed, until it has seen a larger one come and go:
    from then on it keeps what is smaller. Columns of a hundred thousand runs would otherwise be handed over page by
    page, again and again. The block is never written to, so it costs nothing;
    other C libraries take no notice.
    """
    np.empty(_ROOM, dtype=np.uint8)
