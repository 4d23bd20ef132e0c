"""Machine ops of atomics on global memory."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

import numpy as np

from tri_backend_nvidia.machine.base import (
    NVM,
    Array,
    In,
    Out,
    always,
    bits_of,
    from_words,
    text,
    to_words,
    word_bits,
)
from tri_backend_nvidia.machine.ops.memory import REGISTER, group
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["AtomicCasOp", "AtomicFenceOp", "AtomicLoadOp", "AtomicRmwOp"]

_CLOBBER = "~{memory}"


class AtomicRmwOp(MachineOp, dialect=NVM, name="atomic_rmw"):
    """``atom``: changes memory where ``predicate``; the old value, anything elsewhere; ``red`` where nobody reads that.

    ``combine`` is ``add``, ``min``, ``max``, ``and``, ``or``, ``xor``, ``exch`` or ``inc`` (up to ``value``, then 0), ``type`` the instruction's
    type (``u32``, ``s64``, ``f32``, ``noftz.f16``, ``b32``; of vectors with their size in words, ``v4.f32``, ``noftz.v2.bf16x2``), ``order`` the
    memory order and scope (``.acq_rel.gpu``).
    """

    computes_floats = True

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
        words = to_words(b, self.value)
        count, register = len(words), REGISTER[word_bits(type_)]
        order, _, scope = text(self.order).rpartition(".")
        combine = text(self.combine)
        # `red` exchanges nothing, and has no order of a load
        is_read = bool(list(self.result.uses)) or combine == "exch" or order not in (".relaxed", ".release")
        # the assembler takes the words in any order; this one is Triton's, which its users look for
        name = f"{'atom' if is_read else 'red'}.global.{scope}{order}.{combine}.{text(self.kind)}"
        results = count if is_read else 0
        guard = "" if always(self.predicate) else f"@${results + count + 1} "
        old, new = ([f"${first + i}" for i in range(count)] for first in (0, results + 1))
        place = [group(old)] if is_read else []
        body = f"{guard}{name} {', '.join([*place, f'[${results}]', group(new)])};"
        constraints = ",".join([f"={register}"] * results + ["l"] + [register] * count + ["b", _CLOBBER])
        types = [w.type for w in words] if is_read else []
        given = b.inline_asm(body, constraints, [self.pointer, *words, self.predicate], types)
        return [from_words(b, given, type_) if is_read else self.value]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """One thread after another, in the order of their numbers."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        pointer, value, predicate = operands
        names = text(self.combine), text(self.kind), text(self.order)
        return [simulation.atomic_rmw(cta, *names, pointer, value, predicate)]

    def simulate_exactly(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Sums of integers modulo a power of two; Unsupported for other updates by floats."""
        name, kind = text(self.combine), text(self.kind)
        if "f" not in kind.rpartition(".")[2] or name == "exch":
            return self.simulate(cta, operands)
        if name != "add":
            return super().simulate_exactly(cta, operands)
        from tri_backend_nvidia.machine.simulation import core as simulation

        pointer, value, predicate = operands
        size = f"s{8 * value.dtype.itemsize}"
        if "bf16" in kind or "f16" in kind:
            halves = np.ascontiguousarray(value).view(np.int16)
            value = halves.reshape(len(value), -1) if halves.size > len(value) else halves
            size = "s16"
        whole = value.view(f"i{value.dtype.itemsize}")
        made = simulation.atomic_rmw(cta, name, size, text(self.order), pointer, whole, predicate)
        return [np.ascontiguousarray(made).view(operands[1].dtype).reshape(operands[1].shape)]


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
        from tri_backend_nvidia.machine.simulation import core as simulation

        return [simulation.atomic_cas(cta, text(self.order), *operands)]


class AtomicLoadOp(MachineOp, dialect=NVM, name="atomic_load"):
    """``ld.relaxed`` or ``ld.acquire`` of an integer where ``predicate``, anything elsewhere; ``order`` as of ``atom``."""

    pointer: In
    predicate: In
    order: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly that LLVM moves no memory access across."""
        type_ = self.result.type
        width = bits_of(type_)
        guard = "" if always(self.predicate) else "@$2 "
        # there are no 8-bit registers: a byte is moved in a 16-bit one
        held = b.int_type(max(width, 16))
        (word,) = b.inline_asm(
            f"{guard}ld{text(self.order)}.global.b{width} $0, [$1];",
            f"={REGISTER[width]},l,b,{_CLOBBER}",
            [self.pointer, self.predicate],
            [held],
        )
        return [b.int_cast(word, type_)]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Element by element where the predicate is true."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        return [simulation.atomic_load(cta, text(self.order), self.result.type, *operands)]


class AtomicFenceOp(MachineOp, dialect=NVM, name="atomic_fence"):
    """``fence``: this thread's accesses of memory before it, and those behind it, are in ``order`` (``.acq_rel.gpu``) for others."""

    order: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        b.inline_asm(f"fence{text(self.order)};", _CLOBBER, [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Tells who looks for data races."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        simulation.fence(cta, text(self.order))
        return []
