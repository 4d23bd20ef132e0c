"""Host arrays for devices that cannot read them: copied in before a launch, copied out after it.

Arrays that overlap in host memory (two views of one buffer, an in-place kernel) share one device copy, so
a kernel sees the same aliasing that the caller made.  A device address is congruent to its host address
modulo :data:`ALIGNMENT`: what the kernel was specialized on (divisibility by 16) stays true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tri_core.api import Argument, ArrayArgument
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.handles import DeviceMemory

__all__ = ["ALIGNMENT", "Span", "merged", "staged_copies"]

#: what :meth:`DeviceMemory.alloc` promises, in bytes
ALIGNMENT = 256


@dataclass(frozen=True, order=True)
class Span:
    """Host bytes from ``begin`` up to, not including, ``end``."""

    begin: int
    end: int

    @property
    def base(self) -> int:
        """``begin`` rounded down to :data:`ALIGNMENT`: where the device copy's allocation starts."""
        return self.begin - self.begin % ALIGNMENT

    @classmethod
    def of(cls, array: ArrayArgument) -> Span:
        """The bytes that ``array`` covers: those in front of its first element too, where strides are negative."""
        return cls(array.pointer - _bytes_below(array.owner), array.pointer + array.nbytes)


def _bytes_below(owner: object) -> int:
    """Bytes in front of the first element of the array that an argument is of, a NumPy one; 0 for others."""
    strides = getattr(owner, "strides", None)
    shape = getattr(owner, "shape", ())
    if not isinstance(strides, tuple) or 0 in shape:
        return 0
    return sum((n - 1) * -step for n, step in zip(shape, strides, strict=True) if step < 0)


def merged(spans: Sequence[Span]) -> list[Span]:
    """The union of ``spans`` as disjoint spans in order; spans that only touch stay apart."""
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.begin < result[-1].end:
            result[-1] = Span(result[-1].begin, max(result[-1].end, span.end))
        else:
            result.append(span)
    return result


@contextmanager
def staged_copies(arrays: Sequence[ArrayArgument], memory: DeviceMemory) -> Iterator[tuple[Argument, ...]]:
    """Device addresses for ``arrays`` in order; arrays of a device pass through as they are.

    Host bytes are copied in on entry; on a normal exit the bytes of writable arrays are copied out, after
    an exception nothing is.  The device copies are freed either way.  What ``memory`` raises (DeviceError) is passed on.
    """
    on_host = [a for a in arrays if _needs_copy(a)]
    copies: dict[Span, int] = {}
    try:
        for span in merged([Span.of(a) for a in on_host]):
            copies[span] = memory.alloc(span.end - span.base)
            memory.copy_in(_place(copies, span.begin), span.begin, span.end - span.begin)
        yield tuple(_place(copies, a.pointer) if _needs_copy(a) else a.pointer for a in arrays)
        # read-only neighbours of a writable array may lie in pages that cannot be written
        for span in merged([Span.of(a) for a in on_host if a.writable]):
            memory.copy_out(span.begin, _place(copies, span.begin), span.end - span.begin)
    finally:
        for address in copies.values():
            memory.free(address)


def _needs_copy(array: ArrayArgument) -> bool:
    return array.device is None and array.nbytes > 0


def _place(copies: dict[Span, int], host: int) -> int:
    """The device address of host address ``host``, which lies in one of ``copies``."""
    for span, address in copies.items():
        if span.begin <= host < span.end:
            return address + host - span.base
    raise KeyError(host)
