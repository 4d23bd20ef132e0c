"""Functions of the library that are called often, in code of the machine: setting an argument, and launches that run nothing.

A caller's time is not measured through callbacks into Python.  Whatever is wrong goes the ordinary way, which says what.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from tri_backend_intel.runtime.level_zero.api.enums import Result

__all__ = ["IDLE", "NATIVE", "ArgumentBlock"]

#: the library's word that is not 0 while launches run nothing
IDLE = "tri_standin_idle"
_MAGIC = 0x6B65726E656C0001
#: at a kernel's handle: what it is, number of arguments, addresses of sizes, of places, of bytes, and of what is set
_RECORD = struct.Struct("<6Q")

_SET_ARGUMENT = f"""
define dso_local i32 @driver.zeKernelSetArgumentValue(ptr %kernel, i32 %index, i64 %size, ptr %value) {{
  %slot = getelementptr ptr, ptr @SLOTS, i64 SLOT
  %given = load atomic ptr, ptr %slot acquire, align 8
  %none = icmp eq ptr %given, null
  br i1 %none, label %refuse, label %known
known:
  %null = icmp eq ptr %kernel, null
  br i1 %null, label %serve, label %look
look:
  %magic = load i64, ptr %kernel
  %is = icmp eq i64 %magic, {_MAGIC}
  br i1 %is, label %bound, label %serve
bound:
  %count.at = getelementptr i64, ptr %kernel, i64 1
  %count = load i64, ptr %count.at
  %i = zext i32 %index to i64
  %within = icmp ult i64 %i, %count
  br i1 %within, label %sized, label %serve
sized:
  %sizes.at = getelementptr ptr, ptr %kernel, i64 2
  %sizes = load ptr, ptr %sizes.at
  %wanted.at = getelementptr i64, ptr %sizes, i64 %i
  %wanted = load i64, ptr %wanted.at
  %fits = icmp eq i64 %wanted, %size
  br i1 %fits, label %write, label %serve
write:
  %places.at = getelementptr ptr, ptr %kernel, i64 3
  %places = load ptr, ptr %places.at
  %place.at = getelementptr i64, ptr %places, i64 %i
  %place = load i64, ptr %place.at
  %bytes.at = getelementptr ptr, ptr %kernel, i64 4
  %bytes = load ptr, ptr %bytes.at
  %to = getelementptr i8, ptr %bytes, i64 %place
  %zero = icmp eq ptr %value, null
  br label %loop
loop:
  %k = phi i64 [ 0, %write ], [ %k.next, %put ]
  %more = icmp ult i64 %k, %size
  br i1 %more, label %byte, label %done
byte:
  br i1 %zero, label %put, label %read
read:
  %from = getelementptr i8, ptr %value, i64 %k
  %b = load i8, ptr %from
  br label %put
put:
  %what = phi i8 [ 0, %byte ], [ %b, %read ]
  %at = getelementptr i8, ptr %to, i64 %k
  store i8 %what, ptr %at
  %k.next = add i64 %k, 1
  br label %loop
done:
  %set.at = getelementptr ptr, ptr %kernel, i64 5
  %set = load ptr, ptr %set.at
  %flag = getelementptr i8, ptr %set, i64 %i
  store i8 1, ptr %flag
  ret i32 0
serve:
  %answer = tail call i32 %given(ptr %kernel, i32 %index, i64 %size, ptr %value)
  ret i32 %answer
refuse:
  ret i32 {Result.ERROR_UNSUPPORTED_FEATURE:d}
}}
"""

_LAUNCH = f"""
define dso_local i32 @driver.zeCommandListAppendLaunchKernel(ptr %list, ptr %kernel, ptr %groups, ptr %event, i32 %count, ptr %waits) {{
  %slot = getelementptr ptr, ptr @SLOTS, i64 SLOT
  %given = load atomic ptr, ptr %slot acquire, align 8
  %none = icmp eq ptr %given, null
  br i1 %none, label %refuse, label %known
known:
  %idle = load volatile i64, ptr @{IDLE}
  %runs = icmp eq i64 %idle, 0
  br i1 %runs, label %serve, label %nothing
nothing:
  %more = add i64 %idle, 1
  store volatile i64 %more, ptr @{IDLE}
  ret i32 0
serve:
  %answer = tail call i32 %given(ptr %list, ptr %kernel, ptr %groups, ptr %event, i32 %count, ptr %waits)
  ret i32 %answer
refuse:
  ret i32 {Result.ERROR_UNSUPPORTED_FEATURE:d}
}}
"""

#: LLVM IR of functions, with ``@SLOTS`` and ``SLOT`` for where what answers in other cases is found
NATIVE = {"zeKernelSetArgumentValue": _SET_ARGUMENT, "zeCommandListAppendLaunchKernel": _LAUNCH}


class ArgumentBlock:
    """The arguments of a kernel of parameters of ``sizes`` bytes, where the library's code writes them.

    ``record`` belongs at the kernel's handle.
    """

    def __init__(self, sizes: Sequence[int | None]) -> None:
        self.sizes = sizes
        known = [size or 0 for size in sizes]
        self._places = [8 * sum(-(-size // 8) for size in known[:i]) for i in range(len(known))]
        room = 8 * sum(-(-size // 8) for size in known)
        kinds = (
            (ctypes.c_uint64 * max(len(known), 1)),
            (ctypes.c_char * max(room, 1)),
            (ctypes.c_uint8 * max(len(known), 1)),
        )
        # a size that no caller gives, for a parameter that is no number: the ordinary way refuses it
        self._size_words = kinds[0](*(size if size is not None else (1 << 64) - 1 for size in sizes))
        self._place_words, self._bytes, self._set = kinds[0](*self._places), kinds[1](), kinds[2]()
        parts: tuple[Any, ...] = (self._size_words, self._place_words, self._bytes, self._set)
        self.record = _RECORD.pack(_MAGIC, len(known), *map(ctypes.addressof, parts))

    def missing(self) -> list[int]:
        """The arguments that nobody has set."""
        return [i for i in range(len(self.sizes)) if not self._set[i]]

    def values(self) -> tuple[bytes, ...]:
        """The bytes of each, as they are now."""
        raw = self._bytes.raw
        return tuple(raw[p : p + (s or 0)] for p, s in zip(self._places, self.sizes, strict=True))
