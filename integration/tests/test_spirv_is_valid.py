"""SPIRV-Tools' validator on the SPIR-V of the demo's kernels, for every Intel architecture."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tri
from integration.bench_intel_static.cases import CASES, compiled
from integration.kernels.layernorm import layernorm
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.vector_add import vector_add

VALIDATOR = shutil.which("spirv-val") or shutil.which("spirv-val", path=str(Path(sys.executable).parent))
ARCHITECTURES = ("pvc", "bmg", "lnl", "ptl", "dg2", "arl-h", "mtl", "xe-lp", "opencl-cpu")
#: the demo's, with the constants that it gives them; other parameters are f32 pointers and integers
KERNELS: dict[Any, dict[str, int]] = {
    vector_add: {"BLOCK": 4096},
    softmax: {"BLOCK": 1024},
    layernorm: {"BLOCK": 1024},
    matmul: {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8},
}
_BY_NAME = {case.name: case for case in CASES}

pytestmark = pytest.mark.skipif(VALIDATOR is None, reason="spirv-val is not installed")


def complaints(module: bytes) -> str:
    """Output of the validator; empty for a valid module."""
    assert VALIDATOR is not None
    done = subprocess.run([VALIDATOR, "--target-env", "spv1.4", "-"], input=module, capture_output=True)
    words = (done.stdout + done.stderr).decode().strip()
    return words if done.returncode else ""


def spirv(kernel: Any, constants: dict[str, int], arch: str) -> bytes:
    def type_of(name: str) -> str:
        if name in constants:
            return "constexpr"
        return "*fp32" if "ptr" in name else "fp32" if name == "eps" else "i32"

    source = tri.ASTSource(kernel, {n: type_of(n) for n in kernel.arg_names}, constants, {})
    made = tri.compile(source, target=f"intel:{arch}").asm["spv"]
    assert isinstance(made, bytes)
    return made


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_kernels_of_the_demo(kernel: Any, arch: str) -> None:
    assert not complaints(spirv(kernel, KERNELS[kernel], arch))


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("matmul fp16 128x128x32 w32", "pvc"),
        ("matmul fp16 128x128x32 w32", "dg2"),
        ("matmul i8 128x128x32 w32", "bmg"),
        ("attention D64 128x64 w16", "ptl"),
    ],
)
def test_matrix_instructions_and_blocks(name: str, arch: str) -> None:
    module = compiled(_BY_NAME[name], arch).asm["spv"]
    assert isinstance(module, bytes)
    assert not complaints(module)


def test_what_is_damaged_is_seen() -> None:
    module = bytearray(spirv(vector_add, KERNELS[vector_add], "pvc"))
    module[-4:-2] = (253).to_bytes(2, "little")  # another OpReturn where the function should end
    assert complaints(bytes(module))
