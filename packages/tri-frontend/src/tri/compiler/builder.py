"""Emission of TTIR: the one object through which language functions make operations.

A :class:`Builder` knows the module, the insertion point, the current location, the target and its options.
MLIR types and attributes are cached for the process, since its one MLIR context lives as long.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from tri.language import types as t
from tri.language.e4b15_bits import encode_e4b15
from tri.language.tensor import tensor
from tri_core.dialects.tt import TT, PointerType, TensorDescType
from tri_core.errors import Unsupported
from tri_core.mlir import ir, registry

if TYPE_CHECKING:
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["Builder", "ir_type"]

registry.add_dialect(TT)

_SCALARS: dict[str, Callable[[], ir.Type]] = {
    "int1": lambda: ir.IntegerType.get_signless(1),
    "int8": lambda: ir.IntegerType.get_signless(8),
    "uint8": lambda: ir.IntegerType.get_signless(8),
    "int16": lambda: ir.IntegerType.get_signless(16),
    "uint16": lambda: ir.IntegerType.get_signless(16),
    "int32": lambda: ir.IntegerType.get_signless(32),
    "uint32": lambda: ir.IntegerType.get_signless(32),
    "int64": lambda: ir.IntegerType.get_signless(64),
    "uint64": lambda: ir.IntegerType.get_signless(64),
    "fp8e4b15": lambda: ir.IntegerType.get_signless(8),
    "fp8e5": ir.Float8E5M2Type.get,
    "fp8e5b16": ir.Float8E5M2FNUZType.get,
    "fp8e4nv": ir.Float8E4M3FNType.get,
    "fp8e4b8": ir.Float8E4M3FNUZType.get,
    "fp16": ir.F16Type.get,
    "bf16": ir.BF16Type.get,
    "fp32": ir.F32Type.get,
    "fp64": ir.F64Type.get,
}

#: name of an attribute, its value, and the names of the operations that get it
Scope = tuple[str, ir.Attribute, tuple[str, ...]]

_types: dict[t.dtype, ir.Type] = {}


def ir_type(type_: t.dtype) -> ir.Type:
    """The MLIR type of a language type; Unsupported for one that IR has no type for."""
    found = _types.get(type_)
    if found is None:
        found = _types[type_] = _make_type(type_)
    return found


def _make_type(type_: t.dtype) -> ir.Type:
    if isinstance(type_, t.foreign_type):
        return type_.make_ir_type()
    if isinstance(type_, t.block_type):
        return type_.make_ir_type() or ir.RankedTensorType.get(type_.shape, ir_type(type_.element_ty))
    if isinstance(type_, t.tensor_descriptor_type):
        return _descriptor_type(type_.block_type, type_.layout)
    if isinstance(type_, t.pointer_type):
        pointee = t.int8 if type_.element_ty.is_bool() else type_.element_ty
        return PointerType.of(ir_type(pointee), type_.address_space)
    if type_.name not in _SCALARS:
        raise Unsupported(f"{type_} has no representation in the IR", remedy="convert it to another dtype")
    return _SCALARS[type_.name]()


def _descriptor_type(block: t.block_type, layout: str) -> ir.Type:
    """The type of descriptors of ``block``, which know the signedness of their elements, and ``layout`` if it is given."""
    element = block.element_ty
    scalar = ir_type(element)
    if element.is_int():
        signed = element.is_int_signed()
        bits = element.int_bitwidth
        scalar = ir.IntegerType.get_signed(bits) if signed else ir.IntegerType.get_unsigned(bits)
    encoding = ir.Attribute.parse(layout) if layout else None
    return TensorDescType.get(ir.RankedTensorType.get(block.shape, scalar, encoding))


class Builder:
    """Makes operations of one module at an insertion point that the code generator moves."""

    #: class of descriptors in the kernel, made of a handle, a shape and strides; None: the language's own
    descriptor_class: ClassVar[Callable[..., Any] | None] = None

    def __init__(self, target: Target, options: CommonOptions) -> None:
        self.target = target
        self.options = options
        self.location: ir.Location = ir.Location.unknown()
        self.module = ir.Module.create(self.location)
        self.point: ir.InsertionPoint = ir.InsertionPoint(self.module.body)
        #: expands a jit function's body in place: (function, arguments) to its value; set by the generator
        self.expand: Callable[[Any, Sequence[Any]], Any] = _no_expansion
        #: the scopes of plugins that the walk is inside of, innermost last: attribute, value, names of the operations that get it
        self.scopes: tuple[Scope, ...] = ()

    # --- operations -----------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        results: Sequence[t.dtype] = (),
        operands: Sequence[tensor] = (),
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Operation ``name`` at the insertion point; operands and result types are the language's."""
        return ir.Operation.create(
            name,
            results=[ir_type(r) for r in results],
            operands=[x.handle for x in operands],
            attributes=self._scoped(name, attributes) if self.scopes else attributes,
            regions=regions,
            loc=self.location,
            ip=self.point,
        )

    def value(
        self, name: str, result: t.dtype, *operands: tensor, attributes: dict[str, ir.Attribute] | None = None
    ) -> tensor:
        """The one result of operation ``name``, of type ``result``."""
        operation = ir.Operation.create(
            name,
            results=[_types.get(result) or ir_type(result)],
            operands=[x.handle for x in operands],
            attributes=self._scoped(name, attributes) if self.scopes else attributes,
            loc=self.location,
            ip=self.point,
        )
        return tensor(operation.result, result)

    def region(
        self,
        name: str,
        results: Sequence[t.dtype] | Callable[[Sequence[tensor]], Sequence[t.dtype]],
        operands: Sequence[tensor],
        attributes: dict[str, ir.Attribute] | None,
        arguments: Sequence[t.dtype],
        body: Callable[[Sequence[tensor]], Sequence[tensor]],
        terminator: str,
    ) -> list[tensor]:
        """The results of operation ``name``, whose one region computes ``body`` of ``arguments``.

        Language functions give the body as a function, since the interpreter's builder calls it on values.
        ``results`` may be a function of what the body gives, where the types depend on it.
        """
        block, inside = self.block(self.scratch().regions[0], arguments)
        with self.at(block), self.unsanitized():
            made = body(inside)
            self.create(terminator, operands=made)
        results = results(made) if callable(results) else results
        operation = self.create(name, results, operands, attributes, regions=1)
        block.append_to(operation.regions[0])
        return [tensor(r, type_) for r, type_ in zip(operation.results, results, strict=True)]

    @contextmanager
    def inside(self, scopes: Sequence[Scope]) -> Iterator[None]:
        """Inside of the ``with`` block operations carry what ``scopes`` say of them, the innermost of a name counting."""
        before, self.scopes = self.scopes, (*self.scopes, *scopes)
        try:
            yield
        finally:
            self.scopes = before

    def _scoped(self, name: str, attributes: dict[str, ir.Attribute] | None) -> dict[str, ir.Attribute]:
        """``attributes`` of an operation called ``name``, and those of the scopes; what the operation itself was given counts more."""
        given = {attribute: value for attribute, value, ops in self.scopes if name in ops}
        return {**given, **(attributes or {})}

    @contextmanager
    def unsanitized(self) -> Iterator[None]:
        """Inside of the ``with`` block integers may overflow.

        So they may in functions that are applied to elements, which are also applied to what fills up vectors, and
        in those of libdevice, which compute with the bits of floats.
        """
        before, self.options = self.options, dataclasses.replace(self.options, sanitize_overflow=False)
        try:
            yield
        finally:
            self.options = before

    def several(
        self,
        name: str,
        results: Sequence[t.dtype],
        operands: Sequence[tensor],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> list[tensor]:
        """All results of operation ``name``."""
        operation = self.create(name, results, operands, attributes)
        return [tensor(r, type_) for r, type_ in zip(operation.results, results, strict=True)]

    def constant(self, value: bool | float, type_: t.dtype) -> tensor:
        """``value`` as a scalar, or in every place of a block; ``value`` must fit the element type."""
        attribute = scalar_attribute(value, type_.scalar)
        if type_.is_block():
            attribute = ir.DenseElementsAttr.get_splat(ir_type(type_), attribute)
        return self.value("arith.constant", type_, attributes={"value": attribute})

    # --- attributes -----------------------------------------------------------------------------------

    def i32(self, value: int) -> ir.Attribute:
        """A 32-bit integer attribute."""
        return _cached("i32", value, lambda: ir.IntegerAttr.get(ir_type(t.int32), value))

    def i64(self, value: int) -> ir.Attribute:
        """A 64-bit integer attribute, the form of predicates."""
        return _cached("i64", value, lambda: ir.IntegerAttr.get(ir_type(t.int64), value))

    def unit(self) -> ir.Attribute:
        """An attribute that is there or not."""
        return _cached("unit", None, ir.UnitAttr.get)

    def boolean(self, value: bool) -> ir.Attribute:
        """A boolean attribute."""
        return _cached("bool", value, lambda: ir.BoolAttr.get(value))

    def string(self, value: str) -> ir.Attribute:
        """A string attribute."""
        return ir.StringAttr.get(value)

    def i32_array(self, values: Sequence[int]) -> ir.Attribute:
        """A dense array of 32-bit integers."""
        return ir.DenseI32ArrayAttr.get(list(values))

    def i32_dense(self, values: Sequence[int]) -> ir.Attribute:
        """A dense tensor of 32-bit integers, the form of axis hints."""
        element = ir_type(t.int32)
        items = [ir.IntegerAttr.get(element, v) for v in values]
        return ir.DenseElementsAttr.get(items, ir.RankedTensorType.get([len(items)], element))

    def segments(self, *sizes: int) -> ir.Attribute:
        """The sizes of an operation's operand groups, some of which may be empty."""
        return _cached("segments", sizes, lambda: ir.DenseI32ArrayAttr.get([int(n) for n in sizes]))

    def annotate(self, value: tensor, name: str, attribute: ir.Attribute) -> None:
        """Set a discardable attribute on the operation that made ``value``; a block argument has none."""
        owner = value.handle.owner
        if isinstance(owner, (ir.Operation, ir.OpView)):
            owner.attributes[name] = attribute

    # --- places ---------------------------------------------------------------------------------------

    @contextmanager
    def at(self, block: ir.Block) -> Iterator[None]:
        """Emit at the end of ``block`` inside the ``with``."""
        saved, self.point = self.point, ir.InsertionPoint(block)
        try:
            yield
        finally:
            self.point = saved

    def scratch(self) -> ir.Operation:
        """A detached operation with one region, to hold blocks until their real parent can be made."""
        return ir.Operation.create("builtin.module", regions=1, loc=self.location, ip=False)

    def block(
        self, region: ir.Region, arguments: Sequence[t.dtype] = (), names: Sequence[str] = ()
    ) -> tuple[ir.Block, list[tensor]]:
        """A new block in ``region`` with arguments of the given types, and these; ``names`` for locations."""
        types = [ir_type(a) for a in arguments]
        locations = [ir.Location.name(n, self.location) for n in names] or [self.location] * len(types)
        block = ir.Block.create_at_start(region, types, locations)
        return block, [tensor(h, a) for h, a in zip(block.arguments, arguments, strict=True)]


_attributes: dict[tuple[str, object], ir.Attribute] = {}


def _cached(kind: str, value: object, make: Callable[[], ir.Attribute]) -> ir.Attribute:
    found = _attributes.get((kind, value))
    if found is None:
        found = _attributes[kind, value] = make()
    return found


def scalar_attribute(value: bool | float, type_: t.dtype) -> ir.Attribute:
    """``value`` as an attribute of scalar ``type_``; unsigned values are wrapped to the signed range."""
    if type_.is_fp8e4b15():
        value = encode_e4b15(value)
        return ir.IntegerAttr.get(ir_type(type_), value - 256 * (value >= 128))
    if type_.is_floating():
        return ir.FloatAttr.get(ir_type(type_), float(value))
    bits = type_.int_bitwidth
    wrapped = int(value) & ((1 << bits) - 1)
    if bits > 1 and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    return ir.IntegerAttr.get(ir_type(type_), wrapped)


def _no_expansion(function: object, args: Sequence[object]) -> Any:
    raise Unsupported(f"this builder cannot expand {function!r}")
