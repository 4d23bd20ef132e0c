"""Gluon's layout classes: records with its field names, each of which stands for one of our encodings.

A record answers no question about places itself: :meth:`Layout.encoding` does.  :func:`layout_of` goes back from an encoding
to the record of its class; whoever defines a record for further encodings (a vendor) registers it with :func:`stands_for`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tri.language import constexpr_function
from tri.language.constexpr import constexpr_type, unwrap
from tri_core.errors import CompilationError, Unsupported
from tri_gpu_dialect import encodings
from tri_gpu_dialect.drawing import draw_text, ownership_of
from tri_gpu_dialect.encodings import DistributedEncoding, Encoding, SharedEncoding
from tri_gpu_dialect.layouts import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout

__all__ = [
    "AutoLayout",
    "BlockedLayout",
    "CoalescedLayout",
    "DistributedLayout",
    "DistributedLinearLayout",
    "DotOperandLayout",
    "Layout",
    "PaddedSharedLayout",
    "SharedLayout",
    "SharedLinearLayout",
    "SliceLayout",
    "SwizzledSharedLayout",
    "layout_of",
    "linear_record",
    "stands_for",
]

Shape = tuple[int, ...]
Bases = tuple[tuple[int, ...], ...]
E = TypeVar("E", bound=Encoding)


def _frozen(value: Any) -> Any:
    """``value`` with tuples for lists, all constexprs taken out."""
    value = unwrap(value)
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


class Layout(abc.ABC):
    """A placement of tensors by Gluon's name; subclasses are frozen dataclasses."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # a dataclass by contract
            object.__setattr__(self, field.name, _frozen(getattr(self, field.name)))
        try:
            self.encoding()
        except (TypeError, ValueError, LookupError) as error:
            raise CompilationError(
                f"{type(self).__name__}: {error}", remedy=f"the arguments are {self!r}"
            ) from error

    @abc.abstractmethod
    def encoding(self) -> Encoding | None:
        """The encoding that the record stands for; None for a layout that is left open."""

    @property
    @abc.abstractmethod
    def rank(self) -> int:
        """The number of dimensions."""

    @property
    def type(self) -> constexpr_type:
        """The type of the layout as a compile-time value."""
        return constexpr_type(self)

    def mangle(self) -> str:
        """The layout inside the name of a specialised function."""
        text = "_".join(str(getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}_{text}"


class DistributedLayout(Layout):
    """A placement in registers."""

    def encoding(self) -> DistributedEncoding | None:
        """See :meth:`Layout.encoding`."""
        raise NotImplementedError

    def format_tensor_view(self, shape: Sequence[int]) -> str:
        """The thread that owns each element of a tensor of ``shape``, as text."""
        return _drawn(self, shape, "thread")

    def format_hardware_view(self, shape: Sequence[int]) -> str:
        """The register, lane and warp that own each element of a tensor of ``shape``, as text."""
        return _drawn(self, shape, "all")


def _drawn(layout: Layout, shape: Sequence[int], what: str) -> str:
    encoding = layout.encoding()
    if encoding is None:
        raise CompilationError(f"{layout} is left open: it has no view", remedy="name a layout")
    return draw_text(ownership_of(encoding, _frozen(shape)), what)


class SharedLayout(Layout):
    """A placement in shared memory."""

    def encoding(self) -> SharedEncoding:
        """See :meth:`Layout.encoding`."""
        raise NotImplementedError

    def format_tensor_view(self, shape: Sequence[int]) -> str:
        """The place of each element of a tensor of ``shape``, as text."""
        return _drawn(self, shape, "thread")

    def format_hardware_view(self, shape: Sequence[int]) -> str:
        """The same: a picture of shared memory has no threads."""
        return _drawn(self, shape, "all")


_RECORDS: dict[type[Encoding], Callable[[Any], Layout]] = {}


def stands_for(cls: type[E]) -> Callable[[Callable[[E], Layout]], Callable[[E], Layout]]:
    """Register a function that makes the record of an encoding of class ``cls``."""

    def register(make: Callable[[E], Layout]) -> Callable[[E], Layout]:
        _RECORDS[cls] = make
        return make

    return register


def layout_of(encoding: Encoding | None) -> Any:
    """The record of ``encoding``; ``AutoLayout()`` for None.  Unsupported where Gluon has no name for it."""
    if encoding is None:
        return AutoLayout()
    make = _RECORDS.get(type(encoding))
    if make is None:
        raise Unsupported(
            f"Gluon has no layout for {encoding}", remedy="convert it to a layout that the language can name"
        )
    return make(encoding)


# --- layouts that are left open -------------------------------------------------------------------------


@dataclass(frozen=True)
class AutoLayout(DistributedLayout):
    """A layout that follows from where the value is used."""

    def encoding(self) -> None:
        """None."""
        return

    @property
    def rank(self) -> int:
        """ValueError: it has none."""
        raise ValueError("AutoLayout has no rank")


@dataclass(frozen=True)
class CoalescedLayout(DistributedLayout):
    """A layout that makes accesses of memory contiguous; not chosen in this version."""

    def encoding(self) -> None:
        """Unsupported: nothing chooses it yet."""
        raise Unsupported("CoalescedLayout is not resolved in this version", remedy="write a BlockedLayout")

    @property
    def rank(self) -> int:
        """ValueError: it has none."""
        raise ValueError("CoalescedLayout has no rank")


# --- in registers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockedLayout(DistributedLayout):
    """Boxes of elements per thread, of threads per warp, of warps per CTA; ``order`` lists dimensions, fastest first."""

    size_per_thread: Any
    threads_per_warp: Any
    warps_per_cta: Any
    order: Any
    cga_layout: Any = ()

    def encoding(self) -> encodings.Blocked:
        """``#ttg.blocked``."""
        return encodings.Blocked(
            self.size_per_thread, self.threads_per_warp, self.warps_per_cta, self.order, self.cga_layout
        )

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.order)


