"""The driver's compiler on a SPIR-V module, with no device: its machine code, registers, spills.

``OCLOC`` names the program; else the one that :mod:`integration.bench_intel_static.fetch_ocloc` unpacked is taken.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from integration.bench_intel_static.fetch_ocloc import folder

__all__ = ["DEVICES", "LARGE", "Built", "Refused", "build", "ocloc", "version"]

#: how ``ocloc`` calls the devices
DEVICES = {"pvc": "pvc", "bmg": "bmg", "lnl": "lnl-m", "ptl": "ptl-h", "dg2": "dg2", "arl-h": "arl-h"}
DEVICES |= {"mtl": "mtl-h", "xe-lp": "tgllp"}
#: option for 256 registers
LARGE = "-cl-intel-256-GRF-per-thread"
_SECONDS = 300
_FACTS = ("grf_count", "spill_size", "private_size", "slm_size", "simd_size")


class Refused(Exception):
    """The compiler's own words."""


@dataclass(frozen=True)
class Built:
    """``binary`` is what a driver loads, ``facts`` are of its section ``.ze_info``, ``listing`` the lines of machine code."""

    binary: bytes
    facts: dict[str, int]
    listing: list[str]


@cache
def ocloc() -> str | None:
    """The program; None: there is none."""
    given = os.environ.get("OCLOC")
    if given:
        return given
    own = folder() / "ocloc"
    return str(own) if own.exists() else None


@cache
def version() -> str:
    """Of the graphics compiler, as machine code of this version is counted."""
    program = ocloc()
    if program is None:
        return ""
    made = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return made.stdout.strip()


def build(module: bytes, device: str, options: str = "") -> Built:
    """``module`` for ``device`` (a row of the backend's table); :class:`Refused` with the compiler's words."""
    program = ocloc()
    if program is None:
        raise Refused("there is no ocloc: python -m integration.bench_intel_static.fetch_ocloc")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "kernel.spv").write_bytes(module)
        given = f"compile -spirv_input -file kernel.spv -device {DEVICES[device]} -output kernel -output_no_suffix"
        dumps = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCurrentDir": "1"}
        made = subprocess.run(
            [program, *given.split(), *(["-options", options] if options else [])],
            cwd=place, env=os.environ | dumps, capture_output=True, text=True, check=False, timeout=_SECONDS,
        )  # fmt: skip
        if made.returncode:
            raise Refused((made.stdout + made.stderr).strip())
        data = next(p for p in sorted(place.glob("kernel*")) if p.suffix != ".spv").read_bytes()
        listings = [p.read_text().splitlines() for p in sorted(place.glob("*_simd*.asm"))]
    binary = data[data.index(b"\x7fELF") :]  # an archive of it and of the SPIR-V, or it alone
    said = re.findall(rb"\b(\w+):\s*(\d+)", binary)
    # the kernel is the first of them, before a program that the compiler adds
    facts = {key.decode(): int(number) for key, number in reversed(said) if key.decode() in _FACTS}
    facts = dict.fromkeys(_FACTS, 0) | facts
    return Built(binary, facts, _held(listings, facts["spill_size"]))


def _held(listings: list[list[str]], spills: int) -> list[str]:
    """The listing that the binary is of: the compiler may try again, and keep the first result."""
    said = f"//.spill size {spills}"
    return next((each for each in listings if said in each or not spills), listings[-1])
