"""Barriers in memory and TMA copies as machine cases; tensor maps are made by the kernels themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from machine_cases import CASES, Column, Kernel, MachineCase, any_bits, build, each, normal
from tri_backend_nvidia.machine import (
    BarrierArriveOp,
    BarrierExpectOp,
    BarrierInitOp,
    BarrierInvalOp,
    BarrierOp,
    BarrierWaitOp,
    CopyArriveOp,
    CopyAsyncOp,
    FenceOp,
    MapAcquireOp,
    MapPrefetchOp,
    MapPublishOp,
    MapReplaceOp,
    TmaCommitOp,
    TmaLoadOp,
    TmaStoreOp,
    TmaWaitOp,
)
from tri_core.mlir import ir
from tri_runtime.simulator.tensor_map import ELEMENT_TYPES, SWIZZLES

__all__ = ["CASES"]

#: where things are in shared memory: the box first, which a swizzle wants aligned
MAP, BARRIER, SHARED_BYTES = 1024, 1152, 1160
THREADS, BOX_BYTES = 64, 512


def _add(name: str, op, inputs, outputs, body, values, **others) -> None:
    columns = [tuple(Column(*c) for c in group) for group in (inputs, outputs)]
    assert name not in CASES
    given = {"shared": SHARED_BYTES, **others}
    CASES[name] = MachineCase(name, op.OPERATION_NAME, *columns, body, values, **given)


def _at(k: Kernel, offset: int) -> ir.Value:
    return k.b.gep(k.shared(), k.b.int_(offset), k.b.i8)


def _first(k: Kernel) -> ir.Value:
    return k.b.cmp("eq", k.thread, k.b.int_(0))


def _start(k: Kernel, count: int) -> ir.Value:
    """A barrier in memory that all threads know."""
    barrier = _at(k, BARRIER)
    build(BarrierInitOp, [barrier, _first(k)], count=count)
    build(FenceOp, [], kind="mbarrier_init.release.cluster")
    build(BarrierOp, [])
    return barrier


# --- barriers ---------------------------------------------------------------------------------------------


def _exchange(polls: int, again: bool) -> Callable[[Kernel], None]:
    """Each thread's word goes to another thread, twice; the second time the phase has the other parity."""

    def body(k: Kernel) -> None:
        b = k.b
        barrier = _start(k, THREADS)
        for phase, partner in enumerate((37, 21)):
            b.store(k.read(0)[phase], b.gep(k.shared(), k.thread, b.i32))
            build(BarrierArriveOp, [barrier, b.true()])
            build(BarrierWaitOp, [barrier, b.int_(phase)], polls=polls)
            k.b.store(
                b.load(b.gep(k.shared(), b.xor(k.thread, b.int_(partner)), b.i32), b.i32),
                k.place(1, offset=phase),
            )
            build(BarrierOp, [])
        if again:
            build(BarrierInvalOp, [barrier, _first(k)])
            build(BarrierOp, [])
            build(BarrierInitOp, [barrier, _first(k)], count=THREADS)

    return body


for _name, _op, _polls, _again in (
    ("mbarrier_init", BarrierInitOp, 0, False),
    ("mbarrier_arrive", BarrierArriveOp, 0, False),
    ("mbarrier_wait", BarrierWaitOp, 0, False),
    ("mbarrier_wait-bounded", BarrierWaitOp, 1 << 20, False),
    ("mbarrier_inval", BarrierInvalOp, 0, True),
    ("fence-mbarrier_init", FenceOp, 0, False),
):
    _add(_name, _op, [("i4", 2)], [("i4", 2)], _exchange(_polls, _again), each(any_bits("i4", 2)))


def _copied(k: Kernel) -> None:
    """Words that ``cp.async`` brings count at a barrier."""
    b = k.b
    barrier = _start(k, THREADS)
    own = b.gep(k.shared(), k.thread, b.i32)
    build(CopyAsyncOp, [own, k.place(0), b.int_(4), b.true()], width=4)
    build(CopyArriveOp, [barrier])
    build(BarrierWaitOp, [barrier, b.int_(0)], polls=0)
    k.write(1, b.load(b.gep(k.shared(), b.xor(k.thread, b.int_(37)), b.i32), b.i32))


_add("cp_async_arrive", CopyArriveOp, [("i4",)], [("i4",)], _copied, each(any_bits("i4")))


# --- tensor maps ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """What a map says; dimensions from the contiguous one on, dense."""

    element: str
    dims: tuple[int, ...]
    box: tuple[int, ...]
    at: tuple[int, ...]
    swizzle: int = 0
    nan: bool = False

    @property
    def strides(self) -> list[int]:
        """Bytes from one to the next along dimensions 1 and up."""
        size = ELEMENT_TYPES[self.element][1]
        return [int(np.prod(self.dims[:d])) * size for d in range(1, len(self.dims))]


