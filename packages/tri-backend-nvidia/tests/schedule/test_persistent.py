"""Persistent grids in the simulator: programs one after the other, with and without warps of their own for copies."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import tri
from nvidia_support import loops
from persistent_kernels import counted, early, places, single, sums
from special_kernels import attention, gemm
from tri_backend_nvidia.disassembly import NVDISASM
from tri_backend_nvidia.ptxas import ptxas
from tri_backend_nvidia.tools import find
from tri_core import knobs
from tri_core.errors import InternalError, LaunchError, Unsupported

torch = pytest.importorskip("torch")

TARGETS = ("sim:nvidia:sm_90a", "sim:nvidia:sm_80")


def halves(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).half()


def poisoned(*shape):
    return torch.full(shape, float("nan"), dtype=torch.float16)


def close(got, expected, bound=1e-3):
    error = float((got.double() - expected).abs().max())
    assert error <= bound * float(expected.abs().max()) + 1e-6, error


def persistent_loops(kernel) -> int:
    return kernel.asm["ttgir"].count("ttg.persistent")


@pytest.mark.parametrize("ctas", [1, 3, 100])
@pytest.mark.parametrize("grid", [(5,), (3, 4), (2, 3, 4), (1, 1, 7), (1,)])
def test_programs_are_where_they_were(grid, ctas) -> None:
    x, y, z = (*grid, 1, 1)[:3]
    out = torch.full((z, y, x, 32), -1, dtype=torch.int32)
    with tri.target(TARGETS[1]), tri.simulation(report=False, ctas=ctas):
        kernel = places[grid](out, x, y, 32, num_warps=1, persistent=True)
    k, j, i = torch.meshgrid(*(torch.arange(n) for n in (z, y, x)), indexing="ij")
    own = (i + 100 * j + 10000 * k)[..., None].expand(z, y, x, 32).clone()
    own[..., 1] += 1000000 * (x + 100 * y + 10000 * z)
    assert torch.equal(out.long(), own.int().long())
    assert kernel.metadata.attrs["grid"] is True


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 9])
def test_scratch_memory_is_used_again(target, ctas) -> None:
    x, out = torch.rand(7, 200) + 0.1, torch.full((7, 200), float("nan"))
    with tri.target(target), tri.simulation(report=False, ctas=ctas):
        sums[(7,)](x, out, 200, 256, num_warps=4, persistent=True)
    expected = (x.double() / x.double().sum(1, keepdim=True)).cumsum(1)
    assert float((out.double() - expected).abs().max()) < 1e-5


def multiplied(shape, block, *, end=None, ctas=2, target=TARGETS[0], **options):
    m, n, k = shape
    a, b, c = halves(m, k), halves(k, n, seed=1), poisoned(m, n)
    grid = (tri.cdiv(m, block[0]), tri.cdiv(n, block[1]))
    end = k if end is None else end
    with tri.target(target), tri.simulation(report=False, ctas=ctas):
        options = {"num_warps": 4, "persistent": True, **options}
        kernel = gemm[grid](a, b, c, m, n, k, *block, False, end, **options)
    close(c, a.double()[:, :end] @ b.double()[:end])
    return kernel


@pytest.mark.parametrize("roles", [True, False])
@pytest.mark.parametrize(("shape", "block", "ctas"), [
    ((192, 128, 96), (64, 64, 32), 2),
    ((100, 200, 40), (64, 64, 64), 3),
    ((128, 64, 64), (64, 64, 32), 8),
])  # fmt: skip
def test_matmuls(shape, block, ctas, roles) -> None:
    kernel = multiplied(shape, block, ctas=ctas, warp_specialize=roles)
    assert ("ttg.warp_specialize(" in kernel.asm["ttgir"]) == roles
    # each side goes through the programs
    assert persistent_loops(kernel) == 1 + roles


@pytest.mark.parametrize("roles", [True, False])
def test_loops_that_do_not_run(roles) -> None:
    multiplied((128, 128, 64), (64, 64, 32), end=0, warp_specialize=roles)


def test_matmuls_by_pointers() -> None:
    multiplied((128, 128, 96), (64, 64, 32), target=TARGETS[1], num_stages=3)


@pytest.mark.parametrize("target", TARGETS)
def test_a_matmul_in_one_step(target) -> None:
    a, b, c = halves(96, 32), halves(32, 64, seed=1), poisoned(96, 64)
    with tri.target(target), tri.simulation(report=False, ctas=2):
        single[(3, 2)](a, b, c, 64, 32, num_warps=1, persistent=True)
    close(c, a.double() @ b.double())


@pytest.mark.parametrize("causal", [True, False])
def test_attention(causal) -> None:
    length = 192
    q, k, v = (halves(length, 64, seed=i) for i in range(3))
    q, o = (q.double() / 8).half(), poisoned(length, 64)
    options = {"num_warps": 4, "num_stages": 2, "warp_specialize": True, "persistent": True}
    with tri.target(TARGETS[0]), tri.simulation(report=False, ctas=2):
        kernel = attention[(tri.cdiv(length, 64),)](q, k, v, o, length, 64, 64, 64, causal, **options)
    scores = q.double() @ k.double().t()
    if causal:
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
    close(o, torch.softmax(scores, 1) @ v.double(), 2e-3)
    # the rings are those of a kernel of one program each, with a second stage for q, and one for the numbers of programs that differ in
    # length
    assert kernel.asm["ttgir"].count("ttng.init_barrier") == 2 * (2 + 2 * 2) + 2 * 2 * causal
    assert persistent_loops(kernel) == 2
    assert ("counter" in kernel.metadata.attrs) == causal


@pytest.mark.parametrize(("length", "ctas", "roles"), [
    (160, 1, True), (160, 3, True), (96, 100, True), (32, 2, True), (160, 2, False),
])  # fmt: skip
def test_lengths_differ(length, ctas, roles) -> None:
    """Every program runs once, whoever gets it."""
    block = 32
    q, k, v = (halves(length, 32, seed=i) for i in range(3))
    q, o = (q.double() / 8).half(), poisoned(length, 32)
    options = {"num_warps": 4, "num_stages": 2, "warp_specialize": roles, "persistent": True}
    with tri.target(TARGETS[0]), tri.simulation(report=False, ctas=ctas):
        kernel = attention[(length // block,)](q, k, v, o, length, 32, block, block, True, **options)
    scores = (q.double() @ k.double().t()).masked_fill(
        torch.ones(length, length).triu(1).bool(), float("-inf")
    )
    close(o, torch.softmax(scores, 1) @ v.double(), 2e-3)
    assert ("counter" in kernel.metadata.attrs) == roles
    assert kernel.asm["ttgir"].count("ttg.next_tile") == (not roles)
    assert kernel.asm["ttgir"].count("ttg.fetch_tile") == roles


def test_a_counter_that_is_not_zero_in_the_end_is_seen(tmp_path) -> None:
    q, o = halves(64, 32), poisoned(64, 32)
    options = {"num_warps": 4, "num_stages": 2, "warp_specialize": True, "persistent": True}

    def run(**more):
        with tri.target(TARGETS[0]), tri.simulation(report=False, ctas=2):
            return attention[(2,)](q, q, q, o, 64, 32, 32, 32, True, **options, **more)

    text = run().asm["ttgir"]
    drawn = re.search(r"( *)(%\S+) = ttg\.fetch_tile (%\S+) : i32[^\n]*\n", text)
    assert drawn is not None
    more = f"{drawn[1]}%more = arith.addi {drawn[3]}, {drawn[3]} : i32\n"
    path = tmp_path / "attention.ttgir"
    path.write_text(text.replace(drawn[0], more + drawn[0].replace(drawn[3] + " :", "%more :")))
    with pytest.raises(InternalError, match="leaves 2 in its counter"):
        run(ir_override=str(path))


def test_rings_go_on_and_stores_are_waited_for_late() -> None:
    """Barriers start once; the wait for a program's store comes after the dots of the next one."""
    text = multiplied((192, 128, 96), (64, 64, 32), warp_specialize=True).asm["ttgir"]
    before, _, inside = text.partition("ttg.warp_specialize(")
    assert before.count("ttng.init_barrier") == 6
    assert "ttng.init_barrier" not in inside
    consumer, _, producer = inside.partition("partition0(")
    order = [r"scf\.for", r"scf\.for", r"ttng\.warp_group_dot ", r"ttng\.async_store_wait", r"ttg\.barrier", r"ttg\.local_alloc",
             r"ttng\.async_copy_local_to_descriptor", r"ttg\.warp_yield"]  # fmt: skip
    assert re.search("(?s)" + ".*".join(order), consumer)
    # the last wait, of all, is behind everything
    assert consumer.count("ttng.async_store_wait") == 1
    assert producer.count("ttng.async_store_wait") == 1
    # stage and parity are carried by the loop over programs, on both sides
    loops = re.findall(r"scf\.for [^\n]* -> \(i32, i32\)", consumer + producer)
    assert len(loops) == 3


