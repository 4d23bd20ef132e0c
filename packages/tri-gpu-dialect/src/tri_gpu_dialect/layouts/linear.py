"""Linear layouts: where each element of a tensor lives, as a linear map over GF(2).

**An example.**  Sixteen elements in a row, held by 4 lanes with 4 registers each, in the way that lane
``l`` has elements ``4 l`` to ``4 l + 3``.  The element of (register, lane) is then::

    dim0 = register + 4 * lane

Both sizes are powers of two, so nothing ever carries: the sum is an exclusive or, and each *bit* of the
inputs contributes on its own.  Register bit 0 contributes 1, bit 1 contributes 2; lane bit 0 contributes
4, bit 1 contributes 8.  These four numbers, the *bases*, are the whole layout::

    LinearLayout.from_bases({"register": [(1,), (2,)], "lane": [(4,), (8,)]}, {"dim0": 16})

and the element of any place is the xor of the bases of its set bits.  That is matrix times vector over
GF(2), the field of two elements, whose addition is xor.

**More bases, more layouts.**  With two output dimensions a basis is a pair.  A basis of zero says that
an input bit does not matter: both values of that bit hold the same element (*broadcasting*).  A basis
with several bits set says that elements are xor-ed, or *swizzled*: in shared memory of rows of 8,
``(row, column) -> offset 8 row + (column ^ row)`` is linear.  What is not linear are sizes that are not
powers of two; the compiler has none inside a kernel.

**What the algebra gives.**  All questions of code generation are now questions about small matrices:

* every element is somewhere: the layout is *surjective*, its rank is the number of output bits;
* an element is in one place only: *injective*, rank equals the number of input bits;
* which lanes hold copies, so that only one of them should store: the *free* input bits
  (:meth:`LinearLayout.free_variable_masks`);
* where register r of lane l must be fetched from when a tensor goes from layout A to layout B:
  :meth:`B.invert_and_compose(A) <LinearLayout.invert_and_compose>` is a layout whose outputs are the
  inputs of A.  If it leaves lane and warp alone the conversion permutes registers, if it leaves warps
  alone it is shuffles, else it goes through shared memory;
* how many elements a thread can load at once: what :meth:`LinearLayout.divide_left` by an identity says.

**Conventions.**  Inputs of tensors in registers are ``register``, ``lane``, ``warp``, ``block`` in this
order; of shared memory ``offset`` (in elements) and ``block``.  Outputs are ``dim0``, ``dim1``, ... Where
several dimensions are flattened to one, the first is the fastest (lowest bits); for row-major order,
transpose the outputs first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from tri_core.lazy_dataclasses import dataclass
from tri_core.notebooks import html_table
from tri_gpu_dialect.layouts import gf2, packing
from tri_gpu_dialect.layouts.packing import Dims

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["BLOCK", "LANE", "OFFSET", "REGISTER", "WARP", "LinearLayout", "dim_names"]

REGISTER, LANE, WARP, BLOCK, OFFSET = "register", "lane", "warp", "block", "offset"

Coordinate = TypeVar("Coordinate", int, "npt.NDArray[np.int64]")


def dim_names(rank: int) -> tuple[str, ...]:
    """The names of a tensor's dimensions: ``("dim0", "dim1", ...)``."""
    return tuple(f"dim{i}" for i in range(rank))


@lru_cache(maxsize=1024)
def _bases(layout: LinearLayout) -> tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]:
    return tuple(
        (name, tuple(packing.unpack(layout.outs, column) for column in layout.packed(name)))
        for name in layout.in_dims
    )


