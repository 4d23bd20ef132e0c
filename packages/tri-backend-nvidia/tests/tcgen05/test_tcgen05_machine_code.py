"""What the assembler makes of dots in tensor memory: nothing is spilled, and accumulators stay out of registers in loops."""

from __future__ import annotations

import re

import pytest

from matrix_machine_code import Compiler

MADE = Compiler("nvidia:sm_100a")
compiled, gemm, flash, one = MADE.compiled, MADE.gemm, MADE.flash, MADE.one


#: name -> (kernel, columns of tensor memory)
CASES = {
    "128x256x64, 4 stages": (lambda: gemm((128, 256, 64), 8, 4), 256),
    "128x256x64, a producer": (lambda: gemm((128, 256, 64), 8, 4, warp_specialize=True), 256),
    "attention, 128, causal": (lambda: flash(128, (128, 128), 8, 2, True), 256),
    "8-bit columns": (lambda: one("fp8e5", (True, False)), 128),
}
SWEEP = {
    "128x128x64": (lambda: gemm((128, 128, 64), 4, 3), 128),
    "128x256x64, rows of B along k": (lambda: gemm((128, 256, 64), 8, 4, k_major=True), 256),
    "one stage": (lambda: gemm((128, 128, 64), 4, 1), 128),
    "bf16": (lambda: gemm((128, 128, 64), 8, 3, "bf16"), 128),
    "e4m3": (lambda: gemm((128, 128, 128), 4, 3, "fp8e4nv", k_major=True), 128),
    "tf32": (lambda: gemm((128, 128, 32), 4, 3, "fp32", k_major=True), 128),
    "int8": (lambda: gemm((128, 128, 128), 4, 3, "i8"), 128),
    "attention, 64": (lambda: flash(64, (128, 128), 8, 3, False), 256),
    "attention, 64, 4 warps": (lambda: flash(64, (128, 64), 4, 3, True), 128),
}


def checked(kernel, columns: int) -> None:
    ptx = kernel.asm["ptx"]
    assert "tcgen05.mma.cta_group::1" in ptx
    assert re.findall(r"tcgen05\.(?:de)?alloc\.\S+ .*?(\d+);", ptx) == [str(columns)] * 2
    assert kernel.metadata.resources["spills"] == 0
    assert kernel.resources.tensor_memory == columns


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_spilled(name: str) -> None:
    make, columns = CASES[name]
    checked(make(), columns)


@pytest.mark.slow
@pytest.mark.parametrize("name", SWEEP)
def test_nothing_is_spilled_in_other_kernels(name: str) -> None:
    make, columns = SWEEP[name]
    checked(make(), columns)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [(False, False), (True, True)])
@pytest.mark.parametrize("warps", [4, 8, 16])
@pytest.mark.parametrize("m", [128, 256])
@pytest.mark.parametrize("n", [16, 32, 64, 128, 256])
def test_every_size_assembles(m, n, warps, columns) -> None:
    assert "tcgen05.mma" in one("bf16", columns, size=(m, n, 32), warps=warps).asm["ptx"]
