"""The register mode of real kernels by the driver's own compiler."""

from __future__ import annotations

import pytest

from integration.bench_intel_static import igc
from integration.bench_intel_static.cases import CASES, compiled
from tri_core import knobs
from tri_core.compiler import CompiledKernel

_cases = {case.name: case for case in CASES}
LARGE = "-cl-intel-256-GRF-per-thread"


def judged(name: str, device: str) -> CompiledKernel:
    program = igc.ocloc()
    if program is None:
        pytest.skip("no ocloc: python -m integration.bench_intel_static.fetch_ocloc")
    with knobs.scope(INTEL_OCLOC=program):
        return compiled(_cases[name], device)


@pytest.mark.parametrize(
    ("name", "options", "registers"),
    [("matmul fp16 128x128x32 w8", LARGE, 256), ("matmul fp16 128x128x32 w32", "", 128)],
)
def test_a_matmul_has_the_registers_that_it_needs(name: str, options: str, registers: int) -> None:
    kernel = judged(name, "pvc")
    assert kernel.metadata.attrs["build_options"] == options
    assert "register_modes" not in kernel.metadata.attrs
    found = kernel.resources
    assert (found.registers, found.spills) == (registers, 0)
    assert found.verdict.fits
    assert "not known" not in str(found.verdict)


def test_the_same_numbers_as_the_compiler_gives_for_the_image() -> None:
    kernel = judged("softmax 4096 w8", "dg2")
    built = igc.build(kernel.image.data, "dg2", str(kernel.metadata.attrs["build_options"]))
    assert kernel.metadata.resources["registers"] == built.facts["grf_count"]
    assert kernel.metadata.resources["spills"] == built.facts["spill_size"]


def test_without_ocloc_it_is_said() -> None:
    with knobs.scope(INTEL_OCLOC="none"):
        kernel = compiled(_cases["softmax 4096 w8"], "pvc")
    assert any("no ocloc" in remark for remark in kernel.resources.remarks)
    assert kernel.metadata.attrs["register_modes"] == ["", LARGE]
