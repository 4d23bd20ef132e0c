"""Layout conversion: by renaming registers, by shuffles, or through shared memory.

The conversion is a linear map from the destination's (register r, lane l, warp w) to the source's.  When
no element leaves its warp, the map is::

    source lane     = Lr(r) ^ Ll(l) ^ Lw(w)
    source register = Rr(r) ^ Rl(l) ^ Rw(w)

A shuffle lets every lane send one value and fetch one from a lane of its choice.  In round t, lane l asks
for its register ``r = t ^ F(l)``, where F is linear and chosen so that ``P = Ll + Lr F`` is invertible:
then every lane serves exactly one lane, l = P^-1(s ^ Lr(t) ^ Lw(w)), and knows which register that one
wants: ``A(t) ^ B(s, w)``.  So an exchange is three steps::

    send[x]  = value[x ^ B(lane, warp)]                      selects, none when B is 0
    got[t]   = shuffle(send[A(t)], P(lane) ^ Lr(t) ^ Lw(warp))
    result[r] = got[r ^ F(lane)]                             selects, none when F is 0

A destination that has several times the source's registers, all of them copies of what other lanes have (the rows and columns that
each thread of a dot by multiply-add needs), is read from shared memory: one access of 16 bytes is four shuffles and their selects.

With P the identity and no Lr, Lw the shuffle is left out; with nothing but A left, registers are renamed.

Through shared memory every block of a cluster writes what it has into its own memory, and reads where the elements are: in its own
memory where it has them (copies included), else in another block's.  The layout of the memory has an input ``block`` for that.
"""

from __future__ import annotations

from functools import lru_cache

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.layouts import (
    BLOCK,
    LANE,
    OFFSET,
    REGISTER,
    WARP,
    Banks,
    LinearLayout,
    gf2,
    optimal_swizzle,
    packing,
)
from tri_gpu_dialect.plans.shared_cycles import cycles, wider_for

__all__ = [
    "PIECE_BYTES",
    "ConversionPlan",
    "Exchange",
    "Piece",
    "ThroughShared",
    "block_memory",
    "in_words",
    "normalized",
    "plan_conversion",
]

#: a conversion through shared memory that needs more bytes than this goes in several pieces, where the module does not say
#: (:func:`tri_gpu_dialect.plans.scratch.conversion_bytes`)
PIECE_BYTES = 32 * 1024

#: bits by which one side's registers outnumber the other's where its accesses alone decide: four times as many
_LONGER = 2

#: selects per register beyond which shared memory is cheaper than an exchange
_MAX_SELECT_BITS = 4

#: words that a thread gets beyond which copies are read from shared memory, and how many times its own these have to be
_MANY_WORDS, _COPIES = 32, 4

Columns = tuple[int, ...]

_INPUTS = (REGISTER, LANE, WARP, BLOCK)


@dataclass(frozen=True)
class Exchange:
    """A conversion within warps; see the module's text for the letters.

    ``expand`` gives the round that makes each destination register; ``rounds`` lists (A(t), Lr(t)).  The
    other fields are columns of linear maps: ``lane_of_lane`` is P, ``lane_of_warp`` Lw, ``send_lane`` and
    ``send_warp`` B, ``receive_lane`` F.
    """

    expand: tuple[int, ...]
    rounds: tuple[tuple[int, int], ...]
    lane_of_lane: Columns
    lane_of_warp: Columns
    send_lane: Columns
    send_warp: Columns
    receive_lane: Columns

    @property
    def shuffles(self) -> bool:
        """True if any lane fetches from another."""
        identity = tuple(1 << i for i in range(len(self.lane_of_lane)))
        return (
            self.lane_of_lane != identity
            or any(self.lane_of_warp)
            or any(constant for _, constant in self.rounds)
        )

    @property
    def only_renames(self) -> bool:
        """True if the conversion emits no code."""
        return not self.shuffles and not any((*self.send_lane, *self.send_warp, *self.receive_lane))


@dataclass(frozen=True)
class Piece:
    """Part of a conversion through shared memory: which registers of each side take part."""

    source: tuple[int, ...]
    destination: tuple[int, ...]


