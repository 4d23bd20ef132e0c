"""The target, its options, and the stages of a compile."""

from __future__ import annotations

import pytest
import tri
from tri_core.api import OptionError, TargetError
from tri_core.target_selection import resolve

import kernels
from tri_backend_toy.options import ToyOptions

SCALE = tri.ASTSource(
    kernels.scale,
    {"out_ptr": "*fp32", "x_ptr": "*fp32", "factor": "fp32", "n": "i32", "BLOCK": "constexpr"},
    {"BLOCK": 128},
)


@pytest.mark.parametrize("device", ["a1x", "nothing-like-it", "t1+turbo"])
def test_an_unknown_target_is_refused_with_a_known_one(device: str) -> None:
    with pytest.raises(TargetError) as refused:
        resolve(f"toy:{device}")
    assert "toy:t1" in str(refused.value.remedy)


@pytest.mark.parametrize("level", [-1, 4])
def test_an_optimisation_level_that_llvm_lacks_is_refused(level: int) -> None:
    with pytest.raises(OptionError):
        ToyOptions(opt_level=level)


@pytest.mark.parametrize("level", [0, 3])
def test_a_kernel_compiles_to_an_image_with_calls_of_the_device(level: int) -> None:
    made = tri.compile(SCALE, target="toy:t1", options={"opt_level": level, "num_warps": 2})
    assert list(made.asm) == ["ttir", "ttgir", "llir", "image"]
    assert "@__toy_thread_id" in made.asm["llir"]
    assert '"toy-threads"="64"' in made.asm["llir"]
    assert b"scale" in made.image.data
    assert made.metadata.entry_points == ("scale",)
