"""Arrays that share memory: whatever is written through one of them is seen through the others, as NumPy does it."""

from __future__ import annotations

import numpy as np
import pytest

from refutedp.model.mechanism import describe
from refutedp.sampling.lifted import CannotLift, Lift

TAKE = {
    "slice": "a[:]",
    "part": "a[1:3]",
    "steps": "a[::2]",
    "backwards": "a[::-1]",
    "ellipsis": "a[...]",
    "row": "a[1]",
    "column": "a[:, 1]",
    "new axis": "a[None]",
    "block": "a[1:, :2]",
    "transpose": "a.T",
    "transposed": "a.transpose()",
    "swapped": "a.swapaxes(0, 1)",
    "reshaped": "a.reshape(-1)",
    "reshaped to a block": "a.reshape(2, -1)",
    "np.reshape": "np.reshape(a, -1)",
    "raveled": "a.ravel()",
    "np.ravel": "np.ravel(a)",
    "raveled transpose": "a.T.ravel()",
    "reshaped transpose": "a.T.reshape(-1)",
    "reshaped in Fortran order": "a.reshape(-1, order='F')",
    "raveled steps": "a[::2].ravel()",
    "reshaped steps": "a[::2].reshape(-1)",
    "squeezed": "a[None].squeeze()",
    "np.squeeze": "np.squeeze(a[:, None])",
    "flipped": "np.flip(a)",
    "flipped rows": "np.flipud(a)",
    "rotated": "np.rot90(a)",
    "expanded": "np.expand_dims(a, 0)",
    "moved axis": "np.moveaxis(a, 0, 1)",
    "split": "np.split(a, 2)[0]",
    "array split": "np.array_split(a, 3)[1]",
    "asarray": "np.asarray(a)",
    "asarray of dtype": "np.asarray(a, dtype=float)",
    "astype without copy": "a.astype(float, copy=False)",
    "view of a view": "a[1:].T[:2]",
    # Copies.
    "copy": "a.copy()",
    "np.copy": "np.copy(a)",
    "np.array": "np.array(a)",
    "np.array of dtype": "np.array(a, dtype=float)",
    "astype": "a.astype(float)",
    "flattened": "a.flatten()",
    "fancy": "a[[0, 2]]",
    "masked by constants": "a[np.array([True, False, True, False])]",
    "rolled": "np.roll(a, 1)",
    "repeated": "np.repeat(a, 2)",
    "tiled": "np.tile(a, 2)",
    "deleted": "np.delete(a, 0)",
    "computed": "a + 0.0",
    "clipped": "np.clip(a, -1e9, 1e9)",
}
WRITE = {
    "under a mask": "{x}[{x} > 1] = 1.0",
    "all": "{x}[...] = np.minimum({x}, 1.0)",
    "an element": "{x}[0] = 7.0",
    "a slice": "{x}[1:] = {x}[:-1]",
    "in place": "{x} *= 2",
    "sorted": "{x}.sort()",
    "filled": "{x}.fill(rng.laplace())",
}
SOURCES = {
    "drawn vector": "a = rng.laplace(size=4)",
    "drawn matrix": "a = rng.laplace(size=(4, 4))",
    "zeros": "a = np.zeros(4)\n    a[:] = rng.laplace(size=4)",
    "zeros of two axes": "a = np.zeros((4, 4))",
    "transpose of a draw": "a = rng.laplace(size=(4, 4)).T + 0.0",
}


def mechanism(source: str, take: str, write: str, *, reverse: bool):
    """Writes through a view and reads the array, or the other way round, and again."""
    first, second = ("a", "b") if reverse else ("b", "a")
    text = f"""
def shares(data, rng):
    {SOURCES[source]}
    b = {TAKE[take]}
    {WRITE[write].format(x=first)}
    {WRITE[write].format(x=second)}
    c = b[:1]
    c += 0.5
    return a.tolist(), b.tolist(), c.tolist()
"""
    scope = {"np": np}
    exec(text, scope)
    return scope["shares"]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("take", TAKE)
def test_every_run_sees_what_numpy_lets_it_see(source, take):
    if take == "row" and source in ("drawn vector", "zeros"):
        return  # A number, which shares nothing.
    refusals = []
    for write in WRITE:
        for reverse in (False, True):
            lift = Lift(describe(mechanism(source, take, write, reverse=reverse)), [1], {})
            try:
                lift.prove(np.random.default_rng(1), runs=24)
            except CannotLift as refusal:
                refusals.append(str(refusal))
    # A lift may be refused, and must not be wrong.
    assert not [refusal for refusal in refusals if "where the plain function returns" in refusal]
    if source == "drawn vector" and take in ("slice", "steps", "reshaped", "asarray of dtype", "flipped", "copy"):
        assert not refusals


def clamps_rows(data, rng):
    noisy = rng.normal(size=(3, 2))
    for row in noisy:
        row[row > 2] = 2
    return noisy.sum()


def clamps_through_a_helper(data, rng):
    def clamp(values):
        values[values < -2] = -2.0

    noisy = rng.normal(size=5)
    clamp(noisy[1:])
    clamp(noisy.reshape(-1, 1)[:, 0])
    return noisy.tolist()


def reads_after_a_split(data, rng):
    noisy = rng.laplace(size=4)
    tail = noisy[2:]
    if noisy[0] > 0:
        tail[0] = noisy[0]
    return noisy.tolist(), tail.tolist()


@pytest.mark.parametrize("function", [clamps_rows, clamps_through_a_helper, reads_after_a_split])
def test_is_lifted_and_equal_to_the_plain_function(function):
    lift = Lift(describe(function), [1], {})
    lift.prove(np.random.default_rng(1), runs=2000)
    assert lift.sample(5000, np.random.default_rng(2)).size == 5000
