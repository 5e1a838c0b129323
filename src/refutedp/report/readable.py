"""Numbers as people write them: e¹ = 2.72, 2,700 times, p < 10⁻²⁰⁰⁰."""

from __future__ import annotations

import math

_RAISED = str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·")
_LEAST_EXPONENT = -300
"""Below ten to this power, the digits of a p-value tell nobody anything."""


def raised(exponent: float) -> str:
    """An exponent.

    >>> raised(-12), raised(0.5)
    ('⁻¹²', '⁰·⁵')
    """
    return f"{exponent:g}".translate(_RAISED)


def shortened(words: str, most: int = 300) -> str:
    """A text that nobody reads to its end, without its end.

    >>> shortened("x" * 1000, 9)
    'xxxxxx...'
    """
    return words if len(words) <= most else f"{words[: most - 3]}..."


def number_words(value: float) -> str:
    """Three digits, in thousands where it is large.

    >>> number_words(2.718), number_words(126.2), number_words(2698.0), number_words(3.1e12), number_words(0.0)
    ('2.72', '126', '2,700', '3.1 × 10¹²', '0')
    """
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    if abs(value) < 1000:
        return f"{value:.3g}"
    if abs(value) < 1e9:
        return f"{float(f'{value:.3g}'):,.0f}"
    power = math.floor(math.log10(abs(value)))
    return f"{value / 10.0**power:.2g} × 10{raised(power)}"


def ratio_words(epsilon: float) -> str:
    """A ratio as a power of e and as a number.

    >>> ratio_words(0.5), ratio_words(1.0)
    ('e⁰·⁵ = 1.65', 'e¹ = 2.72')
    >>> ratio_words(1e-300)
    '1'
    """
    if "e" in f"{epsilon:g}":  # too small or too large for an exponent of its own
        return number_words(math.exp(epsilon)) if epsilon < 700 else f"exp({epsilon:g})"
    power = f"e{raised(epsilon)}"
    return power if epsilon > 700 else f"{power} = {number_words(math.exp(epsilon))}"


def p_words(log_p: float) -> str:
    """A p-value from its logarithm.

    >>> p_words(math.log(0.343)), p_words(-50.0), p_words(-5000.0)
    ('0.343', '1.9 × 10⁻²²', '< 10⁻²¹⁷¹')
    """
    if log_p > math.log(1e-4):
        return f"{math.exp(log_p):.3g}"
    exponent = math.floor(log_p / math.log(10))
    if exponent < _LEAST_EXPONENT:
        return f"< 10{raised(exponent + 1)}"
    digits = f"{math.exp(log_p - exponent * math.log(10)):.1f}"
    return f"{'1.0' if digits == '10.0' else digits} × 10{raised(exponent + (digits == '10.0'))}"
