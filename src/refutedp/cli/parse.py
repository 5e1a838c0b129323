"""What is typed after an option, as Python values; every refusal names the option, the text and the remedy."""

from __future__ import annotations

import ast
import difflib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from refutedp.api.load import load_mechanism
from refutedp.detector.result import Result, Sweep
from refutedp.mechanisms import PAPER
from refutedp.model.adjacency import AddRemove, Adjacency, AllDiffer, AnyTwo, OneDiffers, Replace
from refutedp.model.claims import Claim
from refutedp.model.errors import UsageError

_RANGE = re.compile(r"^(-?[0-9.eE+]+?)\.\.(-?[0-9.eE+-]+)$")
_WORDS = re.compile(r"^([\w.-]+)\|([\w.-]+)$")
_CONSTANTS = {"nan": math.nan, "inf": math.inf}
MOST_EPSILONS = 1000
AdjacencyName: TypeAlias = Literal["all-differ", "one-differs", "add-remove", "replace", "any-two"]
MEANT: dict[str, AdjacencyName] = {"all": "all-differ", "one": "one-differs"}
"""The adjacencies of built-in mechanisms as options."""
T = TypeVar("T", Result, Sweep)


def literal(text: str) -> Any:
    """A Python literal, with nan and inf; raises ValueError for anything else.

    >>> literal("[1, -inf, {'a': (2,)}]")
    [1, -inf, {'a': (2,)}]
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(f"{text!r} is no Python value") from error
    return ast.literal_eval(_Constants().visit(tree))


class _Constants(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Constant(_CONSTANTS[node.id]), node) if node.id in _CONSTANTS else node


def arguments(texts: Sequence[str]) -> dict[str, Any]:
    """`--arg name=value` options; a value that is no Python literal is a string, `0..10` a range to search.

    >>> arguments(["threshold=1.5", "kind=laplace"])
    {'threshold': 1.5, 'kind': 'laplace'}
    >>> arguments(["bound=1..4"])
    {'bound': Between(low=1, high=4)}
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise UsageError(f"--arg {text!r} must be name=value, such as --arg threshold=1")
        if name in found:
            raise UsageError(f"--arg {name} is given twice: give each argument once")
        found[name] = _argument(value)
    return found


def _argument(text: str) -> Any:
    ends = _RANGE.match(text.strip())
    if ends is not None:
        from refutedp.inputs.arguments import Between

        return Between(literal(ends[1]), literal(ends[2]))
    try:
        return literal(text)
    except ValueError:
        return text


def claim(**options: Any) -> Claim | None:
    """The claim that the options state, by their names; None leaves it to the mechanism.

    >>> claim(epsilon=1.0, delta=1e-5, rho=None)
    ApproxDP(epsilon=1.0, delta=1e-05)
    """
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return None
    for kind in Claim.kinds.values():
        if given.keys() == set(kind.options):
            return kind.from_options(**given)
    if [*given] == ["delta"]:
        raise UsageError(f"--delta {given['delta']:g} needs an epsilon beside it, such as --epsilon 1")
    stated = " and ".join(f"--{name}" for name in given if name != "delta" or "epsilon" not in given)
    raise UsageError(f"{stated} state different claims: give one of them")


def pairs(texts: Sequence[str]) -> list[tuple[Any, Any]] | None:
    """`--pair "[1,1]|[2,2]"` options, or None when there are none.

    >>> pairs(["[1,1]|[2,2]", "([0], [1])", "yes|no"])
    [([1, 1], [2, 2]), ([0], [1]), ('yes', 'no')]
    """
    return [_pair(text) for text in texts] or None


def _pair(text: str) -> tuple[Any, Any]:
    for position in (i for i, letter in enumerate(text) if letter == "|"):
        try:
            return literal(text[:position]), literal(text[position + 1 :])
        except ValueError:
            continue
    try:
        both = literal(text)
    except ValueError:
        both = None
    if isinstance(both, (tuple, list)) and len(both) == 2:
        return both[0], both[1]
    words = _WORDS.match(text)
    if words is not None:
        return _argument(words[1]), _argument(words[2])
    raise UsageError(f'--pair {text!r} must be two inputs, such as --pair "[1,1]|[2,2]"')


