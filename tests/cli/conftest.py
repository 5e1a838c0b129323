"""The installed command, and a folder with mechanisms good and bad."""

import contextlib
import io
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("refutedp")
FILES = {
    "leaky.py": """
        def noisy_max(queries, epsilon, rng):
            noisy = [q + rng.laplace(scale=0.2 / epsilon) for q in queries]
            return max(noisy)

        NUMBER = 3
    """,
    "talkative.py": """
        print("hello from the module")

        def chatty(queries, epsilon, rng):
            return max(q + rng.laplace(scale=0.2 / epsilon) for q in queries)
    """,
    "missing_import.py": "import a_module_that_is_not_there\n",
    "syntax.py": "def f(:\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "late.py": "def helper():\n    return 1 / 0\n\nVALUE = helper()\n",
    "raises.py": "def f(queries, epsilon, rng):\n    raise ValueError('no data today')\n",
    "clash/random.py": "def f(queries, epsilon, rng):\n    return max(queries) + rng.laplace(scale=0.1)\n",
    "toss.py": """
        def toss(queries, epsilon, rng):
            truth = queries[0] >= 1
            return truth if rng.random() < 0.65 else not truth
    """,
    "vacuous.py": """
        class Spent:
            answers = 50

            def __call__(self, queries, epsilon, rng):
                self.answers -= 1
                if self.answers < 0:
                    raise LookupError("the budget is spent")
                return queries[0] + rng.laplace(scale=1 / epsilon)

        def constant(queries, epsilon, rng):
            return 3

        def nearly_constant(queries, epsilon, rng):
            return bool(rng.random() < 1e-5)

        spent = Spent()
    """,
    "half/__init__.py": "import a_module_that_is_not_there\n",
    "half/release.py": "",
    "pkg/__init__.py": "",
    "pkg/helpers.py": "SCALE = 0.1\n",
    "pkg/release.py": """
        from .helpers import SCALE

        def total(queries, epsilon, rng):
            return sum(queries) + rng.laplace(scale=SCALE)
    """,
    "opaque.py": """
        import json
        import time

        def opaque(queries, epsilon, rng):
            time.sleep(0.01)
            return json.loads(json.dumps(sum(queries) + rng.laplace(scale=5 / epsilon)))
    """,
    "slow.py": """
        import time

        def slow(queries, epsilon, rng):
            time.sleep(0.002)
            return max(q + float(str(rng.laplace(scale=2 / epsilon))) for q in queries)
    """,
}
SMALL = ("--search-runs", "500", "--confirm-runs", "5000", "--length", "5")


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    from textwrap import dedent

    root = tmp_path_factory.mktemp("cli")
    for name, text in FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(dedent(text))
    return root


@pytest.fixture
def run(folder):
    """Run the command in the folder; errors must never show a traceback."""

    def go(*arguments, traceback=False, **keywords):
        done = subprocess.run(
            [COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=120, **keywords
        )
        assert traceback or "Traceback" not in done.stderr, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
        return done

    return go


@pytest.fixture
def run_here(folder, monkeypatch):
    """Run the command in this process: the same code, without the second that a new Python takes."""
    from refutedp.cli import main

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def go(*arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        assert "Traceback" not in err.getvalue()
        return subprocess.CompletedProcess(arguments, stop.value.code, out.getvalue(), err.getvalue())

    return go


@pytest.fixture
def start(folder):
    """Start the command so that it can be interrupted, even where the tests themselves run in the background."""
    started = []

    def go(*arguments, stderr=subprocess.PIPE):
        process = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield go
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
