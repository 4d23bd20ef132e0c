"""The shared library that the loader opens: tables of functions, each of which jumps to what the process gives it."""

from __future__ import annotations

import ctypes
from functools import cache

from tri_backend_intel.runtime.level_zero.api.enums import Result
from tri_backend_intel.runtime.level_zero.api.functions import FUNCTIONS
from tri_backend_intel.runtime.standin.native import IDLE, NATIVE
from tri_backend_intel.runtime.standin.tables import EMPTY, TABLES, Field, table_function
from tri_runtime.loader.loaded import compile_ir
from tri_runtime.loader.served import SLOTS, ServedLibrary, ir_type, jump, slots, written
from tri_runtime.loader.shared import shared_library

__all__ = ["SERVED", "Library", "library_text"]

#: functions that may be given, in the order of their slots
SERVED = tuple(f.function for fields in TABLES.values() for f in fields if f.function in FUNCTIONS)
_NAME = "libze_tri_standin.so.1"


def _jump(slot: int, name: str) -> str:
    """The function ``name``: a jump to what its slot holds, or code of its own."""
    if name in NATIVE:
        return NATIVE[name].replace("@SLOTS", f"@{SLOTS}").replace("SLOT", str(slot))
    types = [ir_type(kind) for kind in FUNCTIONS[name]]
    return jump(f"driver.{name}", slot, types, f"{Result.ERROR_UNSUPPORTED_FEATURE:d}")


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
    parts = [slots(len(SERVED))]
    parts += [f"@{IDLE} = dso_local global i64 0\n"]
    parts += [f"define internal i32 @unsupported() {{ ret i32 {Result.ERROR_UNSUPPORTED_FEATURE:d} }}\n"]
    parts += [_jump(slot, name) for slot, name in enumerate(SERVED)]
    parts += [_filler(table, fields) for table, fields in TABLES.items()]
    parts += [f"define dso_local i32 @{name}(i32 %version, ptr %table) {{ ret i32 0 }}\n" for name in EMPTY]
    return "".join(parts)


class Library(ServedLibrary):
    """The loaded library; ``path`` is what ``ZE_ENABLE_ALT_DRIVERS`` names."""

    def __init__(self) -> None:
        symbols = [SLOTS, IDLE, *map(table_function, TABLES), *EMPTY]
        super().__init__(written(shared_library(compile_ir(library_text()), symbols, _NAME), _NAME), SERVED)
        #: 0 while launches run; else 1, and one more for each launch that did not
        self.idle = ctypes.c_uint64.in_dll(self.loaded, IDLE)

    def table(self, name: str, minor: int) -> list[int]:
        """The addresses that a loader of API version 1.``minor`` finds in table ``name``; 0 where its table ends."""
        fields = TABLES[name]
        found = (ctypes.c_void_p * (len(fields) + 1))()
        code = getattr(self.loaded, table_function(name))(ctypes.c_uint32(1 << 16 | minor), found)
        assert code == 0, code
        return [address or 0 for address in found]