def adjacency(
    name: AdjacencyName | None,
    sensitivity: float | None,
    records: Sequence[str],
    *,
    odd: bool = True,
    by: str | None = None,
) -> Adjacency | None:
    """The adjacency with its sensitivity or its records; None where nothing was said of it.

    >>> adjacency("any-two", None, ["yes", "no"])
    AnyTwo(records=('yes', 'no'))
    """
    if name is None and sensitivity is None and not records and odd and by is None:
        return None
    if name in (None, "all-differ", "one-differs"):
        if records:
            raise UsageError(
                "--record goes with --adjacency add-remove or replace, where data are records, and any-two"
            )
        if by is not None:
            raise UsageError("--by goes with --adjacency add-remove or replace, where data are records")
        if not odd:
            raise UsageError("--no-odd goes with --adjacency add-remove or replace, where data are records")
        queries = OneDiffers if name == "one-differs" else AllDiffer
        return queries() if sensitivity is None else queries(sensitivity)
    if sensitivity is not None:
        raise UsageError("--sensitivity goes with --adjacency all-differ or one-differs, where data are queries")
    examples = tuple(_argument(record) for record in records)
    if name == "any-two":
        if not odd or by is not None:
            raise UsageError(
                "--no-odd and --by go with --adjacency add-remove or replace: any two inputs are neighbours"
            )
        return AnyTwo(examples)
    kind = AddRemove if name == "add-remove" else Replace
    place = int(by) if by is not None and by.isdigit() else by
    return kind(examples, odd=odd, by=place) if examples else kind(odd=odd, by=place)


def epsilons(option: str, texts: Sequence[str]) -> list[float]:
    """Epsilons as a list `0.2,0.7`, or as start:stop:step with the stop included.

    >>> epsilons("--test", ["0.5:1.5:0.5", "3"])
    [0.5, 1.0, 1.5, 3.0]
    """
    found: list[float] = []
    for part in (part for text in texts for part in text.split(",")):
        try:
            numbers = [float(number) for number in part.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            found += numbers
        elif len(numbers) == 3 and numbers[2] > 0 and numbers[0] <= numbers[1]:
            start, stop, step = numbers
            count = (stop - start) / step
            if not count < MOST_EPSILONS:
                raise UsageError(f"{option} {part!r} has more than {MOST_EPSILONS} values: use a larger step")
            found += [round(start + i * step, 12) for i in range(math.floor(count + 1e-9) + 1)]
        else:
            raise UsageError(
                f"{option} {part!r} must be numbers such as 0.2,0.7 or start:stop:step such as 0.1:2.5:0.1"
            )
    return found


@dataclass(frozen=True, slots=True)
class Target:
    """A mechanism with the reference that finds it again, and the adjacency it is meant for."""

    function: Any
    reference: str
    adjacency: AdjacencyName | None = None

    def remembered(self, what: T) -> T:
        """The result with the reference as it was typed, so that a replay finds the same function."""
        if what.origin is None:
            return what
        return replace(what, origin=replace(what.origin, reference=self.reference))


def one_target(mechanism: str | None, command: str | None) -> Target:
    """The mechanism that was named, or the command; exactly one of the two."""
    if mechanism is not None and command is not None:
        raise UsageError(f"{mechanism!r} and --command {command!r} are two mechanisms: give one of them")
    if mechanism is None and command is None:
        raise UsageError('no mechanism was named: write file.py:function, or --command "./program"')
    return target(f"command:{command}" if mechanism is None else mechanism)


def target(reference: str) -> Target:
    """A file's function, a module's function, or one of the built-in mechanisms by its name alone.

    >>> target("histogram").adjacency
    'one-differs'
    """
    if ":" in reference:
        return Target(load_mechanism(reference), reference)
    built_in = {one.name: one for one in PAPER}
    if reference in built_in:
        found = built_in[reference]
        return Target(found.function, f"refutedp.mechanisms:{reference}", MEANT[found.adjacency])
    if reference.endswith(".py"):
        raise UsageError(f"{reference} names a file but no function: write {reference}:function")
    near = difflib.get_close_matches(reference, built_in, n=1)
    hint = f", or did you mean the built-in '{near[0]}'" if near else ""
    raise UsageError(
        f"{reference!r} does not name a mechanism: write file.py:function or package.module:function{hint}"
    )


def inputs(text: str | None) -> Any:
    """What `check` takes as `inputs`, or None when the option is not given.

    A JSON file holds a list of records, or a list of such lists. `file.py:function` names a function without
    parameters that returns the inputs: arrays, frames, or a Hypothesis strategy.
    """
    if text is None:
        return None
    if text.endswith(".json"):
        return _from_json(Path(text))
    if ":" not in text:
        raise UsageError(f"--inputs {text!r} must be a JSON file, or file.py:function for a function that makes them")
    try:
        return load_mechanism(text)()
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"--inputs {text!r} raised {type(error).__name__}: {error}") from error


def _from_json(path: Path) -> Any:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--inputs {path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"--inputs {path} is not JSON: {error}") from None
    if not isinstance(data, list):
        raise UsageError(f"--inputs {path} must hold a list of records, or a list of such lists")
    return data
