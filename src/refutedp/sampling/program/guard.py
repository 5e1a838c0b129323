"""The guard: a tiny process that ends programs whose owner was killed before it could do so itself.

Its owner writes "+group" and "-group" lines into its standard input as programs start and end. When that pipe
closes, however the owner died, the groups that are left are ended. Run as a script, on the standard library alone.
"""

import contextlib
import os
import signal
import sys
import time

GRACE = 0.5


def main() -> None:
    """Remember groups until the pipe closes, then end those that are left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for group in groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)
        if groups and number == signal.SIGTERM:
            time.sleep(GRACE)


if __name__ == "__main__":
    main()
