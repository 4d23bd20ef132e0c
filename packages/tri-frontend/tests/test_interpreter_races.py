"""What the interpreter says of data races: arguments that overlap, masks, sizes of elements, atomics of every order."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.interpreter import KernelDataRace
from tri_core.errors import DeviceError


@pytest.fixture(autouse=True)
def _interpreted():
    with tri.interpret():
        yield


@tri.jit
def copies(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def test_arguments_that_overlap_are_one_memory():
    memory = np.arange(12, dtype=np.float32)
    copies[(2,)](memory[:8], memory[:8], 8, B=4)
    with pytest.raises(KernelDataRace) as caught:
        copies[(2,)](memory[:8], memory[2:10], 8, B=4)
    error = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(error, DeviceError)
    assert (error.kernel, error.array, error.element, error.program) == ("copies", "x", 4, (1, 0, 0))
    assert [access.kind for access in error.accesses] == ["store", "load"]


@tri.jit
def two_sizes(narrow, wide, B: tl.constexpr):
    i = tl.arange(0, B)
    if tl.program_id(0) == 0:
        tl.store(narrow + i, i.to(tl.int16) + 1)
    else:
        tl.store(wide + B // 2 - 1 + i * 0, 7)


def test_elements_of_two_sizes():
    memory = np.zeros(8, np.int32)
    two_sizes[(2,)](memory.view(np.int16), memory[4:], B=8)
    with pytest.raises(KernelDataRace, match="element 3 of 'wide'"):
        two_sizes[(2,)](memory.view(np.int16), memory, B=8)


@tri.jit
def masked(out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.program_id(0) + 1, mask=i % tl.num_programs(0) == tl.program_id(0))


def test_lanes_that_a_mask_leaves_out_touch_nothing():
    out = np.zeros(16, np.int32)
    masked[(3,)](out, B=16)
    assert out.tolist() == [1 + i % 3 for i in range(16)]


@tri.jit
def notes(out, x, LAST: tl.constexpr):
    p = tl.program_id(0)
    tl.store(out + p, tl.load(x))
    if p == LAST:
        tl.store(x, 1.0)


def test_a_store_after_loads_of_others():
    with pytest.raises(KernelDataRace) as caught:
        notes[(3,)](np.zeros(3, np.float32), np.zeros(1, np.float32), LAST=2)
    first, second = caught.value.accesses
    assert (first.kind, second.kind, second.program) == ("load", "store", (2, 0, 0))
    notes[(1,)](np.zeros(1, np.float32), np.zeros(1, np.float32), LAST=0)
    notes[(3,)](np.zeros(3, np.float32), np.ones(1, np.float32), LAST=2)  # it is 1 already


@tri.jit
def hands_over(data, turn, TAKES: tl.constexpr, GIVES: tl.constexpr, SCOPE: tl.constexpr):
    """Each program adds to what the one before left."""
    tl.atomic_add(turn, 0, sem=TAKES, scope=SCOPE)
    tl.store(data, tl.load(data) + 1)
    tl.atomic_add(turn, 1, sem=GIVES, scope=SCOPE)


@pytest.mark.parametrize(
    ("takes", "gives", "scope", "is_ordered"),
    [
        ("acquire", "release", "gpu", True),
        ("acq_rel", "acq_rel", "sys", True),
        ("relaxed", "release", "gpu", False),
        ("acquire", "relaxed", "gpu", False),
        ("acq_rel", "acq_rel", "cta", False),
    ],
)
def test_orders_of_atomics(takes, gives, scope, is_ordered):
    data, turn = np.zeros(1, np.int32), np.zeros(1, np.int32)
    if is_ordered:
        hands_over[(4,)](data, turn, takes, gives, scope)
        assert data[0] == 4
        return
    with pytest.raises(KernelDataRace):
        hands_over[(4,)](data, turn, takes, gives, scope)


@tri.jit
def unlocks_plainly(data, lock):
    while tl.atomic_cas(lock, 0, 1) != 0:
        pass
    tl.store(data, tl.load(data) + 1)
    tl.store(lock, 0)


def test_a_lock_that_is_let_go_by_a_plain_store():
    with pytest.raises(KernelDataRace, match=r"element 0 of 'lock'.*this atomic and what program .* stored"):
        unlocks_plainly[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32))


@tri.jit
def spins(data, flag, out):
    if tl.program_id(0) == 0:
        tl.store(data, 5)
        tl.atomic_xchg(flag, 1)
    else:
        while tl.load(flag, volatile=True) == 0:
            pass
        tl.store(out, tl.load(data))


def test_a_volatile_load_waits_for_an_atomic():
    out = np.zeros(1, np.int32)
    spins[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32), out)
    assert out[0] == 5


@tri.jit
def scatters(out, index, x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + tl.load(index + i), tl.load(x + i))


def test_lanes_of_one_store():
    index, x = np.array([0, 1, 2, 1], np.int32), np.array([1, 2, 3, 4], np.float32)
    with pytest.raises(KernelDataRace, match=r"lanes \[1\] and \[3\] of one store put different values"):
        scatters[(1,)](np.zeros(4, np.float32), index, x, B=4)
    x[3] = 2
    scatters[(1,)](np.zeros(4, np.float32), index, x, B=4)
    x[1] = x[3] = np.nan
    scatters[(1,)](np.zeros(4, np.float32), index, x, B=4)


def test_launches_are_in_order():
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    copies[(2,)](x, y, 8, B=4)
    copies[(4,)](y, x, 8, B=2)
