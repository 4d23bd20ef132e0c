"""The driver's options that an image may be built with."""

from __future__ import annotations

from tri_core.api import KernelImage

__all__ = ["modes_of"]


def modes_of(image: KernelImage) -> tuple[str, ...]:
    """The driver's options that ``image`` may be built with: one, or those of register modes to choose among."""
    attrs = image.metadata.attrs
    modes = attrs.get("register_modes")
    if isinstance(modes, list | tuple) and modes:
        return tuple(map(str, modes))
    return (str(attrs.get("build_options", "")),)
