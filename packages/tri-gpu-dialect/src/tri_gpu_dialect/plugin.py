"""The plugin of this package: it brings the ``ttg`` dialect and its passes, and no backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tri_core.api import hookimpl

if TYPE_CHECKING:
    from tri_core.mlir import IRRegistry

TRI_PLUGIN_API = (1, 0)


@hookimpl
def tri_register_ir(registry: IRRegistry) -> None:
    """Register the dialect (its import does) and the passes."""
    from tri_gpu_dialect.dialect import TTG, Gluon

    registry.add_dialect(TTG)
    registry.add_dialect(Gluon)
    registry.add_text("ttg", "tri_gpu_dialect.text")
    registry.add_passes("tri_gpu_dialect.passes")
    registry.add_check("tri_gpu_dialect.transforms.layout.verify_layouts:verify_layouts")
    registry.add_check("tri_gpu_dialect.transforms.layout.verify_target:verify_target")
