"""What `make demo` shows and the README says of a bug and its mended twin, with the default budgets and seed."""

from refutedp import Verdict, check
from refutedp.cli import demo


def test_the_demo_catches_the_bug_and_lets_its_twin_go(capsys):
    demo.main()
    verdicts = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith(("VIOLATION", "No violation"))
    ]
    assert [line.split(":")[0] for line in verdicts] == ["VIOLATION", "No violation found"]
    assert "noisy_max_laplace_value does not satisfy 1-differential privacy" in verdicts[0]


def test_the_readme_is_right_about_the_index():
    def noisy_max(queries, epsilon, rng):
        noisy = [q + rng.laplace(scale=2 / epsilon) for q in queries]
        return noisy.index(max(noisy))

    assert check(noisy_max, epsilon=1.0, progress=False).verdict is Verdict.NOT_FOUND