@dataclass(frozen=True)
class ThroughShared:
    """A conversion through shared memory, in ``pieces`` that reuse the same memory one after the other.

    ``source`` and ``destination`` are the layouts of one piece, ``shared`` that of the memory: (offset, block) to positions.
    """

    pieces: tuple[Piece, ...]
    source: LinearLayout
    destination: LinearLayout
    shared: LinearLayout
    element_bytes: int

    @property
    def scratch_bytes(self) -> int:
        """Shared memory needed, in each block."""
        return self.shared.in_size(OFFSET) * self.element_bytes

    @property
    def reads(self) -> LinearLayout:
        """Layout of the destination's reads: (register, lane, warp, block) to (offset, block)."""
        conversion = self.destination.invert_and_compose(self.shared)
        copies = self.shared.zero_masks().get(BLOCK, 0) << self.shared.in_size(OFFSET).bit_length() - 1
        bases = {name: list(conversion.packed(name)) for name in conversion.in_dims}
        for i, column in enumerate(bases[BLOCK]):
            own = self.shared.in_size(OFFSET) << i
            bases[BLOCK][i] = column | own & copies  # of copies, a block reads its own
        columns = tuple(c for name in conversion.in_dims for c in bases[name])
        return LinearLayout(conversion.ins, conversion.outs, columns)

    @property
    def crosses_blocks(self) -> bool:
        """True if a block reads the memory of another."""
        owner = self.reads.sublayout(_INPUTS, [BLOCK])
        identity = tuple(1 << i for i in range(len(owner.packed(BLOCK))))
        others = (c for name in _INPUTS if name != BLOCK for c in owner.packed(name))
        return owner.packed(BLOCK) != identity or any(others)


ConversionPlan = Exchange | ThroughShared


def normalized(layout: LinearLayout) -> LinearLayout:
    """``layout`` with exactly the inputs register, lane, warp, block, in this order."""
    missing = tuple((name, 0) for name in _INPUTS if not layout.has_in(name))
    return LinearLayout(layout.ins + missing, layout.outs, layout.columns).transpose_ins(_INPUTS)


@lru_cache(maxsize=1024)
def plan_conversion(
    source: LinearLayout,
    destination: LinearLayout,
    element_bits: int,
    banks: Banks | None = None,
    piece_bytes: int = PIECE_BYTES,
) -> ConversionPlan:
    """The cheapest way from ``source`` to ``destination`` for elements of ``element_bits``.

    ``piece_bytes``: of shared memory, beyond which it goes in pieces.
    """
    source, destination = normalized(source), normalized(destination)
    maps = _Maps.of(source, destination)
    found = None if maps.crosses_blocks or maps.crosses_warps else _exchange(maps)
    if found is not None and not _is_copied(found, source, element_bits):
        return found
    return _through_shared(source, destination, max(element_bits, 8), banks or Banks(), piece_bytes)


def in_words(
    source: LinearLayout, destination: LinearLayout, count: int
) -> tuple[LinearLayout, LinearLayout] | None:
    """Both layouts of words of ``count`` registers, a power of two, that are neighbours on both sides; None where they are not."""
    source, destination = (normalized(side).flatten_outs("index") for side in (source, destination))
    bits: list[int] = []
    for i in range(count.bit_length() - 1):
        firsts = [side.packed(REGISTER)[i : i + 1] for side in (source, destination)]
        if firsts[0] != firsts[1] or not firsts[0] or firsts[0][0].bit_count() != 1:
            return None
        # no other input may move it
        if any(sum(bool(c & firsts[0][0]) for c in side.columns) != 1 for side in (source, destination)):
            return None
        bits.append(firsts[0][0].bit_length() - 1)
    return _without_bits(source, bits), _without_bits(destination, bits)


