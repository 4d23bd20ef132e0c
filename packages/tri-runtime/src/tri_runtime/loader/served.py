"""Shared libraries of stand-in drivers: each of their functions jumps to an address that this process gives it.

A function without an address returns its refusal, and so do all once the process that serves them ends: a driver's loader or
static destructors may call it after the interpreter is gone.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["SLOTS", "ServedLibrary", "ir_type", "jump", "slots", "written"]

#: the symbol of the array of addresses
SLOTS = "tri_standin_slots"


def ir_type(kind: type) -> str:
    """The type of LLVM IR of a ``ctypes`` type: ``ptr``, or an integer of its bits."""
    return "ptr" if kind in (ctypes.c_void_p, ctypes.c_char_p) else f"i{8 * ctypes.sizeof(kind)}"


def slots(count: int) -> str:
    """LLVM IR of the array of ``count`` addresses."""
    return f"@{SLOTS} = dso_local global [{count} x ptr] zeroinitializer\n"


def jump(symbol: str, slot: int, types: Sequence[str], refusal: str, result: str = "i32") -> str:
    """LLVM IR of the function ``symbol``: it calls the address in ``slot`` with its arguments, and returns ``refusal`` without one."""
    formal = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
    return (
        f"define dso_local {result} @{symbol}({formal}) {{\n"
        f"  %slot = getelementptr ptr, ptr @{SLOTS}, i64 {slot}\n"
        "  %given = load atomic ptr, ptr %slot acquire, align 8\n"
        "  %none = icmp eq ptr %given, null\n"
        "  br i1 %none, label %refuse, label %serve\n"
        "serve:\n"
        f"  %done = tail call {result} %given({formal})\n"
        f"  ret {result} %done\n"
        "refuse:\n"
        f"  ret {result} {refusal}\n"
        "}\n"
    )


def written(data: bytes, name: str) -> Path:
    """The path of library ``data`` as file ``name`` in a folder of this process's own, which goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="tri-standin-"))
    atexit.register(_remove, folder, os.getpid())
    path = folder / name
    path.write_bytes(data)
    return path


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # not in a child, which ends sooner
        shutil.rmtree(folder, ignore_errors=True)


class ServedLibrary:
    """The loaded library at ``path``, whose functions are ``served``, by name, in the order of their slots."""

    def __init__(self, path: Path, served: Sequence[str]) -> None:
        self.path = path
        self.loaded = ctypes.CDLL(str(path))
        self._served = tuple(served)
        self._slots = (ctypes.c_void_p * len(self._served)).in_dll(self.loaded, SLOTS)

    def serve(self, addresses: Mapping[str, int]) -> None:
        """Give functions, by name, their addresses, which must stay valid until :meth:`close`."""
        for slot, name in enumerate(self._served):
            if name in addresses:
                self._slots[slot] = addresses[name]

    def close(self) -> None:
        """Take all addresses away."""
        for slot in range(len(self._served)):
            self._slots[slot] = None
