"""What the assembler makes of attention with warps of its own for copies: two products in flight, and no more than is needed."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tri_backend_nvidia")

import tri
from integration.kernels.attention import attention
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs

#: messages of ptxas that it made instructions of a warp group wait for each other
SERIALISED = re.compile(r"\bC75\d\d\b")
#: (width, causal, persistent) -> instructions of the loop without a mask, at most; 128 x 128 by 8 warps
CASES = {(128, False, False): 490, (64, True, False): 440, (128, True, True): 490}


@cache
def compiled(width: int, causal: bool, persistent: bool, delay_dots: bool | None = None) -> Any:
    """The kernel of the benchmark, at the configuration that is tuned for."""
    constants = {"WIDTH": width, "BLOCK_M": 128, "BLOCK_N": 128, "CAUSAL": causal}
    block = f"tensordesc<fp16[128, {width}]>"
    types = {"lse_ptr": "*fp32", "scale": "fp32", "length": "i32"}
    names = attention.arg_names
    signature = {n: "constexpr" if n in constants else types.get(n, block) for n in names}
    aligned = {(names.index(n),): [["tt.divisibility", 16]] for n in ("lse_ptr", "length")}
    options = {
        "num_warps": 8, "num_stages": 2, "warp_specialize": True, "delay_dots": delay_dots, "persistent": persistent,
    }  # fmt: skip
    return tri.compile(
        tri.ASTSource(attention, signature, constants, aligned), target="nvidia:sm_90a", options=options
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_nothing_is_serialised_or_spilled(case: tuple[int, bool, bool], tmp_path: Path) -> None:
    kernel = compiled(*case)
    assert kernel.metadata.resources["spills"] == 0
    (tmp_path / "k.ptx").write_text(kernel.asm["ptx"])
    command = [str(ptxas()), "-v", "-arch=sm_90a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert SERIALISED.findall(said.stdout + said.stderr) == []


def steady_loop(sass: str) -> list[str]:
    """The instructions of the first piece of code that ends in a branch back, multiplies and computes exponentials."""
    labels: dict[str, int] = {}
    code: list[str] = []
    for line in sass.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif instruction := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            code.append(instruction[1])
            target = re.search(r"\bBRA.*`\((\.L_x_\d+)\)", instruction[1])
            body = code[labels[target[1]] :] if target and target[1] in labels else []
            if any("GMMA" in x for x in body) and any("MUFU.EX2" in x for x in body):
                return body
    raise AssertionError("no loop")


def places(body: list[str], pattern: str) -> list[int]:
    """Where instructions are that ``pattern`` finds."""
    return [i for i, x in enumerate(body) if re.search(pattern, x)]


needs_nvdisasm = pytest.mark.skipif(
    find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="nvdisasm is not installed"
)


@needs_nvdisasm
@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_products_are_in_flight_while_softmax_is_computed(case: tuple[int, bool, bool]) -> None:
    body = steady_loop(compiled(*case).asm["sass"])
    assert len(body) <= CASES[case]
    products, exponentials = places(body, "GMMA"), places(body, r"MUFU\.EX2")
    first, second = places(body, r"WARPGROUP\.DEPBAR")
    assert "0x1" in body[first]
    assert "0x0" in body[second]
    # both are started before either is waited for; maxima are computed beside the second
    assert max(products) < first
    assert len(places(body[first:second], "FMNMX")) >= 24
    # results are packed for the next iteration when this one has been read: no moves
    assert min(places(body, "F2FP")) > second
    assert len(places(body, r"\bMOV\b")) <= 4
    # one instruction per exponential: no scaling of subnormal numbers
    assert len(exponentials) == 66
    assert not places(body, "FSETP")


@needs_nvdisasm
def test_without_the_option_each_is_waited_for() -> None:
    body = steady_loop(compiled(64, True, False, delay_dots=False).asm["sass"])
    waits = [body[i] for i in places(body, r"WARPGROUP\.DEPBAR")]
    assert len(waits) == 2
    assert all("0x0" in x for x in waits)
