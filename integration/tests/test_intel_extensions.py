"""SPIR-V extensions in the table of Intel's devices, against the driver's own compiler."""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import pytest

import tri
import tri.language as tl
from integration.bench_intel_static import igc
from tri_backend_intel.architectures import ARCHITECTURES
from tri_backend_intel.spirv.specialization import CLOCK_FACTOR, clock_factor, specialized

GPUS = list(igc.DEVICES)
NOT = "not (M1, 16) $0(0, 0)<1> $1(0, 0)<1;1,0>"
_CAPABILITY, _EXTENSION = 17, 10


@pytest.fixture(autouse=True)
def _needs_ocloc() -> None:
    if igc.ocloc() is None:
        pytest.skip("no ocloc: python -m integration.bench_intel_static.fetch_ocloc")


@tri.jit
def complement(out, x, TEXT: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.inline_asm_elementwise(TEXT, "=rw,rw", [tl.load(x + i)], tl.int32, True, 1))


@tri.jit
def waits(out, x):
    tl.store(out, tl.atomic_poll(x, 1, timeout_ns=1000))


@tri.jit
def halved(out, x, B: tl.constexpr):
    i = tl.arange(0, B)
    loaded = tl.load(x + i, cache_modifier=".cg")
    tl.store(out + i, (loaded * 0.5).to(tl.bfloat16).to(tl.int16, bitcast=True), cache_modifier=".cs")


@tri.jit
def nothing(out):
    tl.store(out, 1)


@cache
def module_of(kernel: tri.JITFunction, device: str) -> bytes:
    known = {"TEXT": NOT, "B": 64}
    constants = {name: known[name] for name in kernel.arg_names if name in known}
    types = {name: "constexpr" if name in constants else "*i32" for name in kernel.arg_names}
    if kernel is halved:
        types |= {"out": "*i16", "x": "*fp32"}
    source = tri.ASTSource(kernel, types, constants, {})
    data = tri.compile(source, target=f"intel:{device}").asm["spv"]
    assert isinstance(data, bytes)
    return data


def declaring(module: bytes, extension: str) -> bytes:
    """``module`` with one more extension, behind its capabilities."""
    words = list(np.frombuffer(module, np.uint32))
    place = 5
    while int(words[place]) & 0xFFFF == _CAPABILITY:
        place += int(words[place]) >> 16
    text = extension.encode() + b"\0"
    text += bytes(-len(text) % 4)
    added = (len(text) // 4 + 1 << 16 | _EXTENSION, *struct.unpack(f"<{len(text) // 4}I", text))
    words[place:place] = [np.uint32(word) for word in added]
    return np.array(words, np.uint32).tobytes()


@pytest.mark.parametrize("device", GPUS)
def test_a_device_takes_every_extension_of_its_row(device: str) -> None:
    plain = module_of(nothing, "pvc")
    for name in ARCHITECTURES[device].spirv_extensions:
        igc.build(declaring(plain, name), device)


def test_what_no_device_takes_is_refused() -> None:
    with pytest.raises(igc.Refused):
        igc.build(declaring(module_of(nothing, "pvc"), "SPV_EXT_shader_atomic_float16_add"), "pvc")


@pytest.mark.parametrize("device", GPUS)
def test_assembly_becomes_the_instruction(device: str) -> None:
    built = igc.build(module_of(complement, device), device)
    assert any(line.split("//")[0].split()[:2] == ["not", "(16|M0)"] for line in built.listing)


@pytest.mark.parametrize("device", GPUS)
def test_a_clock_reads_the_time_stamp_register(device: str) -> None:
    built = igc.build(module_of(waits, device), device)
    assert sum("tm0" in line.split("//")[0] for line in built.listing if "mov" in line) >= 2


@pytest.mark.parametrize("ticks", [None, 0.9])
def test_a_clock_counts_as_at_the_frequency_that_is_set(ticks: float | None) -> None:
    """As the row of the device says, or as the runtime sets it: a constant of the machine code, either way."""
    module = module_of(waits, "pvc")
    factor = clock_factor(ticks or ARCHITECTURES["pvc"].ticks)
    given = specialized(module, {CLOCK_FACTOR: factor}) if ticks else module
    code = "\n".join(line.split("//")[0] for line in igc.build(given, "pvc").listing)
    assert f"0x{factor:X}" in code.replace("0x0", "0x") or str(factor) in code


@pytest.mark.parametrize("device", GPUS)
def test_rounding_to_bf16_is_an_instruction(device: str) -> None:
    """Of devices whose row says so: of the others it would be the compiler's own spelling."""
    lines = [line.split("//")[0].split() for line in igc.build(module_of(halved, device), device).listing]
    rounds = any(line[0] == "mov" and line[2].endswith(":bf") for line in lines if len(line) > 3)
    assert rounds == ARCHITECTURES[device].bf16


@pytest.mark.parametrize("device", ["pvc", "bmg", "lnl"])
def test_cache_controls_reach_loads_and_stores(device: str) -> None:
    """First cache left out, the next one used; streamed through it."""
    lines = [line.split("//")[0].split() for line in igc.build(module_of(halved, device), device).listing]
    names = {line[0] for line in lines if line}
    assert any(name.startswith("load.ugm.") and name.endswith(".uc.ca") for name in names)
    assert any(name.startswith("store.ugm.") and name.endswith(".st.wb") for name in names)