@stands_for(encodings.Blocked)
def _blocked(e: encodings.Blocked) -> BlockedLayout:
    return BlockedLayout(e.size_per_thread, e.threads_per_warp, e.warps_per_cta, e.order, e.cga_layout)


def _inner(layout: Any, what: str) -> DistributedEncoding:
    found = layout.encoding() if isinstance(layout, DistributedLayout) else None
    if found is None:
        raise ValueError(f"{what} is a layout in registers that is not left open; {layout!r} is given")
    return found


@dataclass(frozen=True)
class SliceLayout(DistributedLayout):
    """``parent`` without its dimension ``dim``."""

    dim: Any
    parent: Any

    def encoding(self) -> encodings.Slice:
        """``#ttg.slice``."""
        if not 0 <= self.dim < self.parent.rank:
            raise ValueError(f"dimension {self.dim} of a parent of rank {self.parent.rank}")
        return encodings.Slice(self.dim, _inner(self.parent, "the parent"))

    @property
    def rank(self) -> int:
        """One less than the parent's."""
        return int(self.parent.rank) - 1

    @property
    def cga_layout(self) -> Bases:
        """The parent's without the dimension."""
        return tuple((*basis[: self.dim], *basis[self.dim + 1 :]) for basis in self.parent.cga_layout)


@stands_for(encodings.Slice)
def _slice(e: encodings.Slice) -> SliceLayout:
    return SliceLayout(e.dim, layout_of(e.parent))


@dataclass(frozen=True)
class DotOperandLayout(DistributedLayout):
    """Operand ``operand_index`` (0 or 1) of a dot whose result has layout ``parent``."""

    operand_index: Any
    parent: Any
    k_width: Any = 0

    def encoding(self) -> encodings.DotOperand:
        """``#ttg.dot_op``."""
        return encodings.DotOperand(self.operand_index, _inner(self.parent, "the parent"), self.k_width)

    @property
    def rank(self) -> int:
        """The parent's."""
        return int(self.parent.rank)

    @property
    def cga_layout(self) -> Bases:
        """The parent's, with copies along k."""
        k = self.rank - 1 if self.operand_index == 0 else self.rank - 2
        return tuple(tuple(0 if d == k else v for d, v in enumerate(b)) for b in self.parent.cga_layout)


@stands_for(encodings.DotOperand)
def _operand(e: encodings.DotOperand) -> DotOperandLayout:
    return DotOperandLayout(e.op_idx, layout_of(e.parent), e.k_width)


@dataclass(frozen=True)
class DistributedLinearLayout(DistributedLayout):
    """Any layout of a tensor of ``shape``: the coordinates of each bit of register, lane, warp and CTA."""

    reg_bases: Any
    lane_bases: Any
    warp_bases: Any
    block_bases: Any
    shape: Any

    def encoding(self) -> encodings.Linear:
        """``#ttg.linear``."""
        for bases in (self.reg_bases, self.lane_bases, self.warp_bases, self.block_bases):
            if any(len(basis) != self.rank for basis in bases):
                raise ValueError(f"each basis has {self.rank} entries, as the shape has; {bases} are given")
        return encodings.Linear(self.rank, self.reg_bases, self.lane_bases, self.warp_bases, self.block_bases)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


@stands_for(encodings.Linear)
def _linear(e: encodings.Linear) -> DistributedLinearLayout:
    shape = _extent(e.rank, (e.register, e.lane, e.warp, e.block))
    return DistributedLinearLayout(e.register, e.lane, e.warp, e.block, shape)


def _extent(rank: int, groups: Sequence[Bases]) -> Shape:
    """The smallest shape that has all coordinates."""
    largest = [max((b[d] for bases in groups for b in bases), default=0) for d in range(rank)]
    return tuple(1 << n.bit_length() for n in largest)


