"""What the assembler makes of a kernel's start and of a tile's end.

Maps are fetched before copies need them; a tile leaves 16 bytes at a time, with room for four blocks of 128x256x64 beside it.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

import tri
from matrix_kernels import finished
from special_kernels import finished_tile, finished_tiles
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs

#: warnings of ptxas that it made instructions of a warp group wait for each other, or dropped a budget of registers
SERIALISED = re.compile(r"\bC75(?:0[5-9]|1\d)\b")


def compiled(kernel, out, block, *, warps, stages, dtype="fp16", transposed=False, specialized=True):
    constants = dict(zip(("BM", "BN", "BK"), block, strict=True))
    if kernel is finished:
        constants |= {"TRANSPOSED": transposed, "STAGES": stages}
    types = {"a": f"*{dtype}", "b": f"*{dtype}", "c": f"*{out}", "bias": "*fp32", "scale": "fp32"}
    signature = {n: "constexpr" if n in constants else types.get(n, "i32") for n in kernel.arg_names}
    aligned = {
        (i,): [["tt.divisibility", 16]]
        for i, n in enumerate(kernel.arg_names)
        if signature[n] == "i32" or signature[n].startswith("*")
    }
    source = tri.ASTSource(kernel, signature, constants, aligned)
    options = {"num_warps": warps, "num_stages": stages, "warp_specialize": specialized}
    return tri.compile(source, target="nvidia:sm_90a", options=options)


LARGE = {"block": (128, 256, 64), "warps": 8, "stages": 4}
SMALL = {"block": (128, 128, 32), "warps": 4, "stages": 3, "specialized": False}
#: name -> kernel, and its instructions between registers, shared and global memory in the epilogue
CASES = {
    "descriptors, f16": (lambda: compiled(finished_tile, "fp16", **LARGE), {"STSM.16.M88.4": 16, "UTMASTG.2D": 4, "LDS.128": 16}),
    "descriptors, f32": (lambda: compiled(finished_tile, "fp32", **LARGE), {"STS.64": 64, "UTMASTG.2D": 8, "LDS.128": 16}),
    "pointers, bf16": (
        lambda: compiled(finished, "bf16", dtype="bf16", **LARGE), {"STSM.16.M88.4": 16, "UTMASTG.2D": 4, "LDS.128": 16}
    ),
    "pointers, columns": (
        lambda: compiled(finished, "fp16", transposed=True, **LARGE), {"STSM.16.MT88.4": 16, "UTMASTG.2D": 4, "LDS.128": 16}
    ),
    "a loop of tiles, f16": (lambda: compiled(finished_tiles, "fp16", **LARGE), {"STSM.16.M88.4": 16, "UTMASTG.2D": 4, "LDS.128": 16}),
    "a loop of tiles, f32": (lambda: compiled(finished_tiles, "fp32", **LARGE), {"STS.64": 64, "UTMASTG.2D": 8, "LDS.128": 16}),
    "no warps that copy": (
        lambda: compiled(finished, "fp16", **SMALL), {"STSM.16.M88.4": 16, "LDS.128": 16 + 8, "STG.E.128": 16}
    ),
}  # fmt: skip


@cache
def assembled(name: str):
    return CASES[name][0]()


@pytest.mark.parametrize("name", CASES)
def test_four_blocks_fit_and_nothing_is_serialised_or_spilled(name: str, tmp_path: Path) -> None:
    kernel = assembled(name)
    assert kernel.metadata.resources["spills"] == 0
    assert kernel.metadata.resources["shared"] <= 227 << 10
    if name != "no warps that copy":
        assert "memdesc<4x128x64x" in kernel.asm["ttgir"]
    (tmp_path / "k.ptx").write_text(kernel.asm["ptx"])
    command = [str(ptxas()), "-v", "-arch=sm_90a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert SERIALISED.findall(said.stdout + said.stderr) == []


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize("name", CASES)
def test_tiles_leave_in_wide_accesses(name: str) -> None:
    """The bias' way to its layout is among them: a store of a word, and loads of four."""
    names = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_.]+)", assembled(name).asm["sass"])
    kinds = ("STS", "STSM", "STG", "UTMASTG", "LDS.128")
    found = {n: names.count(n) for n in set(names) if n.startswith(kinds) and n not in ("STS", "LDS.64")}
    assert found == CASES[name][1]


@pytest.mark.parametrize("name", CASES)
def test_maps_are_fetched_by_one_thread_before_the_threads_meet(name: str) -> None:
    """Each once, the epilogue's too: what copies through them would wait for their 128 bytes of memory."""
    ptx = assembled(name).asm["ptx"]
    maps = ptx.count(".param .align 64 .b8 ")
    fetched = [m.start() for m in re.finditer(r"@%p\d+ prefetch\.tensormap \[", ptx)]
    assert len(fetched) == ptx.count("prefetch.tensormap") == maps
    assert (maps > 0) is (name != "no warps that copy")
    assert all(place < ptx.index("bar.sync") for place in fetched)
