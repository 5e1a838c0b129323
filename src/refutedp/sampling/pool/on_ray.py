"""Tasks on a Ray cluster, as Ray's own tasks: its joblib backend gives all results at the end and retries none."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any, TypeVar

from refutedp.model.errors import UsageError
from refutedp.sampling.pool.clusters import call_packed, greet, in_order, no_answer, packed

T = TypeVar("T")
RETRIES = 2
"""How often a task is started again whose worker died."""
_KIND = "Ray cluster"
_OWN = "local"
# The opening of HTTP/2, on which gRPC is built, with an empty frame of settings. A server's first frame holds
# settings too, which is type 4 in its fourth byte (RFC 9113, 3.4 and 6.5).
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def run_on_ray(tasks: Sequence[Callable[[], T]], crashed: Callable[[Any], Exception]) -> Iterator[T]:
    """Call every task on the cluster; yield the results in the order of the tasks.

    A worker that dies costs a retry. A task that goes on killing its workers raises `crashed(task)`.
    """
    import ray
    from ray.exceptions import NodeDiedError, OutOfMemoryError, RayTaskError, WorkerCrashedError

    call = ray.remote(max_retries=RETRIES, num_cpus=1)(call_packed)
    cores = int(ray.cluster_resources().get("CPU", 0))
    if not cores:
        raise UsageError("the Ray cluster has no cores: start a worker with `ray start --address=ADDRESS`")
    with closing(in_order(tasks, cores, lambda task: call.remote(packed(task)), _leave)) as under_way:
        for task, answer in under_way:
            try:
                result = ray.get(answer)
            except RayTaskError as error:
                raise error.cause from None
            except (WorkerCrashedError, OutOfMemoryError, NodeDiedError):
                raise crashed(task) from None
            yield result


def _leave(answer: Any) -> None:
    """Let it end by itself: `ray.cancel` of a task that is just starting aborts this whole process (Ray 2.60).

    The tasks of a cluster that a check started or joined end with the check.
    """


def use_ray(stack: ExitStack, scheduler: str | None) -> None:
    """Until the stack closes, Ray runs: the user's, the cluster at `scheduler`, or one of its own on this machine."""
    try:
        import ray
    except ImportError:
        raise UsageError('engine="ray" needs Ray: pip install "refutedp[ray]"') from None
    if ray.is_initialized():
        return
    address = scheduler or os.environ.get("RAY_ADDRESS") or _OWN
    if address not in (_OWN, "auto"):
        _reach(address)
    options = {"include_dashboard": False} if address == _OWN else {}
    stack.enter_context(_quiet())
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise no_answer(address, _KIND, _innermost(error)) from None
    stack.callback(ray.shutdown)


def _reach(address: str) -> None:
    encrypted = os.environ.get("RAY_USE_TLS", "0") not in ("", "0")
    answer = greet(address, _KIND, b"" if encrypted else _HTTP2)
    if not encrypted and answer[3:4] != b"\x04":
        raise no_answer(address, _KIND, "something else listens there")


def _innermost(error: BaseException) -> str:
    """The reason, which Ray wraps several times."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Ray's advice is for those who run a cluster; and a check does not tell Ray's makers that it was run."""
    logger, name = logging.getLogger("ray"), "RAY_USAGE_STATS_ENABLED"
    level, before = logger.level, os.environ.get(name)
    logger.setLevel(logging.ERROR)
    os.environ[name] = "0"
    try:
        yield
    finally:
        logger.setLevel(level)
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
