"""What becomes of a call that goes beyond its bounds: a sentence that names the input, or an output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refutedp.model.datasets import one_line
from refutedp.model.errors import BeyondBoundsError
from refutedp.model.mechanism import Mechanism
from refutedp.sampling.encode import Raised
from refutedp.tracing.watchdog import DidNotReturn, open_watchdog

_TIME, _MEMORY, _SIZE = "did not return", "ran out of memory", "released too much"


def beyond_bounds(error: BaseException, mechanism: Mechanism, data: Any, arguments: Mapping[str, Any]) -> Raised:
    """The call as an output, where the user wants that; otherwise raises the sentence about it."""
    why = str(error) if isinstance(error, DidNotReturn) else "took more memory than it may"
    kind = _MEMORY if "memory" in why else _TIME if "return within" in why else _SIZE
    watchdog = open_watchdog()
    if watchdog is not None and watchdog.bounds.as_output:
        return Raised(kind)
    raise sentence(mechanism, why, data, arguments) from None


def sentence(mechanism: Mechanism, why: str, data: Any, arguments: Mapping[str, Any]) -> BeyondBoundsError:
    """What the user reads."""
    given = "".join(f", {name}={value!r}" for name, value in arguments.items())
    more = "call_limit=300 (--call-limit 300) gives a call more time, and " if "return within" in why else ""
    return BeyondBoundsError(
        f"{mechanism.name}() {why} (data={one_line(data)}{given}): {more}"
        'on_limit="output" (--on-limit output) takes that as an output'
    )
