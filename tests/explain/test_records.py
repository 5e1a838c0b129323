"""An explanation is saved with its result and read again, and files without one load."""

import json
from dataclasses import replace

from refutedp import check, load
from refutedp.mechanisms import isvt1
from refutedp.model.explanation import Discrepancy, Explanation, Hint, LedgerRow, Place, Remedy
from refutedp.model.records import Counts

LINE = Place("mechanism.py", 7, "noisy", "return total + rng.laplace(scale=1 / epsilon)")
WHOLE = Explanation(
    place=LINE,
    statement="The noise of line 7 is too small.",
    ledger=(
        LedgerRow(LINE, "laplace", 1.0, 1, "total", 5.0, 5.0),
        LedgerRow(LINE, "uniform", None, 2, unbounded=True),
    ),
    spent=5.0,
    claimed=1.0,
    discrepancies=(
        Discrepancy("length", "d1 gives more"),
        Discrepancy("branch", "line 7 decides", LINE),
    ),
    remedies=(Remedy("scale", "with 5 times the noise", LINE, 5.0, "at least 3", Counts(2, 3, 9, 9), -0.5, True),),
    hints=(Hint("sensitivity", "sensitivity too small"),),
    calls=90,
)


def found():
    return check(isvt1, epsilon=1.0, args={"threshold": 1}, search_runs=500, confirm_runs=500)


def test_an_explanation_is_saved_and_read(tmp_path):
    result = replace(found(), explanation=WHOLE)
    result.save(tmp_path / "result.json")
    assert load(tmp_path / "result.json").explanation == WHOLE


def test_a_file_without_an_explanation_loads(tmp_path):
    found().save(tmp_path / "result.json")
    saved = json.loads((tmp_path / "result.json").read_text())
    del saved["explanation"]
    (tmp_path / "result.json").write_text(json.dumps(saved))
    assert load(tmp_path / "result.json").explanation is None
