"""Grids that a launch takes, whatever driver launches: OpenCL's device for CPUs takes what it cannot run, or ends the process."""

from __future__ import annotations

from tri_backend_intel.architectures import target
from tri_core.api import KernelImage
from tri_runtime import check_grid

__all__ = ["check_extents", "most_groups"]

Extents = tuple[int, int, int]


def most_groups(image: KernelImage, device: Extents = (0, 0, 0)) -> Extents:
    """Work groups along x, y, z at most: what the image's target says, or ``device`` where that says less and is not 0."""
    limits = target(image.metadata.target, None).spec.limits
    x, y, z = (min(n or limits[f"grid_{a}"], limits[f"grid_{a}"]) for n, a in zip(device, "xyz", strict=True))
    return x, y, z


def check_extents(grid: Extents, limits: Extents) -> None:
    """An extent of 0 launches nothing; LaunchError for others that are not within ``limits``."""
    check_grid(grid, {f"grid_{axis}": most for axis, most in zip("xyz", limits, strict=True)})
