"""Runs tasks on Dask or Ray through their own futures; results come in order.

joblib's backend of Dask hangs on a task that kills its workers; that of Ray gives all results at the end and retries
none.
"""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from threading import Lock
from typing import Any, TypeVar

from refutedp.model.errors import UsageError

T = TypeVar("T")
Handle = TypeVar("Handle")
AHEAD = 4
"""Tasks under way per core: enough to keep all busy, few enough to stop soon."""
PATIENCE = 5.0
"""Seconds for a scheduler to say its first word."""
RETRIES = 2
"""How often a task of Ray is started again whose worker died."""
_WORKERS_WITHIN = 10
"""Seconds for a Dask cluster's first worker to come."""
_TURN = Lock()
"""Threads of one worker take turns: they share the generators of their process, and what a mechanism keeps there."""
_DASK, _RAY = "Dask scheduler", "Ray cluster"
_OWN = "local"
# The opening of HTTP/2, on which gRPC is built, with an empty frame of settings. A server's first frame holds
# settings too, which is type 4 in its fourth byte (RFC 9113, 3.4 and 6.5).
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def in_order(
    tasks: Iterable[T], cores: int, submit: Callable[[T], Handle], cancel: Callable[[Handle], object]
) -> Generator[tuple[T, Handle], None, None]:
    """Submit tasks, some ahead of the one whose turn it is; what is left when the caller stops is cancelled.

    >>> [handle for _, handle in in_order([1, 2, 3], 1, str, print)]
    ['1', '2', '3']
    """
    rest = iter(tasks)
    under_way: deque[tuple[T, Handle]] = deque()
    try:
        while True:
            for task in islice(rest, AHEAD * max(1, cores) - len(under_way)):
                under_way.append((task, submit(task)))
            if not under_way:
                return
            yield under_way[0]
            under_way.popleft()
    finally:
        for _, handle in under_way:
            cancel(handle)


def packed(task: Callable[[], Any]) -> bytes:
    """A task ready to travel, with what `__main__` or a notebook defines; `call_packed` makes the call."""
    import cloudpickle

    return bytes(cloudpickle.dumps(task))


def call_packed(task: bytes) -> Any:
    """Unpack here and not in the cluster's own machinery, where a missing module would be a failure of the system."""
    import cloudpickle

    try:
        call = cloudpickle.loads(task)
    except ImportError as error:
        raise UsageError(
            f"the workers of the cluster cannot import what the mechanism needs ({error}): install it there, or "
            "start them with its folder in PYTHONPATH"
        ) from None
    with _TURN:
        return call()


def no_answer(scheduler: str, kind: str, why: Any) -> UsageError:
    """The sentence for an address where no such cluster is."""
    return UsageError(f"scheduler={scheduler!r} does not answer as a {kind}: {why}")


def greet(scheduler: str, kind: str, words: bytes = b"") -> bytes:
    """Connect, say the words, and return the beginning of the answer if there were any.

    Clients of clusters try again and again for ten seconds (Dask) or three minutes and a half (Ray) before they say
    that nobody listens.
    """
    host, _, port = scheduler.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"scheduler={scheduler!r} must be the address of a {kind}, such as 10.0.0.1:6379")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE)) as connection:
            connection.sendall(words)
            return connection.recv(64) if words else b""
    except (OSError, OverflowError) as error:
        raise no_answer(scheduler, kind, error) from None


def run_on_dask(
    client: Any | None, tasks: Sequence[Callable[[], T]], crashed: Callable[[Any], Exception]
) -> Iterator[T]:
    """Call every task on the client's cluster; yield the results in the order of the tasks.

    A worker that dies costs a retry. A task that goes on killing its workers raises `crashed(task)`.
    """
    from distributed import KilledWorker, get_client

    client = client or get_client()

    def submit(task: Callable[[], T]) -> Any:
        return client.submit(call_packed, packed(task), pure=False)

    cores = _cores(client)
    done = 0
    while done < len(tasks):
        with closing(in_order(tasks[done:], cores, submit, lambda future: future.cancel())) as under_way:
            for _, future in under_way:
                try:
                    result = future.result()
                except KilledWorker:
                    break
                done += 1
                yield result
            else:
                return
        # Dask blames every task that was waiting on a worker that died: this one by itself shows who it is.
        try:
            yield submit(tasks[done]).result()
        except KilledWorker:
            raise crashed(tasks[done]) from None
        done += 1


def _cores(client: Any) -> int:
    if not client.ncores():
        try:
            client.wait_for_workers(1, timeout=_WORKERS_WITHIN)
        except TimeoutError:
            raise UsageError("the Dask cluster has no workers: start some with `dask worker ADDRESS`") from None
    return int(sum(client.ncores().values()))


def use_dask(stack: ExitStack, scheduler: str | None) -> None:
    """Until the stack closes, Dask has a client: the user's, one of the cluster at `scheduler`, or of its own."""
    try:
        from distributed import Client, get_client
    except ImportError:
        raise UsageError('engine="dask" needs Dask: pip install "refutedp[dask]"') from None
    if scheduler is not None:
        if scheduler.partition("://")[0] in ("tcp", "tls") or "://" not in scheduler:
            greet(scheduler, _DASK)
        options: dict[str, Any] = {}
    else:
        try:
            get_client()
            return
        except ValueError:
            pass
        # Mechanisms are Python code, of which a process runs one thread at a time.
        options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    try:
        stack.enter_context(Client(scheduler, timeout="10s", set_as_default=True, **options))  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise no_answer(str(scheduler), _DASK, error) from None


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
    # What is left ends by itself: `ray.cancel` of a task that is just starting aborts this whole process (Ray 2.60).
    # The tasks of a cluster that a check started or joined end with the check.
    with closing(in_order(tasks, cores, lambda task: call.remote(packed(task)), lambda _: None)) as under_way:
        for task, answer in under_way:
            try:
                result = ray.get(answer)
            except RayTaskError as error:
                raise error.cause from None
            except (WorkerCrashedError, OutOfMemoryError, NodeDiedError):
                raise crashed(task) from None
            yield result


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
        raise no_answer(address, _RAY, _innermost(error)) from None
    stack.callback(ray.shutdown)


def _reach(address: str) -> None:
    encrypted = os.environ.get("RAY_USE_TLS", "0") not in ("", "0")
    answer = greet(address, _RAY, b"" if encrypted else _HTTP2)
    if not encrypted and answer[3:4] != b"\x04":
        raise no_answer(address, _RAY, "something else listens there")


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