@pytest.mark.parametrize(("option", "expected"), [(None, 0), (False, 0), (True, 1)])
def test_the_option_decides(option, expected) -> None:
    kernel = multiplied((64, 64, 32), (64, 64, 32), persistent=option)
    assert persistent_loops(kernel) == expected
    assert ("grid" in kernel.metadata.attrs) == bool(expected)


def test_what_cannot_be_persistent() -> None:
    out = torch.zeros(8, dtype=torch.int32)
    with tri.target(TARGETS[1]):
        with pytest.raises(Unsupported, match=r"cannot be persistent: tt\.atomic_rmw") as found:
            counted[(8,)](out, persistent=True)
        assert found.value.location is not None
        assert found.value.location.file.endswith("persistent_kernels.py")
        counted[(8,)](out)
        assert out[0] == 8
        out.zero_()
        early[(8,)](out, 5, num_warps=1, persistent=True)
        assert out.tolist() == [1] * 5 + [0] * 3
        with pytest.raises(LaunchError, match="counts up to"):
            places[(65535, 65535, 1)](out, 8, 1, 32, num_warps=1, persistent=True)


def test_autotuning_chooses() -> None:
    configs = [tri.Config({"persistent": p}, num_warps=1) for p in (True, False)]
    seen = []

    def measured(function, **_):
        function()
        seen.append(1)
        return [float(len(seen))] * 3

    tuned = tri.autotune(configs, key=["N"], do_bench=measured)(sums)
    x, out = torch.rand(5, 20) + 0.1, torch.full((5, 20), float("nan"))
    with tri.target(TARGETS[1]), tri.simulation(report=False, ctas=2):
        kernel = tuned[(5,)](x, out, 20, 32)
    assert len(seen) == 2
    assert kernel.metadata.attrs["grid"] is True
    expected = (x.double() / x.double().sum(1, keepdim=True)).cumsum(1)
    assert float((out.double() - expected).abs().max()) < 1e-5
    # of a kernel that cannot be, the other configuration is left
    found = tri.autotune(configs, key=[], do_bench=measured)(counted)
    with tri.target(TARGETS[1]):
        assert "grid" not in found[(3,)](torch.zeros(1, dtype=torch.int32)).metadata.attrs


