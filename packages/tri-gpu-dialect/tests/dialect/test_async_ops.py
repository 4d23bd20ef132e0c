"""Ops of asynchronous units are checked where they stand."""

from __future__ import annotations

import pytest

from tri_core.mlir import ir
from tri_gpu_dialect.encodings import SwizzledShared
from tri_gpu_dialect.testing.op_checks import barrier_type, memory_type, verify_op

SHARED = SwizzledShared(4, 1, 8, (1, 0))
DESCRIPTOR = "!tt.tensordesc<tensor<64x32xf32>>"
ORDERED_BARRIER = '{step = "wait", group_warps = 4 : i32}'
INTO, OUT_OF = "ttg.async_copy_descriptor_to_local", "ttg.async_copy_local_to_descriptor"


def memory(shape: tuple[int, ...] = (64, 32), *, mutable: bool = True) -> str:
    return memory_type(shape, SHARED, mutable=mutable)


def number(*, of: int = 32) -> str:
    """A buffer of one integer."""
    return barrier_type(bits=of)


def test_valid_ops() -> None:
    verify_op("ttg.init_barrier {count = 1 : i32}", [barrier_type()], None)
    verify_op("ttg.inval_barrier", [barrier_type()], None)
    verify_op("ttg.barrier_expect {size = 64 : i32}", [barrier_type(), "i1"], None)
    verify_op("ttg.arrive_barrier", [barrier_type()], None)
    verify_op("ttg.wait_barrier", [barrier_type(), "i32"], None)
    verify_op("ttg.arrive_barrier", [barrier_type(), memory()], None)
    verify_op("ttg.wait_barrier", [barrier_type(), "i32", memory(), memory()], None)
    verify_op(INTO, [DESCRIPTOR, "i32", "i32", barrier_type(), memory(), "i1"], None)
    leading = DESCRIPTOR.replace("64x", "1x1x64x")
    verify_op(INTO, [leading, "i32", "i32", "i32", "i32", barrier_type(), memory(), "i1"], None)
    verify_op(OUT_OF, [DESCRIPTOR, "i32", "i32", memory(mutable=False)], None)
    verify_op(OUT_OF + " {kind = 1 : i32}", [DESCRIPTOR, "i32", "i32", memory()], None)
    verify_op("ttg.async_store_wait {pendings = 0 : i32}", [], None)
    verify_op("ttg.fence_async_shared", [], None)
    verify_op(f"ttg.ordered_barrier {ORDERED_BARRIER}", [], None)
    verify_op("ttg.fetch_tile", ["i32"], "i32")
    verify_op("ttg.broadcast_tile", ["i32", number()], None)
    verify_op("ttg.read_tile", [number()], "i32")


@pytest.mark.parametrize(
    ("op", "inputs", "output", "message"),
    [
        (
            f"ttg.ordered_barrier {ORDERED_BARRIER.replace('wait', 'ask')}",
            list,
            lambda: None,
            "step is 'ask'",
        ),
        (f"ttg.ordered_barrier {ORDERED_BARRIER.replace('4', '0')}", list, lambda: None, "at least one warp"),
        ("ttg.init_barrier {count = 0 : i32}", lambda: [barrier_type()], lambda: None, "count is 0"),
        ("ttg.wait_barrier", lambda: [barrier_type(2), "i32"], lambda: None, "one i64 is expected"),
        ("ttg.arrive_barrier", lambda: [memory()], lambda: None, "one i64 is expected"),
        ("ttg.arrive_barrier", lambda: [barrier_type(mutable=False)], lambda: None, "needs a mutable"),
        ("ttg.arrive_barrier", lambda: [barrier_type(), "i32"], lambda: None, "buffer is i32"),
        (
            INTO,
            lambda: [DESCRIPTOR, "i32", barrier_type(), memory(), "i1"],
            lambda: None,
            "needs 2 coordinates",
        ),
        (
            INTO,
            lambda: [DESCRIPTOR, "i32", "i32", barrier_type(), memory(mutable=False), "i1"],
            lambda: None,
            "needs a mutable",
        ),
        (
            INTO,
            lambda: ["i32", "i32", "i32", barrier_type(), memory(), "i1"],
            lambda: None,
            "tensordesc is expected",
        ),
        (OUT_OF, lambda: [DESCRIPTOR, "i32", "i32", memory((32, 64))], lambda: None, "a block of"),
        (
            OUT_OF,
            lambda: [DESCRIPTOR.replace("f32", "f16"), "i32", "i32", memory()],
            lambda: None,
            "the descriptor f16",
        ),
        ("ttg.barrier_expect {size = 0 : i32}", lambda: [barrier_type(), "i1"], lambda: None, "size is 0"),
        ("ttg.broadcast_tile", lambda: ["i32", number(of=64)], lambda: None, "one i32"),
        ("ttg.read_tile", lambda: [number(of=64)], lambda: "i32", "one i32"),
    ],
)
def test_rules_are_checked_at_the_op(op, inputs, output, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ir.MLIRError, match=message):
        verify_op(op, inputs(), output())
