"""Kernels with data races in global memory, and kernels of the same shape without."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + i, mask=i < n, other=0)
    count = tl.load(counts + bins, mask=i < n)
    tl.store(counts + bins, count + 1, mask=i < n)


@tri.jit
def histogram_with_atomics(x, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(counts + bins, 1, mask=i < n, sem="relaxed")


@tri.jit
def overlapping_tail(x, out, n, BLOCK: tl.constexpr, STEP: tl.constexpr):
    """Blocks begin every STEP elements; the mask should be false from the next block on."""
    i = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * (tl.program_id(0) + 1), mask=i < n)


@tri.jit
def one_cell(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n, other=0)))


@tri.jit
def one_cell_with_atomics(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0)))


@tri.jit
def reads_its_neighbour(x, n, BLOCK: tl.constexpr):
    """In place: program p reads what program p + 1 overwrites."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here, there = tl.load(x + i, mask=i < n), tl.load(x + i + BLOCK, mask=i + BLOCK < n, other=0)
    tl.store(x + i, here + there, mask=i < n)


@tri.jit
def adds_to_atomics(x, out):
    """A plain read-modify-write among atomics."""
    if tl.program_id(0) == 0:
        tl.store(out, tl.load(out) + 1)
    else:
        tl.atomic_add(out, 1)


@tri.jit
def plain_flag(data, flag, out):
    """A message whose flag is a plain store: nothing is released."""
    if tl.program_id(0) == 0:
        tl.store(data, 7)
        tl.store(flag, 1)
    else:
        while tl.atomic_add(flag, 0) == 0:
            pass
        tl.store(out, tl.load(data))


@tri.jit
def message(data, flag, out, SEM: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(data, 7)
        tl.atomic_xchg(flag, 1, sem=SEM)
    else:
        while tl.atomic_add(flag, 0, sem="acquire") == 0:
            pass
        tl.store(out, tl.load(data))


@tri.jit
def last_one_sums(x, partial, counter, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    """Each program leaves a partial sum; the last to count itself adds them."""
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + p, tl.sum(tl.load(x + i, mask=i < n, other=0)))
    if tl.atomic_add(counter, 1) == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PROGRAMS))))


@tri.jit
def last_one_sums_too_early(x, partial, counter, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    """The same, but programs count themselves before they have stored."""
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    before = tl.atomic_add(counter, 1)
    tl.store(partial + p, tl.sum(tl.load(x + i, mask=i < n, other=0)))
    if before == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PROGRAMS))))


@tri.jit
def layer_norm_gradients(dy, x, dw, locks, M, N, stride, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of one group add to one partial gradient, in turns that a spin lock gives; the first stores."""
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    values = tl.load(x + row * stride + columns, mask=mask, other=0)
    given = tl.load(dy + row * stride + columns, mask=mask, other=0)
    part = given * (values - tl.sum(values) / N)
    lock = locks + row % GROUPS
    count = lock + GROUPS
    own = dw + (row % GROUPS) * N + columns
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part += tl.load(own, mask=mask)
    tl.store(own, part, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@tri.jit
def layer_norm_gradients_without_lock(
    dy, x, dw, locks, M, N, stride, GROUPS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    part = tl.load(dy + row * stride + columns, mask=mask, other=0)
    own = dw + (row % GROUPS) * N + columns
    tl.store(own, part + tl.load(own, mask=mask), mask=mask)


@tri.jit
def split_k(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ATOMIC: tl.constexpr):
    """Each program has a part of K; parts of one tile are added up in memory."""
    part = tl.program_id(0)
    m, n, k = tl.arange(0, M), tl.arange(0, N), part * K + tl.arange(0, K)
    size = K * tl.num_programs(0)
    tile = tl.dot(tl.load(a + m[:, None] * size + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
    place = c + m[:, None] * N + n[None, :]
    if ATOMIC:
        tl.atomic_add(place, tile, sem="relaxed")
    else:
        tl.store(place, tl.load(place) + tile)


@tri.jit
def split_k_with_locks(a, b, c, lock, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Parts wait for their turn: the lock counts them."""
    part = tl.program_id(0)
    m, n, k = tl.arange(0, M), tl.arange(0, N), part * K + tl.arange(0, K)
    size = K * tl.num_programs(0)
    tile = tl.dot(tl.load(a + m[:, None] * size + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]))
    place = c + m[:, None] * N + n[None, :]
    while tl.atomic_cas(lock, part, part) != part:
        pass
    if part > 0:
        tile += tl.load(place)
    tl.store(place, tile)
    tl.debug_barrier()
    tl.atomic_xchg(lock, part + 1)


