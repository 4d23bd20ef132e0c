"""Clocks in kernels, and inline assembly where a driver takes it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import numpy as np
import pytest

import tri
import tri.language as tl
from intel_support import llvm_of, run_body, runtime, target_of, to_spirv
from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.lowering import IntelPrimitives
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.runtime.trial import TrialBuilder
from tri_backend_intel.spirv import read_module
from tri_core.api import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Access, Builder

GPUS = [name for name in ARCHITECTURES if name != "opencl-cpu"]
NOT = "not (M1, 16) $0(0, 0)<1> $1(0, 0)<1;1,0>"


@tri.jit
def complement(out, x, TEXT: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, "=rw,rw", [tl.load(x + i)], tl.int32, True, 1))


@tri.jit
def waits(out, x, NANOSECONDS: tl.constexpr):
    tl.store(out, tl.atomic_poll(x, 1, timeout_ns=NANOSECONDS))


def clock(b: Builder, hw: IntelPrimitives, args: Sequence[ir.Value]) -> None:
    hw.store_global(b, b.gep(args[0], hw.thread_id(b), b.i64), hw.nanoseconds(b), None, Access(8))


def source(kernel: tri.JITFunction) -> tri.ASTSource:
    types = {"out": "*i32", "x": "*i32", "TEXT": "constexpr", "B": "constexpr"}
    return tri.ASTSource(kernel, types, {"TEXT": NOT, "B": 64})


# --- clocks ---------------------------------------------------------------------------------------------


def test_the_devices_clock_counts_nanoseconds() -> None:
    times: list[tuple[int, int]] = []
    for _ in range(3):
        out = np.zeros(64, np.int64)
        run_body(clock, [out])
        times.append((int(out.max()), time.perf_counter_ns()))
        time.sleep(0.05)
    for (one, before), (other, after) in itertools.pairwise(times):
        assert 0.5 < (other - one) / (after - before) < 2


def test_ticks_count_as_at_the_highest_frequency() -> None:
    """Of a clock at its highest frequency or below, no more nanoseconds than pass."""
    for name in GPUS:
        per = ARCHITECTURES[name].ticks
        factor = int(1024 / per)
        for nanoseconds in (10**3, 10**6, 10**9, 10**17):
            seen = (int(nanoseconds * per) >> 6) * factor >> 4
            assert seen <= nanoseconds
            assert seen > 0.99 * nanoseconds - 200
            assert (int(nanoseconds * per) >> 6) * factor < 2**63


@pytest.mark.parametrize("arch", list(ARCHITECTURES))
def test_a_clock_is_an_instruction_of_every_device(arch: str) -> None:
    made = to_spirv(llvm_of(clock, 1, IntelOptions(), arch=arch), arch)
    assert "ShaderClockKHR" in read_module(made.artifact).capabilities
    assert made.attrs["spirv_extensions"] == ["SPV_KHR_shader_clock"]


@pytest.mark.parametrize("target", ["intel:opencl-cpu", "sim:intel:pvc"])
def test_a_wait_ends(target: str) -> None:
    runtime()
    for value in (0, 1):
        out, x = np.full(1, 7, np.int32), np.full(1, value, np.int32)
        start = time.perf_counter()
        with tri.target(target):
            waits[(1,)](out, x, NANOSECONDS=50_000_000)
        assert out[0] == value
        assert value or time.perf_counter() - start >= 0.05


# --- assembly -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", GPUS)
def test_assembly_is_in_the_module(arch: str) -> None:
    kernel = tri.compile(source(complement), target=f"intel:{arch}")
    module = read_module(kernel.asm["spv"])
    assert "AsmINTEL" in module.capabilities
    assert module.extensions == {"SPV_INTEL_inline_assembly"}
    assert NOT.encode() in kernel.asm["spv"]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("intel:opencl-cpu", "the OpenCL driver for CPUs refuses"),
        ("sim:intel:pvc", "the simulator runs no assembly"),
    ],
)
def test_assembly_is_refused_where_nothing_takes_it(target: str, why: str) -> None:
    with tri.target(target), pytest.raises(Unsupported, match=why) as caught:
        complement[(1,)](np.zeros(64, np.int32), np.zeros(64, np.int32), NOT, 64)
    assert caught.value.location is not None
    assert caught.value.location.file.endswith("test_clock_and_assembly.py")


def test_the_reason_is_true() -> None:
    """The driver for CPUs refuses a module with assembly; if it no longer does, the table is out of date."""
    from tri_core.api import ToolchainError

    module = tri.compile(source(complement), target="intel:pvc").asm["spv"]
    builder = TrialBuilder(runtime().queue(runtime().device_for("opencl-cpu")).device.native.filter_string)
    with pytest.raises(ToolchainError, match="cannot compile kernel complement"):
        builder.check("complement", module, "")
    builder.close()
    assert ARCHITECTURES["opencl-cpu"].assembly
    assert not target_of().has("SPV_INTEL_inline_assembly")
