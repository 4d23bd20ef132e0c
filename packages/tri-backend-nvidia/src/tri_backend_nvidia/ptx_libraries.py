"""Functions of a program's own PTX files in a kernel's module, so that one call of the assembler makes one image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tri_core.api import ToolchainError
from tri_core.extern_libraries import Kind

__all__ = ["PTX", "with_functions"]

PTX = Kind("PTX", lambda start: b".version" in start and b".target" in start)

_VERSION = re.compile(r"^\s*\.version\s+(\d+)\.(\d+)\s*$", re.MULTILINE)
_HEADER = re.compile(r"^\s*\.(?:version|target|address_size)\b.*$", re.MULTILINE)
_DECLARED = re.compile(
    r"^\.extern\s+\.func\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?\s*;?\n(?:;\n)?", re.MULTILINE
)
_DEFINED = re.compile(r"\.func\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?[^;{]*\{")
#: functions that every image finds in the driver
_SYSTEM = frozenset(("vprintf", "__assertfail", "malloc", "free"))


def with_functions(ptx: str, paths: Sequence[str]) -> str:
    """``ptx`` with the functions of the PTX files ``paths``; ToolchainError for one that is called and nowhere.

    The module is of the newest version among them.
    """
    texts = [Path(path).read_text() for path in paths]
    defined = {name for text in texts for name in _DEFINED.findall(text)}
    missing = sorted(set(_DECLARED.findall(ptx)) - defined - _SYSTEM)
    if missing:
        raise ToolchainError(
            f"no library defines {', '.join(missing)}, which the kernel calls",
            remedy='name the library at the launch: extern_libs={"name": "library.bc"}, LLVM bitcode or PTX',
            tool="ptx",
            returncode=None,
            log="",
        )
    if not texts:
        return ptx
    called = _DECLARED.sub(lambda found: "" if found[1] in defined else found[0], ptx)
    version = max(_version(text) for text in (ptx, *texts))
    called = _VERSION.sub(f".version {version[0]}.{version[1]}", called, count=1)
    start = called.index("\n", called.index(".address_size")) + 1
    return called[:start] + "".join(_HEADER.sub("", text) for text in texts) + called[start:]


def _version(text: str) -> tuple[int, int]:
    found = _VERSION.search(text)
    return (0, 0) if found is None else (int(found[1]), int(found[2]))
