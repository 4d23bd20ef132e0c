"""Machine ops of clusters as machine cases: what one CTA does, another one sees."""

from __future__ import annotations

from collections.abc import Callable

from machine_cases import CASES, Column, Kernel, MachineCase, any_bits, build, each
from tma_cases import BARRIER, BOX_BYTES, SHARED_BYTES, THREADS, Tensor, _at, _first, _made
from tri_backend_nvidia.machine import (
    BarrierExpectOp,
    BarrierInitOp,
    BarrierWaitOp,
    ClusterBarrierOp,
    FenceOp,
    MapaOp,
    PeerArriveOp,
    PeerLoadOp,
    PeerStoreOp,
    PeerWaitOp,
    ReadRegisterOp,
    TmaLoadOp,
)
from tri_core.mlir import ir

__all__ = ["peer", "ring", "start_together", "synchronize"]

SIZE = 4


def _add(name: str, op, inputs, outputs, body, values, cluster: int = SIZE, **others) -> None:
    columns = [tuple(Column(*c) for c in group) for group in (inputs, outputs)]
    assert name not in CASES
    given = {"shared": SHARED_BYTES, "grid": (2 * cluster, 1, 1), "cluster": cluster, **others}
    CASES[name] = MachineCase(name, op.OPERATION_NAME, *columns, body, values, **given)


def synchronize() -> None:
    """All threads of the cluster."""
    build(ClusterBarrierOp, [], step="arrive")
    build(ClusterBarrierOp, [], step="wait")


def peer(k: Kernel, address: ir.Value, distance: int) -> ir.Value:
    """``address`` in the CTA whose number is this one's xor ``distance``."""
    rank = k.b.xor(k.hw.cta_rank(k.b), k.b.int_(distance))
    return build(MapaOp, [address, rank], [k.b.ptr(7)])[0]


def start_together(k: Kernel, count: int) -> ir.Value:
    """A barrier in the memory of each CTA that the whole cluster knows."""
    barrier = _at(k, BARRIER)
    build(BarrierInitOp, [barrier, _first(k)], count=count)
    build(FenceOp, [], kind="mbarrier_init.release.cluster")
    synchronize()
    return barrier


# --- where a CTA is ---------------------------------------------------------------------------------------


def _register(name: str) -> None:
    def body(k: Kernel) -> None:
        k.write(0, *build(ReadRegisterOp, [], [k.b.i32], register=name))

    _add(f"read_register-{name}-in_cluster", ReadRegisterOp, (), [("i4",)], body, each(), grid=(8, 2, 1))


for _name in ("ctaid.x", "nctaid.x", "clusterid.x", "clusterid.y", "nclusterid.x", "cluster.ctarank"):
    _register(_name)


# --- shared memory of others ------------------------------------------------------------------------------


def _read(count: int) -> Callable[[Kernel], None]:
    """Each thread reads words of a thread of another CTA."""

    def body(k: Kernel) -> None:
        b = k.b
        type_ = b.vector_type(b.i32, count) if count > 1 else b.i32
        b.store(b.pack(k.read(0)), b.gep(k.shared(), k.thread, type_))
        synchronize()
        other = b.gep(k.shared(), b.xor(k.thread, b.int_(37)), type_)
        (got,) = build(PeerLoadOp, [peer(k, other, 3)], [type_])
        k.write(1, *b.unpack(got))
        synchronize()

    return body


def _narrow(k: Kernel) -> None:
    """Bytes, of which a register holds one."""
    b = k.b
    b.store(k.read(0)[0], b.gep(k.shared(), k.thread, b.i8))
    synchronize()
    other = b.gep(k.shared(), b.xor(k.thread, b.int_(37)), b.i8)
    k.write(1, *build(PeerLoadOp, [peer(k, other, 1)], [b.i8]))
    synchronize()


for _name, _op, _count in (
    ("barrier_cluster", ClusterBarrierOp, 1),
    ("mapa", MapaOp, 1),
    ("load_cluster-v2", PeerLoadOp, 2),
    ("load_cluster-v4", PeerLoadOp, 4),
):
    _add(_name, _op, [("i4", _count)], [("i4", _count)], _read(_count), each(any_bits("i4", _count)))
_add("load_cluster-byte", PeerLoadOp, [("i1",)], [("i1",)], _narrow, each(any_bits("i1")))


def _written(k: Kernel) -> None:
    """Each thread writes words of a thread of another CTA, where the first is positive."""
    b = k.b
    type_ = b.vector_type(b.i32, 2)
    own = b.gep(k.shared(), k.thread, type_)
    b.store(b.pack([b.int_(7), b.int_(8)]), own)
    synchronize()
    words = k.read(0)
    there = peer(k, b.gep(k.shared(), b.xor(k.thread, b.int_(21)), type_), 2)
    build(PeerStoreOp, [there, b.pack(words), b.cmp("sgt", words[0], b.int_(0))])
    synchronize()
    k.write(1, *b.unpack(b.load(own, type_)))


