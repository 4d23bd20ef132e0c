"""CTAs that a unit holds, and what limits them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.errors import OptionError
from tri_core.occupancy import occupancy
from tri_core.target import ComputeUnit

UNIT = ComputeUnit(partitions=4, warps=16, registers=512, shared=228 * 1024, blocks=32, shared_reserved=1024)


@pytest.mark.parametrize(
    ("warps", "registers", "shared", "blocks", "limit"),
    [
        (4, 32, 0, 16, "warps"),
        (4, 40, 0, 12, "registers"),  # 512 / 40 = 12 warps in each partition
        (8, 166, 49152, 1, "registers"),  # 168: 3 warps in each partition
        (4, 64, 100 * 1024, 2, "shared"),
        (1, 16, 0, 32, "blocks"),
        (8, 255, 0, 1, "registers"),
        (16, 255, 0, 0, "registers"),
        (1, 16, 228 * 1024, 0, "shared"),  # the reserved part does not fit
    ],
)
def test_what_limits(warps: int, registers: int, shared: int, blocks: int, limit: str) -> None:
    found = occupancy(UNIT, warps=warps, registers=registers, shared=shared)
    assert (found.blocks, found.limit) == (blocks, limit)
    assert found.warps == blocks * warps
    assert found.share == blocks * warps / 64


def test_what_not_known_is_said() -> None:
    found = occupancy(UNIT, warps=4, registers=None, shared=64 * 1024)
    assert found.unknown == ("registers",)
    assert "registers" not in found.rooms
    assert (found.blocks, found.limit) == (3, "shared")


def test_no_shared_memory_limits_nothing() -> None:
    unit = ComputeUnit(partitions=1, warps=8, registers=256, shared=0, blocks=8)
    found = occupancy(unit, warps=2, registers=16, shared=0)
    assert (found.blocks, found.limit) == (4, "warps")
    assert "shared" not in found.rooms


def test_a_cta_has_warps() -> None:
    with pytest.raises(OptionError, match="0 warps"):
        occupancy(UNIT, warps=0, registers=1, shared=0)


@given(st.integers(1, 64), st.integers(0, 255), st.integers(0, 233472))
def test_what_is_resident_fits_and_one_more_does_not(warps: int, registers: int, shared: int) -> None:
    found = occupancy(UNIT, warps=warps, registers=registers, shared=shared)
    assert found.warps <= found.max_warps

    def fits(blocks: int) -> bool:
        per_thread = -(-max(registers, 1) // 8) * 8
        bytes_ = -(-(shared + 1024) // 128) * 128
        per_partition = min(16, 512 // per_thread)
        return blocks <= 32 and blocks * warps <= 4 * per_partition and blocks * bytes_ <= UNIT.shared

    assert fits(found.blocks)
    assert not fits(found.blocks + 1)
