"""Machine ops of atomics on global memory."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Callable, Sequence

import numpy as np

from tri_backend_nvidia.machine.base import NVM, Array, In, Out, always, bits_of, from_words, text, to_words
from tri_backend_nvidia.machine.memory import REGISTER
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["AtomicCasOp", "AtomicRmwOp"]

_GLOBAL = 1
_CLOBBER = "~{memory}"


class AtomicRmwOp(MachineOp, dialect=NVM, name="atomic_rmw"):
    """``atom``: changes memory where ``predicate``; the old value, anything elsewhere.

    ``combine`` is ``add``, ``min``, ``max``, ``and``, ``or``, ``xor`` or ``exch``, ``type`` the instruction's
    type (``u32``, ``s64``, ``f32``, ``noftz.f16``, ``b32``), ``order`` the memory order and scope (``.acq_rel.gpu``).
    """

    pointer: In
    value: In
    predicate: In
    combine: ir.StringAttr
    kind: ir.StringAttr
    order: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly that LLVM moves no memory access across."""
        type_ = self.value.type
        register = REGISTER[bits_of(type_)]
        guard = "" if always(self.predicate) else "@$3 "
        name = f"atom.global{text(self.order)}.{text(self.combine)}.{text(self.kind)}"
        (word,) = to_words(b, self.value)
        words = b.inline_asm(
            f"{guard}{name} $0, [$1], $2;",
            f"={register},l,{register},b,{_CLOBBER}",
            [self.pointer, word, self.predicate],
            [word.type],
        )
        return [from_words(b, words, type_)]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """One thread after another, in the order of their numbers."""
        pointer, value, predicate = operands
        function = _COMBINE[text(self.combine)]
        unsigned = text(self.kind).startswith("u")
        number = np.dtype(value.dtype.str.replace("i", "u")) if unsigned else value.dtype

        def step(old: Array, new: Array) -> Array:
            return function(old.view(number), new.view(number)).astype(number).view(value.dtype)

        return [_in_turn(cta, pointer, predicate, step, value)]


_COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
}


class AtomicCasOp(MachineOp, dialect=NVM, name="atomic_cas"):
    """``atom.cas``: stores ``value`` where memory holds ``compare`` (bits are compared); the old value."""

    pointer: In
    compare: In
    value: In
    predicate: In
    order: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly that LLVM moves no memory access across."""
        type_ = self.value.type
        width = bits_of(type_)
        register = REGISTER[width]
        guard = "" if always(self.predicate) else "@$4 "
        (compare,), (word,) = to_words(b, self.compare), to_words(b, self.value)
        words = b.inline_asm(
            f"{guard}atom.global{text(self.order)}.cas.b{width} $0, [$1], $2, $3;",
            f"={register},l,{register},{register},b,{_CLOBBER}",
            [self.pointer, compare, word, self.predicate],
            [word.type],
        )
        return [from_words(b, words, type_)]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """One thread after another, in the order of their numbers."""
        pointer, compare, value, predicate = operands

        def step(old: Array, expected: Array, new: Array) -> Array:
            return new if old.tobytes() == expected.tobytes() else old

        return [_in_turn(cta, pointer, predicate, step, compare, value)]


def _in_turn(
    cta: SimulatedCTA, pointer: Array, predicate: Array, step: Callable[..., Array], *values: Array
) -> Array:
    """The old values when each active thread replaces what it finds by ``step(old, *its values)``."""
    memory, dtype = cta.memory(_GLOBAL), values[0].dtype
    result = np.zeros(cta.num_threads, dtype)
    for thread in np.flatnonzero(cta.active & predicate):
        alone = np.arange(cta.num_threads) == thread
        one = slice(thread, thread + 1)
        found = memory.load(pointer, dtype, alone)
        result[one] = found[one]
        found[one] = step(result[one], *(v[one] for v in values))
        memory.store(pointer, found, alone)
    return result