# --- what ptxas makes of it -----------------------------------------------------------------------------------


def assembled(**options):
    order = ["a", "b", "c", "M", "N", "K", "BM", "BN", "BK", "COLUMNS", "end"]
    constants = {"BM": 128, "BN": 256, "BK": 64, "COLUMNS": False}
    types = {n: "constexpr" if n in constants else "*fp16" if n in "abc" else "i32" for n in order}
    hints = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(order) if n not in constants}
    source = tri.ASTSource(gemm, types, constants, hints)
    options = {"num_warps": 8, "num_stages": 4, "warp_specialize": True, **options}
    return tri.compile(source, target="nvidia:sm_90a", options=options)


def test_a_large_tile_is_assembled_as_before(tmp_path: Path) -> None:
    alone, made = assembled(), assembled(persistent=True)
    (tmp_path / "k.ptx").write_text(made.asm["ptx"])
    command = [str(ptxas()), "-v", "-arch=sm_90a", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    # no message that instructions of a warp group wait for each other, or that budgets of registers are dropped
    assert "C75" not in said.stdout + said.stderr
    resources = [{k: v for k, v in x.metadata.resources.items() if k != "shared"} for x in (made, alone)]
    assert resources[0] == resources[1]
    # as many blocks ahead, and 32 KiB beside them: for both pieces of a tile where the producer has begun the next one, else for the first
    assert [x.asm["ttgir"].count("memdesc<4x128x64xf16") > 0 for x in (made, alone)] == [True, True]
    for each in (made, alone):
        assert 0 <= each.metadata.resources["shared"] - (4 * 48 + 32 << 10) < 1024
    assert made.metadata.resources["spills"] == 0
    assert made.metadata.resources["registers"] == 168
    assert made.resources.occupancy.blocks == 1
    # the grid's extents, before the tensor maps
    count = r"\.param [^\n]*gemm_param_\d+"
    assert len(re.findall(count, made.asm["ptx"])) == len(re.findall(count, alone.asm["ptx"])) + 3


@pytest.mark.skipif(find(NVDISASM, knobs.get("NVIDIA_NVDISASM")) is None, reason="nvdisasm is not installed")
def test_the_loop_of_matmuls_is_as_short_as_before() -> None:
    alone, inner = loops(assembled().asm["sass"]), loops(assembled(persistent=True).asm["sass"])
    assert len(alone) == 1
    # the loop over programs is around it
    assert len(inner[0]) <= len(alone[0])
    assert all(len(outer) > 2 * len(inner[0]) for outer in inner[1:])
