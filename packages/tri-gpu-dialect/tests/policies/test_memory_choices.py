"""Choices of a target's policy, on the made-up GPU: the same results, by buffers and conversions as the policy says."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tri_core.errors import PluginError
from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import Encoding, SharedEncoding, SharedLinear, decode
from tri_gpu_dialect.layouts import LANE, OFFSET, REGISTER, WARP, LinearLayout
from tri_gpu_dialect.passes import (
    AccelerateMatmul,
    Coalesce,
    ConvertTritonToTritonGPU,
    RemoveLayoutConversions,
    StageMatrixOperands,
)
from tri_gpu_dialect.plans.scratch import SHARED
from tri_gpu_dialect.policies import ByCycles, DefaultPolicy, DotPolicy, InRows, OperandLayout, Written
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.testing.reference import run

SIZE = 64


def _pointers(name: str, element: str) -> str:
    pointer, square = f"!tt.ptr<{element}>", f"{SIZE}x{SIZE}"
    return f"""
    %{name}0 = tt.splat %{name} : {pointer} -> tensor<{square}x{pointer}>
    %p{name} = tt.addptr %{name}0, %at : tensor<{square}x{pointer}>, tensor<{square}xi32>"""


#: ``out = a^T @ b`` of squares
KERNEL = f"""
module {{
  tt.func public @k(%a: !tt.ptr<f16> {{tt.divisibility = 16 : i32}}, %b: !tt.ptr<f16> {{tt.divisibility = 16 : i32}}, %out: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{
    %r = tt.make_range {{start = 0 : i32, end = {SIZE} : i32}} : tensor<{SIZE}xi32>
    %r0 = tt.expand_dims %r {{axis = 1 : i32}} : tensor<{SIZE}xi32> -> tensor<{SIZE}x1xi32>
    %r1 = tt.expand_dims %r {{axis = 0 : i32}} : tensor<{SIZE}xi32> -> tensor<1x{SIZE}xi32>
    %w = arith.constant dense<{SIZE}> : tensor<{SIZE}x1xi32>
    %s = arith.muli %r0, %w : tensor<{SIZE}x1xi32>
    %sb = tt.broadcast %s : tensor<{SIZE}x1xi32> -> tensor<{SIZE}x{SIZE}xi32>
    %cb = tt.broadcast %r1 : tensor<1x{SIZE}xi32> -> tensor<{SIZE}x{SIZE}xi32>
    %at = arith.addi %sb, %cb : tensor<{SIZE}x{SIZE}xi32>
    {_pointers("a", "f16")}
    {_pointers("b", "f16")}
    {_pointers("out", "f32")}
    %x = tt.load %pa : tensor<{SIZE}x{SIZE}x!tt.ptr<f16>>
    %y = tt.load %pb : tensor<{SIZE}x{SIZE}x!tt.ptr<f16>>
    %t = tt.trans %x {{order = array<i32: 1, 0>}} : tensor<{SIZE}x{SIZE}xf16> -> tensor<{SIZE}x{SIZE}xf16>
    %c = arith.constant dense<0.0> : tensor<{SIZE}x{SIZE}xf32>
    %d = tt.dot %t, %y, %c : tensor<{SIZE}x{SIZE}xf16> * tensor<{SIZE}x{SIZE}xf16> -> tensor<{SIZE}x{SIZE}xf32>
    tt.store %pout, %d : tensor<{SIZE}x{SIZE}x!tt.ptr<f32>>
    tt.return
  }}
}}"""


@dataclass(frozen=True)
class AsWritten(InRows):
    """The elements of the writer's first register of all lanes, then the next."""

    def once(self, tensor: Written, reader: LinearLayout, operand: Encoding | None) -> SharedEncoding:
        writer = tensor.writer
        columns = [c for dim in (LANE, WARP, REGISTER) for c in writer.packed(dim) if c]
        return SharedLinear.of(
            LinearLayout(((OFFSET, len(columns)),), writer.outs, tuple(dict.fromkeys(columns)))
        )


def _compiled(policy: DefaultPolicy, *, staged: bool) -> ir.Module:
    module = parse_module(KERNEL)
    for step in (
        ConvertTritonToTritonGPU(target="made-up:m1", num_warps=4, threads_per_warp=32, policy=policy),
        Coalesce(policy=policy),
        AccelerateMatmul(policy=policy),
        RemoveLayoutConversions(policy=policy),
        *([StageMatrixOperands(policy=policy)] if staged else []),
    ):
        step.apply(module, None)  # type: ignore[arg-type]
    return module


def _check(module: ir.Module) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, (SIZE, SIZE)).astype(np.float16) for _ in "ab")
    out = np.zeros((SIZE, SIZE), np.float32)
    run(module, [a, b, out])
    np.testing.assert_array_equal(out, a.T.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize(
    ("operands", "most"),
    [
        (InRows(), {"SwizzledShared"}),
        (ByCycles(), {"SharedLinear", "SwizzledShared"}),
        (AsWritten(), {"SharedLinear"}),
    ],
    ids=["in rows", "by cycles", "by a backend's own choice"],
)
def test_operands_lie_as_the_policy_says(operands: OperandLayout, most: set[str]) -> None:
    policy = replace(MATRIX_POLICY, dots=replace(MATRIX_POLICY.dots, operands=operands))
    module = _compiled(policy, staged=True)
    kinds = {
        type(decode(op.results[0].type.encoding)).__name__
        for op in all_ops(module.operation)
        if op.name == "ttg.local_alloc"
    }
    assert kinds
    assert kinds <= most
    _check(module)


def test_a_policy_refuses_what_is_no_choice() -> None:
    with pytest.raises(PluginError, match="operands is True; OperandLayout is expected"):
        DotPolicy(operands=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("most", "taken"), [(2048, 2048), (8192, 8192), (DefaultPolicy().conversion_bytes, 16384)]
)
def test_conversions_take_as_much_memory_as_the_policy_says(most: int, taken: int) -> None:
    module = _compiled(replace(MATRIX_POLICY, conversion_bytes=most), staged=False)
    # at once an operand is 8 KiB, the result 16
    conversions = [op for op in all_ops(module.operation) if op.name == "ttg.convert_layout"]
    assert max(map(SHARED.bytes, conversions)) == taken
    _check(module)
