"""In-place writes and masks: every way to cut an array at 5 before it is released.

The comment at `exposed` says why a cut at 5 makes each of them private.
"""

from __future__ import annotations

import numpy as np

from tests.soundness.registry import FIRST, cases_of, exposed, exposed_vector

private = cases_of("masks")


@private()
def masked_write(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    noisy[noisy > 5] = 5.0
    return noisy[0]


@private()
def clip_with_out(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    np.clip(noisy, -3.0, 5.0, out=noisy)
    return noisy[0]


@private()
def in_place_subtraction_of_the_excess(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    # At or above 5 this is 5 up to rounding, so it is rounded away.
    noisy -= np.maximum(noisy - 5.0, 0.0)
    return round(float(noisy[0]), 6)


@private()
def where_with_three_arguments(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    return np.where(noisy > 5, 5.0, noisy)[0]


@private(pair=FIRST)
def where_with_one_argument(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    (large,) = np.where(noisy > 5)
    noisy[large] = 5.0
    return noisy


@private()
def putmask(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    np.putmask(noisy, noisy > 5, [5.0])
    return noisy[0]


@private()
def copyto_where(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    np.copyto(noisy, 5.0, where=noisy > 5)
    return noisy[0]


@private()
def place(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    np.place(noisy, noisy > 5, 5.0)
    return noisy[0]


@private()
def put(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    np.put(noisy, np.flatnonzero(noisy > 5), 5.0)
    return noisy[0]


@private(pair=FIRST)
def sorted_in_place(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=2)
    noisy.sort()
    return noisy


@private(pair=FIRST)
def sorted_list_in_place(queries, rng):
    noisy = [min(exposed(q, rng.laplace()), 5.0) for q in queries]
    noisy.sort(reverse=True)
    return noisy


@private(pair=FIRST)
def written_by_fancy_index(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    noisy[[0, 1]] = np.minimum(noisy[[0, 1]], 5.0)
    return noisy[0] + noisy[1]


@private(pair=FIRST)
def added_at_repeated_places(queries, rng):
    # Both noisy answers go to the first place; written by += only the second one would.
    total = np.zeros(2)
    np.add.at(total, [0, 0], np.array(queries) + rng.laplace(size=2))
    return total


@private(pair=FIRST)
def fancy_index_keeps_the_last_of_repeats(queries, rng):
    # The first answer has no noise, and the second, which is private, overwrites it.
    total = np.zeros(1)
    total[[0, 0]] = [queries[0], queries[0] + rng.laplace()]
    return total[0]


@private()
def ufunc_with_where(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    np.minimum(noisy, 5.0, out=noisy, where=noisy > 5)
    return noisy[0]


@private()
def nan_replaced_in_place(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    noisy[noisy > 5] = np.nan
    np.nan_to_num(noisy, copy=False, nan=5.0)
    return noisy[0]


@private()
def filled_where_large(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    if (noisy > 5).any():
        noisy.fill(5.0)
    return noisy[0]


@private(pair=FIRST)
def multiplied_by_a_mask(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    noisy *= noisy <= 5
    return noisy


@private()
def written_at_nonzero(queries, rng):
    noisy = exposed_vector([queries], rng.laplace(size=(1, 1)))
    noisy[np.nonzero(noisy > 5)] = 5.0
    return noisy[0, 0]


@private(pair=FIRST)
def largest_overwritten(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=2)
    noisy[noisy.argmax()] = 0.0
    return noisy.tolist()


@private()
def selected_by_conditions(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    return np.select([noisy > 5, noisy < -2], [5.0, -2.0], default=noisy)[0]


@private()
def piecewise(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    return np.piecewise(noisy, [noisy > 5, noisy <= 5], [5.0, lambda x: x])[0]


@private()
def chosen_by_index(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    return np.choose((noisy > 5).astype(int), [noisy, np.full(1, 5.0)])[0]


@private()
def slice_assigned(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    noisy[:1] = np.minimum(noisy[:1], 5.0)
    return noisy[0]


@private(pair=FIRST)
def list_slice_assigned(queries, rng):
    noisy = [exposed(q, rng.laplace()) for q in queries]
    noisy[:] = [min(value, 5.0) for value in noisy]
    return noisy


@private(pair=FIRST)
def large_ones_deleted_from_a_list(queries, rng):
    noisy = [exposed(q, rng.laplace()) for q in queries]
    for i in reversed(range(2)):
        if noisy[i] > 5:
            del noisy[i]
    return noisy


@private(pair=FIRST)
def masks_joined_in_place(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    keep = noisy <= 5
    keep &= noisy > -2
    noisy[~keep] = 0.0
    return noisy


@private()
def masked_array(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    return float(np.ma.masked_greater(noisy, 5.0).filled(5.0)[0])


@private(pair=FIRST)
def accumulated_minimum(queries, rng):
    # What follows a value of at most 2 in a running minimum is at most 2.
    noisy = np.concatenate([[5.0], exposed_vector(queries, rng.laplace(size=2))])
    np.minimum.accumulate(noisy, out=noisy)
    return noisy[1:]


@private(pair=FIRST)
def sum_updated_in_a_loop(queries, rng):
    total = 0.0
    for q in queries:
        term = exposed(q, rng.laplace())
        total += term if term <= 5 else 5.0
    return total


@private(pair=FIRST)
def boolean_index_of_rows(queries, rng):
    table = exposed_vector(np.array(queries).reshape(2, 1), rng.laplace(size=(2, 1)))
    table[table[:, 0] > 5] = [5.0]
    return table[:, 0].tolist()


@private(pair=FIRST)
def swapped_by_tuple_assignment(queries, rng):
    noisy = [q + rng.laplace() for q in queries]
    noisy[0], noisy[1] = noisy[1], noisy[0]
    return noisy
