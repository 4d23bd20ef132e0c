"""The target, and the stages of a compile."""

from __future__ import annotations

import pytest
import tri
from tri_core.api import TargetError
from tri_core.target_selection import resolve

import kernels

SCALE = tri.ASTSource(
    kernels.scale,
    {"out_ptr": "*fp32", "x_ptr": "*fp32", "factor": "fp32", "n": "i32", "BLOCK": "constexpr"},
    {"BLOCK": 128},
)


@pytest.mark.parametrize("device", ["a1x", "nothing-like-it", "l1+turbo"])
def test_an_unknown_target_is_refused_with_a_known_one(device: str) -> None:
    with pytest.raises(TargetError) as refused:
        resolve(f"loops:{device}")
    assert "loops:l1" in str(refused.value.remedy)


def test_a_kernel_compiles_to_an_image() -> None:
    made = tri.compile(SCALE, target="loops:l1")
    assert list(made.asm) == ["ttir", "linalg", "llir", "image"]
    assert made.image.data.startswith(b"\x7fELF")


def test_the_stage_linalg_has_upstream_dialects_alone() -> None:
    text = tri.compile(SCALE, target="loops:l1").asm["linalg"]
    assert "func.func" in text
    assert "tt." not in text


def test_the_entry_is_the_kernel() -> None:
    made = tri.compile(SCALE, target="loops:l1")
    assert made.metadata.entry_points == ("scale",)
