"""Programs in any language as mechanisms: JSON lines over pipes (docs/reference/protocol.md)."""

from refutedp.sampling.program.sessions import Spec, ask, close, release

__all__ = ["Spec", "ask", "close", "release"]
