"""Traits of ops: what an op is, declared once in its dialect and asked by every pass, analysis and lowering.

A dialect declares them as MLIR's own, where the op is defined::

    class ClampFOp(TT.Operation, name="clampf", traits=[Pure, Elementwise]): ...

Ops of dialects that MLIR brings are declared in :mod:`tri_core.ir.upstream`.  An op that declares nothing is taken to do
anything: it is neither moved nor repeated nor left out.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.errors import VerificationError
from tri_core.ir.upstream import CASTS, ELEMENTWISE_OPS, INSTRUCTIONS, PURE_DIALECTS, UNIFORM_OPS
from tri_core.locations import source_location
from tri_core.mlir import ext, ir

__all__ = [
    "Cast",
    "DataMovement",
    "Decomposable",
    "DerivesPointer",
    "Elementwise",
    "Instructions",
    "Pure",
    "PureByAttribute",
    "Rematerializable",
    "Replicates",
    "Trait",
    "ViewLike",
    "decompose",
    "derives_pointer",
    "elementwise_ops",
    "is_cast",
    "is_elementwise",
    "is_pure",
    "is_rematerializable",
    "is_view",
    "maps_elements",
    "moves_data",
    "replicates",
    "source_of",
]


class Trait:
    """A trait of tri's; subclasses stand in ``traits=`` of an op's class, beside MLIR's."""

    _ops: ClassVar[set[str]]

    def __init_subclass__(cls) -> None:
        cls._ops = set()

    @classmethod
    def attach(cls, name: str) -> None:
        """The op called ``name`` has this trait; the bindings call it when the dialect is loaded."""
        cls._ops.add(name)

    @classmethod
    def declared_by(cls, name: str) -> bool:
        """True if the op called ``name`` declares it."""
        return name in cls._ops


class Pure(Trait):
    """No effects, and defined for all operands: the op may be moved, merged, repeated or left out."""

    @classmethod
    def attach(cls, name: str) -> None:
        """As :meth:`Trait.attach`; MLIR's passes know as well."""
        super().attach(name)
        ext.Pure.attach(name)


class PureByAttribute(Trait):
    """Pure where the op's attribute ``pure`` is true: what is called is not known to the compiler."""


class Elementwise(Trait):
    """An element of a result depends on the elements of the operands at the same index alone."""


class Rematerializable(Trait):
    """Cheap enough to be computed again, or iterations ahead, instead of kept: no regions, no memory.

    What is pure and elementwise is so without saying it.
    """


class DataMovement(Trait):
    """The elements of the result are elements of the operand, no arithmetic: splat, broadcast, trans, a conversion of the layout."""


class Replicates(DataMovement):
    """Data movement whose result holds each element of the one operand, a tensor, once or several times: broadcast, expand_dims.

    Lanes that hold copies of an element share the register, so such a result takes no registers beside its operand's.
    """

    @classmethod
    def attach(cls, name: str) -> None:
        """As :meth:`Trait.attach`; the op moves data as well."""
        super().attach(name)
        DataMovement.attach(name)


class DerivesPointer(Trait):
    """The result points into what the first operand points into, or others that are pointers; so does that of :class:`DataMovement`."""


class ViewLike(Trait):
    """The result, a buffer, is a part of the operand or shows it in another shape; nothing is accessed."""


class Cast(Trait):
    """Gives each element of its one operand in another type."""


class Instructions:
    """The trait of an op that takes about ``count`` instructions an element; of one without it nothing is known."""

    _counts: ClassVar[dict[str, int]] = dict(INSTRUCTIONS)

    def __init__(self, count: int) -> None:
        self.count = count

    def attach(self, name: str) -> None:
        """As :meth:`Trait.attach`."""
        self._counts[name] = self.count

    @classmethod
    def of(cls, name: str) -> int | None:
        """Number of instructions of ops called ``name``; None if unknown."""
        return cls._counts.get(name)


class Decomposable(Trait):
    """Has a meaning in other ops, which whoever has no rule for the op itself uses instead of it.

    The op's class defines ``decompose(self)``: creates the other ops at the ambient insertion point and location, and returns one
    value for each result, of its type.  Passes see the op itself; a lowering rule of a backend comes before its decomposition.
    """


def decompose(op: ir.Operation) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops that a :class:`Decomposable` ``op`` stands for, created before it, and what they give for its results.

    ``op`` stays, with its uses.  VerificationError where the values do not fit the results.
    """
    before = list(op.block.operations)
    with op.location, ir.InsertionPoint(op):
        values = op.opview.decompose()
    given = [values] if isinstance(values, ir.Value) else list(values)
    wanted = [result.type for result in op.results]
    if [value.type for value in given] != wanted:
        raise VerificationError(
            f"{op.name} decomposes to {', '.join(str(v.type) for v in given)} for {', '.join(map(str, wanted))}",
            location=source_location(op.location),
            remedy=f"have {type(op.opview).__name__}.decompose return one value of its type for each result",
        )
    known = {o.operation for o in before}
    return [o.operation for o in op.block.operations if o.operation not in known], given


def is_pure(op: ir.Operation) -> bool:
    """True if ``op`` only computes its results; its declaration includes the effects of its regions."""
    name = op.name
    if Pure.declared_by(name) or name.startswith(PURE_DIALECTS):
        return True
    return PureByAttribute.declared_by(name) and bool(ir.IntegerAttr(op.attributes["pure"]).value)


def is_elementwise(op: ir.Operation) -> bool:
    """True if ``op`` is pure, and each element of its results depends on one element of each operand."""
    return maps_elements(op.name) and is_pure(op)


def maps_elements(name: str) -> bool:
    """True if ops called ``name`` compute each element of their results from the operands' at its index, pure
    or not.
    """
    if name.startswith(PURE_DIALECTS):
        return name not in UNIFORM_OPS
    return Elementwise.declared_by(name)


def is_rematerializable(op: ir.Operation) -> bool:
    """True if ``op`` may be recomputed, or moved up, at little cost."""
    name = op.name
    if name.startswith(PURE_DIALECTS):
        return True
    return (Elementwise.declared_by(name) or Rematerializable.declared_by(name)) and is_pure(op)


def is_cast(op: ir.Operation) -> bool:
    """True if ``op`` converts the element type of its one operand, element by element."""
    name = op.name
    return name in CASTS or Cast.declared_by(name)


def moves_data(op: ir.Operation) -> bool:
    """True if the elements of the result of ``op`` are elements of its operand."""
    return DataMovement.declared_by(op.name)


def replicates(op: ir.Operation) -> bool:
    """True if the result of ``op`` consists of the elements of its one operand, each once or several times."""
    return Replicates.declared_by(op.name)


def derives_pointer(name: str) -> bool:
    """True if the result of ops called ``name`` points into the object of the first operand, if they are
    pointers.
    """
    return DataMovement.declared_by(name) or DerivesPointer.declared_by(name)


def source_of(op: ir.Operation) -> ir.Value:
    """First operand of ``op``, a data movement, cast, view or pointer computation."""
    return op.operands[0]


def is_view(op: ir.Operation) -> bool:
    """True if the result of ``op`` is a buffer within its operand's memory."""
    return ViewLike.declared_by(op.name)


def elementwise_ops(*dialects: type[ext.Dialect]) -> tuple[str, ...]:
    """Names of the pure elementwise ops of MLIR's dialects, and of ``dialects``; for tables of rules by name."""
    declared = [
        op.OPERATION_NAME
        for dialect in dialects
        for op in dialect.operations
        if Elementwise in op._traits and Pure in op._traits
    ]
    return (*ELEMENTWISE_OPS, *sorted(declared))
