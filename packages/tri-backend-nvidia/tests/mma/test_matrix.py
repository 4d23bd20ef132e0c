"""Dots on matrix instructions, in the simulator: machine ops and all, against float64."""

from __future__ import annotations

import pytest

import tri
import tri.language as tl
from matrix_kernels import attention, attention_keys, batches, carried, gathered, matmul, overwritten, tiles
from nvidia_support import target
from tri_backend_nvidia.mma import NvidiaMma, matrix_instructions
from tri_backend_nvidia.mma.loads import plan_rows
from tri_backend_nvidia.options import NvidiaOptions
from tri_backend_nvidia.pipeline import policy
from tri_gpu_dialect.encodings import Blocked, DotOperand
from tri_gpu_dialect.layouts import Banks, LinearLayout, layout_for
from tri_gpu_dialect.plans.operand_memory import operand_memory
from tri_gpu_dialect.policies.async_dots import AsyncInstruction

torch = pytest.importorskip("torch")

FP8, FP8_WIDE = torch.float8_e4m3fn, torch.float8_e5m2
#: (type, type of the result, relative error of an accumulator)
TYPES = [
    (torch.float16, tl.float32, 1e-6),
    (torch.bfloat16, tl.float32, 1e-6),
    (torch.float16, tl.float16, 1e-3),
    (torch.float32, tl.float32, 1e-3),
    (torch.float64, tl.float64, 1e-14),
    (torch.int8, tl.int32, 0.0),
    (FP8, tl.float32, 1e-6),
    (FP8_WIDE, tl.float32, 1e-6),
]
RESULTS = {
    tl.float16: torch.float16,
    tl.float32: torch.float32,
    tl.float64: torch.float64,
    tl.int32: torch.int32,
}


