"""Values, ops and blocks: the nodes of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from tri_core.lazy_dataclasses import dataclass
from tri_core.ttir.types import DType, Type

__all__ = ["Block", "Op", "Value", "constant_of"]


@dataclass(eq=False, slots=True)
class Value:
    """The result of an op, or an argument of a block; compared by identity.

    ``index`` is its position among the results or arguments; ``uses`` lists (user, operand position).
    """

    type: Type
    index: int
    op: Op | None = None
    block: Block | None = None
    uses: list[tuple[Op, int]] = field(default_factory=list)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; ``()`` for a scalar."""
        return self.type.shape or ()

    @property
    def is_tensor(self) -> bool:
        """True if the value is a tensor (of any rank, also 0)."""
        return self.type.shape is not None

    def __repr__(self) -> str:
        source = self.op.name if self.op else "argument"
        return f"<{source}#{self.index}: {self.type}>"


@dataclass(eq=False, slots=True)
class Op:
    """An operation: ``attributes`` are plain Python values, ``location`` the binding's object.

    ``order`` numbers the ops of a kernel in program order, a parent before the ops in its blocks.
    ``operand_names`` maps the operands that are present to their positions, by the names of the op's class.
    """

    name: str
    operands: list[Value]
    results: list[Value]
    attributes: dict[str, Any]
    location: Any
    parent: Block | None
    order: int
    blocks: list[Block] = field(default_factory=list)
    operand_names: Mapping[str, int] = field(default_factory=dict)

    @property
    def result(self) -> Value:
        """The one result."""
        return self.results[0]

    @property
    def source(self) -> Value:
        """First operand of the op: the source of a movement, conversion, derivation or reduction."""
        return self.operands[0]

    def has_kind_of(self, other: Op) -> bool:
        """True if the op is of the same class as ``other``."""
        return self.name == other.name

    def operand(self, name: str) -> Value:
        """The operand ``name`` of the op's class; KeyError where the op has none."""
        return self.operands[self.operand_names[name]]

    def optional(self, name: str) -> Value | None:
        """The optional operand ``name``, or None."""
        position = self.operand_names.get(name)
        return None if position is None else self.operands[position]

    def use(self, position: int, value: Value) -> None:
        """Make ``value`` the operand at ``position`` (which may be the next one)."""
        if position == len(self.operands):
            self.operands.append(value)
        else:
            old = self.operands[position]
            old.uses = [(user, p) for user, p in old.uses if user is not self or p != position]
            self.operands[position] = value
        value.uses.append((self, position))

    def __repr__(self) -> str:
        return f"<{self.name} @{self.order}>"


@dataclass(eq=False, slots=True)
class Block:
    """A list of ops that ends with a terminator; ``parent`` is the op whose region it is."""

    arguments: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    parent: Op | None = None

    @property
    def terminator(self) -> Op:
        """The last op."""
        return self.ops[-1]

    def walk(self) -> Iterator[Op]:
        """Every op of the block and of the blocks within, in program order."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                yield from block.walk()


def constant_of(value: Value) -> Any:
    """The number that ``value`` holds everywhere, or None when that is not known."""
    while value.op is not None and value.op.name in {
        "tt.splat",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
    }:
        value = value.op.source
    if value.op is None or value.op.name != "arith.constant":
        return None
    number = value.op.attributes["value"]
    return None if isinstance(number, list) else number
