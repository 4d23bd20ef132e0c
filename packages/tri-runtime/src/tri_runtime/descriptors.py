"""Tensor descriptors that a launch encodes, in its device's own form, from other arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tri_core.api import LaunchDescriptor, LaunchError

__all__ = ["DescriptorEncoder", "Encode"]

#: (record, address of the tensor, shape, strides but the last in bytes; the contiguous dimension last) -> its bytes
Encode = Callable[[LaunchDescriptor, int, Sequence[int], Sequence[int]], bytes]

#: encoded descriptors that a kernel remembers
_REMEMBERED = 1024

#: bytes that bases and strides are multiples of
_PIECE = 16
_BYTES = {
    "u8": 1,
    "u16": 2,
    "f16": 2,
    "bf16": 2,
    "u32": 4,
    "s32": 4,
    "f32": 4,
    "u64": 8,
    "s64": 8,
    "f64": 8,
    "tf32": 4,
}


class DescriptorEncoder:
    """The descriptors of one kernel for the arguments of a launch; the same tensors are encoded once.

    ``encode`` makes one; LaunchError for what is no tensor that a device's copies can reach.  ``empty_base`` gives the address of
    16 bytes, aligned to 16, in place of a tensor without elements that a descriptor allows: zeros, or (True) bytes that may be written.
    """

    def __init__(
        self, descriptors: Sequence[LaunchDescriptor], encode: Encode, empty_base: Callable[[bool], int]
    ) -> None:
        self._descriptors, self._encode, self._empty_base = tuple(descriptors), encode, empty_base
        self._parameters = tuple(sorted({p for d in self._descriptors for p in d.parameters}))
        self._known: dict[tuple[Any, ...], tuple[bytes, ...]] = {}

    def __call__(self, arguments: Sequence[Any]) -> tuple[bytes, ...]:
        """The bytes of each descriptor, in order."""
        key = tuple([arguments[p] for p in self._parameters])
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            found = self._known[key] = tuple(self._encoded(d, arguments) for d in self._descriptors)
        return found

    def _encoded(self, descriptor: LaunchDescriptor, arguments: Sequence[Any]) -> bytes:
        address = int(arguments[descriptor.base])
        shape = [n.of(arguments) for n in descriptor.shape]
        if descriptor.empty != "refused" and min(shape) == 0:
            element = self._empty_base(descriptor.empty == "written")
            return self._encode(descriptor, element, [1] * len(shape), [_PIECE] * (len(shape) - 1))
        strides = [n.of(arguments) * _BYTES[descriptor.element] for n in descriptor.strides]
        if wrong := _wrong(address, shape, strides):
            raise LaunchError(
                f"a tensor descriptor of shape {shape}: {wrong}",
                remedy="pad the tensor's rows to 16 bytes; do not launch for an empty one",
            )
        return self._encode(descriptor, address, shape, strides)


def _wrong(address: int, shape: Sequence[int], strides: Sequence[int]) -> str | None:
    """Violated requirement of block copies on any device that has them; None if there is none."""
    if address % _PIECE:
        return f"its base {address:#x} is not a multiple of 16 bytes"
    if any(n < 1 for n in shape):
        return "it is empty"
    if any(s % _PIECE or s < 0 for s in strides):
        return f"its strides are {list(strides)} bytes; multiples of 16 are expected"
    return None
