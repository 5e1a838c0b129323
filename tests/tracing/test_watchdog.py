"""Calls that go beyond their bounds end; those that keep them are left alone."""

import ctypes
import io
import re
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from refutedp.tracing.watchdog import MOST_VALUES, CallBounds, DidNotReturn, Watchdog, open_watchdog


def endless():
    while True:
        pass


def swallowing():
    while True:
        try:  # noqa: SIM105
            time.sleep(0.001)
        except:  # noqa: E722
            pass


def flooding():
    while True:
        print("flood")


def eating():
    kept = []
    while True:
        kept.append(bytearray(2**20))


def sleeping():
    time.sleep(1e6)


def waiting():
    threading.Event().wait()


def hanging_in_c():
    ctypes.CDLL(None).sleep(10**6)


def matching():
    re.match(r"(a+)+$", "a" * 60 + "b")


def multiplying():
    3 ** (10**10)


def returning_all_the_same():
    try:
        endless()
    except BaseException:
        return 1


def left_alone():
    handlers = signal.getsignal(signal.SIGURG), signal.getsignal(signal.SIGVTALRM)
    return *handlers, signal.getitimer(signal.ITIMER_VIRTUAL), sys.gettrace(), sys.stdout


def test_the_timer_of_somebody_else_is_left_alone():
    ticks = []
    signal.signal(signal.SIGVTALRM, lambda *_: ticks.append(1))
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.01, 0.01)
    try:
        with Watchdog(CallBounds(60.0)) as watchdog, watchdog.call():
            while len(ticks) < 5:
                pass
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[1] > 0
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)


@pytest.mark.parametrize(
    "call",
    [endless, swallowing, sleeping, waiting, hanging_in_c, matching, multiplying, returning_all_the_same],
)
def test_a_call_that_does_not_return_is_ended_in_the_main_thread(call):
    before = left_alone()
    with Watchdog(CallBounds(0.1)) as watchdog:
        with pytest.raises(DidNotReturn, match=r"did not return within 0\.1 seconds"), watchdog.call():
            call()
        with watchdog.call():
            assert sum(range(100)) == 4950
    assert left_alone() == before
    assert open_watchdog() is None


def test_in_another_thread_python_code_is_ended():
    def run():
        with Watchdog(CallBounds(0.1)) as watchdog, pytest.raises(DidNotReturn), watchdog.call():
            endless()
        return open_watchdog()

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(run).result() is None


def test_one_watchdog_within_another_takes_over_and_gives_back():
    with Watchdog(CallBounds(60.0)) as outer:
        with Watchdog(CallBounds(0.1)) as inner, pytest.raises(DidNotReturn), inner.call():
            sleeping()
        assert open_watchdog() is outer
        with outer.call():
            pass


def test_what_is_printed_and_released_is_bounded(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stdout", shown)
    with Watchdog(CallBounds(60.0)) as watchdog:
        print("before")
        with pytest.raises(DidNotReturn, match="printed more than"), watchdog.call():
            flooding()
        watchdog.beyond([0.0] * 1000)
        with pytest.raises(DidNotReturn, match="returned 1,000,001 values"):
            watchdog.beyond([0.0] * (MOST_VALUES + 1))
    assert sys.stdout is shown and shown.getvalue().startswith("before\nflood\n") and len(shown.getvalue()) < 200_000


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the bound on memory needs Linux")
def test_memory_is_bounded_and_the_bound_is_taken_away(monkeypatch):
    import resource

    from refutedp.tracing import memory_bound as module

    monkeypatch.setattr(module, "MOST_MEMORY", 200 * 2**20)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with Watchdog(CallBounds(60.0)) as watchdog, pytest.raises(MemoryError), watchdog.call():
        eating()
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
