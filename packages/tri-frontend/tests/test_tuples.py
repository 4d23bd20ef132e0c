"""``tl.tuple`` on the host and in kernels."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.language.constexpr import constexpr_type, tuple_type

pytestmark = pytest.mark.usefixtures("cpu")


def test_its_type_is_that_of_its_values() -> None:
    pair = tl.tuple([tl.constexpr(3), tl.tuple((1, "a"))])
    inner = tuple_type([constexpr_type(1), constexpr_type("a")])
    assert pair.type == tuple_type([constexpr_type(3), inner])
    assert pair.type.mangle() == "Tc3_Tc1_c'a'TT"
    assert tl.tuple().type == tuple_type([])


def test_it_is_a_tuple_and_every_tuple_is_one() -> None:
    pair = tl.tuple((1, 2))
    assert pair == (1, 2)
    assert hash(pair) == hash((1, 2))
    assert pair.values == [1, 2]
    assert isinstance((1, 2), tl.tuple)
    assert isinstance(pair, tuple)
    assert not isinstance([1, 2], tl.tuple)
    assert type(pair[0:1]) is type(operator.add(pair, (3,))) is tl.tuple
    assert pair[1] == 2
    assert operator.add(pair, (3,)) == (1, 2, 3)
    for again in (pickle.loads(pickle.dumps(pair)), copy.deepcopy(pair)):
        assert again == pair
        assert type(again) is tl.tuple


WEIGHTS = tl.constexpr(tl.tuple((2, 3)))


@tri.constexpr_function
def _length_of_type(value):
    return len(tl.tuple(value).type)


@tri.jit
def weighted(out_ptr, pair, B: tl.constexpr):
    i = tl.arange(0, B)
    both = tl.tuple((tl.load(pair[0] + i), tl.load(pair[1] + i)))
    tl.static_assert(len(both.type) == 2)
    tl.static_assert(isinstance(both, tl.tuple))
    tl.static_assert(_length_of_type(WEIGHTS) == 2)
    first, second = both
    tl.store(out_ptr + i, first * WEIGHTS[0] + second * WEIGHTS[1])


@pytest.mark.parametrize("interpreted", [False, True])
def test_kernels_take_and_make_them(interpreted: bool) -> None:
    x, y, out = np.arange(8), np.arange(8) * 10, np.zeros(8, np.int64)
    if interpreted:
        with tri.interpret():
            weighted[(1,)](out, tl.tuple((x, y)), B=8)
    else:
        weighted[(1,)](out, tl.tuple((x, y)), B=8)
    np.testing.assert_array_equal(out, 2 * x + 3 * y)
