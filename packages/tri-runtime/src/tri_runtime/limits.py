"""Refusals that need no driver: what a kernel asks for, against what its target has."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.api import KernelMetadata, LaunchError, Parameter
from tri_core.resources import refusals

__all__ = ["check_grid", "check_resources", "null_pointer"]


def check_resources(metadata: KernelMetadata, limits: Mapping[str, int]) -> None:
    """OutOfResources for the first resource of ``metadata`` that exceeds its limit in ``limits``.

    Resources are compared under equal names; ``shared`` bytes and ``threads`` per CTA are taken from the
    metadata itself where its resources do not name them.
    """
    for refused in refusals(metadata, limits):
        raise refused


def check_grid(grid: tuple[int, int, int], limits: Mapping[str, int]) -> None:
    """LaunchError when an extent of ``grid`` (CTAs along x, y, z) is negative or above its limit."""
    for axis, extent in zip("xyz", grid, strict=True):
        have = limits.get(f"grid_{axis}")
        if extent < 0 or (have is not None and extent > have):
            raise LaunchError(
                f"the grid is {grid}; its {axis} extent must lie between 0 and {have}",
                remedy="spread the programs over more grid axes, or let each handle more elements",
            )


def null_pointer(kernel: str, parameter: Parameter) -> LaunchError:
    """The error for ``parameter`` of ``kernel``, a pointer to host memory that is null."""
    return LaunchError(
        f"pointer argument {parameter.name!r} of {kernel} is null",
        remedy="pass an array that owns memory; for no array at all, make the parameter a constexpr that is None",
    )
