"""Check of an image's parameters against a launch's: drivers read as many arguments as the image has
parameters, wherever they end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tri_core.api import Argument, KernelImage, LaunchError, Parameter
from tri_runtime.limits import null_pointer
from tri_runtime.packing import ArgumentTable, argument_table

__all__ = ["check_arguments", "check_parameters"]


def check_arguments(kernel: str, parameters: tuple[Parameter, ...], values: Sequence[Argument]) -> None:
    """LaunchError when one of ``values`` is null for a pointer to host memory, or does not fit the type of its parameter.

    For launchers that hand values over without packing them.
    """
    for parameter, value in zip(parameters, values, strict=True):
        if parameter.is_pointer and not value:
            raise null_pointer(kernel, parameter)
    table = argument_table(parameters)
    table.pack_into(ctypes.create_string_buffer(max(table.size, 1)), values)


def check_parameters(image: KernelImage, found: Sequence[int | None] | None, table: ArgumentTable) -> None:
    """LaunchError unless ``image``, whose parameters have ``found`` bytes, takes the arguments that ``table`` lays out.

    A size of None is not known; ``found`` is None where the image does not say what it takes.
    """
    if found is None:
        return
    passed = table.sizes
    fits = len(found) == len(passed) and all(f is None or f == p for f, p in zip(found, passed, strict=True))
    if fits:
        return
    names = [f"{p.name}: {p.type}" for p in table.parameters] + ["a descriptor"] * table.descriptors
    raise LaunchError(
        f"the image ({image.kind}) of kernel {image.metadata.name} takes {_description(found)}; a launch passes "
        f"{_description(passed)} ({', '.join(names)})",
        remedy="an image, or a stage that replaces what the compiler makes, must keep the kernel's parameters: compare it "
        "with the one that was compiled",
    )


def _description(sizes: Sequence[int | None]) -> str:
    if not sizes:
        return "no parameters"
    text = ", ".join("?" if size is None else str(size) for size in sizes)
    return f"{len(sizes)} parameter{'s' if len(sizes) > 1 else ''} of {text} bytes"