@dataclass(frozen=True)
class _Maps:
    """The conversion as columns: ``maps[output][input]`` over the bits of input dimensions."""

    columns: dict[str, dict[str, Columns]]
    sizes: dict[str, int]

    @classmethod
    def of(cls, source: LinearLayout, destination: LinearLayout) -> _Maps:
        conversion = destination.invert_and_compose(source).transpose_outs(_INPUTS)
        free = source.zero_masks()
        columns = {}
        for o, output in enumerate(_INPUTS):
            columns[output] = {
                name: tuple(
                    # where copies are, one's own copy will do
                    basis[o] & ~free[output] | (free[output] & 1 << i if name == output else 0)
                    for i, basis in enumerate(conversion.bases[name])
                )
                for name in _INPUTS
            }
        return cls(columns, destination.in_sizes)

    @property
    def crosses_blocks(self) -> bool:
        return not self._stays(BLOCK)

    @property
    def crosses_warps(self) -> bool:
        return not self._stays(WARP) or any(self.columns[LANE][BLOCK]) or any(self.columns[REGISTER][BLOCK])

    def _stays(self, dim: str) -> bool:
        own = self.columns[dim]
        identity = tuple(1 << i for i in range(len(own[dim])))
        return own[dim] == identity and not any(c for name in _INPUTS if name != dim for c in own[name])


def _exchange(maps: _Maps) -> Exchange | None:
    to_lane, to_register = maps.columns[LANE], maps.columns[REGISTER]
    bits = len(to_lane[REGISTER])
    kept = [i for i in range(bits) if to_lane[REGISTER][i] or to_register[REGISTER][i]]
    lr = tuple(to_lane[REGISTER][i] for i in kept)
    rr = tuple(to_register[REGISTER][i] for i in kept)
    f = _receivers(to_lane[LANE], lr)
    p = tuple(c ^ gf2.apply(lr, f[i]) for i, c in enumerate(to_lane[LANE]))
    g = tuple(c ^ gf2.apply(rr, f[i]) for i, c in enumerate(to_register[LANE]))
    serves = _serves(p, g)
    if serves is None:
        return None
    wanted = tuple(gf2.apply(serves, 1 << i) for i in range(len(p)))  # G P^-1
    send_warp = tuple(gf2.apply(wanted, a) ^ c for a, c in zip(to_lane[WARP], to_register[WARP], strict=True))
    if _select_bits(wanted, send_warp) + _select_bits(f) > _MAX_SELECT_BITS:
        return None
    rounds = tuple(
        (gf2.apply(rr, t) ^ gf2.apply(wanted, gf2.apply(lr, t)), gf2.apply(lr, t))
        for t in range(1 << len(kept))
    )
    expand = tuple(_gather_bits(r, kept) for r in range(1 << bits))
    return Exchange(expand, rounds, p, to_lane[WARP], wanted, send_warp, f)


def _is_copied(plan: Exchange, source: LinearLayout, element_bits: int) -> bool:
    """True if shared memory is cheaper than the many shuffles for elements that several threads hold."""
    own = 1 << _distinct_registers(source)
    words = len(plan.rounds) * element_bits // 32
    return plan.shuffles and words >= _MANY_WORDS and len(plan.rounds) >= _COPIES * own


def _receivers(ll: Columns, lr: Columns) -> Columns:
    """F: for each lane bit the rounds' bits that make ``Ll + Lr F`` as regular as can be."""
    pivots = gf2.Echelon.of(ll).pivots
    chosen = [ll[i] for i in pivots]
    f = [0] * len(ll)
    for i in range(len(ll)):
        if i in pivots:
            continue
        for j, column in enumerate(lr):
            if gf2.rank([*chosen, column]) > len(chosen):
                f[i] = 1 << j
                chosen.append(column)
                break
    return tuple(f)


def _serves(p: Columns, g: Columns) -> Columns | None:
    """``G P^-1`` as columns over source lanes; None when two receivers of one lane want different registers."""
    echelon = gf2.Echelon.of(p)
    if any(gf2.apply(g, x) for x in echelon.kernel):
        return None
    # P's independent columns are served; what completes them to a basis is asked by nobody
    served = [p[i] for i in echelon.pivots]
    basis = gf2.Echelon.of([*served, *gf2.complement(served, len(p))])
    images = [*(g[i] for i in echelon.pivots), *[0] * (len(p) - len(served))]
    return tuple(gf2.apply(images, basis.solve(1 << i) or 0) for i in range(len(p)))


def _select_bits(*maps: Columns) -> int:
    """Number of register bits that the maps set: each costs a select per register."""
    used = 0
    for columns in maps:
        for column in columns:
            used |= column
    return used.bit_count()


def _gather_bits(value: int, positions: list[int]) -> int:
    return sum((value >> position & 1) << i for i, position in enumerate(positions))


# --- through shared memory --------------------------------------------------------------------------------


