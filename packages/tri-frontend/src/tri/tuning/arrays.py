"""Keeping what a kernel writes the same between trials: copies, restores and zeros of arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tri.launch.arrays import describe
from tri_core.errors import Unsupported

if TYPE_CHECKING:
    from tri_core.target import DeviceInfo

__all__ = ["copy_of", "device_of", "restore", "zero"]


def device_of(arguments: Iterable[Any]) -> DeviceInfo | None:
    """The device of the first array among ``arguments`` that is on one."""
    for value in arguments:
        try:
            device = describe(value).device
        except LookupError:
            continue
        if device is not None:
            return device
    return None


def copy_of(array: Any) -> Any:
    """A copy of ``array`` in memory of its own, on the same device; Unsupported for what cannot be copied."""
    for name in ("clone", "copy"):
        method = getattr(array, name, None)
        if method is not None:
            return method()
    raise _refused(array, "copied", "restore_value")


def restore(array: Any, copy: Any) -> None:
    """Write ``copy`` back into ``array``."""
    copy_into = getattr(array, "copy_", None)
    if copy_into is not None:
        copy_into(copy)
    else:
        _fill(array, copy, "restored", "restore_value")


def zero(array: Any) -> None:
    """Set every element of ``array`` to zero; Unsupported for what cannot be written from Python."""
    method = getattr(array, "zero_", None)
    if method is not None:
        method()
    else:
        _fill(array, 0, "set to zero", "reset_to_zero")


def _fill(array: Any, value: Any, what: str, where: str) -> None:
    try:
        array[...] = value
    except (TypeError, ValueError) as error:
        raise _refused(array, what, where) from error


def _refused(array: Any, what: str, where: str) -> Unsupported:
    return Unsupported(
        f"a {type(array).__name__} named in {where} cannot be {what}",
        remedy="give autotune a pre_hook and a post_hook that do it",
    )
