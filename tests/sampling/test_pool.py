"""Same seed, same counts: on one core, two, a Dask cluster, and after a worker was killed in mid-run."""

import os
import signal
import threading
import time

import joblib
import numpy as np
import pytest

from refutedp import MechanismError, UsageError, check
from refutedp.sampling.pool import Pool, Task

SMALL = {"epsilon": 1.0, "lengths": (3,), "search_runs": 4000, "confirm_runs": 20_000, "lift": False}


def scalar(queries, epsilon, rng):
    return queries[0] + rng.laplace(scale=0.7 / epsilon)


@pytest.fixture(scope="module")
def one_core():
    return check(scalar, **SMALL).evidence


def square(value):
    return value * value


def test_results_come_in_order():
    tasks = [Task(square, (i,), "square") for i in range(20)]
    assert list(Pool(jobs=2).run(tasks)) == [i * i for i in range(20)]


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


def test_a_worker_that_dies_once_costs_a_retry(tmp_path):
    tasks = [Task(die_once, (str(tmp_path / "mark"),), "die_once"), Task(square, (3,), "square")]
    assert list(Pool(jobs=2).run(tasks)) == ["mark", 9]


def segfault(queries, epsilon, rng):
    if queries[0] == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    return queries[0] + rng.laplace()


def test_a_mechanism_that_kills_its_worker_is_named_with_its_input():
    from refutedp.mechanism import describe
    from refutedp.records import Pair
    from refutedp.sampling.runner import Runner
    from refutedp.sampling.seeds import child

    runners = [
        Runner(describe(segfault), Pair([1, 1], [other, 1], "given", {"epsilon": 1.0}), "scalar") for other in (0, 2)
    ]
    tasks = [Task(runner.run, (50, 50, child(0, i)), runner.what) for i, runner in enumerate(runners)]
    results = Pool(jobs=2).run(tasks)
    assert next(results).first.size == 50
    with pytest.raises(MechanismError, match=r"ran segfault\(\) on \[1, 1\] and \[2, 1\] died twice"):
        next(results)


def slow(queries, epsilon, rng):
    time.sleep(2e-5)
    return queries[0] + rng.laplace(scale=0.7 / epsilon)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install refutedp[dask]")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


def test_a_dask_cluster_counts_the_same(cluster, one_core):
    evidence = check(scalar, engine="dask", scheduler=cluster.scheduler_address, **SMALL).evidence
    assert evidence == one_core


def test_a_dask_worker_killed_in_mid_run_changes_nothing(cluster):
    expected = check(slow, **SMALL).evidence.counts
    pids = [worker.pid for worker in cluster.workers.values()]

    def kill():
        time.sleep(1.0)
        os.kill(pids[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    evidence = check(slow, engine="dask", scheduler=cluster.scheduler_address, **SMALL).evidence
    killer.join()
    assert evidence.counts == expected


def test_ray_counts_the_same(one_core):
    pytest.importorskip("ray", reason="Ray is not installed: pip install refutedp[ray]")
    assert check(scalar, engine="ray", **SMALL).evidence == one_core


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_missing_engine_names_what_to_install(engine, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed" if engine == "dask" else "ray", None)
    with pytest.raises(UsageError, match=rf'pip install "refutedp\[{engine}\]"'):
        check(scalar, engine=engine, **SMALL)


def test_a_scheduler_that_does_not_answer_is_a_sentence():
    pytest.importorskip("distributed", reason="Dask is not installed: pip install refutedp[dask]")
    with pytest.raises(UsageError, match="does not answer as a Dask scheduler"):
        check(scalar, engine="dask", scheduler="tcp://127.0.0.1:1", **SMALL)


def test_seeds_do_not_depend_on_the_order_of_chunks():
    from refutedp.mechanism import describe
    from refutedp.records import Pair
    from refutedp.sampling.runner import Runner
    from refutedp.sampling.seeds import child

    runner = Runner(describe(scalar), Pair([0], [1], "given", {"epsilon": 1.0}), "scalar")
    chunks = [runner.run(20, 20, child(0, 1, i)) for i in (0, 1)]
    backwards = [runner.run(20, 20, child(0, 1, i)) for i in (1, 0)]
    for one, other in zip(chunks, reversed(backwards), strict=True):
        assert np.array_equal(one.first.groups[0].columns[0], other.first.groups[0].columns[0])
