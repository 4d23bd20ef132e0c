"""Images among Triton's files, from where PyTorch's static launcher takes them: it launches without Triton, and faster."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tri.compat.triton.cache import get_cache_manager
from tri.compat.triton.groups import keeps_files
from tri_core.target_selection import resolve

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel

__all__ = ["keep_image"]

logger = logging.getLogger(__name__)

#: scalars that C passes as another type
_CONVERTED = frozenset({"fp16", "bf16"})


def keep_image(source: Any, kernel: CompiledKernel) -> None:
    """Write ``<folder of the hash>/<function>.<kind of image>`` where a program chose Triton's cache folder (Inductor does).

    Only for kernels of devices that the signature alone launches, which is all that the static launcher knows; others
    are launched by :meth:`tri_core.compiler.CompiledKernel.run`, and so are all where the file cannot be written.
    """
    name = getattr(getattr(source, "fn", None), "__name__", "")
    if not keeps_files() or not _is_plain(name, kernel):
        return
    try:
        files = get_cache_manager(kernel.hash)
        file = f"{name}.{kernel.image.kind}"
        if not files.has_file(file):
            files.put(kernel.image.data, file)
    except OSError as error:
        logger.warning("the image of %s is not among Triton's files: %s", kernel.name, error)


def _is_plain(function: str, kernel: CompiledKernel) -> bool:
    """True if the image of ``function`` can be launched on its own by name, grid, warps and the signature's
    values.
    """
    metadata = kernel.metadata
    target = resolve(metadata.target)
    return (
        not target.key.simulated
        and target.device_kind != "cpu"
        and metadata.entry == function
        and metadata.is_launched_by_signature
        and not any("." in p.name or p.type in _CONVERTED for p in metadata.signature.parameters)
    )
