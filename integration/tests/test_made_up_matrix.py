"""A matrix unit that nothing in tri knows of, only described: accelerated, pipelined, and right in the simulator."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tri
from integration.kernels.matmul import matmul
from tri_core import mlir
from tri_core.api import CommonOptions, StageContext
from tri_core.codegen import service
from tri_core.passes import ttir_stage
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.encodings import MatrixEncoding
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_runtime.simulator import simulate

NUMBERS = ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")
ONES = ("stride_ak", "stride_bn", "stride_cn")


def source(block: tuple[int, int, int]) -> tri.ASTSource:
    blocks = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block, strict=True)) | {"GROUP_M": 8}
    constants = {**dict.fromkeys(ONES, 1), **blocks}
    types = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16") | dict.fromkeys(NUMBERS, "i32")
    names = matmul.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    hints = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if name in types}
    return tri.ASTSource(matmul, signature, constants, hints)


class InVectors(ReferencePrimitives):
    """Accumulators go around loops as the pairs that the instruction gives."""

    def carried_vector(self, encoding: MatrixEncoding) -> int:
        return 2


@pytest.mark.parametrize("words_of", [ReferencePrimitives, InVectors])
@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("warps", [1, 4, 8])
def test_a_described_unit_gets_a_pipelined_matmul(
    warps: int, stages: int, words_of: type[ReferencePrimitives]
) -> None:
    m, n, k = 64, 48, 80
    target = make_target(limits={"shared": 65536, "threads": 1024})
    options = CommonOptions(num_warps=warps, num_stages=stages)
    context = StageContext(target=target, options=options, kernel_name="matmul", codegen=service())
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float16)
    with mlir.session():
        module: Any = source((32, 16, 16)).build(target, options)
        module = ttir_stage().run(module, context).artifact
        module = ttgir_stage(target, options, MATRIX_POLICY).run(module, context).artifact
        text = str(module)
        words = words_of(target, options, threads_per_warp=32, num_warps=warps)
        lowered = lower(module, target, options, words, generic_table())
        simulate(
            lowered.module,
            lowered.name,
            (6, 1, 1),
            [a, b, c, m, n, k, k, n, n],
            num_threads=32 * warps,
            threads_per_warp=32,
            shared_bytes=lowered.shared_bytes,
        )
        assert "refm.multiply" in str(lowered.module)
        carried = re.findall(r"^ *\^bb\d+\((.*)\)", str(lowered.module), re.MULTILINE)
        assert any("vector<2xf32>" in types for types in carried) == (words_of is InVectors)
    assert "#refm.matrix" in text
    assert ("ttg.async_copy_global_to_local" in text) == (stages > 1)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - expected).max() <= 1e-3 * np.abs(expected).max()
