"""Machine code of the dots that are measured, at sm_90a: nothing serialised or spilled, loops no longer than Triton's."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from integration.steady_loops.cases import CASES
from integration.steady_loops.machine import compiled, matmuls, steady
from integration.steady_loops.record import RECORD
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import assemble, ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs

#: warnings of ptxas that it made instructions of a warp group wait for each other, or dropped a budget of registers
SERIALISED = re.compile(r"\bC75(?:0[5-9]|1\d)\b")
#: bytes of registers that are spilled at most, and why; never in the loop
SPILLED = {
    "gradients_of_keys D128 causal": (
        64,
        "two sums of 128 registers beside the first block of a persistent program",
    )
}

_cases = {case.name: case for case in CASES}
_theirs: dict[str, int] = json.loads(RECORD.read_text())


@cache
def _made(name: str) -> Any:
    compiled_case = compiled(_cases[name])  # registers the knobs that find nvdisasm
    if find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None:
        pytest.skip("nvdisasm is not installed")
    return compiled_case


@pytest.mark.parametrize("name", _cases)
def test_nothing_is_serialised_or_spilled(name: str) -> None:
    made = _made(name)
    log = assemble(made.asm["ptx"], "sm_90a", program=ptxas(), kernel=made.name).log
    assert SERIALISED.findall(log) == []
    most, _ = SPILLED.get(name, (0, ""))
    assert made.metadata.resources["spills"] <= most
    assert not [x for x in steady(made.asm["sass"]) if re.search(r"\b(LDL|STL)\b", x)]


@pytest.mark.parametrize("name", _cases)
def test_loops_are_no_longer_than_tritons(name: str) -> None:
    assert len(steady(_made(name).asm["sass"])) <= _theirs[name]


@pytest.mark.parametrize("name", [name for name in _cases if name.startswith("matmul")])
def test_matmuls_are_waited_for_once(name: str) -> None:
    """Behind all dots of the iteration, before their stage is released: the other consumer's dots run meanwhile."""
    body = steady(_made(name).asm["sass"])
    multiplied = [i for i, x in enumerate(body) if "GMMA" in x]
    (wait,) = (i for i, x in enumerate(body) if "WARPGROUP.DEPBAR" in x)
    freed = [i for i, x in enumerate(body) if "SYNCS.ARRIVE" in x]
    assert multiplied[-1] < wait < freed[0]


@pytest.mark.parametrize("name", [name for name in _cases if name.startswith("attention")])
def test_softmax_runs_under_the_second_matmul(name: str) -> None:
    """The first wait leaves the second dot under way, the last waits for it; exponentials come behind both."""
    body = steady(_made(name).asm["sass"])
    first, last = (x for x in body if "WARPGROUP.DEPBAR" in x)
    assert "0x1" in first
    assert "0x0" in last


def test_a_loop_ends_in_a_branch_with_a_condition() -> None:
    """Waits that the assembler puts behind the code come back without one."""
    text = """
.L_x_0:
        /*0000*/ HGMMA.64x8x16.F32 R0, gdesc[UR4], R0 ;
.L_x_1:
        /*0010*/ HGMMA.64x8x16.F32 R8, gdesc[UR4], R8 ;
        /*0020*/ @P0 BRA `(.L_x_1) ;
        /*0030*/ BRA `(.L_x_0) ;
"""
    assert matmuls(text) == [["HGMMA.64x8x16.F32 R8, gdesc[UR4], R8", "@P0 BRA `(.L_x_1)"]]
