"""A bound on the memory of this process, so that a mechanism that eats it raises MemoryError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

MEMORY_PART, MOST_MEMORY = 0.25, 8 * 2**30
"""The part of the machine's free memory that a check may take, and how many bytes at most."""


def bound_memory(processes: int) -> Callable[[], object]:
    """Let this process take a part of the machine's free memory and no more; returns what ends that."""
    try:
        import resource

        free = _free_memory()
        status = Path("/proc/self/status").read_text()
        used = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData"))
    except (ImportError, OSError, ValueError, StopIteration):
        return lambda: None
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = used + int(min(MEMORY_PART * free, MOST_MEMORY) / processes)
    if soft not in (-1, resource.RLIM_INFINITY) and soft <= most:
        return lambda: None
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    return partial(resource.setrlimit, resource.RLIMIT_DATA, (soft, hard))


def _free_memory() -> int:
    """Bytes that nobody uses: on this machine, or in the container around it."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text())
        free = min(free, most - int((group / "memory.current").read_text()))
    return max(free, 0)
