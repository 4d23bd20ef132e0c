"""``triton._C.libtriton.ir``: TTIR as a record that code outside of the compiler walks, under the names of Triton's bindings.

PyTorch reads in it which tensors a user's kernel reads and writes.  It is taken from tri's module at once, so that no walk holds the lock
of the IR.  What differs between the two dialects is reported in Triton's words:

* terminators of reductions and scans are called ``tt.reduce.return`` and ``tt.scan.return``;
* an access that Triton lacks, or that walkers of its TTIR don't know for one (atomic loads and stores, reductions and scatters through
  descriptors), is the plain load or store of the same memory, with the address as its first operand;
* an op that may do anything is an impure ``tt.elementwise_inline_asm``, of which walkers know that it may;
* a map whose function touches no memory is reported without its region;
* a descriptor that is a parameter has as many arguments of the function as in Triton: itself, its sizes and all of its strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tri_core.dialects.tt import (
    AtomicCasOp,
    AtomicRmwOp,
    DescriptorLoadOp,
    DescriptorStoreOp,
    ElementwiseInlineAsmOp,
    FuncOp,
    LoadOp,
    MapElementwiseOp,
    ReduceReturnOp,
    ScanReturnOp,
    StoreOp,
)
from tri_core.ir.access import access_of
from tri_core.ir.effects import READ_DESCRIBED, WRITE_DESCRIBED, WRITE_GLOBAL, effects_of, may_have
from tri_core.ir.views import isa
from tri_core.mlir import ir

__all__ = ["block", "context", "load_dialects", "module", "operation", "recorded", "region", "value"]

#: accesses that walkers know by these names
_KNOWN = (LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp, DescriptorLoadOp, DescriptorStoreOp)
#: terminators, as Triton calls them
_TERMINATORS = {ReduceReturnOp: "tt.reduce.return", ScanReturnOp: "tt.scan.return"}


class context:
    """Stands for Triton's MLIR context; tri's is the process's own."""


def load_dialects(context: Any) -> None:
    """Nothing: tri's dialects are loaded where they are used."""
    del context


class _Numbered:
    """A part of a module with a number that no other part of the module has."""

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def id(self) -> int:
        """The number."""
        return self._number


class value(_Numbered):
    """A result of an op, or an argument of a block."""

    __slots__ = ()


class region(_Numbered):
    """A list of blocks, which know it as their parent."""

    __slots__ = ("_size",)

    def __init__(self, number: int, size: int) -> None:
        super().__init__(number)
        self._size = size

    def size(self) -> int:
        """The number of blocks."""
        return self._size

    def empty(self) -> bool:
        """True if there is no block."""
        return not self._size


class block(_Numbered):
    """A list of ops, which know it as theirs."""

    __slots__ = ("_arguments", "_parent")

    def __init__(self, number: int, parent: region, arguments: Sequence[value]) -> None:
        super().__init__(number)
        self._parent, self._arguments = parent, arguments

    def get_parent(self) -> region:
        """The region that it is in."""
        return self._parent

    def get_num_arguments(self) -> int:
        """The number of arguments."""
        return len(self._arguments)

    def get_argument(self, index: int) -> value:
        """An argument."""
        return self._arguments[index]

    arg = get_argument


class operation:
    """An op: what it is called, its values, regions and attributes.  Attributes that it lacks, or of another kind, are None."""

    __slots__ = ("_attributes", "_block", "_name", "_operands", "_regions", "_results")

    def __init__(
        self,
        name: str,
        operands: Sequence[value],
        results: Sequence[value],
        regions: Sequence[region],
        within: block | None,
        attributes: Mapping[str, Any],
    ) -> None:
        self._name, self._operands, self._results, self._regions = name, operands, results, regions
        self._block, self._attributes = within, attributes

    def get_name(self) -> str:
        """With the dialect's, as ``tt.load``."""
        return self._name

    def get_num_operands(self) -> int:
        """The number of operands."""
        return len(self._operands)

    def get_operand(self, index: int) -> value:
        """An operand."""
        return self._operands[index]

    def get_num_results(self) -> int:
        """The number of results."""
        return len(self._results)

    def get_result(self, index: int) -> value:
        """A result."""
        return self._results[index]

    def get_num_regions(self) -> int:
        """The number of regions."""
        return len(self._regions)

    def get_region(self, index: int) -> region:
        """A region."""
        return self._regions[index]

    def get_block(self) -> block | None:
        """The block that it is in; None: it is the module."""
        return self._block

    def get_str_attr(self, name: str) -> str | None:
        """The text of attribute ``name``."""
        return self._attribute(name, str)

    def get_bool_attr(self, name: str) -> bool | None:
        """The truth of attribute ``name``."""
        return self._attribute(name, bool)

    def get_int_attr(self, name: str) -> int | None:
        """The number that attribute ``name`` is."""
        return self._attribute(name, int)

    def get_flat_symbol_ref_attr(self, name: str) -> str | None:
        """The name of the function that attribute ``name`` refers to."""
        found = self._attribute(name, _Symbol)
        return None if found is None else str(found)

    def _attribute(self, name: str, kind: type[Any]) -> Any:
        found = self._attributes.get(name)
        return found if type(found) is kind else None


