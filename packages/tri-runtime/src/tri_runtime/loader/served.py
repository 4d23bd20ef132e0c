"""Shared libraries of stand-in drivers: each of their functions jumps to an address that this process gives it.

A function without an address returns its refusal, and so do all once the process that serves them ends: a driver's loader or
static destructors may call it after the interpreter is gone.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from tri_core.api import DeviceError

__all__ = ["SLOTS", "ServedDriver", "ServedLibrary", "ir_type", "jump", "require_elf", "slots", "written"]

L = TypeVar("L", bound="ServedLibrary")

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


def require_elf(instead: str) -> None:
    """DeviceError on systems that load no ELF libraries; ``instead`` is the simulated target to use there."""
    if sys.platform != "linux":
        raise DeviceError(
            f"the stand-in driver is an ELF library, which {sys.platform} does not load",
            remedy=f'simulate without a driver: tri.target("{instead}")',
        )


class ServedDriver(Generic[L]):
    """A driver of simulated devices behind a library, served until the interpreter ends, or :meth:`close`.

    ``state`` has ``devices``, ``answers`` (results by function) and ``left()``; ``functions`` are ``ctypes`` callbacks by name.
    """

    def __init__(self, library: L, state: Any, functions: Mapping[str, Any]) -> None:
        self.library, self.state = library, state
        self._functions = dict(functions)  # alive as long as they are served
        library.serve({n: ctypes.cast(f, ctypes.c_void_p).value or 0 for n, f in self._functions.items()})
        atexit.register(library.close)

    @property
    def path(self) -> Path:
        """The library's file."""
        return self.library.path

    def close(self) -> None:
        """Serve nothing any more: every function answers that it is not supported."""
        self.library.close()
        atexit.unregister(self.library.close)

    def lose_device(self, index: int, launch: int | None = None) -> None:
        """Lose device ``index`` now, or in the ``launch``-th launch from now on (1 is the next)."""
        device = self.state.devices[index]
        if launch is None:
            device.lose_on_demand()
        else:
            device.lose_at = device.launches + launch

    def answer(self, function: str, code: int | None) -> None:
        """Have ``function`` do nothing but answer ``code``, until that is None again."""
        if code is None:
            self.state.answers.pop(function, None)
        else:
            self.state.answers[function] = code

    def left(self) -> list[str]:
        """Objects that callers made and did not destroy, by kind; ``allocation`` for memory."""
        found: list[str] = self.state.left()
        return found
