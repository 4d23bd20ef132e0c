from __future__ import annotations

import pytest

from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.dialect import MemDescType, SharedMemoryAttr
from tri_gpu_dialect.encodings import Blocked, SwizzledShared
from tri_gpu_dialect.testing.op_checks import memory_type, verify_op

BLOCKED = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
OTHER = Blocked((4, 1), (8, 4), (4, 1), (0, 1))
SHARED = SwizzledShared(4, 1, 8, (1, 0))


def tensor(shape: str = "64x32xf32", encoding: Blocked = BLOCKED) -> str:
    return f"tensor<{shape}, {encoding}>"


def memory(shape: tuple[int, ...] = (64, 32), *, mutable: bool = True) -> str:
    return memory_type(shape, SHARED, mutable=mutable)


def test_memdesc_type_round_trips() -> None:
    made = MemDescType.of([2, 64], ir.F16Type.get(), SHARED.to_attr(), mutable=True, alloc_shape=[8, 64])
    read = ir.Type.parse(str(made))
    assert isinstance(read, MemDescType)
    assert (read.shape, read.alloc_shape, read.mutable) == ([2, 64], [8, 64], True)
    assert read.element_type == ir.F16Type.get()
    assert read.memory_space == SharedMemoryAttr.get()
    assert layouts.of(read) == SHARED.linear_layout((2, 64))


def test_valid_ops() -> None:
    verify_op("ttg.convert_layout", [tensor()], tensor(encoding=OTHER))
    verify_op("ttg.local_alloc", [tensor()], memory(mutable=False))
    verify_op("ttg.local_alloc", [], memory())
    verify_op("ttg.local_load", [memory()], tensor())
    verify_op("ttg.local_store", [tensor(), memory()], None)
    verify_op("ttg.local_dealloc", [memory()], None)
    verify_op("ttg.memdesc_index", [memory((3, 64, 32)), "i32"], memory())
    verify_op("ttg.memdesc_subslice {offsets = array<i32: 32, 16>}", [memory()], memory((32, 16)))
    verify_op("ttg.memdesc_trans {order = array<i32: 1, 0>}", [memory()], memory((32, 64)))
    verify_op("ttg.memdesc_reshape", [memory()], memory((2048,)))
    pointers = tensor('64x32x!tt.ptr<f32, "global">')
    segments = "{operandSegmentSizes = array<i32: 1, 1, 0, 0>}"
    verify_op(f"ttg.async_copy_global_to_local {segments}", [pointers, memory()], "!ttg.async_token")
    verify_op("ttg.async_commit_group", ["!ttg.async_token"], "!ttg.async_token")
    verify_op("ttg.async_wait {num = 1 : i32}", ["!ttg.async_token"], "!ttg.async_token")
    verify_op("ttg.barrier {addrSpace = 1 : i32}", [], None)
    verify_op("ttg.warp_id", [], "i32")
    verify_op("ttg.get_grid_size {axis = 2 : i32}", [], "i32")
    verify_op("ttg.next_tile", ["i32", "i32"], "i32")


@pytest.mark.parametrize(
    ("op", "inputs", "output", "message"),
    [
        ("ttg.convert_layout", lambda: [tensor()], lambda: tensor("32x32xf32"), "equal shapes"),
        ("ttg.convert_layout", lambda: [tensor()], lambda: "tensor<64x32xf32>", "an encoding that places"),
        ("ttg.convert_layout", lambda: ["f32"], tensor, "a tensor is expected"),
        ("ttg.local_alloc", list, lambda: memory(mutable=False), "needs a mutable"),
        ("ttg.local_alloc", lambda: [tensor()], lambda: memory((32, 64)), "equal shapes"),
        ("ttg.local_alloc", lambda: [tensor()], tensor, "memdesc is expected"),
        ("ttg.local_load", lambda: [memory()], lambda: tensor("64x32xf16"), "element types"),
        ("ttg.local_store", lambda: [tensor(), memory(mutable=False)], lambda: None, "needs a mutable"),
        ("ttg.memdesc_index", lambda: [memory(), "i32"], memory, "gives shape"),
        (
            "ttg.memdesc_subslice {offsets = array<i32: 8, 0>}",
            lambda: [memory()],
            lambda: memory((32, 32)),
            "aligned",
        ),
        (
            "ttg.memdesc_subslice {offsets = array<i32: 0>}",
            lambda: [memory()],
            lambda: memory((32, 32)),
            "one offset",
        ),
        ("ttg.memdesc_trans {order = array<i32: 1, 0>}", lambda: [memory()], memory, "gives shape"),
        ("ttg.memdesc_trans {order = array<i32: 1, 1>}", lambda: [memory()], memory, "not a permutation"),
        ("ttg.memdesc_reshape", lambda: [memory()], lambda: memory((64,)), "cannot give"),
    ],
)
def test_rules_are_checked_at_the_op(op, inputs, output, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ir.MLIRError, match=message):
        verify_op(op, inputs(), output())