def linear_record(layout: LinearLayout) -> DistributedLinearLayout | SharedLinearLayout:
    """``layout`` written out by Gluon's name: of registers, or of shared memory."""
    if layout.has_in(OFFSET):
        return SharedLinearLayout(layout.bases[OFFSET], layout.bases.get(BLOCK, ()))
    register, lane, warp, block = (layout.bases.get(dim, ()) for dim in (REGISTER, LANE, WARP, BLOCK))
    return DistributedLinearLayout(register, lane, warp, block, tuple(layout.out_sizes.values()))


# --- in shared memory -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SwizzledSharedLayout(SharedLayout):
    """Rows along ``order[0]`` whose groups of ``vec`` elements are permuted by xor with the row's phase."""

    vec: Any
    per_phase: Any
    max_phase: Any
    order: Any
    cga_layout: Any = ()

    def encoding(self) -> encodings.SwizzledShared:
        """``#ttg.swizzled_shared``."""
        return encodings.SwizzledShared(self.vec, self.per_phase, self.max_phase, self.order, self.cga_layout)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.order)


@stands_for(encodings.SwizzledShared)
def _swizzled(e: encodings.SwizzledShared) -> SwizzledSharedLayout:
    return SwizzledSharedLayout(e.vec, e.per_phase, e.max_phase, e.order, e.cga_layout)


@dataclass(frozen=True)
class PaddedSharedLayout(SharedLayout):
    """Elements at ``offset_bases`` with gaps: after every interval of elements its padding, both in elements."""

    interval_padding_pairs: Any
    offset_bases: Any
    cga_layout: Any
    shape: Any

    def encoding(self) -> encodings.PaddedShared:
        """``#ttg.padded_shared``."""
        pairs = self.interval_padding_pairs
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ValueError(f"pairs of an interval and a padding are expected; {pairs} are given")
        if any(n < 1 or n & (n - 1) for pair in pairs for n in pair):
            raise ValueError(f"intervals and paddings are powers of two; {pairs} are given")
        if len({interval for interval, _ in pairs}) != len(pairs):
            raise ValueError(f"an interval is there twice in {pairs}")
        return encodings.PaddedShared(pairs, offset=self.offset_bases, block=self.cga_layout)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @staticmethod
    @constexpr_function
    def with_identity_for(
        interval_padding_pairs: Any, shape: Any, order: Any, cga_layout: Any = ()
    ) -> PaddedSharedLayout:
        """Elements of a tensor of ``shape`` one after another along ``order``, with gaps."""
        shape, order, blocks = _frozen(shape), _frozen(order), _frozen(cga_layout)
        if sorted(order) != list(range(len(shape))):
            raise ValueError(f"order {order} is not a permutation of the {len(shape)} dimensions")
        own = _share(shape, blocks)
        bases = [
            tuple(1 << bit if d == dim else 0 for d in range(len(shape)))
            for dim in order
            for bit in range(own[dim].bit_length() - 1)
        ]
        return PaddedSharedLayout(interval_padding_pairs, bases, blocks, shape)


def _share(shape: Shape, blocks: Bases) -> Shape:
    return tuple(n // (1 << sum(1 for b in blocks if b[d])) for d, n in enumerate(shape))


@stands_for(encodings.PaddedShared)
def _padded(e: encodings.PaddedShared) -> PaddedSharedLayout:
    if e.order:
        raise Unsupported(f"Gluon has no layout for {e}", remedy="write the bases of its offsets")
    return PaddedSharedLayout(e.paddings, e.offset, e.block, _extent(len(e.offset[0]), (e.offset, e.block)))


@dataclass(frozen=True)
class SharedLinearLayout(SharedLayout):
    """Any layout of shared memory: the coordinates of each bit of the offset, and of the CTA in its cluster."""

    offset_bases: Any
    block_bases: Any = ()
    alignment: Any = 16

    def encoding(self) -> encodings.SharedLinear:
        """``#ttg.shared_linear``."""
        if not self.offset_bases or not self.offset_bases[0]:
            raise ValueError("the bases of offsets are empty")
        if any(len(basis) != self.rank for basis in (*self.offset_bases, *self.block_bases)):
            raise ValueError(f"each basis has {self.rank} entries, as the first has")
        if self.alignment != encodings.SharedEncoding.alignment.fget(None):  # type: ignore[attr-defined]
            raise Unsupported(
                f"buffers aligned to {self.alignment} bytes", remedy="leave alignment out: it is 16"
            )
        return encodings.SharedLinear(self.rank, self.offset_bases, self.block_bases)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.offset_bases[0])

    @property
    def shape(self) -> Shape:
        """The smallest shape that has all coordinates."""
        return _extent(self.rank, (self.offset_bases, self.block_bases))


@stands_for(encodings.SharedLinear)
def _shared_linear(e: encodings.SharedLinear) -> SharedLinearLayout:
    return SharedLinearLayout(e.offset, e.block)
