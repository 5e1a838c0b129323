"""Chunks on one core, many, or a cluster: results come in order and do not depend on where they were computed.

`jobs` picks the number of local processes of joblib; under `joblib.parallel_config` the same call runs on whatever
backend is configured there, and `engine="dask"` or `"ray"` configures one for the call.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from pickle import PicklingError
from threading import Event
from typing import Any, Generic, NamedTuple, TypeVar

from refutedp.model.errors import BeyondBoundsError, MechanismError, UsageError
from refutedp.model.settings import Engine, Settings
from refutedp.sampling.pool.clusters import run_on_dask, run_on_ray, use_dask, use_ray
from refutedp.tracing.lifeline import place_in
from refutedp.tracing.watchdog import CallBounds, DidNotReturn, Watchdog, now_doing, open_watchdog

T = TypeVar("T")
WORTH_PROCESSES = 3.0
"""Seconds of work that must be left for more cores: to start their processes takes about one."""


@dataclass(frozen=True, slots=True)
class Task(Generic[T]):
    """One call, to be made anywhere; `what` names it in an error, as in "svt() on [1, 1] and [2, 2]"."""

    function: Callable[..., T]
    arguments: tuple[Any, ...]
    what: str

    def __call__(self) -> T:
        """Make the call."""
        return self.function(*self.arguments)


@dataclass(frozen=True, slots=True)
class Pool:
    """Where tasks run.

    >>> pool = Pool()
    >>> list(pool.run([Task(max, (1, 2), "max"), Task(min, (1, 2), "min")]))
    [2, 1]
    """

    jobs: int = 1
    engine: Engine = "local"
    if_it_pays: bool = False
    """Begin on one core, and go on with `jobs` where what is left seems to take long enough for that."""

    @property
    def processes(self) -> int:
        """How many tasks run at once, at most, on this machine."""
        return self.jobs if self.jobs > 0 else max(_all_cores() + 1 + self.jobs, 1)

    def run(self, tasks: Sequence[Task[T]]) -> Generator[T, None, None]:
        """Call every task; yield the results in the order of the tasks, as they become ready.

        A worker process that dies (a crash in native code) costs a retry; a task that kills its worker again is
        named in a `MechanismError`. Nothing hangs and no worker outlives an interrupt. Whoever has seen enough closes
        the iterator: no further task is started. Threads would share the generators of their process, and what a
        mechanism keeps there: under joblib's threading backend tasks run one after the other.
        """
        if self.engine == "local" and (
            type(_backend()).__name__ == "ThreadingBackend" if _configured() else self.jobs == 1
        ):
            for task in tasks:
                yield _here(task)
            return
        if self.if_it_pays and self.engine == "local" and not _configured():
            took = 0.0
            for done, task in enumerate(tasks, start=1):
                start = time.monotonic()
                result = _here(task)
                took += time.monotonic() - start
                yield result
                left = took / done * (len(tasks) - done)
                if left > WORTH_PROCESSES and done < len(tasks) - 1 and _can_be_sent(tasks[done]):
                    yield from replace(self, if_it_pays=False)._or_here(tasks[done:])
                    return
            return
        backend = _backend()
        if self.engine == "ray" or type(backend).__name__ == "RayBackend":
            yield from run_on_ray(tasks, _crashed)
            return
        if self.engine == "dask" or type(backend).__name__ == "DaskDistributedBackend":
            client = None if self.engine == "dask" else backend.client
            yield from run_on_dask(client, tasks, _crashed)
            return
        done = 0
        with LastWords() as folder:
            for _ in range(2):
                try:
                    with closing(self._parallel(tasks[done:], folder)) as results:
                        for result in results:
                            done += 1
                            yield result
                    return
                except _worker_died():
                    _end_workers()
                    folder.read()
            for task in tasks[done:]:
                yield _alone(task, folder)

    def _or_here(self, tasks: Sequence[Task[T]]) -> Generator[T, None, None]:
        """The same, but here where a worker cannot read its tasks: it may lack a module that this process loaded."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        done = 0
        try:
            with closing(self.run(tasks)) as results:
                for result in results:
                    done += 1
                    yield result
        except BrokenProcessPool:
            _end_workers()
            for task in tasks[done:]:
                yield _here(task)

    def _parallel(self, tasks: Sequence[Task[T]], folder: LastWords) -> Generator[T, None, None]:
        from joblib import Parallel, delayed

        jobs = None if _configured() else self.jobs
        bounds = folder.bounds(max(self.jobs, 1) if self.jobs != -1 else _all_cores())
        parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch="2 * n_jobs")
        over = Event()
        results = parallel(delayed(_call)(task, bounds) for task in takewhile(lambda _: not over.is_set(), tasks))
        try:
            while True:
                with _unwarned():
                    try:
                        result = next(results)
                    except StopIteration:
                        return
                    except PicklingError as error:
                        raise unsendable(tasks[0], error) from error
                yield _value(result)
        except GeneratorExit as leaving:
            over.set()
            if _interrupted(leaving):
                _end_workers()
            else:
                # Tasks under way end by themselves: to kill the workers would cost the next call more than that.
                _drain(results)
            raise
        except KeyboardInterrupt:
            _end_workers()
            raise
        finally:
            with _unwarned():
                results.close()


def _here(task: Task[T]) -> T:
    now_doing(task.what)
    return task()


def _interrupted(error: BaseException) -> bool:
    """Whether an iterator is closed because of an interrupt."""
    context = error.__context__
    return context is not None and (isinstance(context, KeyboardInterrupt) or _interrupted(context))


