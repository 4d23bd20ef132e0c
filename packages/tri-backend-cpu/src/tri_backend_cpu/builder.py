"""Creates the IR of the vector level: ``arith``, ``math``, ``scf`` and ``llvm`` ops on vectors and scalars.

*Width* is the number of lanes of a value: 0 is a scalar, anything else a vector.  Register types differ
from element types in two ways: 8-bit floats and bfloat16 are carried as integers of their bits (LLVM's
support for them depends on the target; :mod:`.casts` does the arithmetic), pointers as ``!llvm.ptr``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tri_core.mlir import ir
from tri_core.ttir.loops import FOR, IF
from tri_core.ttir.types import DType, dtype_of

__all__ = [
    "F16",
    "F32",
    "F64",
    "FLOAT_PREDICATES",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "INT_PREDICATES",
    "POINTER",
    "Builder",
    "element_of",
    "is_native_float",
    "storage_of",
    "width_of",
]

I1, I8, I16, I32, I64 = (dtype_of(f"i{n}") for n in (1, 8, 16, 32, 64))
F16, F32, F64 = (dtype_of(f"f{n}") for n in (16, 32, 64))
POINTER = DType("ptr", "ptr", 64)

#: float types that registers hold as they are; all others are held as integers
_NATIVE_FLOATS = {"f16", "f32", "f64"}


class Builder:
    """Builder of ops: an insertion point, a location, and caches of types and constants.

    Constants go to the function's entry block, once each.  ``contract`` lets float multiplications and
    additions be fused; ``native_half`` says that the target converts between f16 and f32.
    """

    def __init__(
        self,
        module: ir.Module,
        entry: ir.Block,
        *,
        contract: bool = True,
        native_half: bool = True,
        declared: set[str] | None = None,
    ) -> None:
        """``declared``: functions and tables that ``module`` has, shared by all that build into it."""
        self.module = module
        self.entry = entry
        self._declared: set[str] = set() if declared is None else declared
        self.native_half = native_half
        self.ip = ir.InsertionPoint(entry)
        self.location: ir.Location = ir.Location.unknown()
        self._constants: dict[tuple[DType, int, object], ir.Value] = {}
        self._types: dict[tuple[DType, int], ir.Type] = {}
        self.i64_type = ir.IntegerType.get_signless(64)
        self.fastmath = ir.Attribute.parse(f"#arith.fastmath<{'contract' if contract else 'none'}>")

    # --- types -------------------------------------------------------------------------------------------

    def type(self, dtype: DType, width: int = 0) -> ir.Type:
        """The register type of ``width`` elements of ``dtype``."""
        found = self._types.get((dtype, width))
        if found is None:
            element = _element_type(dtype)
            found = ir.VectorType.get([width], element) if width else element
            self._types[dtype, width] = found
        return found

    # --- ops ---------------------------------------------------------------------------------------------

    def op(self, name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
        """Create op ``name`` with one result of ``type_``."""
        made = ir.Operation.create(
            name, results=[type_], operands=operands, attributes=attributes, loc=self.location, ip=self.ip
        )
        return made.result

    def effect(self, name: str, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Operation:
        """Create op ``name`` without results."""
        return ir.Operation.create(
            name, operands=operands, attributes=attributes, loc=self.location, ip=self.ip
        )

    def same(self, name: str, *operands: ir.Value) -> ir.Value:
        """An op whose result has the type of its first operand."""
        return self.op(name, operands[0].type, *operands)

    @contextmanager
    def at(self, ip: ir.InsertionPoint) -> Iterator[None]:
        """Create ops at ``ip`` inside a ``with`` block."""
        before, self.ip = self.ip, ip
        try:
            yield
        finally:
            self.ip = before

    @contextmanager
    def inside(self, block: ir.Block) -> Iterator[None]:
        """Create ops at the end of ``block`` inside a ``with`` block."""
        with self.at(ir.InsertionPoint(block)):
            yield

    def call(self, symbol: str, type_: ir.Type, *operands: ir.Value) -> ir.Value:
        """A call of C function ``symbol``, which is declared when first called."""
        if symbol not in self._declared:
            self._declared.add(symbol)
            arguments = ", ".join(str(o.type) for o in operands)
            declaration = ir.Operation.parse(f"llvm.func @{symbol}({arguments}) -> {type_}")
            self.module.body.append(declaration)
        return self.op(
            "llvm.call",
            type_,
            *operands,
            callee=ir.FlatSymbolRefAttr.get(symbol),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
            op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
        )

    def intrinsic(self, name: str, type_: ir.Type | None, *operands: ir.Value) -> Any:
        """A call of LLVM's intrinsic ``name`` with a result of ``type_``, or with none."""
        made = ir.Operation.create(
            "llvm.call_intrinsic",
            results=[type_] if type_ is not None else [],
            operands=operands,
            attributes={
                "intrin": ir.StringAttr.get(name),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
                "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            },
            loc=self.location,
            ip=self.ip,
        )
        return made.result if type_ is not None else None

    # --- constants ---------------------------------------------------------------------------------------

    def constant(self, value: float, dtype: DType, width: int = 0) -> ir.Value:
        """``value`` as a scalar or in every lane; floats carried as bits are given as those bits."""
        key = (dtype, width, struct.pack("d", value) if isinstance(value, float) else value)
        found = self._constants.get(key)
        if found is None:
            attribute = _number(value, dtype, self.type(dtype))
            if width:
                attribute = ir.DenseElementsAttr.get_splat(self.type(dtype, width), attribute)
            found = self._constants[key] = self._at_entry(self.type(dtype, width), attribute)
        return found

    def lanes(self, values: Sequence[int], dtype: DType) -> ir.Value:
        """The vector constant ``values`` of integers."""
        key = (dtype, len(values), tuple(values))
        found = self._constants.get(key)
        if found is None:
            type_ = self.type(dtype, len(values))
            element = self.type(dtype)
            attribute = ir.DenseElementsAttr.get([ir.IntegerAttr.get(element, v) for v in values], type_)
            found = self._constants[key] = self._at_entry(type_, attribute)
        return found

    def iota(self, dtype: DType, width: int) -> ir.Value:
        """``0, 1, ..., width - 1``."""
        return self.lanes(range(width), dtype)

    def undefined(self, dtype: DType, width: int = 0) -> ir.Value:
        """A value that nobody looks at (zero)."""
        if dtype.is_pointer:
            return self.op("llvm.mlir.zero", self.type(dtype, width))
        return self.constant(0.0 if is_native_float(dtype) else 0, dtype, width)

    def _at_entry(self, type_: ir.Type, value: ir.Attribute) -> ir.Value:
        block = self.entry.operations
        ip = ir.InsertionPoint(block[0]) if len(block) else ir.InsertionPoint(self.entry)
        made = ir.Operation.create("arith.constant", results=[type_], attributes={"value": value}, ip=ip)
        return made.result

    # --- vectors -----------------------------------------------------------------------------------------

    def splat(self, scalar: ir.Value, width: int) -> ir.Value:
        """``scalar`` in every lane."""
        type_ = ir.VectorType.get([width], scalar.type)
        one = self.op("llvm.insertelement", type_, self.op("llvm.mlir.poison", type_), scalar, self.i32(0))
        return self.shuffle(one, one, [0] * width)

    def shuffle(self, a: ir.Value, b: ir.Value, lanes: Sequence[int]) -> ir.Value:
        """Lanes chosen from ``a`` followed by ``b``."""
        type_ = ir.VectorType.get([len(lanes)], ir.VectorType(a.type).element_type)
        return self.op("llvm.shufflevector", type_, a, b, mask=ir.DenseI32ArrayAttr.get(list(lanes)))

    def extract(self, vector: ir.Value, lane: int) -> ir.Value:
        """One lane of ``vector``."""
        return self.op("llvm.extractelement", ir.VectorType(vector.type).element_type, vector, self.i32(lane))

    def insert(self, vector: ir.Value, scalar: ir.Value, lane: int) -> ir.Value:
        """``vector`` with one lane replaced."""
        return self.op("llvm.insertelement", vector.type, vector, scalar, self.i32(lane))

    # --- integers ----------------------------------------------------------------------------------------

    def i32(self, value: int) -> ir.Value:
        """An i32 constant."""
        return self.constant(value, I32)

    def i64(self, value: int) -> ir.Value:
        """An i64 constant."""
        return self.constant(value, I64)

    def cmp(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Integer comparison, ``predicate`` as in ``arith.cmpi``."""
        width = width_of(a)
        code = ir.IntegerAttr.get(self.i64_type, INT_PREDICATES.index(predicate))
        return self.op("arith.cmpi", self.type(I1, width), a, b, predicate=code)

    def fcmp(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Float comparison, ``predicate`` as in ``arith.cmpf``."""
        code = ir.IntegerAttr.get(self.i64_type, FLOAT_PREDICATES.index(predicate))
        return self.op("arith.cmpf", self.type(I1, width_of(a)), a, b, predicate=code)

    def select(self, condition: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
        """Lane by lane (or by a scalar ``condition``), ``yes`` or ``no``."""
        return self.op("arith.select", yes.type, condition, yes, no)

    def convert_int(self, value: ir.Value, to: DType, *, signed: bool = True) -> ir.Value:
        """``value`` extended or truncated to the integer type ``to``."""
        width = width_of(value)
        bits = ir.IntegerType(element_of(value.type)).width
        if bits == to.bits:
            return value
        name = "arith.trunci" if to.bits < bits else "arith.extsi" if signed else "arith.extui"
        return self.op(name, self.type(to, width), value)

    def bitcast(self, value: ir.Value, dtype: DType) -> ir.Value:
        """The same bits as ``dtype``, which has the same size."""
        type_ = self.type(dtype, width_of(value))
        return value if value.type == type_ else self.op("arith.bitcast", type_, value)

    # --- memory ------------------------------------------------------------------------------------------

    def offset(self, base: ir.Value, index: ir.Value | int, element: DType) -> ir.Value:
        """The address ``index`` elements of ``element`` (by its size in memory) after ``base``."""
        if isinstance(index, int):
            if index == 0:
                return base
            if not _DYNAMIC < index < -_DYNAMIC:
                return self.offset(base, self.i64(index), element)
        raw, operands = (index, [base]) if isinstance(index, int) else (_DYNAMIC, [base, index])
        size = ir.IntegerType.get_signless(8 * element.nbytes)
        width = max(map(width_of, operands))
        return self.op(
            "llvm.getelementptr",
            self.type(POINTER, width),
            *operands,
            rawConstantIndices=ir.DenseI32ArrayAttr.get([raw]),
            elem_type=ir.TypeAttr.get(size),
        )

    def load(self, address: ir.Value, dtype: DType, width: int = 0, align: int | None = None) -> ir.Value:
        """``width`` consecutive elements at ``address``; ``align`` in bytes (the element's by default)."""
        stored = storage_of(dtype)
        alignment = ir.IntegerAttr.get(self.i64_type, align or dtype.nbytes)
        loaded = self.op("llvm.load", self.type(stored, width), address, alignment=alignment)
        return self.from_storage(loaded, dtype)

    def store(
        self,
        address: ir.Value,
        value: ir.Value,
        dtype: DType,
        align: int | None = None,
        *,
        streams: bool = False,
    ) -> None:
        """Store ``value``, of register type ``dtype``, at ``address``; ``streams``: past the caches."""
        attributes: dict[str, ir.Attribute] = {"nontemporal": ir.UnitAttr.get()} if streams else {}
        attributes["alignment"] = ir.IntegerAttr.get(self.i64_type, align or dtype.nbytes)
        self.effect("llvm.store", self.to_storage(value, dtype), address, **attributes)

    def fence_compiler(self) -> None:
        """Memory accesses stay on their side of this point; no instruction is made for it."""
        order = ir.IntegerAttr.get(self.i64_type, _ACQUIRE_RELEASE)
        self.effect("llvm.fence", ordering=order, syncscope=ir.StringAttr.get("singlethread"))

    def stack(self, dtype: DType, count: int) -> ir.Value:
        """The address of ``count`` elements on the stack; use it in the entry block only."""
        element = ir.TypeAttr.get(self.type(dtype))
        return self.op("llvm.alloca", self.type(POINTER), self.i64(count), elem_type=element)

    def unknown_lanes(self, width: int) -> ir.Value:
        """A mask of ``width`` true lanes that only running code knows; use it in the entry block only."""
        bits, volatile = ir.IntegerType.get_signless(width), ir.UnitAttr.get()
        address = self.op("llvm.alloca", self.type(POINTER), self.i64(1), elem_type=ir.TypeAttr.get(bits))
        every = self.op("llvm.mlir.constant", bits, value=ir.IntegerAttr.get(bits, -1))
        self.effect("llvm.store", every, address, volatile_=volatile)
        loaded = self.op("llvm.load", bits, address, volatile_=volatile)
        return self.op("llvm.bitcast", self.type(I1, width), loaded)

    def clear(self, address: ir.Value, nbytes: int) -> None:
        """Set ``nbytes`` bytes at ``address`` to zero."""
        volatile = ir.BoolAttr.get(False)
        self.effect("llvm.intr.memset", address, self.constant(0, I8), self.i64(nbytes), isVolatile=volatile)

    def to_storage(self, value: ir.Value, dtype: DType) -> ir.Value:
        """A register value as the integer or float that memory holds."""
        if dtype.bits == 1:
            return self.op("arith.extui", self.type(I8, width_of(value)), value)
        if dtype.is_pointer:
            return self.op("llvm.ptrtoint", self.type(I64, width_of(value)), value)
        return self.bitcast(value, storage_of(dtype))

    def from_storage(self, value: ir.Value, dtype: DType) -> ir.Value:
        """The inverse of :meth:`to_storage`."""
        if dtype.bits == 1:
            return self.cmp("ne", value, self.constant(0, I8, width_of(value)))
        if dtype.is_pointer:
            return self.op("llvm.inttoptr", self.type(POINTER, width_of(value)), value)
        return self.bitcast(value, dtype)

    def table(self, numbers: Sequence[float], dtype: DType) -> ir.Value:
        """The address of a read-only array of ``numbers``."""
        stored = storage_of(dtype)
        data = [_number(n, stored, self.type(stored)) for n in numbers]
        type_ = ir.RankedTensorType.get([len(data)], self.type(stored))
        name = f"table_{len(self._declared)}"
        self._declared.add(name)
        text = f"llvm.mlir.global internal constant @{name}({ir.DenseElementsAttr.get(data, type_)}) : !llvm.array<{len(data)} x {self.type(stored)}>"
        self.module.body.append(ir.Operation.parse(text))
        return self.op("llvm.mlir.addressof", self.type(POINTER), global_name=ir.FlatSymbolRefAttr.get(name))

    def text(self, symbol: str, content: str) -> None:
        """A string that ends with a zero byte, which other objects can see under ``symbol``."""
        data = content.encode() + b"\0"
        made = ir.Operation.create(
            "llvm.mlir.global",
            attributes={
                "sym_name": ir.StringAttr.get(symbol),
                "global_type": ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{len(data)} x i8>")),
                "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
                "constant": ir.UnitAttr.get(),
                "value": ir.StringAttr.get(data),
            },
            regions=1,
        )
        self.module.body.append(made)

    # --- control -----------------------------------------------------------------------------------------

    def loop(
        self, lower: ir.Value, upper: ir.Value, step: ir.Value, initial: Sequence[ir.Value] = ()
    ) -> tuple[ir.Operation, ir.Block]:
        """A counted loop at the insertion point, with an empty body: (op, body block).

        The block's arguments are the index and one value per initial one; end it with :meth:`yield_`.
        """
        types = [v.type for v in initial]
        made = ir.Operation.create(
            FOR,
            results=types,
            operands=[lower, upper, step, *initial],
            regions=1,
            loc=self.location,
            ip=self.ip,
        )
        places = [self.location] * (1 + len(types))
        return made, made.regions[0].blocks.append(lower.type, *types, arg_locs=places)

    def branch(
        self, condition: ir.Value, types: Sequence[ir.Type] = ()
    ) -> tuple[ir.Operation, ir.Block, ir.Block]:
        """A branch with results of ``types`` and two empty blocks, to be ended with :meth:`yield_`."""
        made = ir.Operation.create(
            IF, results=list(types), operands=[condition], regions=2, loc=self.location, ip=self.ip
        )
        return made, made.regions[0].blocks.append(), made.regions[1].blocks.append()

    def yield_(self, *values: ir.Value) -> None:
        """End the current block with ``scf.yield``."""
        self.effect("scf.yield", *values)


_ACQUIRE_RELEASE = 6  # LLVM's code of the ordering
_DYNAMIC = -(
    1 << 31
)  # MLIR's mark for an index that is an operand; constant indices are above it, in 32 bits
#: comparisons in the order of their codes in ``arith``
INT_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip


def is_native_float(dtype: DType) -> bool:
    """True if registers hold ``dtype`` as a float."""
    return dtype.name in _NATIVE_FLOATS


def storage_of(dtype: DType) -> DType:
    """The type that memory holds for ``dtype``: integers for everything of 16 bits or fewer, and for pointers.

    Half-precision vectors are moved as integers, because masked moves of them are not always native.
    """
    if dtype.is_pointer:
        return I64
    if dtype.bits == 1:
        return I8
    if dtype.is_float and dtype.bits <= 16:
        return dtype_of(f"i{dtype.bits}")
    return dtype


def width_of(value: ir.Value) -> int:
    """The number of lanes; 0 for a scalar."""
    type_ = value.type
    return type_.shape[0] if isinstance(type_, ir.VectorType) else 0


def element_of(type_: ir.Type) -> ir.Type:
    """The type of a lane."""
    return type_.element_type if isinstance(type_, ir.VectorType) else type_


def _element_type(dtype: DType) -> ir.Type:
    match dtype:
        case DType(kind="ptr"):
            return ir.Type.parse("!llvm.ptr")
        case DType(name="f16"):
            return ir.F16Type.get()
        case DType(name="f32"):
            return ir.F32Type.get()
        case DType(name="f64"):
            return ir.F64Type.get()
        case _:
            return ir.IntegerType.get_signless(dtype.bits)


def _number(value: Any, dtype: DType, type_: ir.Type) -> ir.Attribute:
    if is_native_float(dtype):
        return ir.FloatAttr.get(type_, float(value))
    value = int(value) & ((1 << dtype.bits) - 1)
    if value >> (dtype.bits - 1) and dtype.bits > 1:
        value -= 1 << dtype.bits
    return ir.IntegerAttr.get(type_, value)
