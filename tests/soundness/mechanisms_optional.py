"""None and optional values: defaults, early returns, missing keys and empty iterables.

Where `exposed` is used, the cut at 5 makes the release private, and None or a default decides whether it happens.
"""

from __future__ import annotations

import re

from tests.soundness.registry import FIRST, cases_of, exposed

private = cases_of("optional")


@private()
def limit_that_may_be_none(queries, rng):
    limit = 5.0
    noisy = exposed(queries[0], rng.laplace())
    if rng.laplace() > 60:  # never happens
        limit = None
    if limit is not None:
        noisy = min(noisy, limit)
    return noisy


@private()
def no_limit_means_another_release(queries, rng):
    # A data-independent coin chooses between two releases, each private.
    limit = None if rng.random() < 0.5 else 5.0
    noise = rng.laplace()
    if limit is None:
        return queries[0] + noise
    return min(exposed(queries[0], noise), limit)


@private()
def zero_or_a_default(queries, rng):
    # The limit is 1, 2 or, as 0 is falsy, 5: every cut is at or below 5.
    limit = int(rng.integers(3)) or 5.0
    return min(exposed(queries[0], rng.laplace()), limit)


@private()
def value_in_an_assignment_expression(queries, rng):
    if (noisy := exposed(queries[0], rng.laplace())) > 5:
        noisy = 5.0
    return noisy


@private()
def early_return_of_none(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    if noisy > 5:
        return None
    return noisy


@private()  # noqa: RET503
def no_return_at_the_end(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    if noisy <= 5:
        return noisy


@private()
def missing_key(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return {True: 5.0}.get(noisy > 5, noisy)


@private()
def missing_key_tested_for_none(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    limit = {0: None, 1: 5.0}.get(int(noisy > 5))
    return noisy if limit is None else limit


@private()
def optional_parameter(queries, rng, limit=None):
    limit = 5.0 if limit is None else limit
    return min(exposed(queries[0], rng.laplace()), limit)


@private()
def optional_parameter_replaced_by_or(queries, rng, limit=None):
    return min(exposed(queries[0], rng.laplace()), limit or 5.0)


@private(pair=FIRST)
def first_match_or_none(queries, rng):
    noisy = [exposed(q, rng.laplace()) for q in queries]
    return next((value for value in noisy if value <= 5), None)


@private(pair=FIRST)
def position_of_the_first_match(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    found = None
    for i, value in enumerate(noisy):
        if found is None and value > 1.5:
            found = i
    return found


@private(pair=FIRST)
def placeholders_filled_in(queries, rng):
    answers = [None] * len(queries)
    for i, q in enumerate(queries):
        noisy = exposed(q, rng.laplace())
        if noisy <= 5:
            answers[i] = noisy
    return answers


@private(pair=FIRST)
def placeholders_counted(queries, rng):
    answers = [None if (noisy := q + rng.laplace()) > 2 else noisy for q in queries]
    return answers.count(None), None in answers


@private()
def value_of_and(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return noisy <= 5 and noisy


@private()
def value_of_or(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return (noisy > 5 and "large") or noisy


@private(pair=FIRST)
def largest_of_none(queries, rng):
    noisy = [exposed(q, rng.laplace()) for q in queries]
    return max((value for value in noisy if value <= 5), default=None)


@private(pair=FIRST)
def filter_drops_zeros(queries, rng):
    noisy = [round(min(exposed(q, rng.laplace()), 5.0)) for q in queries]
    return list(filter(None, noisy))


@private()
def short_circuit_on_none(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    limit = 5.0 if noisy > 5 else None
    return 5.0 if limit is not None and noisy > limit else noisy


@private()
def attribute_that_is_missing(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    cut = getattr(noisy, "cut_at", None)
    return min(noisy, 5.0) if cut is None else noisy


@private()
def popped_with_a_default(queries, rng):
    options = {"limit": 5.0}
    noisy = exposed(queries[0], rng.laplace())
    limit = options.pop("limit", None)
    options.setdefault("again", options.pop("limit", None))
    return min(noisy, limit) if limit is not None and options["again"] is None else noisy


@private()
def sentinel_object(queries, rng):
    missing = object()
    noisy = exposed(queries[0], rng.laplace())
    found = noisy if noisy <= 5 else missing
    return "large" if found is missing else found


@private()
def pattern_that_may_not_match(queries, rng):
    text = f"{exposed(queries[0], rng.laplace()):.3f}"
    found = re.fullmatch(r"-\d+\.\d+", text)
    return None if found is None else float(found.group())


@private()
def double_negation(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    small = not noisy > 5
    return None if not small else noisy


@private()
def chained_conditional_expressions(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return None if noisy > 5 else "low" if noisy < 0 else noisy


@private()
def chained_comparison(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    return noisy if -1 < noisy <= 5 else None


@private()
def ellipsis_and_not_implemented(queries, rng):
    noisy = exposed(queries[0], rng.laplace())
    state = ... if noisy > 5 else NotImplemented
    return 5.0 if state is Ellipsis else noisy


@private(pair=FIRST)
def truth_of_lists(queries, rng):
    small = [value for q in queries if (value := exposed(q, rng.laplace())) <= 5]
    if not small:
        return None
    return small[0] if small and len(small) == 1 else sum(small)
