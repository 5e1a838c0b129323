"""Same seed, same counts: on one core, two, a Dask cluster, and after a worker was killed in mid-run."""

import importlib
import math
import os
import signal
import socket
import sys
import threading
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pytest

from refutedp import MechanismError, UsageError, check
from refutedp.model.errors import BeyondBoundsError
from refutedp.sampling.pool.clusters import call_packed, packed
from refutedp.sampling.pool.tasks import LastWords, Pool, Task, engine_running
from refutedp.tracing.watchdog import CallBounds, Watchdog

SMALL = {"epsilon": 1.0, "lengths": (3,), "search_runs": 4000, "confirm_runs": 20_000, "lift": False}
SMALL["time_limit"] = math.inf
"""A busy machine would not get through all of it in the default minute, and would say so with a plan."""


def scalar(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=0.7 / epsilon)


@pytest.fixture(scope="module")
def one_core():
    return check(scalar, **SMALL).evidence


def square(value):
    return value * value


@pytest.mark.parametrize(("jobs", "processes"), [(1, 1), (3, 3), (-1, joblib.cpu_count())])
def test_how_many_tasks_run_at_once(jobs, processes):
    assert Pool(jobs).processes == processes


def test_results_come_in_order():
    tasks = [Task(square, (i,), "square") for i in range(20)]
    assert list(Pool(jobs=2).run(tasks)) == [i * i for i in range(20)]


def test_threads_take_turns(one_core):
    """They would share the lifts of a process, and the generators of its modules."""
    lifted = {**SMALL, "lift": True}
    expected = check(scalar, **lifted).evidence
    with joblib.parallel_config("threading", n_jobs=2):
        assert check(scalar, **lifted).evidence == expected
        assert check(scalar, **SMALL).evidence == one_core
        assert set(Pool().run([Task(threading.get_ident, (), "thread")] * 4)) == {threading.get_ident()}


def stay():
    start = time.perf_counter()
    time.sleep(0.05)
    return start, time.perf_counter()


