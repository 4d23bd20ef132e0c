"""The TritonGPU dialect of tri: layouts, the ``ttg`` dialect, analyses, passes and the lowering to LLVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_gpu_dialect.stage import ttgir_passes, ttgir_stage

__version__ = "0.4.0"

__all__ = ["__version__", "ttgir_passes", "ttgir_stage"]


def __getattr__(name: str) -> Any:
    # the plugin module is imported to list plugins, long before (or without) any IR
    if name in ("ttgir_passes", "ttgir_stage"):
        import tri_gpu_dialect.stage

        return getattr(tri_gpu_dialect.stage, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
