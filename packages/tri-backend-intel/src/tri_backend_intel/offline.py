"""The driver's compiler without a device: ``ocloc``, which says what a kernel takes of a GPU before it is loaded.

Its result is an archive or an ELF file ("zebin") whose section ``.ze_info`` has registers and spills in YAML
(``documentation/zebin`` of Intel's graphics compiler).
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tri_core import knobs
from tri_core.api import ToolchainError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["NONE", "Offline", "OfflineRefused", "find_ocloc", "identity", "run_ocloc"]

#: value of the knob ``INTEL_OCLOC`` for "do not ask it"
NONE = "none"
_SECONDS = 120.0
_FACT = re.compile(rb"\b(grf_count|spill_size|private_size):\s*(\d+)")


class OfflineRefused(Exception):
    """``ocloc`` did not compile a module; the text is what it said."""


@dataclass(frozen=True)
class Offline:
    """Result of the offline compiler: ``registers`` of a hardware thread, ``spills`` and ``private`` memory
    of one in bytes; ``image`` is its ELF file.
    """

    registers: int
    spills: int
    private: int
    image: bytes


def find_ocloc(given: str | None) -> Path | None:
    """The program ``given``, else the one on the path; None without one, and for ``none``.

    ToolchainError when ``given`` is no program.
    """
    if given == NONE:
        return None
    if given:
        if not os.access(given, os.X_OK) or not Path(given).is_file():
            raise ToolchainError(
                f"TRI_INTEL_OCLOC is {given}, which is no program",
                remedy=f"name ocloc's path, or {NONE}",
                tool="ocloc",
                returncode=None,
                log="",
            )
        return Path(given)
    found = shutil.which("ocloc")
    return Path(found) if found else None


def identity() -> str:
    """Identity of ``ocloc`` for cache keys: another one chooses otherwise."""
    program = find_ocloc(knobs.get("INTEL_OCLOC"))
    if program is None:
        return NONE
    status = program.stat()
    return _version(program, status.st_size, status.st_mtime_ns)


@functools.cache
def _version(program: Path, size: int, changed: int) -> str:
    try:
        said = subprocess.run([str(program), "--version"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return f"{program} {size} {changed}"
    return f"{said.stdout.decode(errors='replace').strip()} {size} {changed}"


def run_ocloc(program: Path, module: bytes, device: str, options: str) -> Offline:
    """SPIR-V ``module`` compiled for ``device`` (ocloc's name of it); OfflineRefused with its words."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "kernel.spv").write_bytes(module)
        words = ["compile", "-spirv_input", "-file", "kernel.spv", "-device", device]
        words += ["-output", "kernel", "-output_no_suffix"]
        words += ["-options", options] if options else []
        try:
            done = subprocess.run(
                [str(program), *words], cwd=place, capture_output=True, timeout=_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OfflineRefused(str(error)) from error
        said = (done.stdout + done.stderr).decode(errors="replace").strip()
        made = [p for p in sorted(place.glob("kernel*")) if p.suffix != ".spv"]
        if done.returncode or not made:
            raise OfflineRefused(said or f"exit status {done.returncode}")
        return _read(made[0].read_bytes())


def _read(data: bytes) -> Offline:
    start = data.find(b"\x7fELF")
    image = data[start:] if start >= 0 else b""
    facts = {key.decode(): int(number) for key, number in _FACT.findall(image)}
    if "grf_count" not in facts:
        raise OfflineRefused("its result says nothing of registers")
    return Offline(facts["grf_count"], facts.get("spill_size", 0), facts.get("private_size", 0), image)
