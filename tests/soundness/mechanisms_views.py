"""Views and aliases: writing through a second name, or through a copy, before the release."""

from __future__ import annotations

import copy

import numpy as np

from tests.soundness.registry import FIRST, cases_of, exposed, exposed_vector

private = cases_of("views")


# Cut through a view: private because the cut at 5 reaches the array that is returned.


@private(pair=FIRST)
def rows_cut_one_by_one(queries, rng):
    table = exposed_vector(queries, rng.laplace(size=2)).reshape(2, 1)
    for row in table:
        row[row > 5] = 5.0
    return table[0, 0], table[1, 0]


@private()
def cut_through_a_full_slice(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    part = noisy[:]
    part[part > 5] = 5.0
    return noisy[0]


@private(pair=FIRST)
def cut_through_ravel(queries, rng):
    table = exposed_vector(queries, rng.laplace(size=2)).reshape(1, 2)
    flat = table.ravel()
    np.minimum(flat, 5.0, out=flat)
    return table[0].tolist()


@private(pair=FIRST)
def cut_through_reshape(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    column = noisy.reshape(-1, 1)
    column[column[:, 0] > 5, 0] = 5.0
    return noisy


@private(pair=FIRST)
def cut_through_the_transpose(queries, rng):
    table = exposed_vector([queries, [1, 1]], rng.laplace(size=(2, 2)))
    by_column = table.T
    by_column[by_column > 5] = 5.0
    return table[0, 0], table[1, 1]


@private()
def cut_through_asarray(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    same = np.asarray(noisy, dtype=float)
    same[same > 5] = 5.0
    return float(noisy[0])


@private()
def cut_through_astype_without_a_copy(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    same = noisy.astype(np.float64, copy=False)
    same.clip(max=5.0, out=same)
    return noisy[0]


@private()
def cut_through_squeeze(queries, rng):
    table = exposed_vector([queries], rng.laplace(size=(1, 1)))
    thin = np.squeeze(table, axis=0)
    thin[thin > 5] = 5.0
    return table[0, 0]


@private(pair=FIRST)
def cut_through_flip(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    backwards = np.flip(noisy)
    backwards[1] = min(backwards[1], 5.0)
    return noisy[0]


@private(pair=FIRST)
def cut_through_a_negative_step(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    backwards = noisy[::-1]
    backwards[backwards > 5] = 5.0
    return noisy[0] - noisy[1]


@private(pair=FIRST)
def cut_through_split(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    left, right = np.split(noisy, 2)
    left[left > 5] = 5.0
    right[right > 5] = 5.0
    return noisy.tolist()


@private(pair=FIRST)
def cut_every_other(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=2))
    noisy[::2][noisy[::2] > 5] = 5.0
    return noisy[0], bool(noisy[1] > 1)


@private()
def cut_through_a_new_axis(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    row = noisy[np.newaxis, :]
    row[0, row[0] > 5] = 5.0
    return noisy[-1]


@private(pair=FIRST)
def cut_through_swapaxes(queries, rng):
    table = exposed_vector([queries], rng.laplace(size=(1, 2)))
    swapped = np.swapaxes(table, 0, 1)
    swapped[0, 0] = np.fmin(swapped[0, 0], 5.0)
    return table[0, 0]


@private(pair=FIRST)
def cut_on_the_diagonal(queries, rng):
    table = exposed_vector([queries, queries], rng.laplace(size=(2, 2)))
    table[0, 1] = table[1, 0] = 0.0
    np.fill_diagonal(table, np.minimum(table.diagonal(), 5.0))
    return table[0, 0] + table[0, 1]


@private()
def cut_through_flat(queries, rng):
    noisy = exposed_vector([queries], rng.laplace(size=(1, 1)))
    noisy.flat[0] = min(noisy.flat[0], 5.0)
    return noisy[0, 0]


@private()
def cut_through_nditer(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    with np.nditer(noisy, op_flags=["readwrite"]) as places:
        for place in places:
            place[...] = min(place, 5.0)
    return noisy[0]


@private()
def cut_through_atleast_2d(queries, rng):
    noisy = exposed_vector(queries, rng.laplace(size=1))
    for row in np.atleast_2d(noisy):
        row[:] = np.where(row > 5, 5.0, row)
    return noisy[0]


@private()
def cut_through_a_list_alias(queries, rng):
    values = [exposed(queries[0], rng.laplace())]
    same = values
    if same[0] > 5:
        same[0] = 5.0
    return values


@private(pair=FIRST)
def cut_through_a_nested_list(queries, rng):
    rows = [[exposed(q, rng.laplace())] for q in queries]
    for row in rows:
        if row[0] > 5:
            row[0] = 5.0
    return rows


@private()
def cut_through_a_repeated_list(queries, rng):
    rows = [[exposed(queries[0], rng.laplace())]] * 2
    rows[0][0] = min(rows[1][0], 5.0)
    return rows[1][0]


@private()
def cut_through_a_dict_alias(queries, rng):
    release = {"count": exposed(queries[0], rng.laplace())}
    alias = release
    alias.update(count=min(alias["count"], 5.0))
    return release["count"]


@private()
def cut_by_a_helper_in_place(queries, rng):
    def cut(values):
        values[values > 5] = 5.0

    noisy = exposed_vector(queries, rng.laplace(size=1))
    cut(noisy)
    return noisy.item()


# Copies: private because what is written to the copy does not reach the array that is returned.


@private()
def a_copy_is_spoilt_not_the_array(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1)
    other = noisy.copy()
    other[:] = 1000.0 * queries[0]
    return noisy[0]


@private()
def astype_copies(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1)
    other = noisy.astype(float)
    other += 1000.0 * queries[0]
    return noisy[0]


@private()
def asarray_of_another_type_copies(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1)
    other = np.asarray(noisy, dtype=np.float32)
    other[0] = queries[0]
    return noisy[0]


@private()
def flatten_copies(queries, rng):
    noisy = np.array([queries]) + rng.laplace(size=(1, 1))
    flat = noisy.flatten()
    flat *= 1000 * (queries[0] - 1)
    return noisy[0, 0]


@private()
def fancy_indexing_copies(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1)
    chosen = noisy[[0]]
    chosen[0] = queries[0]
    return noisy[0]


@private()
def masks_copy(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1)
    positive = noisy[noisy > 0]
    positive[:] = queries[0]
    return noisy[0]


@private()
def a_list_slice_copies(queries, rng):
    values = [queries[0] + rng.laplace()]
    other = values[:]
    other[0] = queries[0]
    return values[0]


@private()
def rebinding_leaves_the_first_name_alone(queries, rng):
    noisy = np.array(queries) + rng.laplace(size=1)
    total = noisy
    total = total + 1000.0 * queries[0]
    return noisy[0], bool(total[0] > 100)


@private()
def deep_and_shallow_copies(queries, rng):
    rows = [[exposed(queries[0], rng.laplace())]]
    shallow, deep = copy.copy(rows), copy.deepcopy(rows)
    shallow[0][0] = min(rows[0][0], 5.0)
    deep[0][0] = queries[0]
    return rows[0][0]


@private()
def the_input_itself_is_overwritten(queries, rng):
    queries[0] += rng.laplace()
    return queries[0]
