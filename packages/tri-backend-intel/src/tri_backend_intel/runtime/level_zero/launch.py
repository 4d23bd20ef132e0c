"""A launch as compiled code: arguments set on the kernel's handle, then the kernel appended, under the command list's lock.

Arguments are state of the handle, and neither a handle nor a list may be used by two threads at a time (Level Zero specification,
"Multithreading and Concurrency"); the list's lock keeps both.  The code is fixed text, compiled once and kept in the store; it reads
what it does from a record.  It has the form that :class:`tri_core.runtime.LaunchPlan` wants, so launches by compiled code use it too.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any

from tri_backend_intel.runtime.level_zero.api import Result
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.loader import load_ir
from tri_runtime.native.layouts import CONFIG
from tri_runtime.schema import CType, Field, Record, expand

__all__ = ["LAUNCH", "Code", "ListLock", "code"]

LAUNCH = Record(
    "launch",
    (
        Field("kernel", CType.POINTER, "ze_kernel_handle_t"),
        Field("list", CType.POINTER, "ze_command_list_handle_t, immediate"),
        Field("lock", CType.POINTER, "that of the list"),
        Field("set_argument", CType.POINTER, "zeKernelSetArgumentValue"),
        Field("append", CType.POINTER, "zeCommandListAppendLaunchKernel"),
        Field("count", CType.I64, "arguments"),
        Field("sizes", CType.POINTER, "bytes of each argument, 64 bits"),
    ),
)

#: a lock of the system that zeroed memory is, and the functions that take and give it
_LOCK, _UNLOCK, _LOCK_BYTES = (
    ("AcquireSRWLockExclusive", "ReleaseSRWLockExclusive", 8)
    if sys.platform == "win32"
    else ("pthread_mutex_lock", "pthread_mutex_unlock", 64)
)

_TEXT = """
declare i32 @LOCK(ptr)
declare i32 @UNLOCK(ptr)

define void @take(ptr %lock) nounwind {
  %status = call i32 @LOCK(ptr %lock)
  ret void
}

define void @give(ptr %lock) nounwind {
  %status = call i32 @UNLOCK(ptr %lock)
  ret void
}

; a ze_result_t; the parameters are pointers to values, in order
define i32 @start(ptr %config, ptr %launch, ptr %parameters, ptr %extra) nounwind {
entry:
  %list = field launch.list, %launch
  %stream = field config.stream, %config
  %own = icmp eq ptr %stream, %list
  %default = icmp eq ptr %stream, null
  %here = or i1 %own, %default
  br i1 %here, label %begin, label %elsewhere
elsewhere:
  ret i32 INVALID
begin:
  %kernel = field launch.kernel, %launch
  %lock = field launch.lock, %launch
  %set = field launch.set_argument, %launch
  %count = field launch.count, %launch
  %sizes = field launch.sizes, %launch
  call void @take(ptr %lock)
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %next, %argument ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %argument, label %run
argument:
  %size_at = getelementptr i64, ptr %sizes, i64 %i
  %size = load i64, ptr %size_at
  %value_at = getelementptr ptr, ptr %parameters, i64 %i
  %value = load ptr, ptr %value_at
  %index = trunc i64 %i to i32
  %status = call i32 %set(ptr %kernel, i32 %index, i64 %size, ptr %value)
  %next = add i64 %i, 1
  %taken = icmp eq i32 %status, 0
  br i1 %taken, label %loop, label %end
run:
  %append = field launch.append, %launch
  %groups = address config.grid_x, %config
  %launched = call i32 %append(ptr %list, ptr %kernel, ptr %groups, ptr null, i32 0, ptr null)
  br label %end
end:
  %result = phi i32 [ %status, %argument ], [ %launched, %run ]
  call void @give(ptr %lock)
  ret i32 %result
}
"""


@dataclass(frozen=True)
class Code:
    """Addresses of the compiled functions, and the object that keeps them."""

    start: int
    take: int
    give: int
    keep: Any


@lru_cache(maxsize=1)
def code() -> Code:
    """The compiled functions of this process."""
    text = _TEXT.replace("@UNLOCK", f"@{_UNLOCK}").replace("@LOCK", f"@{_LOCK}")
    text = text.replace("INVALID", str(int(Result.ERROR_INVALID_ARGUMENT)))
    loaded = load_ir(expand(CONFIG.llvm + LAUNCH.llvm + text, (CONFIG, LAUNCH)), ("start", "take", "give"))
    start, take, give = loaded.addresses
    return Code(start, take, give, loaded)


class ListLock:
    """A lock that Python and compiled code take; ``address`` is what the code is given.  Python's own lock is free meanwhile."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(_LOCK_BYTES)
        self.address = ctypes.addressof(self._memory)
        made, form = code(), ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        self._take, self._give = form(made.take), form(made.give)

    def acquire(self) -> None:
        """Wait for it and take it."""
        self._take(self.address)

    def release(self) -> None:
        """Let others have it."""
        self._give(self.address)
