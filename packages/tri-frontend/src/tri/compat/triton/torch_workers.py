"""Compiler preloaded in PyTorch's compile worker before it forks the processes that compile.

A forked process inherits what is loaded: without this each of them spends a second on imports before its first kernel.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tri_core import knobs
from tri_core.errors import TriError

if TYPE_CHECKING:
    from tri_core.plugin_records import BackendInfo

__all__ = ["preload"]

_log = logging.getLogger(__name__)

#: the end of the path of the program that forks Inductor's compile workers: PyTorch starts it as a file, so that it has no spec
_WORKER = ("torch", "_inductor", "compile_worker", "__main__.py")


def preload() -> None:
    """Compile a small kernel for PyTorch's devices, once, if this process forks PyTorch's compile workers.

    No driver is called, and nothing is put into the cache.  A backend that cannot compile is left out: the kernel that
    needs it says why.
    """
    if _forks_workers():
        _load()


def _forks_workers() -> bool:
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return file is not None and Path(file).parts[-len(_WORKER) :] == _WORKER


@lru_cache
def _load() -> None:
    from tri_core.compiler import trace

    for target in _targets():
        try:
            trace(_kernel(), target)
        except TriError as error:
            _log.debug("nothing is loaded for %s: %s", target, error)


def _targets() -> Iterator[str]:
    """``TRI_TARGET``, else the latest architecture of each backend for a kind of device that this PyTorch is made for."""
    from tri_core.plugins import manager

    if chosen := knobs.get("TARGET"):
        yield chosen
        return
    torch: Any = sys.modules.get("torch")
    infos = tuple(manager().backends().values())
    yield from map(_latest, [info for info in infos if _is_for(info, torch)] or infos)


def _is_for(info: BackendInfo, torch: ModuleType | None) -> bool:
    version = getattr(torch, "version", None)
    return any(getattr(version, kind, None) for kind in info.device_kinds)


def _latest(info: BackendInfo) -> str:
    return f"{info.name}:{info.architectures[-1]}" if info.architectures else info.name


def _kernel() -> Any:
    """The source of a kernel with what most have: a program's block of elements, a mask, a sum."""
    import tri.language as tl
    from tri.compiler.source import ASTSource
    from tri.jit import jit

    @jit
    def sums(x: Any, y: Any, n: Any, BLOCK: tl.constexpr) -> None:
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        row = tl.load(x + i, i < n, 0.0)
        tl.store(y + i, row / tl.sum(row, 0), i < n)

    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    return ASTSource(sums, signature, {"BLOCK": 128})