def values(*shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def poisoned(*shape, dtype=torch.float32):
    return (
        torch.full(shape, float("nan") if dtype.is_floating_point else 113, dtype=torch.float64)
        .nan_to_num(float("nan") if dtype.is_floating_point else 113)
        .to(dtype)
    )


def close(got, expected, bound):
    error = float((got.double() - expected).abs().max())
    assert error <= bound * float(expected.abs().max()), error


def multiplied(shape, dtype, out, *, columns=(False, False), warps=4, arch="sm_80", precision="tf32"):
    m, n, k = shape
    a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
    c = poisoned(m, n, dtype=RESULTS[out])
    given = [x.t().contiguous() if transposed else x for x, transposed in zip((a, b), columns, strict=True)]
    with tri.target(f"sim:nvidia:{arch}"):
        kernel = matmul[(1,)](*given, c, m, n, k, *columns, out, precision, num_warps=warps)
    return kernel, c, a.double() @ b.double()


@pytest.mark.parametrize("columns", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(("dtype", "out", "bound"), TYPES, ids=str)
def test_types_and_orders(dtype, out, bound, columns) -> None:
    arch = "sm_89" if dtype in (FP8, FP8_WIDE) else "sm_80"
    kernel, c, expected = multiplied((32, 64, 32), dtype, out, columns=columns, arch=arch)
    assert "nvm.mma" in kernel.asm["llir"]
    close(c, expected, bound)


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("shape", [(16, 16, 16), (16, 128, 32), (128, 32, 16), (64, 64, 64), (32, 16, 128)])
def test_shapes_and_warps(shape, warps) -> None:
    _, c, expected = multiplied(shape, torch.float16, tl.float32, warps=warps)
    close(c, expected, 1e-6)


def test_small_floats_are_widened_where_only_f16_has_an_instruction() -> None:
    kernel, c, expected = multiplied((32, 32, 32), FP8, tl.float32, arch="sm_80")
    assert "m16n8k16" in kernel.asm["llir"]
    close(c, expected, 1e-6)


def test_three_matmuls_of_tf32_are_nearly_those_of_f32() -> None:
    kernel, c, expected = multiplied((32, 32, 32), torch.float32, tl.float32, precision="tf32x3")
    assert kernel.asm["llir"].count("nvm.mma") == 3 * 2 * 2 * 4 // 4 * 2
    close(c, expected, 1e-6)


def test_exact_f32_is_left_to_multiply_add() -> None:
    kernel, c, expected = multiplied((32, 32, 32), torch.float32, tl.float32, precision="ieee")
    assert "nvm.mma" not in kernel.asm["llir"]
    close(c, expected, 1e-6)


def test_three_dimensions() -> None:
    a, b, c = (
        values(4, 16, 32, dtype=torch.float16),
        values(4, 32, 16, dtype=torch.float16),
        poisoned(4, 16, 16),
    )
    with tri.target("sim:nvidia:sm_80"):
        kernel = batches[(1,)](a, b, c, 4, 16, 16, 32, num_warps=4)
    assert "nvm.mma" in kernel.asm["llir"]
    close(c, a.double() @ b.double(), 1e-6)


# --- loops ------------------------------------------------------------------------------------------------


def tiled(shape, block, dtype, *, stages, warps=4, columns=(False, False), out=tl.float32, arch="sm_80"):
    m, n, k = shape
    a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
    given = [
        x.t().contiguous().t() if transposed else x for x, transposed in zip((a, b), columns, strict=True)
    ]
    c = poisoned(m, n, dtype=RESULTS[out])
    grid = (-(-m // block[0]), -(-n // block[1]))
    with tri.target(f"sim:nvidia:{arch}"):
        kernel = tiles[grid](
            given[0],
            given[1],
            c,
            m,
            n,
            k,
            *given[0].stride(),
            *given[1].stride(),
            *block,
            out,
            stages,
            num_warps=warps,
        )
    return kernel, c, a.double() @ b.double()


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("columns", [(False, False), (True, True)])
def test_stages(stages, columns) -> None:
    kernel, c, expected = tiled((64, 48, 112), (32, 16, 16), torch.float16, stages=stages, columns=columns)
    text = kernel.asm["llir"]
    assert ("nvm.cp_async" in text) == (stages > 1)
    assert "nvm.ldmatrix" in text
    close(c, expected, 1e-6)
    if stages > 1:
        loop = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
        assert loop.count("ttg.barrier") == 1


@pytest.mark.parametrize("k", [1, 7, 16, 17, 40])
def test_any_depth(k) -> None:
    _, c, expected = tiled((20, 24, k), (16, 32, 16), torch.float16, stages=3)
    close(c, expected, 1e-6)


@pytest.mark.parametrize(("dtype", "out", "bound"), [t for t in TYPES if t[1] is not tl.float16], ids=str)
@pytest.mark.parametrize("warps", [1, 8])
def test_loops_over_types(dtype, out, bound, warps) -> None:
    _, c, expected = tiled((32, 64, 96), (32, 32, 32), dtype, stages=3, warps=warps, out=out, arch="sm_89")
    close(c, expected, bound)


@pytest.mark.parametrize(("stages", "warps"), [(1, 4), (2, 1), (3, 4), (4, 2), (3, 8)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
def test_attention(dtype, causal, stages, warps) -> None:
    n, d = 96, 32
    q, k, v = (values(n, d, dtype=dtype, seed=i) for i in range(3))
    o = poisoned(n, d)
    with tri.target("sim:nvidia:sm_80"):
        kernel = attention[(3,)](q, k, v, o, n, d**-0.5, 32, 16, d, causal, stages, num_warps=warps)
    assert "nvm.mma" in kernel.asm["llir"]  # f32 too: as TF32
    s = q.double() @ k.double().t() * d**-0.5
    if causal:
        s = s.masked_fill(torch.ones(n, n).triu(1).bool(), -float("inf"))
    close(o, torch.softmax(s, 1) @ v.double(), 8e-3 if dtype is torch.bfloat16 else 2e-3)


@pytest.mark.parametrize(("warps", "d", "block"), [(2, 32, 32), (4, 32, 32), (4, 64, 64)])
def test_attention_backward(warps, d, block) -> None:
    n, scale = 64, 0.25
    q, k, v, g = (values(n, d, dtype=torch.float16, seed=i) for i in range(4))
    p = torch.softmax(q.double() @ k.double().t() * scale, 1)
    lse = torch.logsumexp(q.double() @ k.double().t() * scale, 1).float()
    delta = (g.double() * (p @ v.double())).sum(1).float()
    dk, dv = poisoned(n, d), poisoned(n, d)
    with tri.target("sim:nvidia:sm_80"):
        kernel = attention_keys[(n // block,)](
            q, k, v, g, dk, dv, lse, delta, n, scale, block, block, d, num_warps=warps
        )
    # keys and values come from outside of the loop: small ones stay in registers, large ones in shared memory
    loop = kernel.asm["ttgir"].partition("scf.for")[2].partition("scf.yield")[0]
    # and two rows, which are copied ahead with the blocks
    assert loop.count("ttg.local_load") == (8 if d == 32 else 10)
    ds = p * (g.double() @ v.double().t() - delta.double()[:, None]) * scale
    close(dv, p.t() @ g.double(), 2e-3)
    close(dk, ds.t() @ q.double(), 2e-3)


def test_loads_that_feed_loads() -> None:
    m, n, k, bk = 32, 32, 96, 16
    rows = torch.tensor([4, 0, 5, 1, 3, 2], dtype=torch.int32)
    table, w, c = values(m, k, dtype=torch.float16), values(k, n, dtype=torch.float16), poisoned(m, n)
    with tri.target("sim:nvidia:sm_80"):
        kernel = gathered[(1,)](rows, table, w, c, k, n, m, bk, num_warps=4)
    assert "nvm.cp_async" in kernel.asm["llir"]
    close(c, table.double().reshape(m, -1, bk)[:, rows].reshape(m, k) @ w.double(), 1e-6)


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("twice", [False, True])
def test_operands_that_come_round(twice, warps) -> None:
    m, n, k, bk = 32, 32, 96, 16
    a, b, c = values(m, k, dtype=torch.float16), values(k, n, dtype=torch.float16, seed=1), poisoned(m, n)
    with tri.target("sim:nvidia:sm_80"):
        carried[(1,)](a, b, c, k, m, n, bk, twice, num_warps=warps)
    before = torch.cat([torch.zeros_like(a[:, :bk]), a[:, :-bk]], 1).double()
    if twice:
        before.reshape(m, -1, 2, bk)[:, :, 0] = 0
    close(c, (a.double() + before) @ b.double(), 2e-6)


def test_what_the_loop_writes_is_not_loaded_ahead() -> None:
    s, steps = 16, 4
    a = torch.cat([values(s, s, dtype=torch.float16) * 0.5, torch.zeros(steps * s, s, dtype=torch.float16)])
    b, c = torch.eye(s, dtype=torch.float16).roll(1, 0) * 0.5, poisoned(s, s, dtype=torch.float16)
    expected = a[:s].double() @ torch.linalg.matrix_power(b.double(), steps)
    with tri.target("sim:nvidia:sm_80"):
        overwritten[(1,)](a, b, c, steps, s, num_warps=1)
    close(c, expected, 1e-3)


# --- parts ------------------------------------------------------------------------------------------------


def test_the_table_follows_the_architecture() -> None:
    assert not matrix_instructions(target("sm_75"))
    old, new, group = (matrix_instructions(target(arch)) for arch in ("sm_80", "sm_90", "sm_90a"))
    assert len(old) == 6
    assert len(new) == 10
    assert {row.a for row in new} - {row.a for row in old} == {"f8E4M3FN", "f8E5M2"}
    # those of warp groups come first: all but f64; then those of B which is read along n, transposed or written along k
    rows = [row for row in group if isinstance(row, AsyncInstruction)]
    assert rows == list(group[:21])
    assert len(group) == 21 + 10
    assert {row.group_warps for row in rows} == {4}
    assert {row.a for row in new} - {row.a for row in group[:9]} == {"f64"}
    floats = ("f8E4M3FN", "f8E5M2")
    kinds = [("f32", "f32"), ("i8", "i8"), *((a, b) for a in floats for b in floats)]
    assert [(row.a, row.b) for row in rows if row.transposed] == kinds
    assert [(row.a, row.b) for row in rows if row.turns] == kinds
    assert {row.in_registers for row in rows if row.transposed} == {(1,)}


@pytest.mark.parametrize(
    ("options", "widest"),
    [
        ({}, 256),
        ({"num_warps": 8}, 256),
        ({"num_warps": 16}, 128),
        ({"num_warps": 32}, 64),
        ({"maxnreg": 153}, 128),
        ({"maxnreg": 154}, 256),
        ({"num_warps": 16, "maxnreg": 40}, 16),
        ({"maxnreg": 24}, None),
    ],
)
def test_instructions_of_warp_groups_are_as_wide_as_registers_allow(options, widest) -> None:
    rows = policy(target("sm_90a"), NvidiaOptions(**options)).dots.instructions
    groups = [row for row in rows if isinstance(row, AsyncInstruction)]
    found = {row.result((512, 512), (1, 4) if row.transposed else (4, 1)).instr_shape[1] for row in groups}
    assert found == ({widest} if widest else set())


@pytest.mark.parametrize(("bits", "k_width"), [(16, 2), (8, 4), (32, 1)])
@pytest.mark.parametrize("shape", [(64, 32), (32, 64), (128, 128), (16, 16)])
@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_rows_are_read_without_conflicts(shape, bits, k_width, operand, order) -> None:
    """Wherever ``ldmatrix`` can read, its eight rows lie in different banks."""
    parent = NvidiaMma(warps_per_cta=(2, 2))
    reader = layout_for(DotOperand(operand, parent, k_width), shape)
    vector = tuple(128 // bits if d == order[0] else 1 for d in range(2))
    writer = layout_for(Blocked.make(shape, vector, order, 4, 32), shape)
    shared = layout_for(operand_memory(shape, bits, writer, (reader,), Banks()), shape)
    plan = plan_rows(reader, shared, bits)
    along_k = order[0] == 1 - operand
    assert (plan is not None) == (along_k or bits == 16)
    if plan is not None:
        assert plan.transposed == (not along_k)
        rows = [plan.address.images("lane")[lane] * bits // 8 for lane in range(8)]
        assert len({row // 16 % 8 for row in rows}) == min(8, shape[0] * shape[1] * bits // 8 // 16)


def test_rows_of_other_layouts_are_refused() -> None:
    blocked = layout_for(Blocked.make((32, 32), (1, 1), (1, 0), 4, 32), (32, 32))
    plain = LinearLayout.identity1d(32, "offset", "dim1") * LinearLayout.identity1d(32, "offset", "dim0")
    assert plan_rows(blocked, plain.transpose_outs(["dim0", "dim1"]), 16) is None
    assert Banks().row_bytes == 128


def compiled_tiles(arch, dtype, out, block, *, columns=False):
    """``tiles`` for aligned operands; ``columns``: the right one lies column by column."""
    result = {tl.float64: "fp64", tl.int32: "i32"}.get(out, "fp32")
    inner, ones = ("sbn", {"sak": 1, "sbk": 1}) if columns else ("sbk", {"sak": 1, "sbn": 1})
    types = {"a": f"*{dtype}", "b": f"*{dtype}", "c": f"*{result}"}
    types |= dict.fromkeys(("M", "N", "K", "sam", inner), "i32")
    constants = {**ones, **dict(zip(("BM", "BN", "BK"), block, strict=True)), "OUT": out, "STAGES": 3}
    order = ["a", "b", "c", "M", "N", "K", "sam", "sak", "sbk", "sbn", "BM", "BN", "BK", "OUT", "STAGES"]
    types |= dict.fromkeys(constants, "constexpr")
    hints = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(order) if name not in constants}
    source = tri.ASTSource(tiles, {name: types[name] for name in order}, constants, hints)
    return tri.compile(source, target=f"nvidia:{arch}", options={"num_warps": 4})


@pytest.mark.parametrize("arch", ["sm_80", "sm_89"])  # sm_90a: test_wgmma_machine_code.py
def test_large_tiles_do_not_spill(arch) -> None:
    kernel = compiled_tiles(arch, "fp16", tl.float32, (128, 128, 32))
    assert kernel.metadata.resources["spills"] == 0
    assert kernel.asm["ptx"].count("mma.sync") == 64
    # 16 in the loop, and those of the first slice before it
    assert kernel.asm["ptx"].count("ldmatrix.sync.aligned.m8n8.x4") == 16 + 8


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90a", "sm_120"])
@pytest.mark.parametrize(
    ("dtype", "out"),
    [
        ("fp16", tl.float32),
        ("bf16", tl.float32),
        ("fp32", tl.float32),
        ("fp64", tl.float64),
        ("i8", tl.int32),
        ("fp8e4nv", tl.float32),
        ("fp8e5", tl.float32),
    ],
    ids=str,
)
def test_every_instruction_is_assembled(arch, dtype, out) -> None:
    kernel = compiled_tiles(arch, dtype, out, (32, 32, 32), columns=dtype != "fp16")
    assert kernel.asm["cubin"][:4] == b"\x7fELF"
    assert kernel.metadata.resources["spills"] == 0
    assert "mma.sync" in kernel.asm["ptx"]
    assert "cp.async" in kernel.asm["ptx"]
