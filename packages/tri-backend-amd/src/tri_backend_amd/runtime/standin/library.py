"""``libamdhip64.so`` as a file: functions each of which jumps to what this process gives it.

A function that nobody gave answers that it is not supported, and so do all once the process that serves them ends: static
destructors may call HIP after the interpreter is gone.
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

from tri_backend_amd.runtime.standin.errors import HipError
from tri_backend_amd.runtime.standin.functions import FUNCTIONS, TEXTS
from tri_runtime.loader.loaded import compile_ir
from tri_runtime.loader.shared import shared_library

__all__ = ["Library", "library_text"]

_SLOTS = "tri_standin_slots"
#: no name of HIP's: a process that has made a stand-in has not loaded HIP, unless somebody is led to it
_NAME = "libtri_hip_standin.so.1"
_SERVED = (*FUNCTIONS, *TEXTS)


def _type(kind: type) -> str:
    return "ptr" if kind is ctypes.c_void_p else f"i{8 * ctypes.sizeof(kind)}"


def _jump(slot: int, name: str) -> str:
    """The function ``name``: what its slot holds, called with the same arguments."""
    gives, refusal = ("ptr", "@unserved") if name in TEXTS else ("i32", f"{HipError.NOT_SUPPORTED:d}")
    types = ["i32"] if name in TEXTS else [_type(kind) for kind in FUNCTIONS[name]]
    formal = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(types))
    return (
        f"define dso_local {gives} @{name}({formal}) {{\n"
        f"  %slot = getelementptr ptr, ptr @{_SLOTS}, i64 {slot}\n"
        "  %given = load atomic ptr, ptr %slot acquire, align 8\n"
        "  %none = icmp eq ptr %given, null\n"
        "  br i1 %none, label %refuse, label %serve\n"
        "serve:\n"
        f"  %done = tail call {gives} %given({formal})\n"
        f"  ret {gives} %done\n"
        "refuse:\n"
        f"  ret {gives} {refusal}\n"
        "}\n"
    )


@cache
def library_text() -> str:
    """The library as LLVM IR."""
    parts = [f"@{_SLOTS} = dso_local global [{len(_SERVED)} x ptr] zeroinitializer\n"]
    parts += ['@unserved = dso_local constant [9 x i8] c"unserved\\00"\n']
    parts += [_jump(slot, name) for slot, name in enumerate(_SERVED)]
    return "".join(parts)


def _written() -> Path:
    """The library in a folder of this process's own, which goes when the process ends, and a link where ROCm has HIP."""
    data = shared_library(compile_ir(library_text()), [_SLOTS, *_SERVED], _NAME)
    folder = Path(tempfile.mkdtemp(prefix="tri-standin-"))
    atexit.register(_remove, folder, os.getpid())
    path = folder / _NAME
    path.write_bytes(data)
    link = folder / "lib" / "libamdhip64.so"
    link.parent.mkdir()
    link.symlink_to(path)
    return path


def _remove(folder: Path, maker: int) -> None:
    if os.getpid() == maker:  # not in a child, which ends sooner
        shutil.rmtree(folder, ignore_errors=True)


class Library:
    """The loaded library at ``path``; ``serve`` gives it functions, which must outlive it, ``close`` takes them away."""

    def __init__(self) -> None:
        self.path = _written()
        self.loaded = ctypes.CDLL(str(self.path))
        self._slots = (ctypes.c_void_p * len(_SERVED)).in_dll(self.loaded, _SLOTS)

    @property
    def root(self) -> Path:
        """The folder that ``ROCM_PATH`` names."""
        return self.path.parent

    def serve(self, addresses: Mapping[str, int]) -> None:
        """Let functions, by name, be at ``addresses``."""
        for slot, name in enumerate(_SERVED):
            if name in addresses:
                self._slots[slot] = addresses[name]

    def close(self) -> None:
        """Nothing is served any more."""
        for slot in range(len(_SERVED)):
            self._slots[slot] = None
