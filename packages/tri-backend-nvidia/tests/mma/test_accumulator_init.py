"""Accumulators that start anew within a loop of ``wgmma``: results in the simulator, and what the assembler makes of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import tri
from accumulator_kernels import restarted
from tri_backend_nvidia.ptxas import ptxas

torch = pytest.importorskip("torch")

WAYS = ["where", "otherwise", "if", "end"]


def loop_of(kernel) -> str:
    found: str = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    return found


@pytest.mark.parametrize("how", WAYS)
def test_each_tile_has_its_own_sum(how: str) -> None:
    generator = torch.Generator().manual_seed(5)
    a = torch.randn((192, 96), generator=generator, dtype=torch.float64).half()
    b = torch.randn((96, 32), generator=generator, dtype=torch.float64).half()
    c = torch.full((256, 32), float("nan"))
    with tri.target("sim:nvidia:sm_90a"):
        kernel = restarted[(1,)](a, b, c, 3, 96, 64, 32, 32, how, num_warps=4)
    assert re.search(r"ttng.warp_group_dot %\w+, %\w+, %\w+, %", loop_of(kernel))
    assert not re.search(r"arith.select.*64x32xf32", loop_of(kernel))
    expected = a.double() @ b.double()
    if how == "end":
        expected[:64] += 7.0
        assert bool((c[192:] == 0).all())
    assert float((c[:192].double() - expected).abs().max()) <= 1e-6 * float(expected.abs().max())


def test_a_loop_that_does_not_run_keeps_what_was_there() -> None:
    a, b, c = torch.zeros((64, 32)).half(), torch.zeros((32, 32)).half(), torch.full((64, 32), float("nan"))
    with tri.target("sim:nvidia:sm_90a"):
        restarted[(1,)](a, b, c, 0, 32, 64, 32, 32, "end", num_warps=4)
    assert bool((c == 7).all())


def test_mma_keeps_its_select() -> None:
    """``mma.sync`` has no predicate for its sum."""
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "TILES": "i32", "K": "i32"}
    constants = {"BM": 64, "BN": 32, "BK": 32, "HOW": "where"}
    signature = {n: types.get(n, "constexpr") for n in restarted.arg_names}
    source = tri.ASTSource(restarted, signature, constants)
    kernel = tri.compile(source, target="sim:nvidia:sm_80", options={"num_warps": 4})
    assert re.search(r"arith.select.*64x32xf32", kernel.asm["ttgir"])


@pytest.mark.parametrize(("columns", "warps", "how"), [(128, 4, "where"), (256, 8, "where"), (128, 4, "end")])
def test_machine_code_selects_nothing_and_is_not_serialised(
    columns: int, warps: int, how: str, tmp_path: Path
) -> None:
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "TILES": "i32", "K": "i32"}
    constants = {"BM": 128, "BN": columns, "BK": 64, "HOW": how}
    signature = {n: types.get(n, "constexpr") for n in restarted.arg_names}
    aligned = {(i,): [["tt.divisibility", 16]] for i in (0, 1, 2, 4)}
    source = tri.ASTSource(restarted, signature, constants, aligned)
    kernel = tri.compile(source, target="nvidia:sm_90a", options={"num_warps": warps})
    # no f32 is chosen in the loop; it was one for each register of the sum
    loops = re.findall(r"(\$L__BB\d+_\d+):(.*?)bra(?:\.uni)?\s+\1;", kernel.asm["ptx"], re.DOTALL)
    assert any("wgmma.mma_async" in body for _, body in loops)
    assert not any("selp.f32" in body for _, body in loops)
    (tmp_path / "k.ptx").write_text(kernel.asm["ptx"])
    command = [str(ptxas()), "-v", "-arch=sm_90a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    report = said.stdout + said.stderr
    assert re.findall(r"\bC75(?:0[5-9]|1\d)\b", report) == []
    assert re.findall(r"(\d+) bytes spill stores", report) == ["0"]
