"""What machine ops do in a simulator is what the device does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from intel_support import Array, llvm_of, random, run_body
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_core.mlir import ir, session
from tri_gpu_dialect.lowering import Access, Builder

SIZE, WARPS = 16, 4


@dataclass
class Cta:
    """As much of a simulated CTA as these ops ask for."""

    num_threads: int = SIZE * WARPS
    threads_per_warp: int = SIZE
    program_id: tuple[int, int, int] = (0, 0, 0)
    num_programs: tuple[int, int, int] = (1, 1, 1)
    active: Array = field(default_factory=lambda: np.ones(SIZE * WARPS, bool))
    barriers: int = 0

    def memory(self, space: int) -> Any:
        raise AssertionError(space)

    def barrier(self) -> None:
        self.barriers += 1


def simulate(
    name: str, operands: Sequence[Array], attributes: dict[str, int], cta: Cta | None = None
) -> list[Array]:
    """Run machine op ``name`` in a simulator's way."""
    with session():
        i32 = ir.IntegerType.get_signless(32)
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            zero = [
                ir.Operation.create(
                    "arith.constant", results=[i32], attributes={"value": ir.IntegerAttr.get(i32, 0)}
                )
                for _ in operands
            ]
            made = ir.Operation.create(
                name,
                results=[] if name.endswith("barrier") else [i32],
                operands=[z.results[0] for z in zero],
                attributes={k: ir.IntegerAttr.get(i32, v) for k, v in attributes.items()},
            )
        op: Any = made.opview
        return list(op.simulate(cta or Cta(), operands))


Word = Callable[[Builder, IntelPrimitives, ir.Value, ir.Value], ir.Value]

WORDS: dict[str, tuple[str, Word, Callable[[Array], Sequence[Array]]]] = {
    "xor": (
        "ttig.shuffle_xor",
        lambda b, hw, x, y: hw.shuffle_xor(b, x, 5),
        lambda x: (x, np.full(SIZE * WARPS, 5, np.int32)),
    ),
    "idx": (
        "ttig.shuffle",
        lambda b, hw, x, y: hw.shuffle_idx(b, x, y),
        lambda x: (x, (np.arange(SIZE * WARPS, dtype=np.int32) * 7) % SIZE),
    ),
}


@pytest.mark.parametrize("word", WORDS)
def test_shuffles(word: str) -> None:
    name, emit, operands = WORDS[word]
    x = random(SIZE * WARPS, "int32", -(1 << 31), 1 << 31)

    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        thread = hw.thread_id(b)
        lanes = b.and_(b.mul(thread, b.int_(7)), b.int_(SIZE - 1))
        made = emit(b, hw, b.load(b.gep(args[0], thread, b.i32), b.i32), lanes)
        hw.store_global(b, b.gep(args[1], thread, b.i32), made, None, Access(4))

    out = np.zeros_like(x)
    run_body(body, [x, out], size=SIZE, options=IntelOptions(num_warps=WARPS))
    (simulated,) = simulate(name, operands(x), {})
    np.testing.assert_array_equal(simulated, out)


def test_identity() -> None:
    cta = Cta(program_id=(3, 4, 5), num_programs=(7, 8, 9))
    assert simulate("ttig.group_id", [], {"axis": 1}, cta)[0].tolist() == [4] * 64
    assert simulate("ttig.num_groups", [], {"axis": 2}, cta)[0].tolist() == [9] * 64
    np.testing.assert_array_equal(simulate("ttig.sub_group_id", [], {}, cta)[0], np.arange(64) // 16)
    np.testing.assert_array_equal(simulate("ttig.sub_group_lane", [], {}, cta)[0], np.arange(64) % 16)


@pytest.mark.parametrize("name", ["ttig.barrier", "ttig.local_barrier"])
def test_barriers(name: str) -> None:
    cta = Cta()
    simulate(name, [], {}, cta)
    assert cta.barriers == 1


def test_no_machine_op_is_left_in_llvm_text() -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        hw.barrier(b)

    assert "ttig" not in llvm_of(body, 0, IntelOptions())


def test_a_barrier_for_local_memory_has_no_fence_of_global_memory() -> None:
    def body(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
        hw.barrier(b)
        hw.shared_barrier(b)

    text = llvm_of(body, 0, IntelOptions())
    # acquire and release, of local memory (0x100) and of global memory (0x200)
    assert [int(n) for n in re.findall(r"ControlBarrier\w*\(i32 2, i32 2, i32 (\d+)\)", text)] == [
        0x308,
        0x108,
    ]
