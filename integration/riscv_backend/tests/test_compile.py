"""Compiling, which needs neither emulator nor linker; and what is said where these are missing."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tri
from tri_core import knobs
from tri_core.api import DeviceError, ToolchainError
from tri_core.codegen import service
from tri_core.target_selection import resolve

import kernels
from tri_backend_riscv import linking
from tri_backend_riscv.image import codegen_request
from tri_backend_riscv.processors import PROCESSORS
from tri_backend_riscv.runtime import probe

ADD = tri.ASTSource(
    kernels.add,
    {"out_ptr": "*fp32", "x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    {"BLOCK": 256},
)


@pytest.mark.parametrize(("arch", "bits"), PROCESSORS.items())
def test_vector_instructions_are_in_the_assembly(arch: str, bits: int) -> None:
    """A register is filled by one instruction: 4 or 8 elements of 32 bits."""
    made = tri.compile(ADD, target=f"riscv:{arch}")
    llvm = resolve(f"riscv:{arch}").spec.llvm
    assert llvm is not None
    text = service().compile(codegen_request(str(made.asm["llir"]), llvm)).texts["asm"]
    assert re.search(rf"vsetivli\s+zero, {bits // 32}, e32, m1", text)
    for instruction in ("vsetvli", "vle32.v", "vfadd.vv", "vse32.v"):
        assert instruction in text
    assert made.metadata.resources["vector_instructions"] > 4


def test_no_conversion_is_one_that_the_emulator_lacks() -> None:
    types = {"out_ptr": "*i32", "x_ptr": "*fp64", "y_ptr": "*fp64", "BLOCK": "constexpr"}
    made = tri.compile(tri.ASTSource(kernels.towards_zero, types, {"BLOCK": 64}), target="riscv:rv64gcv")
    llvm = resolve("riscv:rv64gcv").spec.llvm
    assert llvm is not None
    text = service().compile(codegen_request(str(made.asm["llir"]), llvm)).texts["asm"]
    assert "vfdiv.vv" in text
    assert ".rtz." not in text
    assert re.search(r"fcvt\.w\.d.*rtz", text)


def test_without_the_emulator_kernels_compile_and_a_launch_says_what_to_install() -> None:
    with knobs.scope(RISCV_QEMU="no-such-emulator"):
        assert probe() == ()
        assert tri.compile(ADD, target="riscv:rv64gcv").image.data.startswith(b"\x7fELF")
        x = np.zeros(8, np.float32)
        with tri.target("riscv:rv64gcv"), pytest.raises(DeviceError) as missing:
            kernels.add[(1,)](x, x, x, 8, BLOCK=256)
        assert "qemu-user" in str(missing.value.remedy)


def test_without_the_linker_a_launch_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolchainError) as missing:
        linking.link(b"", "add", tmp_path)
    assert "tri-backend-riscv[run]" in str(missing.value.remedy)


def test_what_the_linker_says_is_told(tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    with pytest.raises(ToolchainError, match="cannot be linked"):
        linking.link(b"no object", "add", tmp_path)
