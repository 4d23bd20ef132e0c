"""Kernels of users' kinds, with the tensors that each reads and writes: what PyTorch has to find in their TTIR.

``python -m integration.inductor.accesses`` asks PyTorch, on tri or, where tri is not installed, on Triton, and names those that differ.
Parameters say what they get: ``a`` to ``c`` and ``o`` to ``q`` tensors, ``i`` one of indices, ``d`` a tensor with a descriptor, others
numbers; capitals are constants.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,no-untyped-def,misc"
# ruff: noqa: SIM102, SIM108  they are kernels

from __future__ import annotations

import importlib.util
import logging
import sys
from typing import Any

if importlib.util.find_spec("tri") is not None:
    import tri.compat.triton

    tri.compat.triton.install()

import torch
import torch.utils._triton as asked
import triton
import triton.language as tl
from torch._higher_order_ops.triton_kernel_wrap import create_tma_stable_metadata, identify_accessed_tensors

__all__ = ["CASES", "OTHERWISE_IN_TRITON", "accessed", "differing"]

# descriptors that are arguments are asked for only where a GPU has tensor maps
asked.has_triton_tensor_descriptor_host_tma = lambda: True

#: the kernels by name, with the tensors read and written
CASES: dict[str, tuple[Any, str, str]] = {}
#: those that PyTorch reads otherwise from Triton's TTIR: accesses whose names it does not know count as none, and what calls give as
#: one value, so that both pointers of a pair are written where one is
OTHERWISE_IN_TRITON = frozenset({"descriptor_reduces", "scatters", "gathers", "calls_with_swapped_pointers"})


def of(reads: str, writes: str):
    """Enter a kernel that reads and writes these tensors."""

    def entered(function: Any) -> Any:
        kernel = triton.jit(function)
        CASES[function.__name__] = (kernel, reads, writes)
        return kernel

    return entered


@of("a b", "o")
def adds(a, b, o, n, B: tl.constexpr):
    x = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + x, tl.load(a + x, mask=x < n) + tl.load(b + x, mask=x < n), mask=x < n)


@of("a b", "o")
def adds_in_another_order(o, n, b, B: tl.constexpr, a):
    x = tl.arange(0, B)
    tl.store(o + x, tl.load(a + x, mask=x < n) + tl.load(b + x, mask=x < n), mask=x < n)


@of("a", "a")
def doubles_in_place(a, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.store(a + x, 2 * tl.load(a + x))


@of("", "o")
def fills(a, o, B: tl.constexpr):
    tl.store(o + tl.arange(0, B), tl.full((B,), 1.0, tl.float32))


@of("a", "")
def reads_only(a, o, B: tl.constexpr):
    x = tl.load(a + tl.arange(0, B))
    tl.device_print("x", x)


@of("", "")
def does_nothing(a, o):
    pass


@triton.jit
def stored(p, x):
    tl.store(p, x)


@triton.jit
def loaded(p):
    return tl.load(p)


@triton.jit
def moved(p, x):
    return p + x


@triton.jit
def swapped(p, q):
    return q, p


@triton.jit
def both(p, q, x):
    stored(p, loaded(q) + x)
    return p, q


@of("a", "o")
def calls_a_store(a, o, B: tl.constexpr):
    x = tl.arange(0, B)
    stored(o + x, tl.load(a + x))


@of("a", "o")
def calls_a_load(a, o, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.store(moved(o, x), loaded(moved(a, x)))


@of("b", "a")
def calls_with_swapped_pointers(a, b, B: tl.constexpr):
    q, p = swapped(a, b)
    x = tl.arange(0, B)
    tl.store(p + x, tl.load(q + x))


@of("a b", "o b")
def calls_that_give_pointers(a, b, o, B: tl.constexpr):
    x = tl.arange(0, B)
    _, q = both(o + x, b + x, 1.0)
    both(q, a + x, 2.0)


@triton.jit
def descends(p, x, DEPTH: tl.constexpr):
    if DEPTH == 0:
        tl.store(p, x)
    else:
        descends(p + 1, x, DEPTH - 1)


@of("", "o")
def calls_itself(o):
    descends(o, 1.0, 3)


@triton.jit(noinline=True)
def apart(p, x):
    tl.store(p, x)


@of("a", "o")
def calls_noinline(a, o):
    apart(o, tl.load(a))


@of("a", "o")
def loops(a, o, n, B: tl.constexpr):
    x = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(n):
        total += tl.load(a + k * B + x)
    tl.store(o + x, total)


@of("a", "o")
def loops_with_pointers(a, o, n, B: tl.constexpr):
    x = tl.arange(0, B)
    p, q = a + x, o + x
    for _ in range(n):
        tl.store(q, tl.load(p))
        p += B
        q += B


@of("a b", "o")
def nests_loops(a, b, o, n, B: tl.constexpr):
    x = tl.arange(0, B)
    first = tl.zeros((B,), tl.float32)
    second = tl.zeros((B,), tl.float32)
    for j in range(n):
        for k in range(j):
            first += tl.load(a + k + x)
            second += tl.load(b + x)
    tl.store(o + x, first + second)


@of("a", "o")
def loops_statically(a, o, B: tl.constexpr):
    for k in tl.static_range(4):
        tl.store(o + k, tl.load(a + k))


@of("a", "o")
def waits_with_pointers(a, o, n, B: tl.constexpr):
    p, q = a, o
    while n > 0:
        tl.store(q, tl.load(p))
        p += 1
        q += 1
        n -= 1


@of("a", "a b")
def loops_that_swap_pointers(a, b, n, B: tl.constexpr):
    p, q = a, b
    for _ in range(n):
        p, q = q, p
    tl.store(p, 1.0)
    tl.store(q, tl.load(a))


@of("a", "o")
def branches(a, o, n, B: tl.constexpr):
    x = tl.arange(0, B)
    if n > 4:
        tl.store(o + x, tl.load(a + x))
    else:
        tl.store(o + x, 0.0)


@of("a", "o p")
def branches_between_pointers(a, o, p, n, B: tl.constexpr):
    if n > 4:
        chosen = o + 1
    else:
        chosen = p + 2
    tl.store(chosen, tl.load(a))


@of("a b i", "o")
def branches_with_several_pointers(a, b, o, i, n, B: tl.constexpr):
    if tl.load(i):
        p, q, r = a + 1, b + 1, o + 1
    else:
        p, q, r = a, b, o
    tl.store(r, tl.load(p) + tl.load(q))


@of("a", "o")
def branches_deep(a, o, n, B: tl.constexpr):
    for k in range(n):
        if k > 2:
            if k > 5:
                tl.store(o + k, tl.load(a + k))


@of("a", "o p")
def selects_a_pointer(a, o, p, n):
    x = tl.arange(0, 16)
    tl.store(tl.where(x > n, o + x, p + x), tl.load(a + x))


@of("a", "o")
def returns_early(a, o, n):
    if tl.program_id(0) > n:
        return
    tl.store(o, tl.load(a))


@of("a", "o")
def chooses_by_constants(a, b, o, CASE: tl.constexpr):
    if CASE == 16:
        tl.store(o, tl.load(a))
    else:
        tl.store(b, tl.load(o))


@of("a i", "o")
def stores_at_loaded_indices(a, i, o, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.store(o + tl.load(i + x), tl.load(a + x))


@of("a i", "o")
def loads_at_loaded_indices(a, i, o, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.store(o + x, tl.load(a + tl.load(i + x)))


@of("a", "o")
def adds_atomically(a, o, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.atomic_add(o + x, tl.load(a + x))


@of("", "o i")
def takes_turns(o, i):
    turn = tl.atomic_add(i, 1)
    tl.store(o + turn, 1.0)


@of("", "i")
def swaps_atomically(i):
    tl.atomic_cas(i, tl.full((), 0, tl.int64), tl.full((), 1, tl.int64))
    tl.atomic_xchg(i + 1, 2)
    tl.atomic_max(i + 2, 3)


@of("a b c", "o")
def multiplies(a, b, c, o, n, B: tl.constexpr):
    x = tl.arange(0, B)
    tile = x[:, None] * B + x[None, :]
    total = tl.load(c + tile)
    for k in range(n):
        total = tl.dot(tl.load(a + tile + k), tl.load(b + tile), total)
    tl.store(o + tile, total)


@of("a", "o p")
def reduces(a, o, p, B: tl.constexpr):
    x = tl.load(a + tl.arange(0, B))
    best, where = tl.max(x, 0, return_indices=True)
    tl.store(o, best + tl.sum(x, 0))
    tl.store(p + where, tl.argmin(x, 0).to(tl.float32))


@triton.jit
def larger(x, y):
    return tl.maximum(x, y)


@triton.jit
def first_of_two(x, y, u, v):
    return tl.where(x > u, x, u), tl.where(x > u, y, v)


@of("a b", "o p")
def reduces_by_a_function(a, b, o, p, B: tl.constexpr):
    x = tl.arange(0, B)
    best, other = tl.reduce((tl.load(a + x), tl.load(b + x)), 0, first_of_two)
    tl.store(o, best)
    tl.store(p, other + tl.reduce(tl.load(a + x), 0, larger))


@of("a", "o")
def sums_up(a, o, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.store(o + x, tl.cumsum(tl.load(a + x), 0))


@of("a b", "o p")
def scans_by_a_function(a, b, o, p, B: tl.constexpr):
    x = tl.arange(0, B)
    best, other = tl.associative_scan((tl.load(a + x), tl.load(b + x)), 0, first_of_two)
    tl.store(o + x, best)
    tl.store(p + x, other)


@of("a", "o")
def sorts(a, o, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.store(o + x, tl.sort(tl.load(a + x)))


@of("a", "o")
def views(a, o, B: tl.constexpr):
    x = tl.reshape(tl.arange(0, B), (4, 4))
    p = tl.trans(tl.expand_dims(o, 0) + x)
    tl.store(p, tl.trans(tl.load(a + x)))


@of("a", "o p")
def joins_and_splits(a, o, p, B: tl.constexpr):
    x = tl.arange(0, B)
    first, second = tl.split(tl.reshape(tl.load(a + x), (8, 2)))
    tl.store(o + x, tl.reshape(tl.join(first, second), (16,)))
    tl.store(p + x, tl.interleave(first, second))


@of("i", "o")
def casts_pointers(i, o):
    p = o.to(tl.pointer_type(tl.int32), bitcast=True)
    tl.store(p, tl.load(i).to(tl.int32))


@of("a", "o")
def goes_by_numbers(a, o):
    address = o.to(tl.uint64) + 16
    tl.store(address.to(tl.pointer_type(tl.float32)), tl.load(a))


@of("a", "o")
def runs_pure_assembly(a, o, B: tl.constexpr):
    x = tl.arange(0, B)
    y = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [tl.load(a + x)], tl.float32, is_pure=True, pack=1
    )
    tl.store(o + x, y)


@of("a b o", "a b o")
def runs_any_assembly(a, b, o, B: tl.constexpr):
    x = tl.arange(0, B)
    y = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [tl.load(a + x)], tl.float32, is_pure=False, pack=1
    )
    tl.store(o + x, y)


@of("a b", "o")
def makes_descriptors(a, b, o, n, B: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [n, n], [n, 1], [B, B])
    right = tl.make_tensor_descriptor(b, [n, n], [n, 1], [B, B])
    out = tl.make_tensor_descriptor(o, [n, n], [n, 1], [B, B])
    for k in range(n):
        out.store([k, 0], tl.dot(left.load([0, k]), right.load([k, 0])))


@triton.jit
def stored_through(desc, x):
    desc.store([0, 0], x)


@of("a", "o")
def calls_with_descriptors(a, o, n, B: tl.constexpr):
    out = tl.make_tensor_descriptor(o, [n, n], [n, 1], [B, B])
    stored_through(out, tl.load(a) + tl.zeros((B, B), tl.float32))


@of("d a", "e o")
def takes_descriptors(d, a, n, e, o, B: tl.constexpr):
    e.store([0, 0], d.load([n, 0]) + tl.load(a))
    tl.store(o, 1.0)


@of("a", "o")
def descriptor_reduces(a, o, n, B: tl.constexpr):
    out = tl.make_tensor_descriptor(o, [n, n], [n, 1], [B, B])
    out.atomic_add([0, 0], tl.load(a) + tl.zeros((B, B), tl.float32))


@of("a i", "o")
def scatters(a, o, i, n, B: tl.constexpr):
    out = tl.make_tensor_descriptor(o, [n, n], [n, 1], [1, B])
    out.scatter(tl.load(a) + tl.zeros((B, B), tl.float32), tl.load(i + tl.arange(0, B)).to(tl.int32), 0)


@of("a i", "o")
def gathers(a, o, i, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(a, [n, n], [n, 1], [1, B])
    found = source.gather(tl.load(i + tl.arange(0, B)).to(tl.int32), 0)
    x = tl.arange(0, B)
    tl.store(o + x[:, None] * B + x[None, :], found)


@of("", "o")
def draws(o, n, B: tl.constexpr):
    x = tl.arange(0, B)
    tl.store(o + x, tl.rand(n, x))


@of("a i", "o")
def asserts(a, i, o, n, B: tl.constexpr):
    x = tl.arange(0, B)
    at = tl.load(i + x)
    tl.device_assert((at >= 0) & (at < n), "index")
    tl.store(o + x, tl.load(a + at))


@of("a c", "o")
def leaves_out_none(a, b, c, o, B: tl.constexpr):
    x = tl.arange(0, B)
    y = tl.load(a + x) + tl.load(c + x)
    if b is not None:
        y += tl.load(b + x)
    tl.store(o + x, y)


def accessed(kernel: Any) -> tuple[str, str]:
    """The names of the tensors that PyTorch finds to be read and to be written by ``kernel``, apart by spaces."""
    arguments = {name: _argument(kernel, name) for name in kernel.arg_names}
    descriptors = {n: create_tma_stable_metadata([16, 16]) for n in arguments if n in ("d", "e")}
    found = identify_accessed_tensors(kernel, arguments, descriptors).read_writes
    return " ".join(dep.name for dep in found.reads), " ".join(dep.name for dep in found.writes)


def _argument(kernel: Any, name: str) -> Any:
    if name == "b" and "leaves_out_none" in kernel.fn.__name__:
        return None
    if name == "i":
        return torch.zeros(16, dtype=torch.int64)
    return torch.zeros(16, 16) if name in "abcopqde" else 16


def differing() -> dict[str, tuple[tuple[str, str], tuple[str, str]]]:
    """Found and true accesses of the kernels where these differ."""
    found = {name: tuple(map(_sorted, accessed(kernel))) for name, (kernel, _, _) in CASES.items()}
    right = {name: tuple(map(_sorted, texts)) for name, (_, *texts) in CASES.items()}
    return {name: (found[name], right[name]) for name in CASES if found[name] != right[name]}


def _sorted(names: str) -> str:
    return " ".join(sorted(names.split()))


if __name__ == "__main__":
    logging.getLogger("torch._higher_order_ops.triton_kernel_wrap").setLevel(logging.ERROR)
    wrong = differing()
    print(f"{len(CASES) - len(wrong)} of {len(CASES)} right")
    for name, (found, right) in wrong.items():
        print(f"{name}: {found}, not {right}")
    sys.exit(bool(wrong))