_add("store_cluster", PeerStoreOp, [("i4", 2)], [("i4", 2)], _written, each(any_bits("i4", 2)))


# --- barriers in memory of others -------------------------------------------------------------------------


def _arrivals(k: Kernel) -> None:
    """Each thread writes into two CTAs in turn and arrives there; who waits sees what was written."""
    b = k.b
    barrier = start_together(k, THREADS)
    own = b.gep(k.shared(), k.thread, b.i32)
    for phase, distance in enumerate((1, 3)):
        build(PeerStoreOp, [peer(k, own, distance), k.read(0)[phase], b.true()])
        build(PeerArriveOp, [peer(k, barrier, distance), b.true()], scope="cluster")
        build(PeerWaitOp, [barrier, b.int_(phase)], polls=0)
        other = b.gep(k.shared(), b.xor(k.thread, b.int_(37)), b.i32)
        b.store(b.load(other, b.i32), k.place(1, offset=phase))
        synchronize()


for _name, _op in (("mbarrier_arrive_cluster", PeerArriveOp), ("mbarrier_wait_cluster", PeerWaitOp)):
    _add(_name, _op, [("i4", 2)], [("i4", 2)], _arrivals, each(any_bits("i4", 2)))


def _multicast(k: Kernel) -> None:
    """CTAs 0 and 3 of four each copy a box into their own memory and that of one more."""
    b, tensor = k.b, Tensor("f32", (16, 64), (16, 8), (0, 32))
    source = _made(k, tensor, k.pointers[0], 2)
    barrier = start_together(k, 1)
    build(BarrierExpectOp, [barrier, _first(k)], size=BOX_BYTES)
    rank = k.hw.cta_rank(b)
    low = b.cmp("eq", rank, b.int_(0))
    mask = b.int_cast(b.select(low, b.int_(0b0101), b.int_(0b1010)), b.i16)
    copies = b.and_(_first(k), b.or_(low, b.cmp("eq", rank, b.int_(3))))
    row = b.select(low, b.int_(32), b.int_(8))
    build(TmaLoadOp, [_at(k, 0), source, barrier, copies, mask, b.int_(0), row], multicast=1)
    build(PeerWaitOp, [barrier, b.int_(0)], polls=0)
    for offset in range(2):
        place = b.add(b.mul(k.thread, b.int_(2)), b.int_(offset))
        b.store(b.load(b.gep(k.shared(), place, b.i32), b.i32), k.place(1, offset=offset))
    synchronize()
    k.write(2, b.int_(0), b.int_(0))  # a map is the hardware's secret


def ring(k: Kernel, everyone: bool = True) -> None:
    """CTA 0 copies four boxes, one after the other, to both CTAs; the threads of both free the stage by arriving in CTA 0.

    Not ``everyone``: CTA 0 alone frees it, which is wrong.
    """
    b, tensor = k.b, Tensor("f32", (16, 64), (16, 8), (0, 0))
    source = _made(k, tensor, k.pointers[0], 2)
    full, empty = _at(k, BARRIER), _at(k, BARRIER + 8)
    build(BarrierInitOp, [full, _first(k)], count=1)
    build(BarrierInitOp, [empty, _first(k)], count=THREADS * (2 if everyone else 1))
    build(FenceOp, [], kind="mbarrier_init.release.cluster")
    synchronize()
    leads = b.cmp("eq", k.hw.cta_rank(b), b.int_(0))
    (there,) = build(MapaOp, [empty, b.int_(0)], [b.ptr(7)])
    for iteration in range(4):
        if iteration:
            b.if_(
                leads,
                lambda t=iteration: build(BarrierWaitOp, [empty, b.int_((t - 1) % 2)], polls=0) and None,
            )
        build(BarrierExpectOp, [full, _first(k)], size=BOX_BYTES)
        place = [b.int_(0), b.int_(8 * iteration)]
        copies = b.and_(_first(k), leads)
        build(TmaLoadOp, [_at(k, 0), source, full, copies, b.const(b.i16, 3), *place], multicast=1)
        build(BarrierWaitOp, [full, b.int_(iteration % 2)], polls=0)
        word = b.load(b.gep(k.shared(), b.xor(k.thread, b.int_(37)), b.i32), b.i32)
        b.store(word, k.place(1, offset=iteration))
        build(FenceOp, [], kind="proxy.async.shared::cta")
        build(PeerArriveOp, [there, b.true() if everyone else leads], scope="cta")
    synchronize()
    k.write(2, b.int_(0), b.int_(0))


_MAPS = (("i4", 2),)
for _name, _body, _words, _size in (("multicast", _multicast, 2, 4), ("ring", ring, 4, 2)):
    _add(
        f"tma_load-{_name}",
        TmaLoadOp,
        [("i4", 16)],
        [("i4", _words), *_MAPS],
        _body,
        each(any_bits("i4", 16)),
        cluster=_size,
        grid=(_size, 1, 1),
        shared=SHARED_BYTES + 8,
    )
