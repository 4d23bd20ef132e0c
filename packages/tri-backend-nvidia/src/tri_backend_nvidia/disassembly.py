"""Cubins as text, where nvdisasm is installed."""

from __future__ import annotations

import re
import subprocess
import tempfile

from tri_backend_nvidia.tools import Tool, find
from tri_core import knobs
from tri_core.api import Listing, Place, ToolchainError

__all__ = ["NVDISASM", "loops", "read_sass", "sass"]

NVDISASM = Tool(
    name="nvdisasm",
    distributions=("nvidia-cuda-nvdisasm",),
    folders=("/usr/local/cuda/bin", "/opt/cuda/bin"),
    executable=True,
)

#: nvdisasm's comment before the instructions of a source line, and before those of its call sites
_PLACE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)( inlined at)?')
_LABEL = re.compile(r"\s*(\.L_x_\d+):")
_OPERATION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
_BACK = re.compile(r"@!?U?P\d.*\bBRA.*`\((\.L_x_\d+)\)")
_INSTRUCTION = re.compile(r"^\s*(/\*[0-9a-f]+\*/)\s*(.*)$")


def sass(cubin: bytes) -> str:
    """The machine code of ``cubin`` as text; ToolchainError with the remedy without nvdisasm."""
    program = find(NVDISASM, knobs.get("NVIDIA_NVDISASM"))
    if program is None:
        raise ToolchainError(
            "nvdisasm, which shows the machine code, is not found",
            remedy="pip install nvidia-cuda-nvdisasm, or set TRI_NVIDIA_NVDISASM",
            tool="nvdisasm",
            returncode=None,
            log="",
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [str(program), "-c", "-gi", file.name], capture_output=True, text=True, timeout=120, check=False
        )
    if done.returncode != 0:
        raise ToolchainError(
            f"nvdisasm failed: {done.stderr.strip()}",
            remedy="one as new as ptxas is needed: pip install -U nvidia-cuda-nvdisasm",
            tool="nvdisasm",
            returncode=done.returncode,
            log=done.stderr,
        )
    return done.stdout


def read_sass(text: str) -> Listing:
    """The lines of :func:`sass` without its comments on source lines and wide margins, and the instructions' places."""
    lines, places = [], []
    now: tuple[Place, ...] = ()
    inner = False  # the comment before says that its place was inlined at the next one
    for line in text.rstrip("\n").split("\n"):
        found = _PLACE.match(line)
        if found is not None:
            place = (Place(found[1], int(found[2])),)
            now = now + place if inner else place
            inner = found[3] is not None
            continue
        now = () if line.lstrip().startswith(".section") else now
        instruction = _INSTRUCTION.match(line)
        lines.append("  {}  {}".format(*instruction.groups()) if instruction else line.rstrip())
        places.append(now if instruction else ())
    return Listing(tuple(lines), tuple(places))


def loops(text: str) -> list[list[str]]:
    """The instructions of each piece of :func:`sass` that ends in a branch back under a condition, inner ones first.

    A branch back without a condition comes from a wait that the assembler put behind the code.
    """
    labels: dict[str, int] = {}
    code: list[str] = []
    found = []
    for line in text.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(code)
        elif instruction := _OPERATION.match(line):
            code.append(instruction[1])
            target = _BACK.search(instruction[1])
            if target and target[1] in labels:
                found.append(code[labels[target[1]] :])
    return found
