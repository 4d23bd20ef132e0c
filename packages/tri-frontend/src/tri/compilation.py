"""``tri.compile``: a kernel for a target, with no device needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tri_core.errors import TriError
from tri_core.tracebacks import shorten

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel, IRSource, Source
    from tri_core.options import CommonOptions
    from tri_core.target_selection import Spec

__all__ = ["compile"]


def compile(  # noqa: A001  Triton's name
    src: Source | IRSource | str | Path,
    target: Spec | None = None,
    options: CommonOptions | Mapping[str, Any] | None = None,
) -> CompiledKernel:
    """Compile ``src`` for ``target`` (``"backend:arch"``, or a backend's name for its present device).

    ``src`` is a :class:`tri.ASTSource`, or the path of a file of IR whose suffix names its stage
    (``kernel.ttir``).  Such a kernel is launched as ``kernel[grid](...)`` too.  The result has ``metadata`` and ``asm[stage]``.  Raises a TriError for all that can
    go wrong; see :mod:`tri_core.errors`.
    """
    from tri.launch.files import FileSource
    from tri_core.compiler import compile as compile_source

    try:
        source = FileSource.from_file(src) if isinstance(src, (str, Path)) else src
        return compile_source(source, target, options)
    except TriError as error:
        shorten(error)
        raise
