"""What a compiled kernel takes of its target, whether it fits, and what would."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.abi import KernelSignature
from tri_core.image import KernelMetadata
from tri_core.occupancy import most_registers, warps_of_registers
from tri_core.resources import refusals, resources
from tri_core.target import ComputeUnit, TargetKey, TargetSpec

UNIT = ComputeUnit(partitions=4, warps=16, registers=512, shared=228 * 1024, blocks=32, shared_reserved=1024)
LIMITS = {"shared": 227 * 1024, "threads": 1024, "registers": 255}
SPEC = TargetSpec(threads_per_warp=(32,), limits=LIMITS, unit=UNIT)


def metadata(**given: Any) -> KernelMetadata:
    signature = KernelSignature(name="k", parameters=())
    fields = {"options": {}, "threads_per_warp": 32, **given}
    return KernelMetadata(name="k", target=TargetKey("toy", "one"), signature=signature, **fields)


def test_a_kernel_that_fits_says_how_well() -> None:
    made = metadata(num_warps=8, shared=49152, resources={"registers": 166, "spills": 8, "stack": 16})
    found = resources(made, SPEC)
    assert (found.threads, found.registers, found.spills, found.stack, found.shared) == (
        256,
        166,
        8,
        16,
        49152,
    )
    assert found.verdict.fits
    text = str(found.verdict)
    assert text.startswith("fits toy:one; 1 CTAs per unit (8 of 64 warps, 12.5 %), limited by registers")
    assert "8 bytes per thread are spilled" in text


def test_a_cooperative_grid_is_as_large_as_what_is_resident() -> None:
    options = {"launch_cooperative_grid": True}
    made = metadata(num_warps=8, shared=49152, resources={"registers": 166}, options=options)
    found = resources(made, SPEC)
    assert found.occupancy is not None
    assert found.occupancy.blocks == 1  # 8 warps of 168 registers, rounded, fill more than half of a unit
    assert "a cooperative grid has at most 1 CTAs for each unit" in str(found.verdict)
    assert found.resident(132) == 132
    assert "cooperative" not in str(
        resources(metadata(num_warps=8, resources={"registers": 166}), SPEC).verdict
    )
    assert resources(metadata(options=options), SPEC).resident(132) is None, "registers are not known"
    assert resources(made, TargetSpec(threads_per_warp=(32,))).resident(132) is None


def test_what_the_image_does_not_tell_is_said() -> None:
    found = resources(metadata(), SPEC)
    assert found.registers is None
    assert "registers not known" in found.verdict.text


def test_remarks_and_clusters_are_part_of_it() -> None:
    found = resources(metadata(attrs={"remarks": ["fewer stages"]}, options={"num_ctas": 2}), SPEC)
    assert found.remarks == ("fewer stages",)
    assert found.cluster == 2
    assert resources(metadata(), TargetSpec()).occupancy is None


def test_what_does_not_fit_is_a_verdict_with_the_way_out() -> None:
    made = metadata(num_warps=32, resources={"registers": 128}, options={"maxnreg": None})
    verdict = resources(made, SPEC).verdict
    assert not verdict.fits
    (error,) = refusals(made, LIMITS, UNIT)
    assert (error.resource, error.need, error.have) == ("registers", 128, 64)
    assert error.nearest == {"num_warps": 16, "maxnreg": 64}
    assert "num_warps=16 or maxnreg=64 fits" in verdict.text
    assert pickle.loads(pickle.dumps(error)).nearest == error.nearest


@pytest.mark.parametrize(("warps", "resource"), [(64, "threads"), (4, "shared")])
def test_limits_by_name(warps: int, resource: str) -> None:
    made = metadata(num_warps=warps, shared=300_000 if resource == "shared" else 0)
    (error,) = refusals(made, LIMITS)
    assert error.resource == resource
    assert error.nearest == ({"num_warps": 32} if resource == "threads" else {})


@given(st.integers(1, 64), st.integers(1, 255))
def test_most_registers_is_the_most(warps: int, registers: int) -> None:
    most = most_registers(UNIT, warps)
    assert warps_of_registers(UNIT, most) >= warps
    assert (registers <= most) == (warps_of_registers(UNIT, registers) >= warps)


def test_warps_that_no_registers_make_fit() -> None:
    assert most_registers(UNIT, 65) == 0
