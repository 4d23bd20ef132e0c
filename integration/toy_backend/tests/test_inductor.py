"""The record of the device for PyTorch's Inductor, without PyTorch."""

from __future__ import annotations

import pytest
from tri_core.api import InductorKernel
from tri_core.plugins import manager
from tri_core.target_selection import resolve

from tri_backend_toy.inductor import configuration


def test_numbers_are_the_target_s() -> None:
    target = resolve("toy:t1")
    given = manager().inductor(target)
    assert given.device_type == target.device_kind
    assert given.properties.warp_size == target.spec.threads_per_warp[0]
    assert given.properties.max_threads_per_block == target.spec.limits["threads"]
    assert given.properties.shared_memory_per_block == target.spec.limits["shared"]


@pytest.mark.parametrize(
    ("kind", "sizes", "blocks"),
    [
        ("pointwise", {"x": 5000}, {"XBLOCK": 256}),
        ("reduction", {"x": 8, "r0_": 5000}, {"XBLOCK": 1, "R0_BLOCK": 256}),
        ("persistent_reduction", {"x": 8, "r0_": 64}, {"XBLOCK": 1}),
    ],
)
def test_a_kernel_has_blocks_for_one_warp(kind: str, sizes: dict[str, int], blocks: dict[str, int]) -> None:
    said = configuration(InductorKernel(kind=kind, sizes=sizes))
    assert said == {**blocks, "num_warps": 1, "num_stages": 1}


def test_kernels_of_two_dimensions_are_left_to_pytorch() -> None:
    assert configuration(InductorKernel(kind="pointwise", sizes={"y": 64, "x": 64})) is None
