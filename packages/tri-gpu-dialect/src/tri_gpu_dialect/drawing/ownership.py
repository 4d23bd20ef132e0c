"""Element ownership: a layout and a shape as a table, for display."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tri_core.api import OptionError, TriError, VerificationError
from tri_core.forks import cached_property
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.encodings import Encoding, SharedEncoding, decode
from tri_gpu_dialect.layouts import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout
from tri_gpu_dialect.layouts.encoding import layout_for
from tri_gpu_dialect.layouts.shared import pad_offset

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["LARGEST", "Owner", "Ownership", "ownership_of", "parse_encoding"]

#: elements (times copies) beyond which a picture helps nobody
LARGEST = 1 << 18

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Owner:
    """One place that holds an element: in registers, or in shared memory at ``offset`` (elements)."""

    register: int = 0
    lane: int = 0
    warp: int = 0
    block: int = 0
    offset: int | None = None


@dataclass(frozen=True)
class Ownership:
    """For every element of a tensor of ``shape`` its owners, elements in row-major order.

    ``lanes`` is the number of lanes of a warp; thread ``warp * lanes + lane`` of a block is what pictures show.
    """

    encoding: Encoding
    shape: Shape
    layout: LinearLayout
    owners: tuple[tuple[Owner, ...], ...]

    @property
    def shared(self) -> bool:
        """True if the tensor is in shared memory."""
        return isinstance(self.encoding, SharedEncoding)

    @cached_property
    def groups(self) -> int:
        """Warps of all blocks together, by which the layout tells elements apart."""
        return math.prod(self.layout.in_size(each) for each in (WARP, BLOCK) if self.layout.has_in(each))

    @cached_property
    def lanes(self) -> int:
        """Lanes of a warp."""
        return self.layout.in_size(LANE) if self.layout.has_in(LANE) else 1

    @cached_property
    def blocks(self) -> int:
        """Blocks of the cluster."""
        return self.layout.in_size(BLOCK) if self.layout.has_in(BLOCK) else 1

    @cached_property
    def copies(self) -> int:
        """The largest number of owners of one element."""
        return max(len(owners) for owners in self.owners)

    def blocks_of(self, element: int) -> tuple[int, ...]:
        """The numbers of the blocks that have ``element`` (row-major), in order."""
        return tuple(sorted({owner.block for owner in self.owners[element]}))

    def thread(self, owner: Owner) -> int:
        """The number of the owner's thread in its block."""
        return owner.warp * self.lanes + owner.lane

    def summary(self) -> str:
        """One line: how many of each there are."""
        sizes = {name: n for name, n in self.layout.in_sizes.items() if n > 1 or name != BLOCK}
        counts = ", ".join(f"{n} {name}{'s' if n != 1 else ''}" for name, n in sizes.items())
        copies = f"; each element up to {self.copies} times" if self.copies > 1 else ""
        return f"{'x'.join(map(str, self.shape))}: {counts}{copies}"


def parse_encoding(text: str, rank: int = 2) -> Encoding:
    """The encoding that ``text`` writes as in Triton's syntax; VerificationError for anything else.

    Call it in a :func:`tri_core.mlir.session`, with all dialects registered.
    """
    if not text.strip().startswith("#"):
        raise _malformed(text, "an attribute starts with #")
    shape = "x".join(["2"] * rank)
    module = f"module {{\n  tt.func public @k(%x: tensor<{shape}xf32, {text}>) {{\n    tt.return\n  }}\n}}\n"
    try:
        parsed = parse_module(module, "LAYOUT")
        function = next(iter(parsed.body)).operation
        argument = function.regions[0].blocks[0].arguments[0]
        return decode(ir.RankedTensorType(argument.type).encoding)
    except TriError as error:
        raise _malformed(text, error.message) from error
    except (ir.MLIRError, ValueError) as error:
        raise _malformed(text, str(error).splitlines()[0]) from error


def _malformed(text: str, why: str) -> VerificationError:
    return VerificationError(
        f"{text!r} is no layout: {why}",
        remedy="write an encoding as `tri opt` prints it, "
        "such as '#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>'",
    )


def ownership_of(encoding: Encoding, shape: Shape) -> Ownership:
    """The owners of all elements of a tensor of ``shape``.

    OptionError for a shape that is too large or not of powers of two, VerificationError for one that the
    encoding does not fit.
    """
    if not shape or any(n < 1 or n & (n - 1) for n in shape):
        raise OptionError(
            f"the shape {'x'.join(map(str, shape))} is not of powers of two", remedy="give one such as 16x16"
        )
    try:
        layout = layout_for(encoding, shape)
    except (ValueError, TypeError, LookupError) as error:
        why = "" if isinstance(error, LookupError) else f": {error}"
        raise VerificationError(
            f"{encoding} does not fit the shape {'x'.join(map(str, shape))}{why}",
            remedy="give a shape of the encoding's rank",
        ) from error
    if layout.in_bits > LARGEST.bit_length() - 1:
        raise OptionError(
            f"{encoding} has {1 << layout.in_bits} places for {math.prod(shape)} elements; {LARGEST} can be shown",
            remedy="give a smaller shape",
        )
    return Ownership(encoding, shape, layout, _owners(encoding, layout, shape))


def _owners(encoding: Encoding, layout: LinearLayout, shape: Shape) -> tuple[tuple[Owner, ...], ...]:
    places = {name: _place(layout, name) for name in layout.in_dims}
    elements = _elements(layout, shape)
    padding = encoding.padding if isinstance(encoding, SharedEncoding) else ()
    found: list[list[Owner]] = [[] for _ in range(math.prod(shape))]
    for i, element in enumerate(elements.tolist()):
        at = {name: int(values[i]) for name, values in places.items()}
        if OFFSET in at:
            at[OFFSET] = pad_offset(at[OFFSET], padding)
        found[element].append(Owner(**at))
    order = (BLOCK, WARP, LANE, REGISTER)
    return tuple(tuple(sorted(f, key=lambda o: [getattr(o, name) for name in order])) for f in found)


def _place(layout: LinearLayout, name: str) -> npt.NDArray[np.int64]:
    """The coordinate ``name`` of every place, places in packed order."""
    import numpy as np

    packed = np.arange(1 << layout.in_bits, dtype=np.int64)
    start = 0
    for other, size in layout.in_sizes.items():
        bits = size.bit_length() - 1
        if other == name:
            return (packed >> start) & (size - 1)
        start += bits
    raise KeyError(name)


def _elements(layout: LinearLayout, shape: Shape) -> npt.NDArray[np.int64]:
    """The row-major number of the element in every place."""
    import numpy as np

    packed = layout.table()
    made = np.zeros_like(packed)
    start = 0
    sizes = layout.out_sizes
    for d, (name, size) in enumerate(sizes.items()):
        if name != f"dim{d}":
            raise VerificationError(f"a layout with outputs {list(sizes)}")
        coordinate = (packed >> start) & (size - 1)
        made += coordinate * math.prod(shape[d + 1 :])
        start += size.bit_length() - 1
    return made


if TYPE_CHECKING:
    import numpy as np
