"""Z3 terms for the operations where Python and Z3 differ: `//`, `%`, `round`, truncation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import z3

Term = Any  # a z3 expression; the bindings carry no types


def is_term(value: object) -> bool:
    """Whether a value is a Z3 expression rather than a plain number."""
    return isinstance(value, z3.ExprRef)


def constant(value: float | Fraction, context: Any) -> Term:
    """A finite number as an exact Z3 constant: an int stays an integer, a float becomes its exact rational."""
    if isinstance(value, int):
        return z3.IntVal(int(value), context)
    exact = Fraction(value)
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}", context)


def term_of(value: Any, context: Any) -> Term:
    """A term as it is, a finite number as a constant."""
    return value if is_term(value) else constant(value, context)


def finite(value: object) -> bool:
    """Whether a plain number can enter a term."""
    return isinstance(value, int | float | Fraction) and math.isfinite(value)


def to_real(term: Term) -> Term:
    """The same number with sort Real."""
    return z3.ToReal(term) if term.is_int() else term


def same_sort(left: Term, right: Term) -> tuple[Term, Term]:
    """Both operands with one sort: integers meet reals as reals."""
    if left.is_int() == right.is_int():
        return left, right
    return to_real(left), to_real(right)


def divide(left: Term, right: Term) -> Term:
    """`left / right`; the caller has excluded a zero divisor."""
    return to_real(left) / to_real(right)


def floor_divide(left: Term, right: Term) -> Term:
    """`left // right`, rounding down for every sign (Z3's integer division rounds differently for right < 0)."""
    if left.is_int() and right.is_int():
        return z3.If(right > 0, left / right, (-left) / (-right))
    return to_real(z3.ToInt(divide(left, right)))


def modulo(left: Term, right: Term) -> Term:
    """`left % right`, with the sign of the divisor."""
    left, right = same_sort(left, right)
    return left - right * floor_divide(left, right)


def floor(term: Term) -> Term:
    """Largest integer not above."""
    return term if term.is_int() else z3.ToInt(term)


def ceil(term: Term) -> Term:
    """Smallest integer not below."""
    return term if term.is_int() else -z3.ToInt(-term)


def truncate(term: Term) -> Term:
    """`int(x)`: towards zero."""
    return term if term.is_int() else z3.If(term >= 0, z3.ToInt(term), -z3.ToInt(-term))


def absolute(term: Term) -> Term:
    """`abs(x)`."""
    return z3.If(term >= 0, term, -term)


def round_half_even(term: Term) -> Term:
    """`round(x)`: to the nearest integer, ties to the even one."""
    if term.is_int():
        return term
    low = z3.ToInt(term)
    rest = term - z3.ToReal(low)
    half = z3.RealVal("1/2", term.ctx)
    up = z3.Or(rest > half, z3.And(rest == half, low % 2 == 1))
    return z3.If(up, low + 1, low)


def number_of(value: Any) -> float | None:
    """A Z3 numeral as an int (sort Int) or the nearest float (sort Real); None when it is not a numeral."""
    exact = exact_of(value)
    if exact is None:
        return None
    return exact.numerator if value.is_int() else exact.numerator / exact.denominator


def exact_of(value: Any) -> Fraction | None:
    """A Z3 numeral as an exact fraction (an algebraic number as a close one); None when it is not a numeral."""
    if z3.is_int_value(value):
        return Fraction(int(value.as_long()))
    if z3.is_algebraic_value(value):
        value = value.approx(20)
    if z3.is_rational_value(value):
        return Fraction(value.numerator_as_long(), value.denominator_as_long())
    return None


def linear(facts: Iterable[Any]) -> bool:
    """Whether no fact multiplies arguments, or divides by one: the solver is exact and quick for these only."""
    for node in _nodes(facts):
        children = node.children()
        kind = node.decl().kind()
        unknown = [child for child in children if exact_of(child) is None]
        if kind == z3.Z3_OP_POWER or (kind == z3.Z3_OP_MUL and len(unknown) > 1):
            return False
        if kind in (z3.Z3_OP_DIV, z3.Z3_OP_IDIV, z3.Z3_OP_MOD) and exact_of(children[1]) is None:
            return False
    return True


def names_in(*terms: Any) -> frozenset[str]:
    """Names of the free variables of terms of one context; plain numbers among them have none."""
    nodes = _nodes(term for term in terms if is_term(term))
    return frozenset(x.decl().name() for x in nodes if z3.is_const(x) and x.decl().kind() == z3.Z3_OP_UNINTERPRETED)


def only_whole_numbers(term: Any) -> bool:
    """Whether every constant in a term is a whole number."""
    exact = [exact_of(x) for x in _nodes([term]) if z3.is_int_value(x) or z3.is_rational_value(x)]
    return all(value is not None and value.denominator == 1 for value in exact)


def _nodes(terms: Iterable[Any]) -> Iterator[Any]:
    """All parts of terms of one context, each once, though several may share it."""
    seen: set[int] = set()
    stack = list(terms)
    while stack:
        node = stack.pop()
        if node.get_id() not in seen:
            seen.add(node.get_id())
            yield node
            stack.extend(node.children())
