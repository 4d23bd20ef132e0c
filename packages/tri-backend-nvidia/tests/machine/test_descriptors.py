"""Matrix descriptors within inline assembly: each instruction has registers of its own."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import cluster_cases  # noqa: F401  more rows of the table
from machine_runs import ptx_text
from tcgen05_tensor_cases import CASES
from tri_backend_nvidia.machine.descriptors import descriptor, descriptor_registers

MATRIX = ("wgmma.mma_async", "tcgen05.mma", "tcgen05.cp")
#: an instruction that sets a register which the block declares
_SET = re.compile(r"\b(?:add|mov)\.[bus](?:32|64) ([a-z]+\d*),")


def blocks(ptx: str) -> list[str]:
    """The blocks of ``ptx`` that have a matrix instruction."""
    return [line for line in ptx.splitlines() if any(name in line for name in MATRIX)]


def test_registers_and_their_values() -> None:
    assert descriptor_registers("ab", 2) == [
        ".reg .b64 da<2>; .reg .b32 la<2>;",
        ".reg .b64 db<2>; .reg .b32 lb<2>;",
    ]
    assert descriptor("b", 1, 4, 64, 7) == "add.u32 lb1, $4, 64; mov.b64 db1, {lb1, 7};"


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case.op.startswith(("nvm.wgmma", "nvm.tcgen05"))]
)
def test_no_register_is_set_twice(name: str) -> None:
    ptx = ptx_text(CASES[name])
    for block in blocks(ptx):
        sets = Counter(_SET.findall(block))
        assert max(sets.values(), default=1) == 1, sets


def test_a_second_setting_is_seen() -> None:
    text = "{ add.u32 la0, $0, 2; mov.b64 da0, {la0, 7}; add.u32 la0, $0, 4; wgmma.mma_async; }"
    assert Counter(_SET.findall(blocks(text)[0]))["la0"] == 2
