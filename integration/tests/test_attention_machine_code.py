"""Machine code of attention with a producer partition: two dots in flight, and no more than is needed."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tri_backend_nvidia")

import tri
from integration.kernels.attention import attention, gradients_of_keys, gradients_of_queries
from integration.steady_loops.machine import matmuls
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import assemble, ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs

#: messages of ptxas that it made instructions of a warp group wait for each other
SERIALISED = re.compile(r"\bC75\d\d\b")
#: (width, causal, persistent) -> instructions of the loop without a mask, at most; 128 x 128 by 8 warps
CASES = {(128, False, False): 484, (64, True, False): 444, (128, True, True): 501}
#: kernel -> (queries and keys of a block, instructions of its loop at most, what its waits leave under way)
BACKWARD: dict[str, tuple[Any, tuple[int, int], int, list[int]]] = {
    "keys": (gradients_of_keys, (64, 128), 431, [1, 1, 1, 0]),
    "queries": (gradients_of_queries, (128, 64), 374, [2, 1, 0]),
}


@cache
def compiled(
    width: int,
    causal: bool,
    persistent: bool,
    pipeline_chained_dots: bool | None = None,
    rows: int = 128,
    keys: int = 128,
) -> Any:
    """The kernel of the benchmark, at the configuration that is tuned for; a warp group has 64 of ``rows``."""
    constants = {"WIDTH": width, "BLOCK_M": rows, "BLOCK_N": keys, "CAUSAL": causal}
    types = dict.fromkeys(("q_desc", "out_desc"), f"tensordesc<fp16[{rows}, {width}]>")
    types |= dict.fromkeys(("k_desc", "v_desc"), f"tensordesc<fp16[{keys}, {width}]>")
    types |= {"lse_ptr": "*fp32", "scale": "fp32", "length": "i32"}
    names = attention.arg_names
    signature = {n: "constexpr" if n in constants else types[n] for n in names}
    aligned = {(names.index(n),): [["tt.divisibility", 16]] for n in ("lse_ptr", "length")}
    options = {
        "num_warps": rows // 16, "num_stages": 2, "warp_specialize": True, "pipeline_chained_dots": pipeline_chained_dots, "persistent": persistent,
    }  # fmt: skip
    return tri.compile(
        tri.ASTSource(attention, signature, constants, aligned), target="nvidia:sm_90a", options=options
    )


@cache
def backward(name: str) -> Any:
    """A kernel of the backward pass, causal, width 128, 8 warps, four stages, persistent: what is fastest."""
    kernel, (m, n), _, _ = BACKWARD[name]
    constants = {"WIDTH": 128, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": True}
    rows = dict.fromkeys(("q_desc", "grad_desc", "dq_desc"), m) | dict.fromkeys(
        ("k_desc", "v_desc", "dk_desc", "dv_desc"), n
    )
    types = {n: f"tensordesc<fp16[{r}, 128]>" for n, r in rows.items()}
    types |= {"lse_ptr": "*fp32", "delta_ptr": "*fp32", "scale": "fp32", "length": "i32"}
    names = kernel.arg_names
    signature = {n: "constexpr" if n in constants else types[n] for n in names}
    aligned = {(names.index(n),): [["tt.divisibility", 16]] for n in ("lse_ptr", "delta_ptr", "length")}
    options = {"num_warps": 8, "num_stages": 4, "warp_specialize": True, "persistent": True}
    source = tri.ASTSource(kernel, signature, constants, aligned)
    return tri.compile(source, target="nvidia:sm_90a", options=options)


@pytest.mark.parametrize("case", [*CASES, *BACKWARD], ids=str)
def test_nothing_is_serialised_or_spilled(case: tuple[int, bool, bool] | str, tmp_path: Path) -> None:
    kernel = backward(case) if isinstance(case, str) else compiled(*case)
    # the gradients' tensors take all registers; their loops are looked at below
    assert kernel.metadata.resources["spills"] <= (64 if isinstance(case, str) else 0)
    (tmp_path / "k.ptx").write_text(kernel.asm["ptx"])
    command = [str(ptxas()), "-v", "-arch=sm_90a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert SERIALISED.findall(said.stdout + said.stderr) == []


def steady_loop(sass: str) -> list[str]:
    """The first loop that multiplies and computes exponentials."""
    return next(body for body in matmuls(sass) if any("MUFU.EX2" in x for x in body))


def places(body: list[str], pattern: str) -> list[int]:
    """Places of the instructions that match ``pattern``."""
    return [i for i, x in enumerate(body) if re.search(pattern, x)]


needs_nvdisasm = pytest.mark.skipif(
    find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="nvdisasm is not installed"
)


@needs_nvdisasm
@pytest.mark.parametrize("case", CASES, ids=str)
def test_two_matmuls_are_in_flight_while_softmax_is_computed(case: tuple[int, bool, bool]) -> None:
    body = steady_loop(compiled(*case).asm["sass"])
    assert len(body) <= CASES[case]
    matmuls, exponentials = places(body, "GMMA"), places(body, r"MUFU\.EX2")
    first, second = places(body, r"WARPGROUP\.DEPBAR")
    assert "0x1" in body[first]
    assert "0x0" in body[second]
    # both are started before either is waited for; maxima are computed beside the second
    assert max(matmuls) < first
    assert len(places(body[first:second], "FMNMX")) >= 24
    # results are packed for the next iteration when this one has been read: no moves
    assert min(places(body, "F2FP")) > second
    assert len(places(body, r"\bMOV\b")) <= 5
    # one instruction per exponential: no scaling of subnormal numbers
    assert len(exponentials) == 66
    # of the maxima of two rows; sums are kept per thread until the loops are over
    assert len(places(body, "SHFL")) == 4
    assert not places(body, "FSETP")


@needs_nvdisasm
@pytest.mark.parametrize("causal", [False, True])
def test_four_groups_of_64_rows_have_two_matmuls_in_flight(causal: bool) -> None:
    """With 112 registers a thread: what is fastest at width 64."""
    kernel = compiled(64, causal, True, rows=256, keys=64)
    assert kernel.metadata.resources["spills"] == 0
    log = assemble(kernel.asm["ptx"], "sm_90a", program=ptxas(), kernel=kernel.name).log
    assert SERIALISED.findall(log) == []
    body = min(matmuls(kernel.asm["sass"]), key=len)
    assert len(body) <= 277
    first, second = places(body, r"WARPGROUP\.DEPBAR")
    assert "0x1" in body[first]
    assert "0x0" in body[second]
    assert max(places(body, "GMMA")) < first
    assert len(places(body, r"MUFU\.EX2")) == 34
    assert not places(body, r"\bLDL|\bSTL")


@needs_nvdisasm
def test_without_the_option_each_is_waited_for() -> None:
    body = steady_loop(compiled(64, True, False, pipeline_chained_dots=False).asm["sass"])
    waits = [body[i] for i in places(body, r"WARPGROUP\.DEPBAR")]
    assert len(waits) == 2
    assert all("0x0" in x for x in waits)


def overwritten(body: list[str]) -> list[str]:
    """Instructions of a loop that write registers which a dot under way reads as its operand A.

    Dots end in order; those up to ``gsb0`` are one group, of which ``WARPGROUP.DEPBAR`` leaves so many under way.
    """
    groups: list[set[int]] = []
    started: set[int] = set()
    found = []
    for x in [*body, *body]:
        if "GMMA" in x:
            operand = re.search(r"GMMA\S*\s+R\d+,\s*R(\d+),\s*gdesc", x)
            started |= set(range(int(operand[1]), int(operand[1]) + 4)) if operand else set()
            if "gsb0" in x:
                groups, started = [*groups, started], set()
        elif wait := re.search(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(\w+)", x):
            groups = groups[max(len(groups) - int(wait[1], 16), 0) :]
        elif written(x) & started.union(*groups):
            found.append(x)
    return found


def written(instruction: str) -> set[int]:
    """The general registers that an instruction other than a dot writes."""
    name, _, operands = re.sub(r"^@!?U?P\w+\s+", "", instruction).partition(" ")
    if name.startswith(("ST", "SYNCS", "BAR", "RED")):
        return set()
    results = re.match(r"\s*(?:U?P\w+,\s*)*R(\d+)\b", operands)
    if results is None:
        return set()
    width = next((n for part, n in ((".128", 4), (".64", 2), ("WIDE", 2)) if part in name), 1)
    matrices = re.search(r"LDSM.*\.(\d)$", name)
    first = int(results[1])
    return set(range(first, first + (int(matrices[1]) if matrices else width)))


@needs_nvdisasm
@pytest.mark.parametrize("name", BACKWARD)
def test_scores_are_started_together(name: str) -> None:
    """Both dots of the scores run while exponentials are computed; rows come with the blocks."""
    _, _, most, left = BACKWARD[name]
    body = steady_loop(backward(name).asm["sass"])
    assert len(body) <= most
    waits = places(body, r"WARPGROUP\.DEPBAR")
    assert [int(body[i].rsplit("0x", 1)[1], 16) for i in waits] == left
    assert len(places(body[: waits[0]], r"GMMA\S* R\d+, gdesc\S*, RZ")) == 2
    assert min(places(body, r"MUFU\.EX2")) > waits[0]
    # rows are read ahead of the wait, not where they are used
    assert not places(body[waits[0] : max(places(body, r"MUFU\.EX2"))], r"\bLDS")
    assert not places(body, r"\bLDG|\bLDL|\bSTL")
    assert overwritten(body) == []


def test_overwritten_operands_are_seen() -> None:
    started = ["HGMMA.64x64x16.F32 R24, R88, gdesc[UR4].tnspB, R24, gsb0", "MOV R90, R1"]
    assert overwritten([*started, "WARPGROUP.DEPBAR.LE gsb0, 0x0"]) == ["MOV R90, R1"] * 2
    assert overwritten([started[0], "WARPGROUP.DEPBAR.LE gsb0, 0x0", started[1]]) == []
    # the next iteration writes what this one's dot still reads
    assert overwritten([started[1], started[0]]) == [started[1]]
