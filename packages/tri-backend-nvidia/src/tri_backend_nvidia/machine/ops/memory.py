"""Machine ops of global memory: predicated accesses, cache modifiers, eviction priorities.

An access that LLVM can say (no predicate, no modifiers) is a plain LLVM load or store and never gets here.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

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
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["REGISTER", "LoadOp", "StoreOp", "group"]

#: LLVM's constraint for a register that holds a word of so many bits
REGISTER = {8: "h", 16: "h", 32: "r", 64: "l"}


def _instruction(kind: str, modifiers: str, policy: str, words: int, width: int) -> str:
    hint = ".L2::cache_hint" if policy else ""
    vector = f".v{words}" if words > 1 else ""
    if modifiers == ".volatile":  # an order, which comes before the state space
        return f"{kind}.volatile.global{vector}.b{width}"
    return f"{kind}.global{modifiers}{hint}{vector}.b{width}"


def _with_policy(body: str, policy: str) -> str:
    """``body`` in a scope where ``policy`` names a cache policy of that priority over all addresses."""
    if not policy:
        return body
    return f"{{ .reg .b64 policy; createpolicy.fractional.L2::{policy}.b64 policy, 1.0; {body} }}"


def group(registers: Sequence[str]) -> str:
    """Registers as an instruction takes them."""
    return registers[0] if len(registers) == 1 else f"{{{', '.join(registers)}}}"


class LoadOp(MachineOp, dialect=NVM, name="load"):
    """``ld.global``: a scalar or vector where ``predicate``, ``other`` elsewhere.

    ``modifiers`` follow the state space in the instruction's name (``.cg``, ``.L1::evict_first``), or are ``.volatile``;
    ``policy`` is the L2 priority (``evict_first``, ...) or empty.
    """

    pointer: In
    predicate: In
    other: In
    modifiers: ir.StringAttr
    policy: ir.StringAttr
    result: Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly; ``other`` is tied to the results, so a lane that loads nothing keeps it."""
        type_ = self.result.type
        width = word_bits(type_)
        count = bits_of(type_) // width
        policy = text(self.policy)
        name = _instruction("ld", text(self.modifiers), policy, count, width)
        results = [f"${i}" for i in range(count)]
        guard = "" if always(self.predicate) else f"@${count + 1} "
        body = f"{guard}{name} {group(results)}, [${count}]{', policy' if policy else ''};"
        register = REGISTER[width]
        constraints = ",".join([f"={register}"] * count + ["l", "b"] + [str(i) for i in range(count)])
        # there are no 8-bit registers: a byte is moved in a 16-bit one
        held = b.int_type(max(width, 16))
        others = [b.int_cast(w, held) for w in to_words(b, self.other)]
        words = b.inline_asm(
            _with_policy(body, policy), constraints, [self.pointer, self.predicate, *others], [held] * count
        )
        words = [b.int_cast(w, b.int_type(width)) for w in words]
        return [from_words(b, words, type_)]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Element by element; lanes whose predicate is false keep ``other``."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        pointer, predicate, other = operands
        volatile = "volatile" in text(self.modifiers)
        return [simulation.load(cta, self.result.type, pointer, predicate, other, volatile=volatile)]


class StoreOp(MachineOp, dialect=NVM, name="store"):
    """``st.global``: a scalar or vector where ``predicate``; modifiers as for a load."""

    pointer: In
    value: In
    predicate: In
    modifiers: ir.StringAttr
    policy: ir.StringAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly."""
        type_ = self.value.type
        width = word_bits(type_)
        words = [b.int_cast(w, b.int_type(max(width, 16))) for w in to_words(b, self.value)]
        policy = text(self.policy)
        name = _instruction("st", text(self.modifiers), policy, len(words), width)
        guard = "" if always(self.predicate) else "@$1 "
        registers = group([f"${i + 2}" for i in range(len(words))])
        body = f"{guard}{name} [$0], {registers}{', policy' if policy else ''};"
        constraints = ",".join(["l", "b"] + [REGISTER[width]] * len(words))
        b.inline_asm(_with_policy(body, policy), constraints, [self.pointer, self.predicate, *words])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Element by element where the predicate is true."""
        from tri_backend_nvidia.machine.simulation import core as simulation

        pointer, value, predicate = operands
        volatile = "volatile" in text(self.modifiers)
        simulation.store(cta, self.value.type, pointer, value, predicate, volatile=volatile)
        return []
