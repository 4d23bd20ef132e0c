"""The shared library that the loader opens: tables of functions, each of which jumps to what the process gives it.

A function that nobody gave answers that the feature is not supported, and so do all once the process that serves
them ends: the loader may call a driver after the interpreter is gone.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.functions import FUNCTIONS
from tri_backend_intel.runtime.standin.native import IDLE, NATIVE
from tri_backend_intel.runtime.standin.tables import EMPTY, TABLES, Field, table_function
from tri_runtime.loader.loaded import compile_ir
from tri_runtime.loader.shared import shared_library

__all__ = ["SERVED", "Library", "library_text"]

#: functions that may be given, in the order of their slots
SERVED = tuple(f.function for fields in TABLES.values() for f in fields if f.function in FUNCTIONS)
_SLOTS = "tri_standin_slots"
_NAME = "libze_tri_standin.so.1"


def _type(kind: type) -> str:
    if kind in (ctypes.c_void_p, ctypes.c_char_p):
        return "ptr"
    return f"i{8 * ctypes.sizeof(kind)}"


def _jump(slot: int, name: str) -> str:
    """The function ``name``: what its slot holds, called with the same arguments, or code of its own."""
    if name in NATIVE:
        return NATIVE[name].replace("@SLOTS", f"@{_SLOTS}").replace("SLOT", str(slot))
    types = [_type(kind) for kind in FUNCTIONS[name]]
    formal = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
    return (
        f"define dso_local i32 @driver.{name}({formal}) {{\n"
        f"  %slot = getelementptr ptr, ptr @{_SLOTS}, i64 {slot}\n"
        "  %given = load atomic ptr, ptr %slot acquire, align 8\n"
        "  %none = icmp eq ptr %given, null\n"
        "  br i1 %none, label %refuse, label %serve\n"
        "serve:\n"
        f"  %done = tail call i32 %given({formal})\n"
        "  ret i32 %done\n"
        "refuse:\n"
        f"  ret i32 {Result.ERROR_UNSUPPORTED_FEATURE:d}\n"
        "}\n"
    )


def _filler(table: str, fields: tuple[Field, ...]) -> str:
    """The function that writes ``table`` for the loader, as far as the version that it asks for has fields."""
    lines = [
        f"define dso_local i32 @{table_function(table)}(i32 %version, ptr %table) {{",
        "  %nothing = icmp eq ptr %table, null",
        "  br i1 %nothing, label %wrong, label %major",
        "wrong:",
        f"  ret i32 {Result.ERROR_INVALID_NULL_POINTER:d}",
        "major:",
        "  %number = lshr i32 %version, 16",
        "  %known = icmp eq i32 %number, 1",
        "  br i1 %known, label %f0, label %other",
        "other:",
        f"  ret i32 {Result.ERROR_UNSUPPORTED_VERSION:d}",
    ]
    for i, field in enumerate(fields):
        value = f"@driver.{field.function}" if field.function in FUNCTIONS else "@unsupported"
        lines += [
            f"f{i}:",
            f"  %new{i} = icmp uge i32 %version, {1 << 16 | field.since}",
            f"  br i1 %new{i}, label %w{i}, label %end",
            f"w{i}:",
            f"  %at{i} = getelementptr ptr, ptr %table, i64 {i}",
            f"  store ptr {value}, ptr %at{i}",
            f"  br label %f{i + 1}",
        ]
    lines += [f"f{len(fields)}:", "  br label %end", "end:", "  ret i32 0", "}"]
    return "\n".join(lines) + "\n"


@cache
def library_text() -> str:
    """The library as LLVM IR."""
    parts = [f"@{_SLOTS} = dso_local global [{len(SERVED)} x ptr] zeroinitializer\n"]
    parts += [f"@{IDLE} = dso_local global i64 0\n"]
    parts += [f"define internal i32 @unsupported() {{ ret i32 {Result.ERROR_UNSUPPORTED_FEATURE:d} }}\n"]
    parts += [_jump(slot, name) for slot, name in enumerate(SERVED)]
    parts += [_filler(table, fields) for table, fields in TABLES.items()]
    parts += [f"define dso_local i32 @{name}(i32 %version, ptr %table) {{ ret i32 0 }}\n" for name in EMPTY]
    return "".join(parts)


def _written() -> Path:
    """The library as a file in a folder of this process's own, which goes when the process ends."""
    data = shared_library(
        compile_ir(library_text()), [_SLOTS, IDLE, *map(table_function, TABLES), *EMPTY], _NAME
    )
    folder = Path(tempfile.mkdtemp(prefix="tri-standin-"))
    atexit.register(_remove, folder, os.getpid())
    path = folder / _NAME
    path.write_bytes(data)
    return path


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # not in a child, which ends sooner
        shutil.rmtree(folder, ignore_errors=True)


class Library:
    """The loaded library; ``path`` is what ``ZE_ENABLE_ALT_DRIVERS`` names.

    ``serve`` gives it functions, which must outlive it; ``close`` takes them all away.
    """

    def __init__(self) -> None:
        self.path = _written()
        self.loaded = ctypes.CDLL(str(self.path))
        #: 0 while launches run; else 1, and one more for each launch that did not
        self.idle = ctypes.c_uint64.in_dll(self.loaded, IDLE)
        self._slots = (ctypes.c_void_p * len(SERVED)).in_dll(self.loaded, _SLOTS)

    def serve(self, addresses: Mapping[str, int]) -> None:
        """Let functions, by name, be at ``addresses``."""
        for slot, name in enumerate(SERVED):
            if name in addresses:
                self._slots[slot] = addresses[name]

    def close(self) -> None:
        """Nothing is served any more."""
        for slot in range(len(SERVED)):
            self._slots[slot] = None

    def table(self, name: str, minor: int) -> list[int]:
        """The addresses that a loader of API version 1.``minor`` finds in table ``name``; 0 where its table ends."""
        fields = TABLES[name]
        found = (ctypes.c_void_p * (len(fields) + 1))()
        code = getattr(self.loaded, table_function(name))(ctypes.c_uint32(1 << 16 | minor), found)
        assert code == 0, code
        return [address or 0 for address in found]
