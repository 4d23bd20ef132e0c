"""Object files into this process's memory, by code of our own: no object, however broken, ends the process.

Called by runtimes whose kernels are code of the host.  See ``docs/design/loader.md``.
"""

from __future__ import annotations

from tri_runtime.loader.loaded import LoadedObject, load_ir, loadable_triple

__all__ = ["LoadedObject", "load_ir", "loadable_triple"]