def _drain(results: Iterator[Any]) -> None:
    """Wait for results that nobody wants, whatever they are."""
    nothing = object()
    try:
        while True:
            with contextlib.suppress(Exception):
                if next(results, nothing) is nothing:
                    return
    except KeyboardInterrupt:
        _end_workers()
        raise


@contextmanager
def _unwarned() -> Iterator[None]:
    """joblib warns of results that nobody will use; who stops a check knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def pool_for(settings: Settings, *, costs_calls: bool) -> Pool:
    """Where runs are made: with `jobs="auto"` on one core, but where each is a call on all of them, if that pays."""
    if settings.jobs != "auto":
        return Pool(settings.jobs, settings.engine)
    return Pool(_all_cores() if costs_calls else 1, settings.engine, if_it_pays=True)


def _all_cores() -> int:
    """The cores that this process may use."""
    from joblib import cpu_count

    return int(cpu_count())


def _can_be_sent(task: Task[Any]) -> bool:
    """Whether another process could run it."""
    import cloudpickle

    try:
        cloudpickle.dumps(task)
    except Exception:  # what pickling raises depends on what is pickled
        return False
    return True


class LastWords:
    """A folder in which worker processes that ended themselves say why, where one watches this thread."""

    def __enter__(self) -> LastWords:
        self._watchdog = open_watchdog()
        self._stops = 0 if self._watchdog is None else self._watchdog.stops
        self._folder = None if self._watchdog is None else tempfile.mkdtemp(prefix="refutedp-")
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def bounds(self, processes: int) -> CallBounds | None:
        """What a call in one of so many processes may take."""
        if self._watchdog is None:
            return None
        return replace(self._watchdog.bounds, processes=processes, die=self._folder)

    def read(self) -> None:
        """Raise the error that a worker left behind, if one did, unless all were stopped for some of its time."""
        stops = 0 if self._watchdog is None else self._watchdog.stops
        stopped, self._stops = stops > self._stops, stops
        for path in [] if self._folder is None else sorted(Path(self._folder).iterdir()):
            what, _, rest = path.read_text().partition("\n")
            if stopped:
                path.unlink()
                continue
            if rest.startswith("Timeout"):
                raise BeyondBoundsError(
                    f"{what} did not return, and only the end of its process could stop it{place_in(rest)}: "
                    "call_limit=300 (--call-limit 300) gives a call more time"
                )


class _Failed(NamedTuple):
    """What a task raised, to be raised when its turn comes."""

    error: Exception


def _call(task: Task[T], bounds: CallBounds | None) -> T | _Failed:
    """joblib raises an error before the results of earlier tasks; one core would not have got so far."""
    try:
        if bounds is None:
            return task()
        with Watchdog(replace(bounds, doing=task.what)):
            return task()
    except Exception as error:
        return _Failed(error)
    except DidNotReturn as error:
        return _Failed(BeyondBoundsError(f"{task.what} {error}"))


def _value(result: T | _Failed) -> T:
    if isinstance(result, _Failed):
        raise result.error
    return result


def _configured() -> bool:
    """Whether the caller chose a backend or a number of jobs with `joblib.parallel_config`."""
    if "joblib" not in sys.modules:
        return False
    from joblib.parallel import get_active_backend

    backend, jobs = get_active_backend()
    return jobs is not None or type(backend).__name__ not in ("LokyBackend", "SequentialBackend")


def _backend() -> Any:
    """The backend that the caller chose with `joblib.parallel_config`, or joblib's own."""
    from joblib.parallel import get_active_backend

    return get_active_backend()[0]


def _worker_died() -> type[BaseException]:
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    return TerminatedWorkerError  # type: ignore[no-any-return]


def _end_workers() -> None:
    from joblib.externals.loky import get_reusable_executor

    # Whatever it was made for: to ask for another one would wait for its tasks first.
    get_reusable_executor(reuse=True).shutdown(wait=False, kill_workers=True)


def _alone(task: Task[T], folder: LastWords) -> T:
    """The task in a process of its own, to learn whether it is the one that dies."""
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=1, reuse=False, kill_workers=True)
    try:
        return _value(executor.submit(_call, task, folder.bounds(1)).result())  # type: ignore[no-any-return]
    except _worker_died():
        folder.read()
        raise _crashed(task) from None
    finally:
        executor.shutdown(wait=False, kill_workers=True)


def unsendable(task: Task[Any], error: BaseException) -> UsageError:
    """The sentence for what cannot be sent to another process."""
    # The cause is a traceback as text, in quotes; its last line of words says what cannot be pickled.
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines()]
    why = next(line for line in [*reversed(lines), "unknown"] if any(map(str.isalpha, line)))
    return UsageError(
        f"what is needed to run {task.what} cannot be sent to other processes ({why}): use jobs=1, or make such "
        "things inside the function"
    )


def _crashed(task: Task[Any]) -> MechanismError:
    return MechanismError(
        f"the process that ran {task.what} died more than once, which only a crash in native code or a lack of "
        "memory can do: run the mechanism on these inputs by itself to see it"
    )


@contextmanager
def engine_running(engine: Engine, scheduler: str | None) -> Iterator[None]:
    """For the block, a Dask or Ray cluster is there for tasks: the one at `scheduler`, or its own on this machine."""
    with ExitStack() as stack:
        if engine == "dask":
            use_dask(stack, scheduler)
        elif engine == "ray":
            use_ray(stack, scheduler)
        yield
