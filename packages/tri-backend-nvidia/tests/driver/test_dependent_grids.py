"""Grids that begin before others end, grids whose programs synchronize, and what a loop says of warps that copy: simulated."""

from __future__ import annotations

import numpy as np
import pytest

import tri
from launch_kernels import dependent_gemm, meet_and_sum, waits_in_its_loop, worded
from tri_core.api import OptionError, Unsupported

torch = pytest.importorskip("torch")

WAIT, BEGIN = "tt.grid_dependency_wait", "tt.grid_dependency_launch_dependents"


def matmul(kernel, *constants, shape=(64, 64, 128), **options):
    m, n, k = shape
    generator = torch.Generator().manual_seed(sum(shape))
    a, b = (torch.randn(s, generator=generator, dtype=torch.float64).half() for s in ((m, k), (k, n)))
    c = torch.full((m, n), float("nan"), dtype=torch.float16)
    with tri.target("sim:nvidia:sm_90a"):
        made = kernel[(1, 1)](a, b, c, *constants, num_warps=4, **options)
    expected = a.double() @ b.double()
    error = float((c.double() - expected).abs().max())
    assert error <= 1e-3 * float(expected.abs().max()), error
    return made


def is_specialized(kernel) -> bool:
    return "ttg.warp_specialize(" in kernel.asm["ttgir"]


TILE = (64, 64, 128, 64, 64, 32)


def test_both_sides_of_a_specialised_kernel_wait():
    kernel = matmul(dependent_gemm, *TILE, warp_specialize=True, launch_pdl=True)
    assert is_specialized(kernel)
    consumer, producer = kernel.asm["ttgir"].split("partition0(")
    for side in (consumer, producer):
        assert side.count(WAIT) == 1
    assert consumer.count(BEGIN) == 1
    assert BEGIN not in producer
    assert producer.index(WAIT) < producer.index("ttng.async_copy_descriptor_to_local")
    assert kernel.metadata.options["launch_pdl"] is True


def test_a_kernel_in_one_piece():
    kernel = matmul(dependent_gemm, *TILE, launch_pdl=True)
    assert not is_specialized(kernel)
    assert kernel.asm["ttgir"].count(WAIT) == 1


def test_loads_do_not_pass_a_wait_in_their_loop():
    kernel = matmul(waits_in_its_loop, 128, 64, 64, 32)
    assert "ttng.async_copy" not in kernel.asm["ttgir"]


def test_the_instructions_are_where_they_are_written():
    source = tri.ASTSource(
        dependent_gemm, {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"},
        {"BM": 64, "BN": 64, "BK": 32},
    )  # fmt: skip
    lines = str(tri.compile(source, "nvidia:sm_90a", {"launch_pdl": True}).asm["ptx"]).splitlines()

    def first(word):
        return next(i for i, line in enumerate(lines) if word in line)

    wait, begin = first("griddepcontrol.wait"), first("griddepcontrol.launch_dependents")
    reads = [i for i, line in enumerate(lines) if "ld.global" in line or "cp.async" in line]
    writes = [i for i, line in enumerate(lines) if "st.global" in line or "bulk.tensor" in line]
    assert wait < min(reads)
    assert begin < max(writes)


def test_only_gpus_that_have_it():
    with (
        tri.target("sim:nvidia:sm_80"),
        pytest.raises(Unsupported, match="launch_pdl=True on sim:nvidia:sm_80"),
    ):
        worded.warmup(np.zeros(1, np.float16), *[np.zeros(1, np.float16)] * 2, *TILE, None, launch_pdl=True)
    with (
        tri.target("cpu"),
        pytest.raises(OptionError, match="cannot do what option launch_pdl=True asks for"),
    ):
        worded.warmup(np.zeros(1, np.float16), *[np.zeros(1, np.float16)] * 2, *TILE, None, launch_pdl=True)


def test_programs_that_meet():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(1000).astype(np.float32)
    partial, out = (np.full(4, np.nan, np.float32) for _ in range(2))
    with tri.target("sim:nvidia:sm_90a"):
        kernel = meet_and_sum[(4,)](
            x, partial, np.zeros(1, np.int32), out, 1000, BLOCK=128, PROGRAMS=4, num_warps=1,
            launch_cooperative_grid=True,
        )  # fmt: skip
    np.testing.assert_allclose(out, np.full(4, x.astype(np.float64).sum()), atol=1e-3)
    assert "a cooperative grid" in str(kernel.resources.verdict)


@pytest.mark.parametrize(
    ("word", "option", "expected"),
    [(None, None, False), (None, True, True), (False, True, False), (True, False, True), (True, None, True)],
)
def test_what_a_loop_says_wins(word, option, expected):
    kernel = matmul(worded, *TILE, word, warp_specialize=option)
    assert is_specialized(kernel) == expected
