"""Which line the tool names, for mechanisms whose guilty lines are known, and whether its remedies mend the source.

`python -m bench.blame [NAMES]`: every case on its known pair of neighbours (bugs of the battery on their witness).
A guilty line is one that a reviewer would point to: a change of this line alone mends the mechanism. For the
battery and the built-in mechanisms the lines are given here by a part of their text; in `tests/explain/guilty.py`
they are marked. A printed remedy is applied to the mechanism's source, and the pair is checked again.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refutedp import ALL_DIFFER, Result, Verdict, check
from refutedp.mechanisms import PAPER
from refutedp.mechanisms.catalogue import MORE
from refutedp.model.adjacency import Adjacency
from tests.battery import first_half, second_half
from tests.explain.applying import check_again
from tests.explain.guilty import CASES

LINES = {
    "risk_index": ("index =", "return index"),
    "order_value": ("return orders",),
    "conversion_rate": ("rate = orders", "return rate"),
    "minute_of_the_hour": ("minute = ", "return minute"),
    "attendance": ("if total > 100", "rate = 3", "return total + random"),
    "survey_answers": ("if answer == 999", "released.append(None)"),
    "recent_mean": ("return mean",),
    "monthly_counts": ("noise = ", "counts[:12]", "return counts.tolist"),
    "sound_power": ("power = ", "return power"),
    "expensive_counts": ("kept.setdefault",),
    "until_enough": ("if seen > 50", "seen += count"),
    "most_popular": ("left, chosen =",),
    "bar_heights": ("pixels = 200", "return [pixels"),
    "rounded_to_fifty": ("band = ", "return band"),
    "rolling_totals": ("sum(answers[start", "return [", "for start in range"),
    "account_health": ("weight = ", "return weight"),
    "growth_in_percent": ("growth = ", "return growth"),
    "member_count": ("if len(members) > 20", "return float(len"),
    "median_age": ("median = ", "return median"),
    "clipped_sum": ("return sum(clipped)",),
    "role_counts": ("released[role] = ",),
    "mean_score": ("if len(scores) >= 3", "return float(within"),
    "turnover": ("self.cap / epsilon", "total"),
    "distance_walked": ("steps = [", "return sum(steps)"),
    "shirt_sizes": ("counts[size] if",),
    "visits_by_weekday": ("if (day.month", "came_on_christmas = True", "return [count"),
    "mean_pay_in_sales": ("return mean",),
    "buses_needed": ("return math.ceil",),
    "customers_by_plan": ("plan: sizes[plan]",),
    "relative_income": ("parts = incomes", "return float(parts"),
    "mean_grade": ("return clipped.sum",),
    "words_typed": ("return {word", "least = "),
    "poll": ('if answer == "refused"', 'said["refused"] += 1'),
    "co_movement": ("return covariance", "xs = ", "ys = "),
    "typical_rent": ("return np.exp",),
    "winner": ("utilities = ", "random.choices", "weights = "),
    "size_class": ("step = 1", "return step"),
    "pretty_count": ("while abs(total)",),
    "overtime": ("root = math.sqrt", "except ValueError", "return None"),
    "yearly_totals": ("yield sum", "return [total"),
    "decayed_total": ("return total + rng.laplace(scale=2",),
    "alarm": ("if max(readings) > limit",),
    "noise_pool": ("pool = ", "noisy = ", "noisy["),
    "register": ("shown = ", "return shown"),
    "thermometer": ("return [reading",),
    "districts": ("if level == 3",),
    "mean_delay": ("spread = ", "scale=spread", "if delays.size < 8"),
    "age_bands": ("counts = [sum(left", "return [count"),
    "ways_to_work": ("usual = sorted", "table = {way", 'table["other"]'),
    "items_sold": ("for item in items", "return {item", "sold[item] += 1"),
    "gifts": ("total = float(np.sum", "return total", "if len(gifts) > 15"),
    "same_birthday": ("pairs = sum", "return pairs"),
    "first_come": ("served = list", "return sum(cut"),
    "newsletter": ("if address.endswith", 'return f"refused'),
    "sampled_total": (
        "epsilon = 2 * epsilon",
        "if len(amounts) > 30",
        "return sum(amounts) + random",
        "rate = epsilon",
    ),
    "typical_wait": ("median = ", "weights = ", "random.choices"),
    "membership": ("if joined == UNKNOWN", "ask.append", 'return {"decades"'),
    "noisy_max_laplace_value": ("noisy = [", "return max"),
    "noisy_max_exponential_value": ("noisy = [", "return max"),
    "histogram_wrong_scale": ("return [",),
    "isvt1": ("if query >=",),
    "isvt2": ("if query +",),
    "isvt3": ("if query +",),
    "isvt4": ("out.append(noisy_query)", "noisy_query = "),
    "gaussian_classical": ("sigma = ", "return ["),
    "gaussian_analytic_variance": ("return [",),
    "gaussian_releases_uncounted": ("return [queries[0]",),
    "discrete_laplace_one_sided": ("return [",),
    "discrete_gaussian_variance": ("return _discrete_gaussian(queries, 1 /", "rng.choice(support"),
    "truncated_laplace_too_short": ("bound = math.log(1 / delta)", "return _with_cut"),
    "staircase_from_one": ("return _with_stairs", "steps = "),
    "exponential_mechanism_no_half": ("return _pick", "weights = "),
    "randomized_response_coins": ("return [(rng.random() < 0.75",),
    "rappor_one_bit": ("return _unary", "truth = ", "return [(rng.random() < truth) == (value"),
    "propose_test_release_plain": ("if ranked[0]",),
}
"""Parts of guilty lines, by mechanism."""


BUDGET = {"search_runs": 20_000, "confirm_runs": 100_000, "progress": False}
"""Enough to refute the cases on their pairs: the bench is about what follows."""


@dataclass(frozen=True)
class Known:
    """A mechanism with its guilty lines, and how to check it on one pair."""

    name: str
    function: Any
    lines: frozenset[tuple[str, int]]
    """Files and lines; empty where the mechanism is no Python."""
    keywords: dict[str, Any]


def known() -> Iterator[Known]:
    """All cases: the battery, the built-in mechanisms, and those that were written for this."""
    for case in (*first_half.CASES, *second_half.CASES):
        keywords = {**case.kwargs, "pairs": [case.witness]}
        keywords.pop("inputs", None)
        if case.witness_args:
            keywords["args"] = {**(keywords.get("args") or {}), **case.witness_args}
        yield Known(case.name, case.bug, _by_text(case.bug, LINES.get(case.name, ())), keywords)
    for built in PAPER:
        if not built.correct:
            args = {"threshold": 1.0, "bound": 1} if built.name in ("isvt3", "isvt4") else {}
            args = {"threshold": 1.0} if built.name in ("isvt1", "isvt2") else args
            keywords = {
                "epsilon": 1.0 if built.name != "histogram_wrong_scale" else 0.5,
                "args": args,
                "lengths": (5,),
            }
            keywords["adjacency"] = _adjacency(built.adjacency)
            yield Known(built.name, built.function, _by_text(built.function, LINES[built.name]), keywords)
    for claimed in MORE:
        if not claimed.correct and claimed.name in LINES:
            keywords = {"claim": claimed.claim, "args": claimed.others, "lengths": claimed.lengths}
            keywords["adjacency"] = _adjacency(claimed.adjacency)
            if claimed.pairs:
                keywords["pairs"] = list(claimed.pairs)
                del keywords["lengths"]
            yield Known(claimed.name, claimed.function, _by_text(claimed.function, LINES[claimed.name]), keywords)
    for one in CASES:
        keywords = {"claim": one.claim, "pairs": [(one.d1, one.d2)], "args": one.args, "adjacency": ALL_DIFFER}
        yield Known(one.function.__name__, one.function, _marked(one.function), keywords)


def _adjacency(name: str) -> Adjacency:
    from refutedp import ADD_REMOVE, ONE_DIFFERS, REPLACE

    return {"all": ALL_DIFFER, "one": ONE_DIFFERS, "add_remove": ADD_REMOVE, "replace": REPLACE}[name]


def _sources(function: Any) -> list[tuple[str, int, list[str]]]:
    """Source of the mechanism and of its helpers in the same module that it names, with files and first lines."""
    inner = function
    while hasattr(inner, "func"):
        inner = inner.func
    if not inspect.isroutine(inner):
        inner = type(inner).__call__
    found: list[tuple[str, int, list[str]]] = []
    waiting = [inner]
    seen: set[Any] = set()
    while waiting:
        one = waiting.pop()
        if one in seen or not (inspect.isfunction(one) or inspect.ismethod(one) or inspect.isclass(one)):
            continue
        seen.add(one)
        try:
            lines, first = inspect.getsourcelines(one)
        except (OSError, TypeError):
            continue
        found.append((str(inspect.getsourcefile(one)), first, lines))
        names = getattr(getattr(one, "__code__", None), "co_names", ())
        module = vars(sys.modules[one.__module__])
        waiting += [
            module[name]
            for name in names
            if name in module and getattr(module[name], "__module__", "") == one.__module__
        ]
    return found


def _by_text(function: Any, parts: tuple[str, ...]) -> frozenset[tuple[str, int]]:
    return frozenset(
        (file, first + number)
        for file, first, lines in _sources(function)
        for number, line in enumerate(lines)
        if any(part in line for part in parts)
    )


def _marked(function: Any) -> frozenset[tuple[str, int]]:
    return _by_text(function, ("# guilty",))


def explained(case: Known) -> tuple[Result, float]:
    """The result of a check of the case, with its explanation, and the seconds that this took."""
    result = check(case.function, **case.keywords, **BUDGET)
    start = time.perf_counter()
    return result.explained(), time.perf_counter() - start


def outcome(case: Known, result: Result) -> str:
    """Right, wrong, unknown, or not found at all."""
    if result.verdict is not Verdict.VIOLATION:
        return "not found"
    place = None if result.explanation is None else result.explanation.place
    if place is None:
        return "unknown"
    here = {(Path(file).name, line) for file, line in case.lines}
    return "right" if (Path(place.file).name, place.line) in here else "wrong"


def main() -> None:
    """Print the table."""
    names = set(sys.argv[1:])
    totals: dict[str, int] = {}
    remedies = mended = 0
    longest: list[float] = []
    print(f"{'mechanism':<30}{'outcome':<11}{'line':>5}  {'s':>5}  what is said")
    for case in known():
        if names and case.name not in names:
            continue
        try:
            result, seconds = explained(case)
        except Exception as error:
            print(f"{case.name:<30}{type(error).__name__}: {str(error)[:80]}", flush=True)
            totals["error"] = totals.get("error", 0) + 1
            continue
        longest.append(seconds)
        said = outcome(case, result)
        totals[said] = totals.get(said, 0) + 1
        told = result.explanation
        line = "" if told is None or told.place is None else str(told.place.line)
        print(f"{case.name:<30}{said:<11}{line:>5}  {seconds:>5.2f}  {'' if told is None else told.statement[:90]}")
        remedy = None if told is None else next((one for one in told.remedies if one.mends), None)
        if remedy is not None:
            again = check_again(result, case.function, remedy, case.keywords.get("adjacency", ALL_DIFFER))
            remedies += 1
            mended += again is not None and again.verdict is not Verdict.VIOLATION
            verdict = "cannot be applied" if again is None else again.verdict.value
            print(f"{'':<30}  remedy: {remedy.words.partition(',')[0]}: {verdict}", flush=True)
    named = totals.get("right", 0) + totals.get("wrong", 0) + totals.get("unknown", 0)
    print(", ".join(f"{count} {name}" for name, count in sorted(totals.items())), f"of {sum(totals.values())}")
    if named:
        print(f"right {totals.get('right', 0) / named:.0%}, wrong {totals.get('wrong', 0) / named:.0%} of {named}")
    print(
        f"remedies: {mended} of {remedies} mend the check of the pair; "
        f"at most {max(longest, default=0):.2f} s an explanation"
    )


if __name__ == "__main__":
    main()
