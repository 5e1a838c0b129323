"""A program in any language as a mechanism."""

from __future__ import annotations

import math
import os
import shlex
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from refutedp.model.errors import UsageError
from refutedp.model.settings import positive_number
from refutedp.sampling.program import Spec, ask, close, release

REQUEST = 1000
"""Outputs asked for at once: fixed, for the requests decide the seeds, and with them the result."""
LARGEST_SEED = 2**53 - 1


@dataclass(frozen=True)
class Command:
    """A program that answers requests for outputs in JSON lines, as docs/reference/protocol.md says.

    `command` is a line as typed in a shell, though no shell sees it, or a list of words. The program is started when
    it is first needed, once a core, and kept until the command is no longer used; `timeout` is for one request of
    at most 1000 outputs. Arguments given to `check` with `args=` are sent along, and so is epsilon.

    >>> import sys
    >>> from refutedp import check
    >>> program = '''
    ... import json, random, sys
    ... for line in sys.stdin:
    ...     request = json.loads(line)
    ...     rng = random.Random(request["seed"])
    ...     outputs = [request["data"][0] + rng.choice([0, 1]) for _ in range(request["count"])]
    ...     print(json.dumps({"id": request["id"], "outputs": outputs, "done": True}), flush=True)
    ... '''
    >>> coin = Command([sys.executable, "-c", program])
    >>> check(coin, epsilon=1.0, pairs=[([0], [1])], search_runs=500, confirm_runs=500).verdict
    <Verdict.VIOLATION: 'violation'>
    >>> coin.close()
    """

    command: str | Sequence[str]
    timeout: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", _words(self.command))
        object.__setattr__(self, "timeout", positive_number("timeout", self.timeout))
        weakref.finalize(self, release, self.spec)

    @property
    def spec(self) -> Spec:
        """The program and its time limit, as sampling sees them."""
        return Spec(tuple(self.command), self.timeout)

    @property
    def __name__(self) -> str:
        whole = " ".join(shlex.join([os.path.basename(self.command[0]), *self.command[1:]]).split())
        return whole if len(whole) <= 40 else whole[:37] + "..."

    @property
    def __refutedp_reference__(self) -> str:
        """How a saved result names the command, so that a replay finds it."""
        return f"command:{shlex.join(self.command)}"

    def __call__(
        self, data: Any, *, size: int, rng: np.random.Generator, epsilon: float | None = None, **arguments: Any
    ) -> list[Any]:
        """`size` outputs of the program, in requests of at most 1000, each with a seed drawn from `rng`."""
        if epsilon is not None:
            if not math.isfinite(epsilon):
                raise UsageError(f"epsilon={epsilon!r} must be finite: programs are not asked to run without noise")
            arguments = {"epsilon": epsilon, **arguments}
        outputs: list[Any] = []
        while len(outputs) < size:
            seed = int(rng.integers(LARGEST_SEED, endpoint=True))
            outputs += ask(self.spec, data, arguments, seed=seed, count=min(REQUEST, size - len(outputs)))
        return outputs

    def close(self) -> None:
        """End the program in this process; it starts anew when it is needed again."""
        close(self.spec)

    def __reduce__(self) -> Any:
        # A copy in a worker process has no say in when that worker's program ends.
        return _copy, (tuple(self.command), self.timeout)


def _copy(words: tuple[str, ...], timeout: float) -> Command:
    made = object.__new__(Command)
    object.__setattr__(made, "command", words)
    object.__setattr__(made, "timeout", timeout)
    return made


def _words(command: Any) -> tuple[str, ...]:
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"command={command!r} cannot be split into words: {error}") from None
    elif isinstance(command, Sequence) and not isinstance(command, bytes):
        words = [os.fspath(word) if isinstance(word, str | os.PathLike) else "" for word in command]
    else:
        words = []
    if not words or not words[0]:
        raise UsageError(f'command={command!r} must name a program, such as "./mechanism --flag"')
    return tuple(words)
