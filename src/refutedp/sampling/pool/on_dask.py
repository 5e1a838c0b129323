"""Tasks on a Dask cluster, as Dask's own futures: joblib's backend hangs on a task that kills its workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any, TypeVar

from refutedp.model.errors import UsageError
from refutedp.sampling.pool.clusters import call_packed, greet, in_order, no_answer, packed

T = TypeVar("T")
_KIND = "Dask scheduler"
_WORKERS_WITHIN = 10
"""Seconds for a cluster's first worker to come."""


def run_on_dask(
    client: Any | None, tasks: Sequence[Callable[[], T]], crashed: Callable[[Any], Exception]
) -> Iterator[T]:
    """Call every task on the client's cluster; yield the results in the order of the tasks.

    A worker that dies costs a retry. A task that goes on killing its workers raises `crashed(task)`.
    """
    from distributed import KilledWorker, get_client

    client = client or get_client()
    cores = _cores(client)
    done = 0
    while done < len(tasks):
        with closing(in_order(tasks[done:], cores, lambda task: _submit(client, task), _cancel)) as under_way:
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
            yield _submit(client, tasks[done]).result()
        except KilledWorker:
            raise crashed(tasks[done]) from None
        done += 1


def _submit(client: Any, task: Callable[[], T]) -> Any:
    return client.submit(call_packed, packed(task), pure=False)


def _cancel(future: Any) -> None:
    future.cancel()


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
            greet(scheduler, _KIND)
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
        raise no_answer(str(scheduler), _KIND, error) from None
