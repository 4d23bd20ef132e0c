"""Registers, shared memory and occupancy before anything is loaded; what does not fit, and what would."""

from __future__ import annotations

import logging

import pytest
from integration.kernels.matmul import matmul
from integration.kernels.vector_add import vector_add

import tri
import tri.language as tl
from tri.tuning.compiling import compile_all
from tri_backend_nvidia.architectures import ARCHITECTURES, target
from tri_core.api import OutOfResources, TargetKey
from tri_core.compiler import compile as compile_source
from tri_core.target_selection import resolve

#: per multiprocessor: KiB of shared memory, threads, CTAs; per CTA: KiB of shared memory.  Source: CUDA programming guide,
#: the appendix on compute capabilities, its tables of technical specifications
MULTIPROCESSORS = {
    75: (64, 1024, 16, 64), 80: (164, 2048, 32, 163), 86: (100, 1536, 16, 99), 87: (164, 1536, 16, 163),
    89: (100, 1536, 24, 99), 90: (228, 2048, 32, 227), 100: (228, 2048, 32, 227), 103: (228, 2048, 32, 227),
    110: (228, 1536, 24, 227), 120: (100, 1536, 24, 99), 121: (100, 1536, 24, 99),
}  # fmt: skip


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_tables_are_the_programming_guides(name):
    row, spec = ARCHITECTURES[name], target(TargetKey("nvidia", name), None).spec
    shared, threads, ctas, shared_of_cta = MULTIPROCESSORS[row.capability]
    unit = spec.unit
    assert (unit.shared, unit.blocks, spec.limits["shared"]) == (shared << 10, ctas, shared_of_cta << 10)
    assert unit.partitions * unit.warps * 32 == threads
    assert unit.partitions * unit.registers * 32 == 64 << 10
    assert (spec.limits["threads"], spec.limits["registers"]) == (1024, 255)
    assert spec.limits["cluster"] == (8 if row.capability >= 90 else 1)
    assert spec.limits.get("tensor_memory") == (512 if row.matrix == "tcgen05" else None)


def source_of(m=64, n=64, k=32):
    types = ["*fp16:16", "*fp16:16", "*fp32:16", "i32:16", "i32:16", "i32:16"]
    types += ["i32:16", "1", "i32:16", "1", "i32:16", "1"]
    names = matmul.arg_names
    constants = dict(zip(names[-4:], (m, n, k, 8), strict=True))
    constants |= {name: 1 for name, t in zip(names, types, strict=False) if t == "1"}
    signature = {
        name: t.partition(":")[0] for name, t in zip(names, types, strict=False) if name not in constants
    }
    attrs = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types) if t.endswith(":16")}
    return tri.ASTSource(matmul, signature, constants, attrs)


def test_a_gpu_that_is_not_here_has_a_verdict():
    made = tri.compile(source_of(), target="nvidia:sm_90a", options={"num_warps": 4})
    found = made.resources
    assert found.registers == made.n_regs
    assert found.threads == 128
    assert found.shared == made.metadata.shared > 0
    assert found.occupancy.blocks >= 1
    assert found.verdict.fits
    assert found.remarks == ()


def test_fewer_stages_than_asked_for_are_said(caplog):
    caplog.set_level(logging.INFO, "tri_gpu_dialect")
    made = tri.compile(
        source_of(128, 128, 64), target="nvidia:sm_86", options={"num_warps": 8, "num_stages": 7}
    )
    (remark,) = made.resources.remarks
    assert "the loop has 3 of 7 stages: each takes 32768 bytes" in remark
    assert "matmul.py:" in remark


@tri.jit
def counted(x_ptr, out_ptr, BINS: tl.constexpr):
    values = tl.load(x_ptr + tl.arange(0, 128))
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(values, BINS))


def counted_source(bins):
    """A kernel whose counts, of 4 bytes, are in shared memory."""
    return tri.ASTSource(counted, {"x_ptr": "*i32", "out_ptr": "*i32"}, {"BINS": bins})


def test_what_cannot_fit_is_refused_with_what_does():
    with pytest.raises(OutOfResources) as caught:
        tri.compile(counted_source(65536), target="nvidia:sm_90a", options={"num_warps": 16})
    error = caught.value
    assert (error.resource, error.need, error.have) == ("shared", 65536 * 4, 227 << 10)
    assert "1/2 of the elements fit (131072 bytes)" in error.remedy
    with pytest.raises(OutOfResources, match="num_ctas is 2") as caught:
        tri.compile(source_of(), target="nvidia:sm_80", options={"num_ctas": 2})
    assert caught.value.nearest == {"num_ctas": 1}


def test_autotuning_skips_what_does_not_fit():
    small, large = tri.Config({"bins": 256}), tri.Config({"bins": 65536}, num_warps=16)
    together = tri.Config({"bins": 256}, num_ctas=2)
    here = resolve("nvidia:sm_80")
    good, failed = compile_all(
        [large, small, together],
        lambda c: (
            counted_source(c.kwargs["bins"]),
            here,
            {"num_warps": c.num_warps, "num_ctas": c.num_ctas},
        ),
        None,
        lambda: None,
    )
    assert list(good) == [small]
    assert {config: error.resource for config, error in failed.items()} == {
        large: "shared",
        together: "cluster",
    }


def test_vector_add_fills_the_multiprocessor():
    source = tri.ASTSource(
        vector_add, {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": 1024}
    )
    found = compile_source(source, resolve("nvidia:sm_80")).resources
    assert found.occupancy.share == 1.0
    assert found.verdict.text.startswith("fits nvidia:sm_80; 16 CTAs per unit (64 of 64 warps, 100.0 %)")
