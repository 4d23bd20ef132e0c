"""The figures of a case on a device, and the record of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from integration.bench_intel_static import igc
from integration.bench_intel_static.assembly import instructions
from integration.bench_intel_static.cases import Case, compiled
from integration.bench_intel_static.spirv import operations
from tri_core.api import OptionError, Unsupported

__all__ = ["RECORD", "SIMD_DEVICES", "Figures", "by_simd", "measure", "read", "write"]

log = logging.getLogger(__name__)

_TOP = Path(__file__).parents[2]
#: what the tests compare with
RECORD = _TOP / "integration" / "tests" / "intel_static.json"

#: where kernels are compiled by the SIMD path too
SIMD_DEVICES = ("pvc",)

#: bytes of a register
_REGISTER = {"pvc": 64, "bmg": 64, "lnl": 64, "ptl": 64}


@dataclass(frozen=True)
class Figures:
    """Of SPIR-V, everywhere: a step's ``operations``, DPAS, block loads, ``distance`` of prefetches, the module's ``bytes``, ``local`` memory.

    Of machine code, where ``ocloc`` is (-1 else): a step's ``instructions``, ``moves`` between load and DPAS; ``registers`` of
    the mode with the fewest ``spills``, bytes; ``private`` memory, bytes.  ``simd``: instructions of the step by the
    SIMD path, and ``simd_spills``; -1 where that path does not carry the kernel.  ``unrolled``: DPAS of the step of machine
    code, where the driver's compiler made one step of several.
    """

    operations: int
    dpas: int
    loads: int
    distance: int
    bytes: int
    local: int
    instructions: int = -1
    moves: int = -1
    registers: int = -1
    spills: int = -1
    private: int = -1
    simd: int = -1
    simd_spills: int = -1
    unrolled: int = -1

    @property
    def per_dpas(self) -> int:
        """Instructions of a step for each DPAS in it, rounded up; -1 where machine code is not known."""
        count = max(self.unrolled, self.dpas)
        return -(-self.instructions // count) if count and self.instructions >= 0 else -1


def measure(case: Case, device: str) -> Figures:
    """Compile ``case``; 256 registers are asked for where 128 spill."""
    kernel = compiled(case, device)
    module = kernel.asm["spv"]
    assert isinstance(module, bytes)
    step = operations(module)
    local = int(kernel.metadata.resources["shared"])
    found: dict[str, Any] = {
        "operations": step.operations, "dpas": step.dpas, "loads": step.loads, "distance": step.distance,
        "bytes": len(module), "local": local,
    }  # fmt: skip
    if igc.ocloc() is None:
        return Figures(**found)
    built = _built(module, device)
    code = instructions(built.listing, _REGISTER.get(device, 32))
    if code.dpas > step.dpas:
        found["unrolled"] = code.dpas
    return Figures(
        **found, instructions=code.instructions, moves=code.moves, registers=built.facts["grf_count"],
        spills=built.facts["spill_size"], private=built.facts["private_size"], **(by_simd(case, device) if device in SIMD_DEVICES else {}),
    )  # fmt: skip


def by_simd(case: Case, device: str) -> dict[str, int]:
    """The figures of ``case`` by the SIMD path; none where that refuses it."""
    try:
        kernel = compiled(case, device, path="simd")
    except (Unsupported, OptionError) as error:
        log.info("%s on %s: %s", case.name, device, error.args[0])
        return {}
    module = kernel.asm["spv"]
    assert isinstance(module, bytes)
    built = _built(module, device)
    code = instructions(built.listing, _REGISTER.get(device, 32))
    return {"simd": code.instructions, "simd_spills": built.facts["spill_size"]}


def _built(module: bytes, device: str) -> igc.Built:
    """With 256 registers where 128 spill and that helps."""
    built = igc.build(module, device)
    if not built.facts["spill_size"]:
        return built
    return min((built, igc.build(module, device, igc.LARGE)), key=lambda b: b.facts["spill_size"])


def _known(figures: Figures) -> dict[str, int]:
    return {name: number for name, number in asdict(figures).items() if number >= 0}


def read() -> dict[str, dict[str, Figures]]:
    """The record: by case, by device."""
    kept = json.loads(RECORD.read_text())["figures"] if RECORD.exists() else {}
    return {name: {d: Figures(**numbers) for d, numbers in own.items()} for name, own in kept.items()}


def write(figures: Mapping[str, Mapping[str, Figures]]) -> None:
    """Put ``figures`` into the record, beside those of other cases and devices."""
    before = read()
    figures = {name: before.get(name, {}) | dict(figures.get(name, {})) for name in (*before, *figures)}
    kept = {
        name: {device: _known(numbers) for device, numbers in own.items()} for name, own in figures.items()
    }
    lines = [
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(f"   {json.dumps(d)}: {json.dumps(n)}" for d, n in own.items())
        + "\n  }"
        for name, own in kept.items()
    ]
    text = ",\n".join(lines)
    RECORD.write_text(f'{{\n "compiler": {json.dumps(igc.version())},\n "figures": {{\n{text}\n }}\n}}\n')
