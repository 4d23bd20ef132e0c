"""The simulator's form of an encoded tensor descriptor: 128 bytes, as a table of fields.

Copy engines of real devices have a form of their own, which a driver makes.  This one is what the simulator's launches
pass in its place, and what the machine ops of such engines read.  Dimensions go from the contiguous one on.

==========  ==================================  ====================================================
bytes       field                               value
==========  ==================================  ====================================================
0 - 7       ``global_address``                  u64
8           ``rank``                            u8: the number of dimensions less 1
9           ``elemtype``                        u8: the number in :data:`ELEMENT_TYPES`
10          ``interleave_layout``               u8: 0, none
11          ``swizzle_mode``                    u8: 0 none, 1 32 bytes, 2 64 bytes, 3 128 bytes
12          ``fill_mode``                       u8: 0 zeros, 1 NaN
16 - 35     ``global_dim``                      5 u32, in elements
36 - 55     ``box_dim``                         5 u32, in elements
56 - 75     ``element_stride``                  5 u32, in elements
80 - 111    ``global_stride``                   4 u64, in bytes, of dimensions 1 to 4
==========  ==================================  ====================================================
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tri_core.api import LaunchDescriptor, LaunchError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ELEMENT_TYPES", "FIELDS", "MAP_BYTES", "SWIZZLES", "TensorMap", "encode_descriptor"]

MAP_BYTES = 128
#: field -> (offset, struct code, how many)
FIELDS = {
    "global_address": (0, "Q", 1),
    "rank": (8, "B", 1),
    "elemtype": (9, "B", 1),
    "interleave_layout": (10, "B", 1),
    "swizzle_mode": (11, "B", 1),
    "fill_mode": (12, "B", 1),
    "global_dim": (16, "I", 5),
    "box_dim": (36, "I", 5),
    "element_stride": (56, "I", 5),
    "global_stride": (80, "Q", 4),
}
#: type -> (number, bytes)
ELEMENT_TYPES = {
    "u8": (0, 1),
    "u16": (1, 2),
    "u32": (2, 4),
    "s32": (3, 4),
    "u64": (4, 8),
    "s64": (5, 8),
    "f16": (6, 2),
    "f32": (7, 4),
    "f64": (9, 8),
    "bf16": (10, 2),
    "tf32": (11, 4),
}
#: bytes of a swizzled row -> number
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_BY_NUMBER = {number: name for name, (number, _) in ELEMENT_TYPES.items()}
_ROW_BYTES = {number: nbytes for nbytes, number in SWIZZLES.items()}


@dataclass(frozen=True, kw_only=True)
class TensorMap:
    """A tensor, and the box that is copied at once; dimensions from the contiguous one on.

    ``dims``, ``box`` and ``steps`` (element strides) are in elements; ``strides`` in bytes, without that of the
    contiguous dimension; ``swizzle`` is the width of a swizzled row in bytes, 0 for none; ``nan``: what is outside of
    the tensor reads as NaN.
    """

    address: int
    element: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int = 0
    nan: bool = False

    @property
    def element_bytes(self) -> int:
        """Bytes of an element."""
        return ELEMENT_TYPES[self.element][1]

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements that a copy takes along each dimension."""
        return tuple(-(-size // step) for size, step in zip(self.box, self.steps, strict=True))

    def check(self) -> str | None:
        """Violated requirement of the copy engine; None if there is none."""
        inner = self.counts[0] * self.element_bytes
        checks = {
            "its base is not a multiple of 16 bytes": self.address % 16,
            "a dimension is not within 1 and 2^32": not all(1 <= d <= 1 << 32 for d in self.dims),
            "a stride is not a multiple of 16 bytes within 0 and 2^40": any(
                s % 16 or not 0 <= s < 1 << 40 for s in self.strides
            ),
            "a box has not 1 to 256 elements along a dimension": not all(1 <= n <= 256 for n in self.box),
            "an element stride is not within 1 and 8": not all(1 <= n <= 8 for n in self.steps),
            "the rows of a box are not multiples of 16 bytes": inner % 16,
            f"the rows of a box have {inner} bytes, more than the swizzle": self.swizzle
            and inner > self.swizzle,
            "integers have no NaN": self.nan and "f" not in self.element,
        }
        return next((text for text, wrong in checks.items() if wrong), None)

    def encode(self) -> bytes:
        """The 128 bytes; LaunchError for what a copy engine cannot do."""
        if wrong := self.check():
            raise LaunchError(
                f"a tensor map cannot be made: {wrong}", remedy="copy the tensor to one that is aligned"
            )
        made = bytearray(MAP_BYTES)
        values: dict[str, Sequence[int]] = {
            "global_address": [self.address],
            "rank": [len(self.dims) - 1],
            "elemtype": [ELEMENT_TYPES[self.element][0]],
            "interleave_layout": [0],
            "swizzle_mode": [SWIZZLES[self.swizzle]],
            "fill_mode": [int(self.nan)],
            "global_dim": [d & 0xFFFFFFFF for d in self.dims],
            "box_dim": self.box,
            "element_stride": self.steps,
            "global_stride": self.strides,
        }
        for name, given in values.items():
            offset, code, _ = FIELDS[name]
            struct.pack_into(f"<{len(given)}{code}", made, offset, *given)
        return bytes(made)

    @classmethod
    def decode(cls, data: bytes) -> TensorMap:
        """The map that ``data`` says; ValueError for what is none."""
        found = {
            name: struct.unpack_from(f"<{count}{code}", data, offset)
            for name, (offset, code, count) in FIELDS.items()
        }
        rank = found["rank"][0] + 1
        if rank > 5 or found["elemtype"][0] not in _BY_NUMBER or found["swizzle_mode"][0] not in _ROW_BYTES:
            raise ValueError("these bytes are no tensor map")
        if found["interleave_layout"][0]:
            raise ValueError("interleaved layouts are not simulated")
        made = cls(
            address=found["global_address"][0],
            element=_BY_NUMBER[found["elemtype"][0]],
            dims=tuple(d or 1 << 32 for d in found["global_dim"][:rank]),
            strides=tuple(found["global_stride"][: rank - 1]),
            box=tuple(found["box_dim"][:rank]),
            steps=tuple(found["element_stride"][:rank]),
            swizzle=_ROW_BYTES[found["swizzle_mode"][0]],
            nan=bool(found["fill_mode"][0]),
        )
        if wrong := made.check():
            raise ValueError(wrong)
        return made


def encode_descriptor(
    descriptor: LaunchDescriptor, address: int, shape: Sequence[int], strides: Sequence[int]
) -> bytes:
    """``descriptor`` of the tensor at ``address``; the contiguous dimension last, strides in bytes without its own."""
    made = TensorMap(
        address=address,
        element=descriptor.element,
        dims=tuple(shape)[::-1],
        strides=tuple(strides)[::-1],
        box=descriptor.box[::-1],
        steps=(1,) * len(shape),
        swizzle=descriptor.swizzle,
        nan=descriptor.nan,
    )
    return made.encode()
