"""The target, and the stages of a compile."""

from __future__ import annotations

import pytest
import tri
from tri_core.api import TargetError, Unsupported
from tri_core.target_selection import resolve

import kernels

SCALE = tri.ASTSource(
    kernels.scale,
    {"out_ptr": "*fp32", "x_ptr": "*fp32", "factor": "fp32", "n": "i32", "BLOCK": "constexpr"},
    {"BLOCK": 128},
)


@pytest.mark.parametrize("device", ["rv64gc", "nothing-like-it"])
def test_an_unknown_target_is_refused(device: str) -> None:
    with pytest.raises(TargetError) as refused:
        resolve(f"riscv:{device}")
    assert refused.value.remedy


@pytest.mark.parametrize("device", ["rv64gcv", "rv64gcv-vlen256"])
def test_a_kernel_compiles_to_an_object_for_any_processor(device: str) -> None:
    made = tri.compile(SCALE, target=f"riscv:{device}")
    assert list(made.asm) == ["ttir", "llir", "object"]
    assert "define" in made.asm["llir"]
    assert made.image.data.startswith(b"\x7fELF")
    assert made.metadata.entry_points == ("scale",)


def test_libraries_are_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    library = tmp_path / "library.bc"
    library.write_bytes(b"")
    options = {"extern_libs": {"library": str(library)}}
    with pytest.raises(Unsupported, match="links no libraries"):
        tri.compile(SCALE, target="riscv:rv64gcv", options=options)