@dataclass(frozen=True)
class LinearLayout:
    """A linear map over GF(2) between named dimensions; a value: frozen, hashable, comparable.

    ``ins`` and ``outs`` are (name, log2 of size) in order.  ``columns`` has one packed output vector per
    input bit, in the order of ``ins``, lowest bit first; in a packed vector the first dimension has the
    lowest bits.  Make one with :meth:`identity1d`, :meth:`zeros1d`, :meth:`from_bases` and ``*``.
    """

    ins: Dims
    outs: Dims
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.columns) != packing.total(self.ins):
            raise ValueError(f"{len(self.columns)} bases given for {packing.total(self.ins)} input bits")
        if max(self.columns, default=0) >> packing.total(self.outs):
            raise ValueError("a basis is outside of the output dimensions")
        for dims in (self.ins, self.outs):
            if len(dict(dims)) != len(dims):
                raise ValueError(f"dimension names repeat in {[name for name, _ in dims]}")
        object.__setattr__(self, "_hash", hash((self.ins, self.outs, self.columns)))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]  # set once in __post_init__

    # --- making -----------------------------------------------------------------------------------------

    @classmethod
    def empty(cls) -> LinearLayout:
        """No dimensions at all: the unit of ``*``."""
        return cls((), (), ())

    @classmethod
    def identity1d(cls, size: int, in_dim: str, out_dim: str) -> LinearLayout:
        """``out = in`` for ``size`` values."""
        return cls.strided1d(size, 1, in_dim, out_dim)

    @classmethod
    def strided1d(cls, size: int, stride: int, in_dim: str, out_dim: str) -> LinearLayout:
        """``out = stride * in`` for ``size`` values; the output has ``size * stride`` values."""
        bits, shift = packing.log2(size, in_dim), packing.log2(stride, "stride")
        columns = tuple(1 << (i + shift) for i in range(bits))
        return cls(((in_dim, bits),), ((out_dim, bits + shift if bits else 0),), columns)

    @classmethod
    def zeros1d(cls, size: int, in_dim: str, out_dim: str, out_size: int = 1) -> LinearLayout:
        """``out = 0`` whatever the input: ``size`` places that hold one and the same element."""
        bits = packing.log2(size, in_dim)
        return cls(((in_dim, bits),), packing.dims({out_dim: out_size}), (0,) * bits)

    @classmethod
    def from_bases(
        cls,
        bases: Mapping[str, Sequence[Sequence[int]]],
        outs: Mapping[str, int] | Sequence[str],
    ) -> LinearLayout:
        """A layout from the output coordinates of every input bit.

        ``outs``: the output dimensions' sizes, or only their names, the sizes then being the smallest
        that hold every basis.
        """
        given = [tuple(basis) for dim in bases.values() for basis in dim]
        if not isinstance(outs, Mapping):
            sizes = [1 << max((b[i].bit_length() for b in given), default=0) for i in range(len(outs))]
            outs = dict(zip(outs, sizes, strict=True))
        dims = packing.dims(outs)
        ins = tuple((name, len(dim)) for name, dim in bases.items())
        return cls(ins, dims, tuple(packing.pack(dims, basis) for basis in given))

    # --- looking ----------------------------------------------------------------------------------------

    @property
    def in_dims(self) -> tuple[str, ...]:
        """Names of the input dimensions, in order."""
        return tuple(name for name, _ in self.ins)

    @property
    def out_dims(self) -> tuple[str, ...]:
        """Names of the output dimensions, in order."""
        return tuple(name for name, _ in self.outs)

    @property
    def in_sizes(self) -> dict[str, int]:
        """Sizes of the input dimensions."""
        return {name: 1 << bits for name, bits in self.ins}

    @property
    def out_sizes(self) -> dict[str, int]:
        """Sizes of the output dimensions."""
        return {name: 1 << bits for name, bits in self.outs}

    @property
    def in_bits(self) -> int:
        """Number of input bits, all dimensions together."""
        return len(self.columns)

    @property
    def out_bits(self) -> int:
        """Number of output bits, all dimensions together."""
        return packing.total(self.outs)

    def in_size(self, dim: str) -> int:
        """The size of input dimension ``dim``; KeyError when there is none."""
        return self.in_sizes[dim]

    def out_size(self, dim: str) -> int:
        """The size of output dimension ``dim``; KeyError when there is none."""
        return self.out_sizes[dim]

    def has_in(self, dim: str) -> bool:
        """True if ``dim`` is an input dimension."""
        return dim in self.in_dims

    def packed(self, dim: str) -> tuple[int, ...]:
        """The packed bases of input ``dim``."""
        for name, start, bits in packing.fields(self.ins):
            if name == dim:
                return self.columns[start : start + bits]
        raise KeyError(f"no input dimension {dim!r}; known: {', '.join(self.in_dims)}")

    @property
    def bases(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """For each input dimension, the output coordinates of each of its bits."""
        return dict(_bases(self))

    def unpack_out(self, vector: int) -> tuple[int, ...]:
        """A packed output vector as one coordinate per output dimension."""
        return packing.unpack(self.outs, vector)

    def unpack_in(self, vector: int) -> tuple[int, ...]:
        """A packed input vector as one coordinate per input dimension."""
        return packing.unpack(self.ins, vector)

    def __str__(self) -> str:
        lines = [f"{name}={list(bases)}" for name, bases in self.bases.items()]
        return f"LinearLayout({'; '.join(lines)} -> {self.out_sizes})"

    def _repr_html_(self) -> str:
        """HTML for notebooks: a row for each bit of the input, with the coordinates of the output that it adds."""
        rows = [
            (name, 1 << bit, *basis) for name, bases in self.bases.items() for bit, basis in enumerate(bases)
        ]
        sizes = (f"{name} ({size})" for name, size in self.out_sizes.items())
        return html_table(("input", "bit", *sizes), rows, "LinearLayout")

    # --- applying ---------------------------------------------------------------------------------------

    def apply(self, inputs: Mapping[str, Coordinate]) -> dict[str, Coordinate]:
        """The output coordinates at ``inputs``, one int or int array per input dimension (arrays broadcast)."""
        packed: Coordinate = 0  # type: ignore[assignment]  # becomes an array with the first array
        for name, start, bits in packing.fields(self.ins):
            value = inputs[name]
            for i in range(bits):
                packed = packed ^ (((value >> i) & 1) * self.columns[start + i])
        if len(inputs) != len(self.ins):
            raise ValueError(f"inputs {list(inputs)} given, {list(self.in_dims)} expected")
        return {name: (packed >> s) & ((1 << bits) - 1) for name, s, bits in packing.fields(self.outs)}

    def apply_packed(self, vector: int) -> int:
        """The packed output at a packed input."""
        return gf2.apply(self.columns, vector)

    def images(self, dim: str) -> list[int]:
        """The packed output of every value of input ``dim``, the other inputs being 0."""
        values = [0]
        for column in self.packed(dim):
            values += [value ^ column for value in values]
        return values

    def table(self) -> npt.NDArray[np.int64]:
        """The packed output of every packed input, an array of ``2 ** in_bits`` entries."""
        import numpy as np  # importing it takes longer than compiling a kernel, which needs no tables

        values = np.zeros(1, np.int64)
        for column in self.columns:
            values = np.concatenate([values, values ^ column])
        return values

    # --- properties -------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """The rank of the matrix: log2 of the number of distinct outputs."""
        return len(_echelon(self.columns).pivots)

    @property
    def is_surjective(self) -> bool:
        """Every output is the image of some input."""
        return self.rank == self.out_bits

    @property
    def is_injective(self) -> bool:
        """No output is the image of two inputs."""
        return self.rank == self.in_bits

    @property
    def is_invertible(self) -> bool:
        """Both surjective and injective."""
        return self.in_bits == self.out_bits == self.rank

    def free_variable_masks(self) -> dict[str, int]:
        """For each input dimension the mask of bits that only repeat what bits before them reach.

        Inputs with all free bits 0 reach every reachable output exactly once.
        """
        return dict(zip(self.in_dims, packing.unpack(self.ins, self.free_bits()), strict=True))

    def free_bits(self) -> int:
        """:meth:`free_variable_masks` as one packed input vector."""
        return ((1 << self.in_bits) - 1) ^ sum(1 << i for i in _echelon(self.columns).pivots)

    def zero_masks(self) -> dict[str, int]:
        """For each input dimension the mask of bits whose basis is zero."""
        packed = sum(1 << i for i, column in enumerate(self.columns) if not column)
        return dict(zip(self.in_dims, packing.unpack(self.ins, packed), strict=True))

    def is_identity(self, in_dim: str, out_dim: str) -> bool:
        """True if output ``out_dim`` is input ``in_dim``, of equal size, and depends on nothing else."""
        index = {name: (start, bits) for name, start, bits in packing.fields(self.outs)}
        start, bits = index[out_dim]
        mask = ((1 << bits) - 1) << start
        own = self.packed(in_dim)
        if [c & mask for c in own] != [1 << (start + i) for i in range(bits)]:
            return False
        others = (c for name in self.in_dims if name != in_dim for c in self.packed(name))
        return not any(c & mask for c in others)

    # --- combining --------------------------------------------------------------------------------------

    def __mul__(self, other: LinearLayout) -> LinearLayout:
        """The product: ``self`` in the low bits, ``other`` in the bits above, dimension by dimension."""
        ins, outs = packing.stack(self.ins, other.ins), packing.stack(self.outs, other.outs)
        low = dict(self.outs)
        own = packing.placer(self.outs, outs, {})
        above = packing.placer(other.outs, outs, low)
        columns: list[int] = []
        for name, _ in ins:
            columns += map(own, self.packed(name) if self.has_in(name) else ())
            columns += map(above, other.packed(name) if other.has_in(name) else ())
        return LinearLayout(ins, outs, tuple(columns))

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """``x -> outer(self(x))``: the outputs of ``self`` are the inputs of ``outer``, by name.

        Raises ValueError when the names differ or an output of ``self`` is larger than that input.
        """
        inner = self.transpose_outs(outer.in_dims)
        for (name, bits), (_, room) in zip(inner.outs, outer.ins, strict=True):
            if bits > room:
                raise ValueError(f"{name!r} of size {1 << bits} does not fit into one of size {1 << room}")
        place = packing.placer(inner.outs, outer.ins, {})
        columns = tuple(gf2.apply(outer.columns, place(c)) for c in inner.columns)
        return LinearLayout(inner.ins, outer.outs, columns)

    def invert(self) -> LinearLayout:
        """The inverse map; ValueError when the layout has none."""
        inverse = gf2.inverse(self.columns) if self.in_bits == self.out_bits else None
        if inverse is None:
            raise ValueError(f"{self} has no inverse")
        return LinearLayout(self.outs, self.ins, tuple(inverse))

    def pseudo_invert(self) -> LinearLayout:
        """A right inverse (``self`` after it is the identity) with free inputs 0; needs surjectivity."""
        echelon = _echelon(self.columns)
        if len(echelon.pivots) != self.out_bits:
            raise ValueError(f"{self} is not surjective")
        columns = tuple(echelon.solve(1 << i) or 0 for i in range(self.out_bits))
        return LinearLayout(self.outs, self.ins, columns)

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """The conversion ``C`` from inputs of ``self`` to inputs of ``outer``: ``outer(C(x)) = self(x)``.

        Where ``outer`` leaves a choice (it has copies), an input bit that means the same in both keeps
        its place, and other bits use the first input dimensions of ``outer`` that do.  Raises ValueError
        when ``outer`` does not reach an output of ``self``.
        """
        return _convert(self, outer)

    def divide_left(self, low: LinearLayout) -> LinearLayout | None:
        """``q`` with ``low * q == self`` up to the order of dimensions, or None."""
        ins, outs = packing.shrink(self.ins, low.ins), packing.shrink(self.outs, low.outs)
        if ins is None or outs is None:
            return None
        skipped, shifts = dict(low.ins), dict(low.outs)
        columns = []
        for name in self.in_dims:
            for column in self.packed(name)[skipped.get(name, 0) :]:
                values = zip(self.out_dims, self.unpack_out(column), strict=True)
                columns.append(packing.pack(outs, [v >> shifts.get(d, 0) for d, v in values]))
        quotient = LinearLayout(ins, outs, tuple(columns))
        return quotient if _same(low * quotient, self) else None

    def divide_right(self, high: LinearLayout) -> LinearLayout | None:
        """``q`` with ``q * high == self`` up to the order of dimensions, or None."""
        ins, outs = packing.shrink(self.ins, high.ins), packing.shrink(self.outs, high.outs)
        if ins is None or outs is None:
            return None
        columns = []
        for name, bits in ins:
            for column in self.packed(name)[:bits]:
                values = self.unpack_out(column)
                columns.append(
                    packing.pack(outs, [v % (1 << b) for v, (_, b) in zip(values, outs, strict=True)])
                )
        quotient = LinearLayout(ins, outs, tuple(columns))
        return quotient if _same(quotient * high, self) else None

    # --- restricting and renaming -----------------------------------------------------------------------

    def sublayout(self, ins: Iterable[str], outs: Iterable[str]) -> LinearLayout:
        """Only the inputs ``ins`` and the outputs ``outs`` (the others are 0, or are dropped)."""
        keep_in, keep_out = set(ins), set(outs)
        new_ins = tuple(d for d in self.ins if d[0] in keep_in)
        new_outs = tuple(d for d in self.outs if d[0] in keep_out)
        bits = [
            b
            for name, start, n in packing.fields(self.outs)
            if name in keep_out
            for b in range(start, start + n)
        ]
        columns = tuple(packing.permute(c, bits) for name, _ in new_ins for c in self.packed(name))
        return LinearLayout(new_ins, new_outs, columns)

    def without_ins(self, *dims: str) -> LinearLayout:
        """Without the inputs ``dims`` (as if they were 0)."""
        return self.sublayout((name for name in self.in_dims if name not in dims), self.out_dims)

    def without_outs(self, *dims: str) -> LinearLayout:
        """Without the outputs ``dims``."""
        return self.sublayout(self.in_dims, (name for name in self.out_dims if name not in dims))

    def transpose_ins(self, dims: Sequence[str]) -> LinearLayout:
        """The same map with its inputs in the order ``dims``."""
        order = packing.order(self.ins, dims)
        return LinearLayout(
            packing.reordered(self.ins, dims), self.outs, tuple(self.columns[old] for old in order)
        )

    def transpose_outs(self, dims: Sequence[str]) -> LinearLayout:
        """The same map with its outputs in the order ``dims``."""
        if tuple(dims) == self.out_dims:
            return self
        order = packing.order(self.outs, dims)
        return LinearLayout(
            self.ins,
            packing.reordered(self.outs, dims),
            tuple(packing.permute(c, order) for c in self.columns),
        )

    def reshape_ins(self, ins: Mapping[str, int]) -> LinearLayout:
        """The input bits cut into new dimensions of the same total size, the first lowest."""
        return LinearLayout(packing.dims(ins), self.outs, self.columns)

    def reshape_outs(self, outs: Mapping[str, int]) -> LinearLayout:
        """The output bits cut into new dimensions of the same total size, the first lowest."""
        dims = packing.dims(outs)
        if packing.total(dims) != self.out_bits:
            raise ValueError(f"{dict(outs)} does not have the size of {self.out_sizes}")
        return LinearLayout(self.ins, dims, self.columns)

    def flatten_ins(self, name: str | None = None) -> LinearLayout:
        """All inputs as one dimension ``name`` (default: the first one's), the first lowest."""
        return self.reshape_ins({name or self.in_dims[0]: 1 << self.in_bits})

    def flatten_outs(self, name: str | None = None) -> LinearLayout:
        """All outputs as one dimension ``name`` (default: the first one's), the first lowest."""
        return self.reshape_outs({name or self.out_dims[0]: 1 << self.out_bits})

    def rename_ins(self, names: Mapping[str, str]) -> LinearLayout:
        """Inputs renamed; names not in the mapping stay."""
        return LinearLayout(tuple((names.get(n, n), b) for n, b in self.ins), self.outs, self.columns)

    def rename_outs(self, names: Mapping[str, str]) -> LinearLayout:
        """Outputs renamed; names not in the mapping stay."""
        return LinearLayout(self.ins, tuple((names.get(n, n), b) for n, b in self.outs), self.columns)

    def concat_ins(self, other: LinearLayout) -> LinearLayout:
        """Further input dimensions from ``other``, which has the same outputs."""
        if self.outs != other.outs:
            raise ValueError(f"outputs differ: {self.out_sizes} and {other.out_sizes}")
        return LinearLayout(self.ins + other.ins, self.outs, self.columns + other.columns)

    def concat_outs(self, other: LinearLayout) -> LinearLayout:
        """Further output dimensions from ``other``, which has the same inputs."""
        if self.ins != other.ins:
            raise ValueError(f"inputs differ: {self.in_sizes} and {other.in_sizes}")
        shift = self.out_bits
        columns = tuple(a | (b << shift) for a, b in zip(self.columns, other.columns, strict=True))
        return LinearLayout(self.ins, self.outs + other.outs, columns)

    def resize_in(self, dim: str, size: int) -> LinearLayout:
        """Input ``dim`` cut to ``size`` values, or repeated (zero bases) up to it."""
        bits = packing.log2(size, dim)
        ins = tuple((name, bits if name == dim else b) for name, b in self.ins)
        grown = {name: (self.packed(name) + (0,) * n)[:n] for name, n in ins}
        return LinearLayout(ins, self.outs, tuple(c for name, _ in ins for c in grown[name]))

    def resize_out(self, dim: str, size: int) -> LinearLayout:
        """Output ``dim`` given ``size`` values: bases are taken modulo it."""
        bits = packing.log2(size, dim)
        outs = tuple((name, bits if name == dim else b) for name, b in self.outs)
        columns = (
            packing.pack(
                outs,
                [v & ((1 << b) - 1) for v, (_, b) in zip(packing.unpack(self.outs, c), outs, strict=True)],
            )
            for c in self.columns
        )
        return LinearLayout(self.ins, outs, tuple(columns))


@lru_cache(maxsize=4096)
def _echelon(columns: tuple[int, ...]) -> gf2.Echelon:
    return gf2.Echelon.of(columns)


@lru_cache(maxsize=4096)
def _convert(source: LinearLayout, outer: LinearLayout) -> LinearLayout:
    """See :meth:`LinearLayout.invert_and_compose`."""
    inner = source.transpose_outs(outer.out_dims)
    if any(a > b for (_, a), (_, b) in zip(inner.outs, outer.outs, strict=True)):
        raise ValueError(f"outputs {inner.out_sizes} are larger than {outer.out_sizes}")
    place = packing.placer(inner.outs, outer.outs, {})
    units = {(name, i): start + i for name, start, bits in packing.fields(outer.ins) for i in range(bits)}
    echelon = _echelon(outer.columns)
    columns: list[int] = []
    for name, start, bits in packing.fields(inner.ins):
        for i in range(bits):
            wanted = place(inner.columns[start + i])
            unit = units.get((name, i))
            if unit is not None and outer.columns[unit] == wanted:
                columns.append(1 << unit)
            elif (solution := echelon.solve(wanted)) is not None:
                columns.append(solution)
            else:
                raise ValueError(f"{outer} does not reach every output of {source}")
    return LinearLayout(inner.ins, outer.ins, tuple(columns))


def _same(left: LinearLayout, right: LinearLayout) -> bool:
    if set(left.in_dims) != set(right.in_dims) or set(left.out_dims) != set(right.out_dims):
        return False
    return left.transpose_ins(right.in_dims).transpose_outs(right.out_dims) == right