class module:
    """A module that has been verified; ``str()`` is its text."""

    def __init__(self, operations: Sequence[operation], text: str) -> None:
        self._operations, self._text = operations, text

    def walk(self, fn: Callable[[operation], Any]) -> None:
        """Call ``fn`` with each op: those of an op's regions before it, the module last."""
        for op in self._operations:
            fn(op)

    def verify(self) -> bool:
        """True: a module that is none is an error where it is made."""
        return True

    def __str__(self) -> str:
        return self._text

    str = str_nodebug = __str__


class _Symbol(str):
    """The name of a function, as opposed to text."""

    __slots__ = ()


def recorded(made: ir.Module, strides: Mapping[int, int], text: str) -> module:
    """The record of ``made``; the caller is inside :func:`tri_core.mlir.session`.

    ``strides``: arguments that the kernel would have in Triton and lacks here, by the index of the argument before which they'd stand.
    """
    return module(list(_Reader(strides).of(made.operation, None)), text)


class _Reader:
    """Reads ops into a record, those of regions first."""

    def __init__(self, strides: Mapping[int, int]) -> None:
        self._strides = strides
        self._values: dict[ir.Value, value] = {}
        self._count = 0

    def of(self, op: ir.Operation, within: block | None) -> Iterator[operation]:
        """``op`` behind those of its regions, which is in the block ``within``."""
        results = [self._value(r) for r in op.results]
        name, operands = _name_and_operands(op)
        regions = [region(self._number(), len(r.blocks)) for r in ([] if _is_plain_map(op) else op.regions)]
        for found, source in zip(regions, op.regions, strict=False):
            for inner in source.blocks:
                entered = block(self._number(), found, self._arguments(op, inner))
                for child in inner.operations:
                    yield from self.of(child.operation, entered)
        yield operation(
            name, [self._value(o) for o in operands], results, regions, within, _attributes(op, name)
        )

    def _arguments(self, op: ir.Operation, inner: ir.Block) -> list[value]:
        found = []
        for index, argument in enumerate([*inner.arguments, None]):
            more = self._strides.get(index, 0) if isa(op, FuncOp) else 0
            found += [value(self._number()) for _ in range(more)]
            found += [] if argument is None else [self._value(argument)]
        return found

    def _value(self, source: ir.Value) -> value:
        if source not in self._values:
            self._values[source] = value(self._number())
        return self._values[source]

    def _number(self) -> int:
        self._count += 1
        return self._count


def _name_and_operands(op: ir.Operation) -> tuple[str, list[ir.Value]]:
    """Name of ``op``, and its operands in the order that walkers know."""
    access = access_of(op)
    if access is not None and not isa(op, *_KNOWN):
        first = access.address
        return _plain_access(op), [first, *(o for o in op.operands if o != first)]
    for kind, name in _TERMINATORS.items():
        if isa(op, kind):
            return name, list(op.operands)
    is_unknown = effects_of(op) is None and not list(op.regions)
    return _name(ElementwiseInlineAsmOp) if is_unknown else op.name, list(op.operands)


def _plain_access(op: ir.Operation) -> str:
    if may_have(op, WRITE_DESCRIBED):
        return _name(DescriptorStoreOp)
    if may_have(op, WRITE_GLOBAL):
        return _name(StoreOp)
    return _name(DescriptorLoadOp if may_have(op, READ_DESCRIBED) else LoadOp)


def _name(kind: Any) -> str:
    name: str = kind.OPERATION_NAME
    return name


def _is_plain_map(op: ir.Operation) -> bool:
    """True if ``op`` maps elements by a function that neither reads nor writes."""
    inner = (child for r in op.regions for b in r.blocks for child in b.operations)
    return isa(op, MapElementwiseOp) and not any(
        effects_of(child.operation) != frozenset() for child in inner
    )


def _attributes(op: ir.Operation, name: str) -> dict[str, Any]:
    """Text, truths, numbers and names of functions among the attributes of ``op``, which is called ``name``."""
    found = {a: read for a in op.attributes for read in [_read(op.attributes[a])] if read is not None}
    return found if name == op.name else {**found, "pure": False}


def _read(attribute: ir.Attribute) -> Any:
    for kind, made in (
        (ir.BoolAttr, bool),
        (ir.IntegerAttr, int),
        (ir.StringAttr, str),
        (ir.FlatSymbolRefAttr, _Symbol),
    ):
        if isinstance(attribute, kind):
            return made(attribute.value)
    return None