def test_threads_of_a_clusters_worker_take_turns():
    stays = []
    threads = [threading.Thread(target=lambda: stays.append(call_packed(packed(stay)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(end <= start for (_, end), (start, _) in pairwise(sorted(stays)))


def leave_mark(folder, number):
    (folder / str(number)).touch()
    time.sleep(0.1)
    return os.getpid()


def test_who_has_seen_enough_starts_no_further_task_and_keeps_the_workers(tmp_path):
    results = Pool(jobs=2).run([Task(leave_mark, (tmp_path, number), "mark") for number in range(200)])
    workers = {next(results), next(results)}
    results.close()
    started = len(list(tmp_path.iterdir()))
    assert 2 <= started < 200
    workers |= set(Pool(jobs=2).run([Task(os.getpid, (), "getpid")] * 20))
    assert len(workers) <= 2
    assert len(list(tmp_path.iterdir())) == started


def wait_or_fail(number):
    if number:
        raise ValueError("the second task")
    time.sleep(1)
    return number


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_waits_for_its_turn(jobs):
    """The second task fails long before the first is done, and one core would have seen the first one."""
    results = Pool(jobs=jobs).run([Task(wait_or_fail, (number,), "wait") for number in range(2)])
    assert next(results) == 0
    with pytest.raises(ValueError, match="the second task"):
        next(results)


def say_who_and_sleep(folder, number):
    (folder / str(os.getpid())).touch()
    time.sleep(600 if number else 0)


def interrupted_after_one(tasks):
    with closing(Pool(jobs=2).run(tasks)) as results:
        next(results)
        raise KeyboardInterrupt


def test_an_interrupt_ends_the_workers_and_does_not_wait_for_what_is_under_way(tmp_path):
    """The other tasks sleep for longer than a test may take."""
    with pytest.raises(KeyboardInterrupt):
        interrupted_after_one([Task(say_who_and_sleep, (tmp_path, number), "sleep") for number in range(3)])
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert workers
    while any(os.path.exists(f"/proc/{worker}") for worker in workers):
        time.sleep(0.05)


def test_two_cores(one_core):
    assert check(scalar, jobs=2, **SMALL).evidence == one_core


def test_under_joblib_parallel_config(one_core):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert check(scalar, **SMALL).evidence == one_core


def test_a_mechanism_defined_inside_a_function_travels(one_core):
    scale = 0.7

    def local(queries, epsilon, rng):
        return queries[0] + rng.laplace(scale=scale / epsilon)

    evidence = check(local, jobs=2, **SMALL).evidence
    assert evidence.counts == one_core.counts


def die_once(path):
    if not os.path.exists(path):
        with open(path, "w"):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
    return os.path.basename(path)


def die(driver):
    assert os.getpid() != driver
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_once_costs_a_retry(tmp_path):
    tasks = [Task(die_once, (str(tmp_path / "mark"),), "die_once"), Task(square, (3,), "square")]
    assert list(Pool(jobs=2).run(tasks)) == ["mark", 9]


def segfault(queries, epsilon, rng):
    if queries[0] == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    return queries[0] + rng.laplace()


def test_a_mechanism_that_kills_its_worker_is_named_with_its_input():
    from refutedp.model.mechanism import describe
    from refutedp.model.records import Pair
    from refutedp.model.settings import child
    from refutedp.sampling.sampler import PlainSampler

    samplers = [
        PlainSampler(describe(segfault), Pair([1, 1], [other, 1], "given", {"epsilon": 1.0})) for other in (0, 2)
    ]
    tasks = [Task(sampler.run, (50, 50, child(0, i)), sampler.what) for i, sampler in enumerate(samplers)]
    results = Pool(jobs=2).run(tasks)
    assert next(results).first.size == 50
    with pytest.raises(MechanismError, match=r"ran segfault\(\) on \[1, 1\] and \[2, 1\] died more than once"):
        next(results)


def slow(queries, epsilon, rng):
    time.sleep(2e-5)
    return queries[0] + rng.laplace(scale=0.7 / epsilon)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install refutedp[dask]")
    import dask

    with (
        # A task may kill two workers, not four, before Dask gives it up: each takes seconds to start again.
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as running,
    ):
        yield running


def test_a_dask_cluster_counts_the_same(cluster, one_core):
    evidence = check(scalar, engine="dask", scheduler=cluster.scheduler_address, **SMALL).evidence
    assert evidence == one_core


def test_dask_under_joblib_parallel_config(cluster, one_core):
    from distributed import Client

    with Client(cluster.scheduler_address), joblib.parallel_config(backend="dask"):
        assert check(scalar, **SMALL).evidence == one_core


def test_a_mechanism_that_kills_its_dask_worker_is_named(cluster):
    tasks = [Task(square, (2,), "square"), Task(die, (os.getpid(),), "die() on [2, 1]"), Task(square, (3,), "square")]
    with engine_running("dask", cluster.scheduler_address):
        results = Pool(engine="dask").run(tasks)
        assert next(results) == 4
        with pytest.raises(MechanismError, match=r"ran die\(\) on \[2, 1\] died more than once"):
            next(results)


def test_a_module_that_dask_workers_have_not_is_a_sentence(cluster, tmp_path, monkeypatch):
    with engine_running("dask", cluster.scheduler_address):
        _a_missing_module("dask", tmp_path, monkeypatch)


def test_a_dask_cluster_without_workers_is_a_sentence(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install refutedp[dask]")
    monkeypatch.setattr("refutedp.sampling.pool.clusters._WORKERS_WITHIN", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50) as empty,
        pytest.raises(UsageError, match="has no workers"),
    ):
        check(scalar, engine="dask", scheduler=empty.scheduler_address, **SMALL)


def test_a_dask_worker_killed_in_mid_run_changes_nothing(cluster):
    smaller = {**SMALL, "search_runs": 1000, "confirm_runs": 10_000}
    expected = check(slow, **smaller).evidence.counts
    pids = [worker.pid for worker in cluster.workers.values()]
    over = threading.Event()
    in_mid_run = []

    def kill():
        time.sleep(1.0)
        os.kill(pids[0], signal.SIGKILL)
        in_mid_run.append(not over.is_set())

    killer = threading.Thread(target=kill)
    killer.start()
    evidence = check(slow, engine="dask", scheduler=cluster.scheduler_address, **smaller).evidence
    over.set()
    killer.join()
    assert in_mid_run == [True]
    assert evidence.counts == expected


@pytest.fixture(scope="module")
def ray_cluster():
    """Ray as a check starts it; the checks inside find it running, use it and leave it running."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install refutedp[ray]")
    with engine_running("ray", None):
        yield ray
    assert not ray.is_initialized()


def test_ray_counts_the_same(ray_cluster, one_core):
    assert check(scalar, engine="ray", **SMALL).evidence == one_core
    assert ray_cluster.is_initialized()


def test_ray_under_joblib_parallel_config(ray_cluster, one_core):
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config(backend="ray"):
        assert check(scalar, **SMALL).evidence == one_core


def test_ray_on_the_command_line(ray_cluster, capfd):
    # Before the tests that kill workers: Ray tells of these on stdout, seconds later, and has no option to stop it.
    from refutedp.cli import main

    words = ["check", "histogram_wrong_scale", "--epsilon=2.5", "--search-runs=999", "--confirm-runs=4000", "--quiet"]
    said = []
    for engine in ("local", "ray"):
        with pytest.raises(SystemExit) as stop:
            main([*words, "--engine", engine])
        said.append((stop.value.code, *capfd.readouterr()))
    assert said[0] == said[1]
    assert said[0][2] == ""


def test_a_ray_worker_killed_in_mid_run_changes_nothing(ray_cluster, one_core, tmp_path):
    marks, here = [tmp_path / "search", tmp_path / "later"], os.getpid()

    def killed(queries, epsilon, rng):
        noise = rng.laplace(scale=0.7 / epsilon)
        # In the middle of a chunk, once in the first chunks and once when that is over.
        for mark in marks:
            if noise > 3 and os.getpid() != here and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return queries[0] + noise

    assert check(killed, engine="ray", **SMALL).evidence.counts == one_core.counts
    assert all(mark.exists() for mark in marks)


def test_a_mechanism_that_kills_its_ray_worker_is_named(ray_cluster):
    tasks = [Task(square, (2,), "square"), Task(die, (os.getpid(),), "die() on [2, 1]"), Task(square, (3,), "square")]
    results = Pool(engine="ray").run(tasks)
    assert next(results) == 4
    with pytest.raises(MechanismError, match=r"ran die\(\) on \[2, 1\] died more than once"):
        next(results)


def test_a_module_that_ray_workers_have_not_is_a_sentence(ray_cluster, tmp_path, monkeypatch):
    _a_missing_module("ray", tmp_path, monkeypatch)


def _a_missing_module(engine, folder, monkeypatch):
    (folder / f"only_here_{engine}.py").write_text("def here(): pass")
    monkeypatch.syspath_prepend(str(folder))
    module = importlib.import_module(f"only_here_{engine}")
    with pytest.raises(UsageError, match=f"cannot import what the mechanism needs .*only_here_{engine}"):
        list(Pool(engine=engine).run([Task(module.here, (), "here()")]))


def test_an_error_on_ray_is_the_mechanisms_own(ray_cluster):
    with pytest.raises(ZeroDivisionError, match=r"^integer division or modulo by zero$"):
        list(Pool(engine="ray").run([Task(divmod, (1, 0), "divmod")]))


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_missing_engine_names_what_to_install(engine, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed" if engine == "dask" else "ray", None)
    with pytest.raises(UsageError, match=rf'pip install "refutedp\[{engine}\]"'):
        check(scalar, engine=engine, **SMALL)


@pytest.mark.parametrize(("engine", "kind"), [("dask", "Dask scheduler"), ("ray", "Ray cluster")])
def test_a_scheduler_that_does_not_answer_is_a_sentence_soon(engine, kind, monkeypatch):
    name = "distributed" if engine == "dask" else "ray"
    module = pytest.importorskip(name, reason=f"{name} is not installed: pip install refutedp[{engine}]")
    if engine == "ray":
        monkeypatch.setattr(module, "is_initialized", lambda: False)
    start = time.monotonic()
    with pytest.raises(UsageError, match=rf"scheduler='127.0.0.1:1' does not answer as a {kind}: .*refused"):
        check(scalar, engine=engine, scheduler="127.0.0.1:1", **SMALL)
    with pytest.raises(UsageError, match=rf"scheduler='nonsense' must be the address of a {kind}"):
        check(scalar, engine=engine, scheduler="nonsense", **SMALL)
    assert time.monotonic() - start < 5


def test_another_server_is_no_ray_cluster(monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install refutedp[ray]")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(UsageError, match="something else listens there"):
            check(scalar, engine="ray", scheduler=address, **SMALL)
        thread.join()


def test_seeds_do_not_depend_on_the_order_of_chunks():
    from refutedp.model.mechanism import describe
    from refutedp.model.records import Pair
    from refutedp.model.settings import child
    from refutedp.sampling.sampler import PlainSampler

    sampler = PlainSampler(describe(scalar), Pair([0], [1], "given", {"epsilon": 1.0}))
    chunks = [sampler.run(20, 20, child(0, 1, i)) for i in (0, 1)]
    backwards = [sampler.run(20, 20, child(0, 1, i)) for i in (1, 0)]
    for one, other in zip(chunks, reversed(backwards), strict=True):
        assert np.array_equal(one.first.groups[0].columns[0], other.first.groups[0].columns[0])


def test_the_time_of_a_worker_that_was_stopped_proves_nothing(monkeypatch):
    """Ctrl-Z stops the time limit's clock no more than the mechanism: the task is made again."""
    told = 'f() on [1]\nTimeout (0:00:25)!\nThread 1 (most recent call first):\n  File "a.py", line 7 in f\n'
    with Watchdog(CallBounds(60.0)) as watchdog, LastWords() as words:
        path = Path(words.bounds(1).die) / "1"
        path.write_text(told)
        monkeypatch.setattr(watchdog, "_looked", time.monotonic() - 60)
        words.read()
        assert not path.exists()
        path.write_text(told)
        with pytest.raises(BeyondBoundsError, match=r'f\(\) on \[1\] did not return.*\(File "a.py", line 7 in f\)'):
            words.read()
