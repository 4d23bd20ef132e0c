"""Packed vectors: several named dimensions side by side in the bits of one int, the first lowest.

Layouts are made and compared by the thousand in a compile, hence the plain loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = [
    "Dims",
    "dims",
    "fields",
    "log2",
    "order",
    "pack",
    "permute",
    "placer",
    "reordered",
    "shrink",
    "stack",
    "total",
    "unpack",
]

#: (name, log2 of size) of each dimension
Dims = tuple[tuple[str, int], ...]


def log2(size: int, what: str) -> int:
    """The binary logarithm of ``size``; ValueError naming ``what`` unless it is a power of two."""
    if size < 1 or size & (size - 1):
        raise ValueError(f"{what} has size {size}; a power of two is expected")
    return size.bit_length() - 1


def dims(sizes: Mapping[str, int] | Iterable[tuple[str, int]]) -> Dims:
    """Dimensions from their names and sizes."""
    pairs = sizes.items() if isinstance(sizes, Mapping) else sizes
    return tuple((name, log2(size, f"dimension {name!r}")) for name, size in pairs)


def total(dims: Dims) -> int:
    """Number of bits of all dimensions together."""
    found = 0
    for _, bits in dims:
        found += bits
    return found


def fields(dims: Dims) -> Iterator[tuple[str, int, int]]:
    """(name, first bit, number of bits) of each dimension in a packed vector."""
    start = 0
    for name, bits in dims:
        yield name, start, bits
        start += bits


def unpack(dims: Dims, vector: int) -> tuple[int, ...]:
    """One coordinate per dimension."""
    values = []
    for _, bits in dims:
        values.append(vector & ((1 << bits) - 1))
        vector >>= bits
    return tuple(values)


def pack(dims: Dims, values: Sequence[int]) -> int:
    """The packed vector of one coordinate per dimension; ValueError when one is out of range."""
    if len(values) != len(dims):
        raise ValueError(f"{len(values)} coordinates given for dimensions {[name for name, _ in dims]}")
    packed = start = 0
    for value, (name, bits) in zip(values, dims, strict=True):
        if value >> bits:
            raise ValueError(f"coordinate {value} is outside of dimension {name!r} of size {1 << bits}")
        packed |= value << start
        start += bits
    return packed


def order(dims: Dims, names: Sequence[str]) -> tuple[int, ...]:
    """For each bit of a vector packed in order ``names``, its bit in one packed in order ``dims``."""
    table = {name: range(start, start + bits) for name, start, bits in fields(dims)}
    if sorted(table) != sorted(names):
        raise ValueError(f"{list(names)} is not a permutation of {list(table)}")
    return tuple(bit for name in names for bit in table[name])


def permute(vector: int, order: Sequence[int]) -> int:
    """The vector whose bit ``i`` is bit ``order[i]`` of ``vector``."""
    made = 0
    for new, old in enumerate(order):
        made |= (vector >> old & 1) << new
    return made


def reordered(dims: Dims, names: Sequence[str]) -> Dims:
    """``dims`` in the order ``names``."""
    bits = dict(dims)
    return tuple((name, bits[name]) for name in names)


def stack(low: Dims, high: Dims) -> Dims:
    """The dimensions of a product: those of ``low`` grown by ``high``'s, then what only ``high`` has."""
    below, above = dict(low), dict(high)
    both = tuple((name, bits + above.get(name, 0)) for name, bits in low)
    return both + tuple((name, bits) for name, bits in high if name not in below)


def shrink(dims: Dims, by: Dims) -> Dims | None:
    """``dims`` with the bits of ``by`` taken away; None when there are not that many."""
    less, known = dict(by), dict(dims)
    if any(bits > known.get(name, -1) for name, bits in by):
        return None
    return tuple((name, bits - less.get(name, 0)) for name, bits in dims)


def placer(dims: Dims, into: Dims, shifts: Mapping[str, int]) -> Callable[[int], int]:
    """A function from vectors packed as ``dims`` to ones packed as ``into``, moved up by ``shifts`` bits."""
    starts = {name: start for name, start, _ in fields(into)}
    moves = [
        (start, (1 << bits) - 1, starts[name] + shifts.get(name, 0)) for name, start, bits in fields(dims)
    ]

    if all(start == to for start, _, to in moves):
        return _same

    def place(vector: int) -> int:
        made = 0
        for start, mask, to in moves:
            made |= (vector >> start & mask) << to
        return made

    return place


def _same(vector: int) -> int:
    return vector
