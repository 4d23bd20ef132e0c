"""What the assembler makes of ``wgmma``: nothing is serialised, nothing spilled, and loops stay as short as they are."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

import tri.language as tl
from matrix_kernels import imprecise
from matrix_machine_code import Compiler
from nvidia_support import loops
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs

#: warnings of ptxas that it made instructions of a warp group wait for each other, or dropped a budget of registers
SERIALISED = re.compile(r"\bC75(?:0[5-9]|1\d)\b")


# the loops of warps that do everything themselves; others are those of the machine code tests of special and persistent kernels
MADE = Compiler("nvidia:sm_90a", {"warp_specialize": False})
compiled, gemm, flash, one = MADE.compiled, MADE.gemm, MADE.flash, MADE.one


def promoted(rows=False):
    constants = {"M": 64, "N": 64, "K": 128, "MOST": 32, "ROWS": rows}
    return compiled(imprecise, constants, {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": "*fp32"}, warps=4)


#: name -> (kernel, instructions of its loop at most; 0: has none)
CASES = {
    "128x128x64": (lambda: gemm((128, 128, 64), 4, 3), 230),
    "128x256x64, 3 stages": (lambda: gemm((128, 256, 64), 8, 3), 175),
    "128x256x64, 4 stages": (lambda: gemm((128, 256, 64), 8, 4), 175),
    "128x256x64, rows of B along k": (lambda: gemm((128, 256, 64), 8, 4, k_major=True), 240),
    "one stage": (lambda: gemm((128, 128, 64), 4, 1), 400),
    "f16 sums": (lambda: gemm((128, 128, 64), 4, 3, total=tl.float16), 270),
    "f16 sums, 128x256x64": (lambda: gemm((128, 256, 64), 8, 4, total=tl.float16), 175),
    "bf16": (lambda: gemm((128, 128, 64), 8, 3, "bf16"), 175),
    "e4m3": (lambda: gemm((128, 128, 128), 4, 3, "fp8e4nv", k_major=True), 390),
    "tf32": (lambda: gemm((128, 128, 32), 4, 3, "fp32", k_major=True), 260),
    "int8": (lambda: gemm((128, 128, 128), 4, 3, "i8", k_major=True), 390),
    "int8, 128x256x128": (lambda: gemm((128, 256, 128), 8, 4, "i8", k_major=True), 175),
    "attention, 64": (lambda: flash(64, (128, 128), 8, 3, False), 1000),
    "attention, 64, causal": (lambda: flash(64, (128, 128), 8, 3, True), 1100),
    "attention, 128": (lambda: flash(128, (128, 128), 8, 2, False), 1150),
    "one dot": (lambda: one("fp16", (False, False)), 0),
    "A from registers": (lambda: one("fp8e5", (True, True)), 0),
    "promotion": (promoted, 0),
    "promotion, B from registers": (lambda: promoted(rows=True), 0),
}


#: those whose copies follow the wait for the dots before, with a barrier in between: a further stage would cost a CTA
DEFERRED = {"128x128x64", "bf16", "e4m3", "tf32", "int8"}


@cache
def assembled(name: str):
    return CASES[name][0]()


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_serialised_or_spilled(name: str, tmp_path: Path) -> None:
    kernel = assembled(name)
    assert "wgmma.mma_async" in kernel.asm["ptx"]
    (tmp_path / "k.ptx").write_text(kernel.asm["ptx"])
    command = [str(ptxas()), "-v", "-arch=sm_90a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    report = said.stdout + said.stderr
    assert SERIALISED.findall(report) == []
    assert re.findall(r"(\d+) bytes spill stores", report) == ["0"]


def test_instructions_are_as_wide_as_registers_allow() -> None:
    """Of 16 warps a thread has 128, too few for one instruction of 256 columns; its accumulator takes them all."""
    kernel = one("bf16", (False, False), size=(256, 256, 32), warps=16)
    assert set(re.findall(r"m64n(\d+)k16", kernel.asm["ptx"])) == {"128"}
    assert kernel.metadata.resources["spills"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("columns", [(False, False), (True, True)])
@pytest.mark.parametrize("warps", [4, 8, 16, 32])
@pytest.mark.parametrize("m", [64, 128, 256])
@pytest.mark.parametrize("n", [8, 16, 32, 64, 128, 256])
def test_every_size_assembles(m, n, warps, columns) -> None:
    assert "wgmma.mma_async" in one("bf16", columns, size=(m, n, 32), warps=warps).asm["ptx"]


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize("name", [name for name, (_, most) in CASES.items() if most])
def test_loops_are_short_and_wait_where_they_should(name: str) -> None:
    (body,) = loops(assembled(name).asm["sass"])
    assert len(body) <= CASES[name][1]
    matmuls = [i for i, x in enumerate(body) if "GMMA" in x]
    waits = [i for i, x in enumerate(body) if "WARPGROUP.DEPBAR" in x]
    barriers = [i for i, x in enumerate(body) if "BAR.SYNC" in x]
    if not name.startswith("attention") and name != "one stage":
        # the one wait is for the dot before, behind all dots of this one; for these where sums share registers
        assert len(waits) == 1
        assert len(barriers) == (2 if name in DEFERRED else 1)
        assert waits[0] > matmuls[-1]
        assert ("0x0" if name.startswith("f16 sums") else "0x1") in body[waits[0]]
