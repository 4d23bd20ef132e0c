"""Object files into this process's memory, by code of our own: no object, however broken, ends the process.

Called by runtimes whose kernels are code of the host.  See ``docs/design/loader.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri_runtime.loader.triples import loadable_triple

if TYPE_CHECKING:
    from tri_runtime.loader.loaded import LoadedObject, load_ir

__all__ = ["LoadedObject", "load_ir", "loadable_triple"]


def __getattr__(name: str) -> Any:
    # who only asks for a triple, as targets do, loads nothing
    if name in ("LoadedObject", "load_ir"):
        from tri_runtime.loader import loaded

        return getattr(loaded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
