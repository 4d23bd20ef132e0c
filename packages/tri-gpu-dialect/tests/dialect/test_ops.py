from __future__ import annotations

import pytest

from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.dialect import MemDescType, SharedMemoryAttr
from tri_gpu_dialect.encodings import Blocked, SwizzledShared

BLOCKED = Blocked((1, 4), (8, 4), (4, 1), (1, 0))
OTHER = Blocked((4, 1), (8, 4), (4, 1), (0, 1))
SHARED = SwizzledShared(4, 1, 8, (1, 0))


def tensor(shape: str = "64x32xf32", encoding: Blocked = BLOCKED) -> str:
    return f"tensor<{shape}, {encoding}>"


def memory(shape: tuple[int, ...] = (64, 32), *, mutable: bool = True) -> str:
    return str(MemDescType.of(shape, ir.F32Type.get(), SHARED.to_attr(), mutable=mutable))


def barrier(count: int = 1, *, mutable: bool = True) -> str:
    encoding = SwizzledShared(1, 1, 1, (0,)).to_attr()
    return str(MemDescType.of((count,), ir.IntegerType.get_signless(64), encoding, mutable=mutable))


DESCRIPTOR = "!tt.tensordesc<tensor<64x32xf32>>"
ORDERED_BARRIER = '{step = "wait", group_warps = 4 : i32}'
INTO, OUT_OF = "ttg.async_copy_descriptor_to_local", "ttg.async_copy_local_to_descriptor"


def check(op: str, inputs: list[str], output: str | None) -> None:
    """Verify one generic op ``op`` (its name and attributes) on values of types ``inputs``."""
    args = ", ".join(f"%{i}: {t}" for i, t in enumerate(inputs))
    name, _, attributes = op.partition(" ")
    values = ", ".join(f"%{i}" for i in range(len(inputs)))
    body = f'"{name}"({values}) {attributes} : ({", ".join(inputs)}) -> ({output or ""})'
    text = f"module {{ func.func @f({args}) {{ {'%r = ' if output else ''}{body}\n return }} }}"
    assert ir.Module.parse(text).operation.verify()


def test_memdesc_type_round_trips() -> None:
    made = MemDescType.of([2, 64], ir.F16Type.get(), SHARED.to_attr(), mutable=True, alloc_shape=[8, 64])
    read = ir.Type.parse(str(made))
    assert isinstance(read, MemDescType)
    assert (read.shape, read.alloc_shape, read.mutable) == ([2, 64], [8, 64], True)
    assert read.element_type == ir.F16Type.get()
    assert read.memory_space == SharedMemoryAttr.get()
    assert layouts.of(read) == SHARED.linear_layout((2, 64))


def test_valid_ops() -> None:
    check("ttg.convert_layout", [tensor()], tensor(encoding=OTHER))
    check("ttg.local_alloc", [tensor()], memory(mutable=False))
    check("ttg.local_alloc", [], memory())
    check("ttg.local_load", [memory()], tensor())
    check("ttg.local_store", [tensor(), memory()], None)
    check("ttg.local_dealloc", [memory()], None)
    check("ttg.memdesc_index", [memory((3, 64, 32)), "i32"], memory())
    check("ttg.memdesc_subslice {offsets = array<i32: 32, 16>}", [memory()], memory((32, 16)))
    check("ttg.memdesc_trans {order = array<i32: 1, 0>}", [memory()], memory((32, 64)))
    check("ttg.memdesc_reshape", [memory()], memory((2048,)))
    pointers = tensor('64x32x!tt.ptr<f32, "global">')
    segments = "{operandSegmentSizes = array<i32: 1, 1, 0, 0>}"
    check(f"ttg.async_copy_global_to_local {segments}", [pointers, memory()], "!ttg.async_token")
    check("ttg.async_commit_group", ["!ttg.async_token"], "!ttg.async_token")
    check("ttg.async_wait {num = 1 : i32}", ["!ttg.async_token"], "!ttg.async_token")
    check("ttg.init_barrier {count = 1 : i32}", [barrier()], None)
    check("ttg.inval_barrier", [barrier()], None)
    check("ttg.barrier_expect {size = 64 : i32}", [barrier(), "i1"], None)
    check("ttg.arrive_barrier", [barrier()], None)
    check("ttg.wait_barrier", [barrier(), "i32"], None)
    check("ttg.arrive_barrier", [barrier(), memory()], None)
    check("ttg.wait_barrier", [barrier(), "i32", memory(), memory()], None)
    check(INTO, [DESCRIPTOR, "i32", "i32", barrier(), memory(), "i1"], None)
    leading = DESCRIPTOR.replace("64x", "1x1x64x")
    check(INTO, [leading, "i32", "i32", "i32", "i32", barrier(), memory(), "i1"], None)
    check(OUT_OF, [DESCRIPTOR, "i32", "i32", memory(mutable=False)], None)
    check(OUT_OF + " {kind = 1 : i32}", [DESCRIPTOR, "i32", "i32", memory()], None)
    check("ttg.async_store_wait {pendings = 0 : i32}", [], None)
    check("ttg.fence_async_shared", [], None)
    check("ttg.barrier {addrSpace = 1 : i32}", [], None)
    check("ttg.warp_id", [], "i32")
    check(f"ttg.ordered_barrier {ORDERED_BARRIER}", [], None)
    check("ttg.get_grid_size {axis = 2 : i32}", [], "i32")
    check("ttg.next_tile", ["i32", "i32"], "i32")
    check("ttg.fetch_tile", ["i32"], "i32")


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
            f"ttg.ordered_barrier {ORDERED_BARRIER.replace('wait', 'ask')}",
            list,
            lambda: None,
            "step is 'ask'",
        ),
        (f"ttg.ordered_barrier {ORDERED_BARRIER.replace('4', '0')}", list, lambda: None, "at least one warp"),
        ("ttg.init_barrier {count = 0 : i32}", lambda: [barrier()], lambda: None, "count is 0"),
        ("ttg.wait_barrier", lambda: [barrier(2), "i32"], lambda: None, "one i64 is expected"),
        ("ttg.arrive_barrier", lambda: [memory()], lambda: None, "one i64 is expected"),
        ("ttg.arrive_barrier", lambda: [barrier(mutable=False)], lambda: None, "needs a mutable"),
        ("ttg.arrive_barrier", lambda: [barrier(), "i32"], lambda: None, "buffer is i32"),
        (INTO, lambda: [DESCRIPTOR, "i32", barrier(), memory(), "i1"], lambda: None, "needs 2 coordinates"),
        (
            INTO,
            lambda: [DESCRIPTOR, "i32", "i32", barrier(), memory(mutable=False), "i1"],
            lambda: None,
            "needs a mutable",
        ),
        (
            INTO,
            lambda: ["i32", "i32", "i32", barrier(), memory(), "i1"],
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
        check(op, inputs(), output())