def _through_shared(
    source: LinearLayout, destination: LinearLayout, element_bits: int, banks: Banks, piece_bytes: int
) -> ThroughShared:
    source, destination = source.flatten_outs("index"), destination.flatten_outs("index")
    element_bytes = element_bits // 8
    within_block = gf2.rank(c for name in (REGISTER, LANE, WARP) for c in source.packed(name))
    excess = (element_bytes << within_block) // piece_bytes
    common = _common_bits(source, destination)
    bits = common[::-1][: max(excess.bit_length() - 1, 0)]
    pieces = _pieces(source, destination, bits)
    small_source, small_destination = (_without_bits(side, bits) for side in (source, destination))
    shared = block_memory(small_source, small_destination, element_bits, banks)
    return ThroughShared(pieces, small_source, small_destination, shared, element_bytes)


def block_memory(
    source: LinearLayout, destination: LinearLayout, element_bits: int, banks: Banks
) -> LinearLayout:
    """The layout (offset, block) to positions: each block has what it holds in ``source``, swizzled for both sides.

    Where one side has several times the other's registers (a row that each thread needs many elements of), its accesses may be wider.
    """
    own = gf2.span(c for name in (REGISTER, LANE, WARP) for c in source.packed(name))
    blocks = source.packed(BLOCK)
    reached = gf2.Echelon.of([*own, *blocks])

    def within(column: int) -> int:
        """Remainder of a position within its block."""
        found = reached.solve(column)
        assert found is not None
        return gf2.apply(own, found & (1 << len(own)) - 1)

    kept = LinearLayout(destination.ins, destination.outs, tuple(map(within, destination.columns)))
    offsets = optimal_swizzle(source, kept, element_bits, banks)
    if not blocks:
        offsets = min(
            (offsets, *_for_the_longer(source, kept, offsets)),
            key=lambda made: sum(cycles(side, made, element_bits, banks) for side in (source, kept)),
        )
    ins = (*offsets.ins, (BLOCK, len(blocks)))
    return LinearLayout(ins, source.outs, (*offsets.columns, *blocks))


def _for_the_longer(
    source: LinearLayout, destination: LinearLayout, made: LinearLayout
) -> list[LinearLayout]:
    """``made`` with wider accesses of the side whose registers outnumber the other's by :data:`_LONGER` bits, if one's do."""
    few, many = sorted((source, destination), key=_distinct_registers)
    if _distinct_registers(many) < _distinct_registers(few) + _LONGER:
        return []
    return list(wider_for(many, made))


def _distinct_registers(layout: LinearLayout) -> int:
    """The bits that count the elements of a thread, copies left out."""
    return gf2.rank(layout.packed(REGISTER))


def _common_bits(source: LinearLayout, destination: LinearLayout) -> list[int]:
    """Bits of the flat position that a register bit of its own stands for on both sides."""

    def own_bits(layout: LinearLayout) -> list[int]:
        everywhere = [c for c in layout.columns if c]
        return [
            c.bit_length() - 1
            for c in layout.packed(REGISTER)
            if c and not c & (c - 1) and sum(1 for other in everywhere if other & c) == 1
        ]

    others = set(own_bits(destination))
    return [bit for bit in own_bits(source) if bit in others]


def _pieces(source: LinearLayout, destination: LinearLayout, bits: list[int]) -> tuple[Piece, ...]:
    mask = sum(1 << bit for bit in bits)

    def part(layout: LinearLayout, value: int) -> tuple[int, ...]:
        return tuple(r for r, image in enumerate(layout.images(REGISTER)) if image & mask == value)

    values = sorted({image & mask for image in source.images(REGISTER)})
    return tuple(Piece(part(source, value), part(destination, value)) for value in values)


def _without_bits(layout: LinearLayout, bits: list[int]) -> LinearLayout:
    """The layout of one piece: without the register bits that stand for ``bits`` of the flat position."""
    dropped = {1 << bit for bit in bits}
    kept = [i for i in range(layout.out_bits) if i not in bits]
    ins = tuple((name, n - len(bits) if name == REGISTER else n) for name, n in layout.ins)
    columns = tuple(packing.permute(c, kept) for c in layout.columns if c not in dropped)
    return LinearLayout(ins, (("index", len(kept)),), columns)
