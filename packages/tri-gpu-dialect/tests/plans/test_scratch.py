"""Scratch memory that ops declare: one that a third party brings gets its own, and barriers, with no edit elsewhere."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Iterator
from typing import Any

import pytest

from tri_core import mlir
from tri_core.api import StageContext, VerificationError
from tri_core.mlir import ext, ir
from tri_gpu_dialect.edit import all_ops, functions, module_int
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.passes import AllocateSharedMemory, InsertBarriers
from tri_gpu_dialect.plans import NeedsScratch, scratch_alignment, scratch_bytes


class Exchanges(ext.Dialect, name="made_up_exchange"):  # type: ignore[call-arg]  # the bindings are untyped
    """A third party's."""


class RollOp(Exchanges.Operation, name="roll", traits=[NeedsScratch]):
    """Each thread gets what another one had; 4 bytes for each of ``threads``."""

    src: ext.Operand[Any]
    threads: ir.IntegerAttr
    result: ext.Result[Any]

    def scratch_bytes(self) -> int:
        """A word for each thread."""
        return 4 * int(self.threads.value)

    def scratch_alignment(self) -> int:
        """As the made-up instruction wants it."""
        return 256


class SilentOp(Exchanges.Operation, name="silent", traits=[NeedsScratch]):
    """Forgot how much."""

    src: ext.Operand[Any]
    result: ext.Result[Any]


ENCODING = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
TENSOR = f"tensor<64x32xf32, {ENCODING}>"
ROLL = '%{0} = "made_up_exchange.roll"(%{1}) {{threads = {2} : i32}} : (TENSOR) -> TENSOR'


@pytest.fixture(autouse=True)
def _dialect() -> Iterator[None]:
    mlir.registry.add_dialect(Exchanges)
    with mlir.session():
        yield


def _module(*lines: str) -> ir.Module:
    attributes = '"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32'
    body = "\n".join(lines).replace("TENSOR", TENSOR)
    return ir.Module.parse(
        f'module attributes {{{attributes}}} {{ "tt.func"() ({{\n'
        f"%t = arith.constant dense<0.0> : {TENSOR}\n{body}\n"
        '"tt.return"() : () -> () }) {function_type = () -> (), sym_name = "f", sym_visibility = "public", '
        "arg_attrs = [], res_attrs = []} : () -> () }"
    )


def _names(module: ir.Module) -> list[str]:
    (function,) = functions(module)
    return [
        op.name.rpartition(".")[2]
        for op in all_ops(function)
        if op.name in ("ttg.barrier", "made_up_exchange.roll")
    ]


@pytest.mark.parametrize("threads", [1, 32, 128, 4096])
def test_a_third_partys_op_gets_its_scratch_and_barriers(context: StageContext, threads: int) -> None:
    module = _module(ROLL.format("a", "t", threads), ROLL.format("b", "a", threads))
    AllocateSharedMemory().apply(module, context)
    first, second = (op for op in all_ops(module.operation) if op.name == RollOp.OPERATION_NAME)
    assert scratch_bytes(first) == 4 * threads
    assert scratch_alignment(first) == 256
    offsets = [int(ir.IntegerAttr(op.attributes["allocation.offset"]).value) for op in (first, second)]
    assert all(offset % 256 == 0 for offset in offsets)
    assert module_int(module, "ttg.shared") >= max(offsets) + 4 * threads
    InsertBarriers().apply(module, context)
    # in one place, the second must not write what the first one's threads may still read
    apart = abs(offsets[1] - offsets[0]) >= 4 * threads
    assert _names(module) == (["roll", "roll"] if apart else ["roll", "barrier", "roll"])


def test_an_op_that_declares_scratch_and_no_size_is_refused() -> None:
    module = _module('%a = "made_up_exchange.silent"(%t) : (TENSOR) -> TENSOR')
    op = next(o for o in all_ops(module.operation) if o.name == SilentOp.OPERATION_NAME)
    with pytest.raises(VerificationError, match=r"made_up_exchange\.silent declares NeedsScratch") as caught:
        scratch_bytes(op)
    assert "SilentOp.scratch_bytes" in caught.value.remedy