@tri.jit
def same_store_twice(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i // 2, i)


@tri.jit
def same_value_twice(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i // 2, i // 2)


@tri.jit
def all_say_so(flag):
    tl.store(flag, 1)


@tri.jit
def shifts(x, out, again, BLOCK: tl.constexpr, BARRIER: tl.constexpr):
    """A program reads back what other threads of it stored; ``again`` may be ``out``, which no compiler knows."""
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))
    if BARRIER:
        tl.debug_barrier()
    tl.store(x + i, tl.load(again + (i + BLOCK // 2) % BLOCK))


@tri.jit
def shifts_alone(x, out, BLOCK: tl.constexpr):
    """As ``shifts`` and ``overtakes``, in memory that has one name."""
    i, other = tl.arange(0, BLOCK), (tl.arange(0, BLOCK) + BLOCK // 2) % BLOCK
    tl.store(out + i, tl.load(x + i))
    there = tl.load(out + other)
    for _ in range(3):
        tl.store(out + i, there + 1)
        there = tl.load(out + other)
    tl.store(x + i, there)


@tri.jit
def overtakes(x, again, BLOCK: tl.constexpr, BARRIER: tl.constexpr):
    """A program overwrites what other threads of it load, if ``again`` is ``x``."""
    i = tl.arange(0, BLOCK)
    there = tl.load(again + (i + BLOCK // 2) % BLOCK)
    if BARRIER:
        tl.debug_barrier()
    tl.store(x + i, there)


@tri.jit
def gathers(x, index, out, n, BLOCK: tl.constexpr):
    """Elements of a table, at random."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = tl.load(index + i, mask=i < n, other=0)
    tl.store(out + i, tl.load(x + places, mask=i < n), mask=i < n)


@tri.jit
def in_place(x, n, BLOCK: tl.constexpr):
    """Every element is loaded and stored eight times."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(8):
        tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@tri.jit
def rows_in_place(x, factor, n, BLOCK: tl.constexpr):
    """A row is scaled in place, in blocks of fewer elements than a program has threads."""
    y = tl.load(factor)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=i < n) * y, mask=i < n)


@tri.jit
def counts_itself(x):
    """A single word is loaded and stored by a program that has many threads."""
    for _ in range(4):
        tl.store(x, tl.load(x) + 1)


@tri.jit
def overlapping_boxes(desc, STEP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    p = tl.program_id(0)
    desc.store([p * STEP, 0], tl.full((M, N), 1.0, tl.float32) + p)


@tri.jit
def adds_boxes(desc, M: tl.constexpr, N: tl.constexpr):
    desc.atomic_add([0, 0], tl.full((M, N), 1.0, tl.float32) + tl.program_id(0))


@tri.jit
def loads_a_box_of_another(desc, M: tl.constexpr, N: tl.constexpr):
    p = tl.program_id(0)
    other = desc.load([(1 - p) * M, 0])
    desc.store([p * M, 0], other + 1)


@tri.jit
def scalars(x, out, n):
    """One number at a time."""
    p = tl.program_id(0)
    for i in range(n):
        tl.store(out + p, tl.load(out + p) + tl.load(x + i))
