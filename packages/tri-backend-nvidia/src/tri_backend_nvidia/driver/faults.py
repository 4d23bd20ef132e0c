"""Report of a kernel's fault: its name and location, beyond the driver's status.

A fault ends the context, so nothing can be asked afterwards.  Beforehand, every launch leaves the kernel's name in a ring,
and a kernel with assertions has a record in memory of the host (see :mod:`tri_backend_nvidia.fault_records`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tri_core.api import KernelFault
from tri_core.fault_records import Site, Watched

__all__ = ["explain", "forget", "is_fatal", "note", "settled", "watch"]

#: statuses of the CUDA driver after which the context is lost, in words
_FATAL = {
    700: "accessed memory that it may not (illegal address)",
    702: "ran longer than the system allows",
    710: "failed an assertion",
    714: "overflowed its stack",
    715: "executed an illegal instruction, or a trap",
    716: "accessed memory at an address that is not aligned",
    717: "accessed memory of another kind than the instruction's",
    718: "jumped to an address that is none",
    719: "failed",
}
#: kernels that the ring remembers
_REMEMBERED = 32

_LOST = "the process must be started again: CUDA ends the context, which all libraries of the process share"
_HINTS = {
    700: "check the masks of loads and stores; compute-sanitizer finds the access; ",
    716: "an array is aligned less than the kernel was compiled for; ",
    715: "barrier_polls ends deadlocks with a trap; ",
}


_launched: deque[str] = deque(maxlen=_REMEMBERED)
_watched: list[Watched] = []
_first: list[KernelFault] = []

#: remember that the kernel of this name is launched: one append, which every launch pays for
note = _launched.append


def settled() -> None:
    """All that was launched has ended well."""
    _launched.clear()


def forget() -> None:
    """Remember nothing: no launches, no records, no fault before."""
    _launched.clear()
    _watched.clear()
    _first.clear()


def watch(kernel: str, sites: Sequence[Site], address: int) -> None:
    """Look at the record at ``address``, which ``kernel`` writes the number of one of ``sites`` to."""
    _watched.append(Watched(kernel, tuple(sites), address))


def is_fatal(status: int) -> bool:
    """True if the context is lost after ``status``."""
    return status in _FATAL


def explain(status: int, what: str) -> KernelFault:
    """The error for a fatal ``status``, which the driver said in ``what``; later ones name the first."""
    if _first:
        first = _first[0]
        return KernelFault(
            f"{what}; the context was lost before: {first.message}",
            remedy=_LOST,
            location=first.location,
            kernel=first.kernel,
            kernels=first.kernels,
            program=first.program,
            thread=first.thread,
        )
    made = _of_record(what) or _of_ring(status, what)
    _first.append(made)
    return made


def _of_record(what: str) -> KernelFault | None:
    """The fault that a kernel has written down."""
    found = (watched.fault(what, _LOST, tuple(_launched)) for watched in _watched)
    return next((fault for fault in found if fault is not None), None)


def _of_ring(status: int, what: str) -> KernelFault:
    """The fault of one of the kernels that were launched since the last wait."""
    kernels = tuple(_launched)
    distinct = tuple(dict.fromkeys(kernels))
    certain = len(distinct) == 1 and len(kernels) < _REMEMBERED
    if certain:
        who = f"kernel {distinct[0]!r}"
    else:
        names = ", ".join(distinct) or "none by tri"
        who = f"a kernel (launched since the last wait, the latest last: {names})"
    return KernelFault(
        f"{who} {_FATAL[status]}; {what}",
        remedy=_HINTS.get(status, "") + _LOST,
        kernel=distinct[0] if certain else None,
        kernels=kernels,
        program=None,
        thread=None,
    )
