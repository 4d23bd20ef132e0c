"""Emits scalar code: a thin, fast layer over ``ir.Operation.create`` with cached types and constants.

Everything is inserted at the ambient insertion point and location, so rules may mix these methods with
the bindings' own builders.  Constants are made once per function, at the start of its entry block, and
integer arithmetic on constants is folded while it is emitted: index code is mostly constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_core.ir.regions import If, While
from tri_core.mlir import ir

__all__ = ["DYNAMIC", "Builder", "Results"]

#: the value that says "see the operands" in a constant index list
DYNAMIC = -(1 << 31)

#: what a function that fills a region gives back: the values to yield
Results = Sequence[ir.Value]

_create = ir.Operation.create

_CMPI = {p: i for i, p in enumerate(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))}
_CMPF_NAMES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"
_CMPF = {p: i for i, p in enumerate(_CMPF_NAMES.split())}


class Builder:
    """Emits ops of one function: types as attributes (``b.i32``), one method per kind of op.

    ``entry`` is the function's first block, at whose start constants go; ``module`` holds globals and
    declarations.
    """

    def __init__(self, module: ir.Module, entry: ir.Block) -> None:
        self.module = module
        self.entry = entry
        self.i1, self.i8, self.i16, self.i32, self.i64, self.i128 = (
            ir.IntegerType.get_signless(n) for n in (1, 8, 16, 32, 64, 128)
        )
        self.f16, self.bf16 = ir.F16Type.get(), ir.BF16Type.get()
        self.f32, self.f64 = ir.F32Type.get(), ir.F64Type.get()
        self._constants: dict[tuple[ir.Type, int | float | str], ir.Value] = {}
        self._known: dict[ir.Value, int] = {}
        self._pointers: dict[int, ir.Type] = {}
        self._predicates = {True: dict[str, ir.Attribute](), False: dict[str, ir.Attribute]()}
        self._dynamic = ir.DenseI32ArrayAttr.get([DYNAMIC])
        self._symbols: set[str] | None = None
        # what stands before the anchor is computed once, in the order in which it was asked for
        anchor = _create(
            "llvm.mlir.constant",
            results=[self.i1],
            attributes={"value": ir.IntegerAttr.get(self.i1, 1)},
            ip=ir.InsertionPoint.at_block_begin(entry),
        )
        self._anchor = ir.InsertionPoint(anchor)

    # --- any op -----------------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """An op with one result."""
        return _create(name, results=[result], operands=operands, attributes=attributes).results[0]

    def run(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type] = (),
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> list[ir.Value]:
        """An op with any number of results."""
        return list(_create(name, results=results, operands=operands, attributes=attributes).results)

    # --- types and constants ----------------------------------------------------------------------------

    def int_type(self, bits: int) -> ir.Type:
        """The signless integer type of ``bits`` bits."""
        return ir.IntegerType.get_signless(bits)

    def ptr(self, space: int = 0) -> ir.Type:
        """``!llvm.ptr<space>``."""
        if space not in self._pointers:
            text = f"!llvm.ptr<{space}>" if space else "!llvm.ptr"
            self._pointers[space] = ir.Type.parse(text)
        return self._pointers[space]

    def vector_type(self, element: ir.Type, count: int) -> ir.Type:
        """``vector<count x element>``; ``element`` itself for a count of 1."""
        return element if count == 1 else ir.VectorType.get([count], element)

    def const(self, type_: ir.Type, value: float) -> ir.Value:
        """A constant integer (taken modulo its width) or float, shared within the function."""
        value = _wrap(int(value), type_.width) if isinstance(type_, ir.IntegerType) else float(value)
        # repr tells -0.0 from 0.0 and one NaN from none
        key = (type_, value if isinstance(value, int) else repr(value))
        found = self._constants.get(key)
        if found is None:
            if isinstance(value, int):
                attribute: ir.Attribute = ir.IntegerAttr.get(type_, value)
            else:
                attribute = ir.FloatAttr.get(type_, value)
            found = self._entry_op("llvm.mlir.constant", type_, {"value": attribute})
            self._constants[key] = found
            if isinstance(value, int):
                self._known[found] = value
        return found

    def int_(self, value: int, bits: int = 32) -> ir.Value:
        """A constant integer of ``bits`` bits."""
        return self.const(self.i32 if bits == 32 else self.int_type(bits), value)

    def float_(self, value: float, type_: ir.Type | None = None) -> ir.Value:
        """A constant float, by default f32."""
        return self.const(type_ or self.f32, value)

    def true(self) -> ir.Value:
        """The constant true."""
        return self.const(self.i1, 1)

    def zero(self, type_: ir.Type) -> ir.Value:
        """Zero, or the null pointer."""
        if isinstance(type_, (ir.IntegerType, ir.FloatType)):
            return self.const(type_, 0)
        return self._shared_op("llvm.mlir.zero", type_)

    def undef(self, type_: ir.Type) -> ir.Value:
        """Any value of ``type_``."""
        return self._shared_op("llvm.mlir.undef", type_)

    def known(self, value: ir.Value) -> int | None:
        """The value of an integer constant (signed; i1 as -1 or 0), None for anything else."""
        return self._known.get(value)

    def _shared_op(self, name: str, type_: ir.Type) -> ir.Value:
        key = (type_, name)
        if key not in self._constants:
            self._constants[key] = self._entry_op(name, type_, {})
        return self._constants[key]

    def _entry_op(self, name: str, type_: ir.Type, attributes: dict[str, ir.Attribute]) -> ir.Value:
        return _create(name, results=[type_], attributes=attributes, ip=self._anchor).results[0]

    def at_entry(self) -> ir.InsertionPoint:
        """Insertion point in the entry block for code that runs once, after code inserted there earlier."""
        return self._anchor

    # --- integers ---------------------------------------------------------------------------------------

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a + b``."""
        return self._integer("llvm.add", a, b, lambda x, y: x + y, unit=0, commutes=True)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a - b``."""
        return self._integer("llvm.sub", a, b, lambda x, y: x - y, unit=0)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a * b``."""
        return self._integer("llvm.mul", a, b, lambda x, y: x * y, unit=1, zero=0, commutes=True)

    def and_(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a & b``."""
        return self._integer("llvm.and", a, b, lambda x, y: x & y, unit=-1, zero=0, commutes=True)

    def or_(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a | b``."""
        return self._integer("llvm.or", a, b, lambda x, y: x | y, unit=0, zero=-1, commutes=True)

    def xor(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a ^ b``."""
        return self._integer("llvm.xor", a, b, lambda x, y: x ^ y, unit=0, commutes=True)

    def shl(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        """``a << b``; an int shifts by a constant."""
        return self._integer("llvm.shl", a, self._same(b, a), lambda x, y: x << y, unit=0)

    def lshr(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        """``a >> b``, zeros coming in; an int shifts by a constant."""
        return self._shift_right("llvm.lshr", a, self._same(b, a))

    def ashr(self, a: ir.Value, b: ir.Value | int) -> ir.Value:
        """``a >> b``, the sign coming in; an int shifts by a constant."""
        return self._shift_right("llvm.ashr", a, self._same(b, a))

    def _same(self, value: ir.Value | int, like: ir.Value) -> ir.Value:
        return self.const(like.type, value) if isinstance(value, int) else value

    def _shift_right(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return a if self.known(b) == 0 else self.op(name, (a, b), a.type)

    def _integer(
        self,
        name: str,
        a: ir.Value,
        b: ir.Value,
        fold: Callable[[int, int], int],
        *,
        unit: int,
        zero: int | None = None,
        commutes: bool = False,
    ) -> ir.Value:
        """An integer op, folded; ``unit`` is neutral on the right, ``zero`` absorbs (both as signed)."""
        type_ = a.type
        x, y = self._known.get(a), self._known.get(b)
        if type_.width == 1:
            unit, zero = _wrap(unit, 1), None if zero is None else _wrap(zero, 1)
        if x is not None and y is not None:
            return self.const(type_, fold(x, y))
        if y == unit and y is not None:
            return a
        if commutes and x == unit and x is not None:
            return b
        if zero is not None and zero in (x, y):
            return self.const(type_, zero)
        return self.op(name, (a, b), type_)

    def udiv(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Unsigned quotient."""
        return self.op("llvm.udiv", (a, b), a.type)

    def urem(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Unsigned remainder."""
        return self.op("llvm.urem", (a, b), a.type)

    def not_(self, a: ir.Value) -> ir.Value:
        """All bits flipped."""
        return self.xor(a, self.const(a.type, -1))

    def cmp(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """An integer comparison (``eq``, ``slt``, ``ult``, ...)."""
        return self.op("llvm.icmp", (a, b), self.i1, {"predicate": self._predicate(predicate, True)})

    def fcmp(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """A float comparison (``oeq``, ``olt``, ``uno``, ...)."""
        return self.op("llvm.fcmp", (a, b), self.i1, {"predicate": self._predicate(predicate, False)})

    def _predicate(self, name: str, integer: bool) -> ir.Attribute:
        cache = self._predicates[integer]
        if name not in cache:
            cache[name] = ir.IntegerAttr.get(self.i64, (_CMPI if integer else _CMPF)[name])
        return cache[name]

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a`` where ``condition``, else ``b``."""
        known = self.known(condition)
        if known is not None or a == b:
            return b if known == 0 else a
        return self.op("llvm.select", (condition, a, b), a.type)

    # --- floats -----------------------------------------------------------------------------------------

    def fadd(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a + b``."""
        return self.op("llvm.fadd", (a, b), a.type)

    def fsub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a - b``."""
        return self.op("llvm.fsub", (a, b), a.type)

    def fmul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a * b``."""
        return self.op("llvm.fmul", (a, b), a.type)

    def fdiv(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """``a / b``."""
        return self.op("llvm.fdiv", (a, b), a.type)

    def fneg(self, a: ir.Value) -> ir.Value:
        """``-a``."""
        return self.op("llvm.fneg", (a,), a.type)

    def fma(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """``a * b + c``, rounded once."""
        return self.op("llvm.intr.fma", (a, b, c), a.type)

    # --- casts ------------------------------------------------------------------------------------------

    def bitcast(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """The same bits as ``type_``: integers, floats and vectors of one total width."""
        return value if value.type == type_ else self.op("llvm.bitcast", (value,), type_)

    def int_cast(self, value: ir.Value, type_: ir.Type, signed: bool = False) -> ir.Value:
        """An integer truncated or extended to ``type_``."""
        have, want = value.type.width, type_.width
        if have == want:
            return value
        known = self.known(value)
        if known is not None:
            return self.const(type_, known if signed or want < have else known & ((1 << have) - 1))
        name = "llvm.trunc" if want < have else "llvm.sext" if signed else "llvm.zext"
        return self.op(name, (value,), type_)

    def ptr_to_int(self, value: ir.Value, type_: ir.Type | None = None) -> ir.Value:
        """A pointer as an integer (by default i64)."""
        return self.op("llvm.ptrtoint", (value,), type_ or self.i64)

    def int_to_ptr(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """An integer as a pointer."""
        return self.op("llvm.inttoptr", (value,), type_)

    # --- memory and vectors -----------------------------------------------------------------------------

    def gep(self, base: ir.Value, index: ir.Value, element: ir.Type) -> ir.Value:
        """``base`` moved by ``index`` elements of type ``element``; the index is signed."""
        known = self.known(index)
        if known == 0:
            return base
        if known is not None and -(1 << 30) < known < (1 << 30):
            indices, operands = ir.DenseI32ArrayAttr.get([known]), [base]
        else:
            indices, operands = self._dynamic, [base, index]
        attributes = {"rawConstantIndices": indices, "elem_type": ir.TypeAttr.get(element)}
        return self.op("llvm.getelementptr", operands, base.type, attributes)

    def load(self, pointer: ir.Value, type_: ir.Type, align: int = 0, volatile: bool = False) -> ir.Value:
        """A plain load; ``align`` in bytes, 0 meaning the type's own."""
        return self.op("llvm.load", (pointer,), type_, self._access(align, volatile))

    def store(self, value: ir.Value, pointer: ir.Value, align: int = 0, volatile: bool = False) -> None:
        """A plain store; ``align`` in bytes, 0 meaning the type's own."""
        self.run("llvm.store", (value, pointer), (), self._access(align, volatile))

    def _access(self, align: int, volatile: bool) -> dict[str, ir.Attribute]:
        attributes: dict[str, ir.Attribute] = {}
        if align:
            attributes["alignment"] = ir.IntegerAttr.get(self.i64, align)
        if volatile:
            attributes["volatile_"] = ir.UnitAttr.get()
        return attributes

    def pack(self, values: Sequence[ir.Value]) -> ir.Value:
        """Scalars of one type as a vector; a single one stays as it is."""
        if len(values) == 1:
            return values[0]
        type_ = self.vector_type(values[0].type, len(values))
        vector = self.undef(type_)
        for i, value in enumerate(values):
            vector = self.op("llvm.insertelement", (vector, value, self.int_(i)), type_)
        return vector

    def unpack(self, vector: ir.Value) -> list[ir.Value]:
        """The scalars of a vector; a scalar stays as it is."""
        if not isinstance(vector.type, ir.VectorType):
            return [vector]
        element, count = vector.type.element_type, vector.type.shape[0]
        return [self.op("llvm.extractelement", (vector, self.int_(i)), element) for i in range(count)]

    # --- control flow -----------------------------------------------------------------------------------

    def if_(
        self,
        condition: ir.Value,
        then: Callable[[], Results | None],
        otherwise: Callable[[], Results] | None = None,
        results: Sequence[ir.Type] = (),
    ) -> list[ir.Value]:
        """A branch: ``then`` and ``otherwise`` emit the branches and return the ``results``."""
        op = _create(If.OPERATION_NAME, results=results, operands=[condition], regions=2)
        self._fill(op.regions[0], then)
        if otherwise is not None or results:
            self._fill(op.regions[1], otherwise or (lambda: [self.undef(t) for t in results]))
        return list(op.results)

    def do_while(
        self,
        inits: Sequence[ir.Value],
        body: Callable[[Sequence[ir.Value]], tuple[ir.Value, Results]],
        results: Sequence[ir.Type],
    ) -> list[ir.Value]:
        """A ``while`` loop: ``body(carried)`` gives whether to go on, and the ``results``.

        What is carried, first ``inits``, is then as many of the results as there are inits, from the first.
        """
        types = [v.type for v in inits]
        op = _create(While.OPERATION_NAME, results=results, operands=list(inits), regions=2)
        with ir.InsertionPoint(head := op.regions[0].blocks.append(*types)):
            going, made = body(list(head.arguments))
            _create("scf.condition", operands=[going, *made])
        with ir.InsertionPoint(again := op.regions[1].blocks.append(*results)):
            _create("scf.yield", operands=list(again.arguments)[: len(types)])
        return list(op.results)

    def _fill(self, region: ir.Region, body: Callable[[], Results | None]) -> None:
        with ir.InsertionPoint(region.blocks.append()):
            _create("scf.yield", operands=list(body() or ()))

    # --- functions, intrinsics, assembly ----------------------------------------------------------------

    def intrinsic(
        self, name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type]
    ) -> list[ir.Value]:
        """A call of the LLVM intrinsic ``name`` (``"llvm.fshl.i32"``)."""
        attributes = {
            "intrin": ir.StringAttr.get(name),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        }
        return self.run("llvm.call_intrinsic", operands, results, attributes)

    def inline_asm(
        self,
        text: str,
        constraints: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type] = (),
        *,
        side_effects: bool = True,
        convergent: bool = False,
    ) -> list[ir.Value]:
        """Inline assembly; several results are taken out of LLVM's struct.

        ``convergent``: threads do it together, so LLVM may not move it into or out of a branch.
        """
        returned = list(results)
        if len(returned) > 1:
            returned = [self.struct_type(results)]
        attributes: dict[str, ir.Attribute] = {
            "asm_string": ir.StringAttr.get(text),
            "constraints": ir.StringAttr.get(constraints),
        }
        if side_effects:
            attributes["has_side_effects"] = ir.UnitAttr.get()
        if convergent:
            attributes["convergent"] = ir.UnitAttr.get()  # tri_core.llvm_text marks the call
        made = self.run("llvm.inline_asm", operands, returned, attributes)
        return self.struct_fields(made[0], results) if len(results) > 1 else made

    def struct_type(self, fields: Sequence[ir.Type]) -> ir.Type:
        """The LLVM literal struct of ``fields``."""
        return ir.Type.parse(f"!llvm.struct<({', '.join(map(str, fields))})>")

    def struct_fields(self, struct: ir.Value, fields: Sequence[ir.Type]) -> list[ir.Value]:
        """The fields of an LLVM struct value."""
        position = ir.DenseI64ArrayAttr.get
        return [
            self.op("llvm.extractvalue", (struct,), field, {"position": position([i])})
            for i, field in enumerate(fields)
        ]

    def call(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type] = (),
        function_attributes: dict[str, ir.Attribute] | None = None,
        call_attributes: dict[str, ir.Attribute] | None = None,
    ) -> list[ir.Value]:
        """A call of the external function ``name``, declared in the module at its first use."""
        self.declare(name, [o.type for o in operands], results, function_attributes)
        attributes: dict[str, ir.Attribute] = {
            "callee": ir.FlatSymbolRefAttr.get(name),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
            **(call_attributes or {}),
        }
        return self.run("llvm.call", operands, results, attributes)

    def declare(
        self,
        name: str,
        operands: Sequence[ir.Type],
        results: Sequence[ir.Type],
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> None:
        """Declare the external function ``name`` unless the module has a symbol of this name."""
        if name in self.symbols():
            return
        result = str(results[0]) if results else "void"
        text = f"!llvm.func<{result} ({', '.join(map(str, operands))})>"
        given = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.Type.parse(text)),
            **(attributes or {}),
        }
        ip = ir.InsertionPoint.at_block_begin(self.module.body)
        _create("llvm.func", attributes=given, regions=1, ip=ip)
        self.symbols().add(name)

    def symbols(self) -> set[str]:
        """The module's symbols; whoever adds one by hand adds it here."""
        if self._symbols is None:
            tops = (op.attributes for op in self.module.body.operations)
            self._symbols = {ir.StringAttr(a["sym_name"]).value for a in tops if "sym_name" in a}
        return self._symbols


def _wrap(value: int, bits: int) -> int:
    """``value`` modulo ``2 ** bits``, as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
