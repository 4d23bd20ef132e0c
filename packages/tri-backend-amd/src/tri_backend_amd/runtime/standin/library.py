"""``libamdhip64.so`` as a file: functions each of which jumps to what this process gives it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tri_backend_amd.runtime.standin.errors import HipError
from tri_backend_amd.runtime.standin.functions import FUNCTIONS, TEXTS
from tri_runtime.loader.loaded import compile_ir
from tri_runtime.loader.served import SLOTS, ServedLibrary, ir_type, jump, slots, written
from tri_runtime.loader.shared import shared_library

__all__ = ["Library", "library_text"]

#: no name of HIP's: a process that has made a stand-in has not loaded HIP, unless somebody is led to it
_NAME = "libtri_hip_standin.so.1"
_SERVED = (*FUNCTIONS, *TEXTS)


def _jump(slot: int, name: str) -> str:
    """The function ``name``: an error's text, or a status."""
    if name in TEXTS:
        return jump(name, slot, ["i32"], "@unserved", result="ptr")
    return jump(name, slot, [ir_type(kind) for kind in FUNCTIONS[name]], f"{HipError.NOT_SUPPORTED:d}")


@cache
def library_text() -> str:
    """The library as LLVM IR."""
    parts = [slots(len(_SERVED)), '@unserved = dso_local constant [9 x i8] c"unserved\\00"\n']
    return "".join([*parts, *(_jump(slot, name) for slot, name in enumerate(_SERVED))])


def _made() -> Path:
    """The library as a file, and a link to it where ROCm has HIP."""
    path = written(shared_library(compile_ir(library_text()), [SLOTS, *_SERVED], _NAME), _NAME)
    link = path.parent / "lib" / "libamdhip64.so"
    link.parent.mkdir()
    link.symlink_to(path)
    return path


class Library(ServedLibrary):
    """The loaded library."""

    def __init__(self) -> None:
        super().__init__(_made(), _SERVED)

    @property
    def root(self) -> Path:
        """The folder that ``ROCM_PATH`` names."""
        return self.path.parent
