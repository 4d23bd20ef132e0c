"""Loads whose elements are needed by the first thread that holds them alone.

Where a tensor has fewer elements than a program has threads, several threads hold an element, and all of them load it; of those the first
stores.  A load of which nothing but such stores comes, each element of them from the same element, is needed by that thread alone::

    x = load p; store p, x * y

The others need not load, so that nobody reads what another thread writes.
"""

from __future__ import annotations

from tri_core.dialects.tt import LoadOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.access import access_of
from tri_core.ir.effects import WRITE_GLOBAL, effects_of
from tri_core.ir.traits import Trait, is_elementwise
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.types import tensor_info

__all__ = ["LoadsByOwner", "is_owned"]

#: ops that what is loaded is followed through at most
_MOST = 256


class LoadsByOwner(Trait):
    """Loads a tensor; with the marker :data:`~tri_gpu_dialect.dialect.markers.OWNED` the first thread that holds an element does, and no other.

    ``tt.load`` does; an op that decomposes to it hands the marker on.
    """


def is_owned(load: ir.Operation) -> bool:
    """True where the result of ``load``, a ``tt.load`` or a :class:`LoadsByOwner`, reaches only stores of its own layout, elementwise."""
    if not (isa(load, LoadOp) or LoadsByOwner.declared_by(load.name)) or reads_again(load):
        return False
    held, stored = _place(load.results[0]), False
    waiting, seen = [load.results[0]], set[ir.Operation]()
    while waiting:
        for use in waiting.pop().uses:
            user = use.owner.operation
            if user in seen:
                continue
            seen.add(user)
            if len(seen) > _MOST:
                return False
            access = access_of(user)
            if access is not None and effects_of(user) == frozenset({WRITE_GLOBAL}):
                if user.results or _place(access.value) != held:
                    return False
                stored = True
            elif (
                is_elementwise(user)
                and not len(user.regions)
                and all(_place(value) == held for value in user.results)
            ):
                waiting += user.results
            else:
                return False
    return stored


def _place(value: ir.Value) -> tuple[tuple[int, ...], ir.Attribute | None] | None:
    """The shape and the layout of a tensor; None: a scalar."""
    info = tensor_info(value.type)
    return None if info is None else (tuple(info.shape), info.encoding)