def _made(k: Kernel, tensor: Tensor, address: ir.Value, scratch: int) -> ir.Value:
    """A map of ``tensor`` at ``address``, in the rows of this program in column ``scratch``."""
    b, place = k.b, _at(k, MAP)

    def zero() -> None:
        b.store(b.int_(0), b.gep(place, k.thread, b.i32))

    b.if_(b.cmp("slt", k.thread, b.int_(32)), zero)
    build(BarrierOp, [])
    fields: list[tuple[str, int, ir.Value]] = [
        ("global_address", 0, b.ptr_to_int(address)),
        ("rank", 0, b.int_(len(tensor.dims) - 1)),
        ("elemtype", 0, b.int_(ELEMENT_TYPES[tensor.element][0])),
        ("interleave_layout", 0, b.int_(0)),
        ("swizzle_mode", 0, b.int_(SWIZZLES[tensor.swizzle])),
        ("fill_mode", 0, b.int_(int(tensor.nan))),
    ]
    for d, (size, box) in enumerate(zip(tensor.dims, tensor.box, strict=True)):
        fields += [
            ("global_dim", d, b.int_(size)),
            ("box_dim", d, b.int_(box)),
            ("element_stride", d, b.int_(1)),
        ]
    fields += [("global_stride", d, b.int_(s, 64)) for d, s in enumerate(tensor.strides)]
    for field, ordinal, value in fields:
        build(MapReplaceOp, [place, value, _first(k)], field=field, ordinal=ordinal)
    build(BarrierOp, [])
    own = k.place(scratch, b.sub(k.row, k.thread))
    b.if_(b.cmp("slt", k.thread, b.int_(32)), lambda: build(MapPublishOp, [own, place]))
    build(BarrierOp, [])
    build(MapAcquireOp, [own])
    build(MapPrefetchOp, [own, _first(k)])
    return own


def _coordinates(k: Kernel, tensor: Tensor) -> list[ir.Value]:
    return [k.b.int_(c) for c in tensor.at]


def _load(tensor: Tensor) -> Callable[[Kernel], None]:
    def body(k: Kernel) -> None:
        b = k.b
        source = _made(k, tensor, k.pointers[0], 2)
        barrier = _start(k, 1)
        build(BarrierExpectOp, [barrier, _first(k)], size=BOX_BYTES)
        operands = [_at(k, 0), source, barrier, _first(k), b.const(b.i16, 1), *_coordinates(k, tensor)]
        build(TmaLoadOp, operands, multicast=0)
        build(BarrierWaitOp, [barrier, b.int_(0)], polls=0)
        words = [b.gep(k.shared(), b.add(b.mul(k.thread, b.int_(2)), b.int_(i)), b.i32) for i in range(2)]
        k.write(1, *(b.load(word, b.i32) for word in words))
        build(BarrierOp, [])
        k.write(2, b.int_(0))  # a map is the hardware's secret

    return body


LOADS = {
    "1d": Tensor("f32", (2048,), (128,), (640,)),
    "1d-past-the-end": Tensor("f32", (2040,), (128,), (1960,)),
    "2d": Tensor("f32", (16, 128), (16, 8), (0, 64)),
    "2d-low": Tensor("f32", (16, 128), (16, 8), (-4, -3)),
    "2d-high": Tensor("f32", (16, 128), (16, 8), (8, 125)),
    "2d-nothing": Tensor("f32", (16, 128), (16, 8), (16, 3)),
    "2d-nan": Tensor("f16", (32, 128), (32, 8), (-8, 124), nan=True),
    "2d-swizzle128": Tensor("f16", (64, 64), (64, 4), (0, 9), 128),
    "2d-swizzle64": Tensor("u8", (64, 128), (64, 8), (0, 70), 64),
    "2d-swizzle32": Tensor("bf16", (16, 256), (16, 16), (0, 7), 32),
    "2d-swizzle128-edge": Tensor("f32", (64, 32), (32, 4), (40, 30), 128),
    "3d": Tensor("s32", (16, 8, 16), (8, 4, 4), (4, -1, 14)),
    "4d": Tensor("u16", (32, 4, 4, 8), (16, 2, 2, 4), (24, 1, 3, 6)),
    "5d": Tensor("u64", (4, 4, 4, 4, 4), (2, 4, 2, 2, 2), (2, 0, 3, -1, 2)),
    "f64": Tensor("f64", (8, 128), (8, 8), (0, 100)),
}
_SCRATCH = ("i4",)
for _name, _tensor in LOADS.items():
    _add(
        f"tma_load-{_name}", TmaLoadOp, [("i4", 16)], [("i4", 2), _SCRATCH], _load(_tensor), each(any_bits("i4", 16))
    )  # fmt: skip
# what NaN other types than f16 are filled with is not known: a NaN is a NaN
_add(
    "tma_load-2d-nan-f32", TmaLoadOp, [("f4", 16)], [("f4", 2), _SCRATCH],
    _load(Tensor("f32", (16, 128), (16, 8), (4, 125), nan=True)),
    each(lambda rng, rows: normal()(rng, rows * 16)),
    bound=lambda inputs, expected: np.zeros(expected.shape),
)  # fmt: skip
for _name, _op in {
    "mbarrier_expect": BarrierExpectOp,
    "tensormap_replace": MapReplaceOp,
    "tensormap_publish": MapPublishOp,
    "tensormap_acquire": MapAcquireOp,
    "prefetch_tensormap": MapPrefetchOp,
}.items():
    _add(_name, _op, [("i4", 16)], [("i4", 2), _SCRATCH], _load(LOADS["2d"]), each(any_bits("i4", 16)))


def _store(tensor: Tensor, combine: str, read: int = 0) -> Callable[[Kernel], None]:
    """Each program stores its box ``program`` boxes further along the last dimension."""

    def body(k: Kernel) -> None:
        b = k.b
        target = _made(k, tensor, k.pointers[0], 2)
        for i, word in enumerate(k.read(1)):
            b.store(word, b.gep(k.shared(), b.add(b.mul(k.thread, b.int_(2)), b.int_(i)), b.i32))
        build(FenceOp, [], kind="proxy.async.shared::cta")
        build(BarrierOp, [])
        place = _coordinates(k, tensor)
        place[-1] = b.add(place[-1], b.mul(k.hw.program_id(b, 0), b.int_(tensor.box[-1])))
        build(TmaStoreOp, [_at(k, 0), target, _first(k), *place], combine=combine)
        build(TmaCommitOp, [])
        build(TmaWaitOp, [], groups=0, read=read)
        build(BarrierOp, [])
        k.write(2, b.int_(0))

    return body


STORES = {
    "1d": Tensor("f32", (2048,), (128,), (640,)),
    "2d-low": Tensor("f32", (16, 128), (16, 8), (4, 0)),
    "2d-high": Tensor("f32", (16, 128), (16, 8), (8, 118)),
    "2d-nothing": Tensor("f32", (16, 128), (16, 8), (0, 123)),
    "2d-swizzle128": Tensor("f16", (64, 64), (64, 4), (0, 9), 128),
    "2d-swizzle64-edge": Tensor("u8", (64, 128), (64, 8), (0, 115), 64),
    "3d": Tensor("s32", (16, 8, 16), (8, 4, 4), (4, 1, 11)),
    "4d": Tensor("u16", (32, 4, 4, 8), (16, 2, 2, 4), (24, 1, 3, 3)),
    "5d": Tensor("u64", (4, 4, 4, 4, 4), (2, 4, 2, 2, 2), (2, 0, 3, 1, 1)),
}
_COLUMNS = ([("i4", 16), ("i4", 2)], [_SCRATCH])
_BITS = each(any_bits("i4", 16), any_bits("i4", 2))
for _name, _tensor in STORES.items():
    _add(f"tma_store-{_name}", TmaStoreOp, *_COLUMNS, _store(_tensor, ""), _BITS, changes=(0,))
for _name, _op in {"tma_commit": TmaCommitOp, "tma_wait": TmaWaitOp, "fence-proxy": FenceOp}.items():
    _add(_name, _op, *_COLUMNS, _store(STORES["2d-high"], ""), _BITS, changes=(0,))
_add("tma_wait-read", TmaWaitOp, *_COLUMNS, _store(STORES["2d-high"], "", 1), _BITS, changes=(0,))


def _halves(count: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Pairs of f16 in words."""
    return lambda rng, rows: rng.standard_normal(rows * count * 2).astype(np.float16).view(np.int32)


_SMALL: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "u32": ((16, 128), (16, 8)), "s32": ((16, 128), (16, 8)), "f32": ((16, 128), (16, 8)),
    "f16": ((32, 128), (32, 8)), "u64": ((8, 128), (8, 8)), "s64": ((8, 128), (8, 8)),
}  # fmt: skip
_REDUCTIONS: Sequence[tuple[str, str]] = [
    *((combine, kind) for combine in ("add", "and", "or", "xor") for kind in ("u32", "u64")),
    *((combine, kind) for combine in ("min", "max") for kind in ("u32", "s32", "u64", "s64", "f16")),
    ("add", "f32"),
    ("add", "f16"),
]
for _combine, _kind in _REDUCTIONS:
    _dims, _box = _SMALL[_kind]
    _made_of = {
        "f32": each(lambda rng, rows: normal()(rng, rows * 16).view(np.int32),
                    lambda rng, rows: normal()(rng, rows * 2).view(np.int32)),
        "f16": each(_halves(16), _halves(2)),
    }.get(_kind, _BITS)  # fmt: skip
    _body = _store(Tensor(_kind, _dims, _box, (max(16 // ELEMENT_TYPES[_kind][1], 4), 117)), _combine)
    _add(f"tma_store-{_combine}-{_kind}", TmaStoreOp, *_COLUMNS, _body, _made_of, changes=(0,))
