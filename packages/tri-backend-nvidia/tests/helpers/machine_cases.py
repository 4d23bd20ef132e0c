"""Every machine op as a small kernel over random inputs: the same cases run in the simulator and on a GPU.

A case's kernel reads one row of each input per thread, and writes one row of each output.  Rows are numbered by
program and thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nvidia_support import primitives
from tri_backend_nvidia.machine import (
    ApproximateOp,
    AtomicCasOp,
    AtomicFenceOp,
    AtomicLoadOp,
    AtomicRmwOp,
    BarrierOp,
    ClockOp,
    ConvertOp,
    CopyAsyncOp,
    CopyCommitOp,
    CopyWaitOp,
    DivideFullOp,
    ElectOp,
    GridDependencyOp,
    LdMatrixOp,
    LoadOp,
    MmaOp,
    OrderedBarrierOp,
    PartitionBarrierOp,
    PermuteBytesOp,
    PrintOp,
    ReadRegisterOp,
    RecordFaultOp,
    ScaledMmaOp,
    SetRegistersOp,
    ShuffleOp,
    StMatrixOp,
    StoreOp,
    WarpBarrierOp,
)
from tri_backend_nvidia.primitives import NvidiaPrimitives
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["CASES", "Column", "Kernel", "MachineCase"]

#: NumPy's types as LLVM's; bf16 and 8-bit floats are their bits
_TYPES = {
    "i1": "i8",
    "u2": "i16",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "f2": "f16",
    "f4": "f32",
    "f8": "f64",
}


@dataclass(frozen=True)
class Column:
    """``count`` values of a NumPy type per thread."""

    dtype: str
    count: int = 1

    @property
    def type(self) -> str:
        """The LLVM type of one value."""
        return _TYPES[self.dtype]


@dataclass
class Kernel:
    """What a case's body works with: the builder, this thread's rows, and the pointers of all columns."""

    b: Builder
    hw: NvidiaPrimitives
    columns: Sequence[Column]
    pointers: Sequence[ir.Value]
    thread: ir.Value
    row: ir.Value

    def type(self, text: str) -> ir.Type:
        """An LLVM type by its name."""
        return ir.Type.parse(text)

    def place(self, column: int, row: ir.Value | None = None, offset: int = 0) -> ir.Value:
        """The address of value ``offset`` of a row, this thread's by default."""
        b, kind = self.b, self.columns[column]
        index = b.add(b.mul(self.row if row is None else row, b.int_(kind.count)), b.int_(offset))
        return b.gep(self.pointers[column], index, self.type(kind.type))

    def read(self, column: int) -> list[ir.Value]:
        """This thread's row."""
        kind = self.columns[column]
        return [self.b.load(self.place(column, offset=i), self.type(kind.type)) for i in range(kind.count)]

    def condition(self, column: int) -> ir.Value:
        """Whether this thread's value is not zero."""
        return self.b.cmp("ne", self.read(column)[0], self.b.int_(0))

    def shared(self) -> ir.Value:
        """The CTA's shared memory."""
        return self.hw.shared_base(self.b, 0)

    def write(self, column: int, *values: ir.Value) -> None:
        """This thread's row."""
        for i, value in enumerate(values):
            self.b.store(value, self.place(column, offset=i))


Arrays = list[np.ndarray]


@dataclass(frozen=True)
class MachineCase:
    """One machine op in one form.

    ``values(rng, rows)`` are the inputs, one array of ``rows`` rows for each of ``inputs``; ``outputs`` start as
    poison.  ``close(inputs, got, expected)`` is the largest error that is allowed, 0 for the same bits.
    """

    name: str
    op: str
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    body: Callable[[Kernel], None]
    values: Callable[[np.random.Generator, int], Arrays]
    bound: Callable[[Arrays, np.ndarray], np.ndarray] | None = None
    warps: int = 2
    #: CTAs, of which ``cluster`` neighbours along x run together
    grid: tuple[int, int, int] = (2, 1, 1)
    cluster: int = 1
    shared: int = 0
    #: inputs that the kernel changes, and that are compared too
    changes: tuple[int, ...] = ()
    arch: str = "sm_90a"

    @property
    def rows(self) -> int:
        """Threads of the grid."""
        return 32 * self.warps * int(np.prod(self.grid))

    @property
    def parameters(self) -> str:
        """The kernel's parameters, as the builders of the tests take them."""
        return ";".join(["!llvm.ptr<1>"] * (len(self.inputs) + len(self.outputs)))

    def hardware(self):
        """The vendor's words for this case."""
        hw = primitives(self.arch, num_warps=self.warps)
        hw.in_clusters(self.cluster)
        return hw

    def emit(self, b: Builder, hw, pointers: Sequence[ir.Value]) -> None:
        """The whole kernel."""
        thread, row = hw.thread_id(b), None
        for axis in reversed(range(3)):
            own = hw.program_id(b, axis)
            row = own if row is None else b.add(b.mul(row, hw.num_programs(b, axis)), own)
        row = b.add(b.mul(row, b.int_(self.cluster)), hw.cta_rank(b))
        row = b.add(b.mul(row, b.int_(32 * self.warps)), thread)
        self.body(Kernel(b, hw, (*self.inputs, *self.outputs), pointers, thread, row))

    def arguments(self) -> tuple[Arrays, Arrays]:
        """Random inputs, and outputs full of poison."""
        rng = np.random.default_rng(list(self.name.encode()))
        made = self.values(rng, self.rows)
        given = [
            np.ascontiguousarray(a, dtype=c.dtype).reshape(self.rows, c.count)
            for a, c in zip(made, self.inputs, strict=True)
        ]
        poison = [np.full((self.rows, c.count), 113).astype(c.dtype) for c in self.outputs]
        return given, poison


CASES: dict[str, MachineCase] = {}


def add(name: str, op, inputs, outputs, body, values, **others) -> None:
    """A row of the table; columns as ``"f4"`` or ``("f4", 2)``."""
    columns = [
        tuple(Column(c) if isinstance(c, str) else Column(*c) for c in group) for group in (inputs, outputs)
    ]
    assert name not in CASES
    CASES[name] = MachineCase(name, op.OPERATION_NAME, *columns, body, values, **others)


def build(op, operands, results=(), **attributes):
    """An op with string and integer attributes."""
    i32 = ir.IntegerType.get_signless(32)
    made = {
        k: ir.StringAttr.get(v) if isinstance(v, str) else ir.IntegerAttr.get(i32, v)
        for k, v in attributes.items()
    }
    return op.build(operands, results, made)


def any_bits(dtype: str, count: int = 1) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Every pattern of bits is as likely."""
    size = np.dtype(dtype).itemsize
    return lambda rng, rows: np.frombuffer(rng.bytes(rows * count * size), dtype).copy()


def normal(scale: float = 1.0, dtype: str = "f4") -> Callable[[np.random.Generator, int], np.ndarray]:
    """Normally distributed numbers."""
    return lambda rng, rows: (rng.standard_normal(rows) * scale).astype(dtype)


def each(*columns) -> Callable[[np.random.Generator, int], Arrays]:
    """One maker per input."""
    return lambda rng, rows: [make(rng, rows) for make in columns]


NONE = each()


# --- threads --------------------------------------------------------------------------------------------


def _register(name: str) -> None:
    def body(k: Kernel) -> None:
        k.write(0, *build(ReadRegisterOp, [], [k.b.i32], register=name))

    add(f"read_register-{name}", ReadRegisterOp, (), ("i4",), body, NONE, grid=(2, 3, 2))


for _name in ("tid.x", *(f"{name}.{axis}" for name in ("ctaid", "nctaid") for axis in "xyz")):
    _register(_name)


def _clock(k: Kernel) -> None:
    """Whether time goes forward."""
    before, after = (build(ClockOp, [], [k.b.i64])[0] for _ in range(2))
    k.write(0, k.b.int_cast(k.b.cmp("sge", after, before), k.b.i32))


add("globaltimer", ClockOp, (), ("i4",), _clock, NONE)


def _exchange(op, partner: int, **attributes: int) -> None:
    """Each thread's word goes through shared memory to another thread."""

    def body(k: Kernel) -> None:
        b = k.b
        b.store(k.read(0)[0], b.gep(k.shared(), k.thread, b.i32))
        build(op, [], **attributes)
        k.write(1, b.load(b.gep(k.shared(), b.xor(k.thread, b.int_(partner)), b.i32), b.i32))

    name = op.OPERATION_NAME.removeprefix("nvm.")
    add(name, op, ("i4",), ("i4",), body, each(any_bits("i4")), shared=256)


_exchange(BarrierOp, 37)
_exchange(WarpBarrierOp, 21)
_exchange(PartitionBarrierOp, 37, number=3, threads=64)


def _ordered_barriers(k: Kernel) -> None:
    """Two groups of 32 threads pass their ordered barrier three times each, which changes no word."""
    group, word = k.b.lshr(k.thread, 5), k.read(0)[0]

    def step(name: str) -> None:
        build(OrderedBarrierOp, [group], step=name, first=8, groups=2, threads=32)

    step("open")
    for _ in range(3):
        step("wait")
        word = k.b.add(word, k.b.int_(1))
        step("pass")
    step("close")
    k.write(1, word)


add("ordered barrier", OrderedBarrierOp, ("i4",), ("i4",), _ordered_barriers, each(any_bits("i4")))


def _elect(k: Kernel) -> None:
    """One lane of each warp, whichever it is, leaves a word for all."""
    b = k.b
    place = b.gep(k.shared(), b.lshr(k.thread, 5), b.i32)
    b.store(k.read(0)[0], place)
    build(BarrierOp, [])
    b.if_(build(ElectOp, [], [b.i1])[0], lambda: b.store(b.add(b.load(place, b.i32), b.int_(1)), place))
    build(BarrierOp, [])
    k.write(1, b.load(place, b.i32))


def _per_warp(rng: np.random.Generator, rows: int) -> np.ndarray:
    """A number that all lanes of a warp share."""
    return np.repeat(rng.integers(0, 1 << 30, rows // 32), 32)


add("elect", ElectOp, ("i4",), ("i4",), _elect, each(_per_warp), shared=64)


def _set_registers(k: Kernel) -> None:
    """Fewer registers for all; what was in the others is kept."""
    value = k.read(0)[0]
    k.hw.set_registers(k.b, 40)
    k.write(1, value)


add("set_registers", SetRegistersOp, ("i4",), ("i4",), _set_registers, each(any_bits("i4")), warps=4)


def _grid_dependency(k: Kernel) -> None:
    """A launch that no other is in order with goes on."""
    build(GridDependencyOp, [], what="wait")
    value = k.read(0)[0]
    build(GridDependencyOp, [], what="launch_dependents")
    k.write(1, value)


add("griddepcontrol", GridDependencyOp, ("i4",), ("i4",), _grid_dependency, each(any_bits("i4")))


def _record_fault(k: Kernel) -> None:
    """Where the host has not asked for a record, nothing is done, and the thread goes on."""
    value = k.read(0)[0]
    site = ir.IntegerAttr.get(k.b.i32, 3)
    k.b.if_(k.b.cmp("slt", value, k.b.int_(0)), lambda: RecordFaultOp.build([], [], {"site": site}) and None)
    k.write(1, value)


add("record_fault", RecordFaultOp, ("i4",), ("i4",), _record_fault, each(any_bits("i4")))


def _print(k: Kernel) -> None:
    """One thread prints, and all go on."""
    value = k.read(0)[0]
    k.b.if_(k.b.cmp("eq", k.row, k.b.int_(0)), lambda: build(PrintOp, [value], text="%d\\n") and None)
    k.write(1, value)


add("print", PrintOp, ("i4",), ("i4",), _print, each(any_bits("i4")))


def lanes(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Numbers of lanes."""
    return rng.integers(0, 32, rows)


def _shuffle(mode: str) -> None:
    def body(k: Kernel) -> None:
        k.write(2, *build(ShuffleOp, [*k.read(0), *k.read(1)], [k.b.i32], mode=mode))

    add(f"shuffle-{mode}", ShuffleOp, ("i4", "i4"), ("i4",), body, each(any_bits("i4"), lanes))


for _name in ("bfly", "idx", "up", "down"):
    _shuffle(_name)


# --- memory ---------------------------------------------------------------------------------------------

ACCESSES = {
    "i8": ("i1", 1, "i8"),
    "f16": ("f2", 1, "f16"),
    "f32": ("f4", 1, "f32"),
    "f64": ("f8", 1, "f64"),
    "4xf32": ("f4", 4, "vector<4xf32>"),
    "8xf16": ("f2", 8, "vector<8xf16>"),
    "2xi64": ("i8", 2, "vector<2xi64>"),
    "4xi8": ("i1", 4, "vector<4xi8>"),
}
#: modifiers of loads, of stores, and the priority in the second cache
MODIFIERS = {
    "plain": ("", "", ""),
    "cg": (".cg", ".cg", ""),
    "evict_first": (".L1::evict_first", ".L1::evict_first", "evict_first"),
    "evict_last": (".L1::evict_last", ".L1::evict_last", "evict_last"),
    "volatile": (".cv", ".wt", ""),
}


def coin(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Zeros and ones."""
    return rng.integers(0, 2, rows)


def _load(label: str, access: str, modifiers: str, policy: str) -> None:
    dtype, count, text = ACCESSES[access]

    def body(k: Kernel) -> None:
        type_ = k.type(text)
        operands = [k.place(0), k.condition(2), k.b.load(k.place(1), type_)]
        value = build(LoadOp, operands, [type_], modifiers=modifiers, policy=policy)[0]
        k.b.store(value, k.place(3))

    bits, column = any_bits(dtype, count), (dtype, count)
    add(f"load-{access}-{label}", LoadOp, (column, column, "i4"), (column,), body, each(bits, bits, coin))


def _store(label: str, access: str, modifiers: str, policy: str) -> None:
    dtype, count, text = ACCESSES[access]

    def body(k: Kernel) -> None:
        operands = [k.place(2), k.b.load(k.place(0), k.type(text)), k.condition(1)]
        build(StoreOp, operands, modifiers=modifiers, policy=policy)

    column = (dtype, count)
    add(
        f"store-{access}-{label}",
        StoreOp,
        (column, "i4"),
        (column,),
        body,
        each(any_bits(dtype, count), coin),
    )


for _name in ACCESSES:
    for _label, (_loads, _stores, _policy) in MODIFIERS.items():
        _load(_label, _name, _loads, _policy)
        _store(_label, _name, _stores, _policy)


# --- atomics --------------------------------------------------------------------------------------------

_INTEGERS = [
    *((combine, kind) for combine in ("min", "max") for kind in ("s32", "u32", "s64", "u64")),
    *((combine, kind) for combine in ("and", "or", "xor", "exch") for kind in ("b32", "b64")),
    ("add", "u32"),
    ("add", "u64"),
    ("inc", "u32"),
]
_FLOATS = [("add", "f32"), ("add", "f64"), ("add", "noftz.f16"), ("add", "noftz.bf16")]
_HELD = {"32": ("i4", "i32"), "64": ("i8", "i64")}
_HELD_FLOATS = {
    "f32": ("f4", "f32"),
    "f64": ("f8", "f64"),
    "noftz.f16": ("f2", "f16"),
    "noftz.bf16": ("u2", "bf16"),
}
#: all threads that synchronize in one place
_THREADS = 16


def _whole(dtype: str):
    """Floats whose sums are exact in any order."""

    def make(rng: np.random.Generator, rows: int) -> np.ndarray:
        numbers = rng.integers(-8, 8, rows).astype("f4")
        return (numbers.view("u4") >> 16).astype("u2") if dtype == "u2" else numbers.astype(dtype)

    return make


def _atomic(combine: str, kind: str, order: str, dtype: str, text: str, values) -> None:
    """Once with a place per thread, whose old value is compared, once with places that many threads share."""
    attributes = {"combine": combine, "kind": kind, "order": order}

    def apart(k: Kernel) -> None:
        type_ = k.type(text)
        value = k.b.load(k.place(1), type_)
        pointer = k.place(0)
        # a lane whose predicate is false gets anything
        old = build(AtomicRmwOp, [pointer, value, k.condition(2)], [type_], **attributes)[0]
        k.b.store(k.b.select(k.condition(2), old, value), k.place(3))

    def together(k: Kernel) -> None:
        type_, b = k.type(text), k.b
        row = b.and_(k.row, b.int_(_THREADS - 1))
        build(AtomicRmwOp, [k.place(0, row), b.load(k.place(1), type_), b.true()], [type_], **attributes)

    name = f"atomic_rmw-{combine}-{kind}{order}"
    add(name, AtomicRmwOp, (dtype, dtype, "i4"), (dtype,), apart, each(values, values, coin), changes=(0,))
    if combine not in ("exch", "inc"):
        add(f"{name}-shared", AtomicRmwOp, (dtype, dtype), (), together, each(values, values), changes=(0,))


for _order in (".relaxed.gpu", ".acq_rel.sys"):
    for _combine, _kind in _INTEGERS:
        _atomic(_combine, _kind, _order, *_HELD[_kind[1:]], any_bits(_HELD[_kind[1:]][0]))
    for _combine, _kind in _FLOATS:
        _atomic(_combine, _kind, _order, *_HELD_FLOATS[_kind], _whole(_HELD_FLOATS[_kind][0]))


#: element -> NumPy's type, prefix and word of the instruction
_VECTORS = {"f16": ("f2", "noftz.", "f16x2"), "bf16": ("u2", "noftz.", "bf16x2"), "f32": ("f4", "", "f32")}


def _vector_atomic(element: str, count: int, *, is_read: bool) -> None:
    """A vector per thread where the condition says so; ``red`` where the old values are not stored."""
    dtype, prefix, word = _VECTORS[element]
    words = count * (2 if element == "f32" else 1) // 2
    kind = f"{prefix}v{words}.{word}" if words > 1 else f"{prefix}{word}"

    def body(k: Kernel) -> None:
        type_ = k.type(f"vector<{count}x{element}>")
        value, attributes = (
            k.b.load(k.place(1), type_),
            {"combine": "add", "kind": kind, "order": ".relaxed.gpu"},
        )
        old = build(AtomicRmwOp, [k.place(0), value, k.condition(2)], [type_], **attributes)[0]
        if is_read:
            k.b.store(k.b.select(k.condition(2), old, value), k.place(3))

    column, whole = (dtype, count), _whole(dtype)

    def make(rng: np.random.Generator, rows: int) -> np.ndarray:
        return whole(rng, rows * count).reshape(rows, count)

    name = f"atomic_rmw-add-{kind}-{'atom' if is_read else 'red'}"
    outputs = (column,) if is_read else ()
    add(name, AtomicRmwOp, (column, column, "i4"), outputs, body, each(make, make, coin), changes=(0,))


for _element, _counts in {"f16": (2, 4, 8), "bf16": (2, 4, 8), "f32": (2, 4)}.items():
    for _count in _counts:
        for _is_read in (False, True):
            _vector_atomic(_element, _count, is_read=_is_read)


def _swap(bits: int, dtype: str) -> None:
    def body(k: Kernel) -> None:
        type_ = k.b.int_type(bits)
        compare, value = (k.b.load(k.place(i), type_) for i in (1, 2))
        operands = [k.place(0), compare, value, k.condition(3)]
        old = build(AtomicCasOp, operands, [type_], order=".acq_rel.gpu")[0]
        k.b.store(k.b.select(k.condition(3), old, value), k.place(4))

    def small(rng: np.random.Generator, rows: int) -> np.ndarray:
        return rng.integers(0, 2, rows)

    columns = (dtype, dtype, dtype, "i4")
    values = each(small, small, any_bits(dtype), coin)
    add(f"atomic_cas-{bits}", AtomicCasOp, columns, (dtype,), body, values, changes=(0,))


for _bits, _dtype in ((16, "i2"), (32, "i4"), (64, "i8")):
    _swap(_bits, _dtype)


def _atomic_load(dtype: str, order: str) -> None:
    """Loads in a group each; the fences that may stand around them change no value."""

    def body(k: Kernel) -> None:
        type_ = k.type(k.columns[0].type)
        got = build(AtomicLoadOp, [k.place(0), k.condition(1)], [type_], order=order)[0]
        k.b.store(k.b.select(k.condition(1), got, k.b.const(type_, 7)), k.place(2))

    add(
        f"atomic_load-{dtype}{order}",
        AtomicLoadOp,
        (dtype, "i4"),
        (dtype,),
        body,
        each(any_bits(dtype), coin),
    )


for _dtype in ("i1", "i2", "i4", "i8"):
    for _order in (".relaxed.gpu", ".acquire.sys", ".acquire.cta"):
        _atomic_load(_dtype, _order)


def _fence(order: str) -> None:
    def body(k: Kernel) -> None:
        k.b.store(k.read(0)[0], k.place(1))
        build(AtomicFenceOp, [], order=order)
        k.b.store(k.b.load(k.place(1), k.type("i32")), k.place(2))

    add(f"atomic_fence{order}", AtomicFenceOp, ("i4",), ("i4", "i4"), body, each(any_bits("i4")))


for _order in (".acq_rel.gpu", ".release.gpu", ".acquire.gpu", ".release.sys", ".acquire.cta"):
    _fence(_order)


# --- asynchronous copies --------------------------------------------------------------------------------


def _copies(width: int, waiting: int) -> None:
    """Three copies per thread in a group each, the last ``waiting`` of which are not read before all are there."""

    def body(k: Kernel) -> None:
        b, words = k.b, width // 4
        types = b.int_type(32) if words == 1 else b.vector_type(b.i32, words)
        slots = []
        for i in range(3):
            index = b.mul(b.add(b.mul(k.thread, b.int_(3)), b.int_(i)), b.int_(width))
            slots.append(b.gep(k.shared(), index, b.int_type(8)))
            size = b.mul(k.read(1)[i], b.int_(4))
            source = k.place(0, offset=i * words)
            build(CopyAsyncOp, [slots[-1], source, size, b.true()], width=width)
            CopyCommitOp.build([])
        build(CopyWaitOp, [], groups=waiting)
        first = [b.load(slot, types) for slot in slots[: 3 - waiting]]
        build(CopyWaitOp, [], groups=0)
        for i, value in enumerate([*first, *(b.load(slot, types) for slot in slots[3 - waiting :])]):
            b.store(value, k.place(2, offset=i * words))

    def sizes(rng: np.random.Generator, rows: int) -> np.ndarray:
        return rng.integers(0, width // 4 + 1, (rows, 3))

    words = 3 * width // 4
    values = each(any_bits("i4", words), sizes)
    name = f"cp_async-{width}-wait{waiting}"
    for op in (CopyAsyncOp, CopyCommitOp, CopyWaitOp):
        short = op.OPERATION_NAME.removeprefix("nvm.")
        add(
            f"{short}:{name}",
            op,
            (("i4", words), ("i4", 3)),
            (("i4", words),),
            body,
            values,
            shared=64 * 3 * width,
        )


for _width in (4, 8, 16):
    for _groups in (0, 1, 2):
        _copies(_width, _groups)


# --- arithmetic -----------------------------------------------------------------------------------------


def ulps(count: float):
    """A bound relative to the expected value: units in its last place, of f32."""

    def bound(_: Arrays, expected: np.ndarray) -> np.ndarray:
        size = np.maximum(np.abs(expected.astype("f8")), 2.0**-126)
        return count * 2.0 ** (np.floor(np.log2(size)) - 23)

    return bound


def spread(low: float, high: float, *, negative: bool = False):
    """Numbers of all sizes between ``low`` and ``high``."""

    def make(rng: np.random.Generator, rows: int) -> np.ndarray:
        numbers = np.exp2(rng.uniform(np.log2(float(low)), np.log2(float(high)), rows))
        return (numbers * np.where(rng.integers(0, 2, rows) == 1, -1, 1) if negative else numbers).astype(
            "f4"
        )

    return make


def logarithm(inputs: Arrays, expected: np.ndarray) -> np.ndarray:
    """2**-22, relative, and absolute for arguments between a half and two."""
    absolute = (inputs[0] > 0.5) & (inputs[0] < 2)
    return 2.0**-22 * np.where(absolute, 1.0, np.abs(expected))


#: instruction -> (arguments, error in ulp that the instruction set's manual allows; 0: rounded correctly)
APPROXIMATIONS = {
    "ex2.approx.f32": (spread(2**-10, 100, negative=True), 2),
    "ex2.approx.ftz.f32": (spread(2**-10, 126, negative=True), 2),
    "lg2.approx.f32": (spread(2**-100, 2**100), logarithm),
    "rcp.approx.f32": (spread(2**-100, 2**100, negative=True), 1),
    "rsqrt.approx.f32": (spread(2**-100, 2**100), 2),
    "sqrt.approx.f32": (spread(2**-100, 2**100), 2),
    "sqrt.rn.f32": (spread(2**-140, 2**120), 0),
    "tanh.approx.f32": (spread(2**-10, 8, negative=True), 2**13),
}


def _approximation(instruction: str) -> None:
    arguments, error = APPROXIMATIONS[instruction]

    def body(k: Kernel) -> None:
        k.write(1, *build(ApproximateOp, k.read(0), [k.b.f32], instruction=instruction))

    bound = error if callable(error) else ulps(error) if error else None
    add(
        f"approximate-{instruction}",
        ApproximateOp,
        ("f4",),
        ("f4",),
        body,
        each(arguments),
        bound=bound,
        grid=(64, 1, 1),
    )


for _name in APPROXIMATIONS:
    _approximation(_name)


def _quotient(k: Kernel) -> None:
    k.write(2, *DivideFullOp.build([*k.read(0), *k.read(1)], [k.b.f32]))


_SIZES = spread(2**-60, 2**60, negative=True)
add(
    "divide_full",
    DivideFullOp,
    ("f4", "f4"),
    ("f4",),
    _quotient,
    each(_SIZES, _SIZES),
    bound=ulps(2),
    grid=(64, 1, 1),
)


def _permuted(k: Kernel) -> None:
    operands = [v for i in range(3) for v in k.read(i)]
    k.write(3, *PermuteBytesOp.build(operands, [k.b.i32]))


# every digit of a selector, with and without the sign's bit
add(
    "permute_bytes",
    PermuteBytesOp,
    ("i4", "i4", "i4"),
    ("i4",),
    _permuted,
    each(*[any_bits("i4")] * 3),
    grid=(16, 1, 1),
)


def _conversion(instruction: str, inputs: Sequence[str], output: str, *makers) -> None:
    def body(k: Kernel) -> None:
        operands = [v for i in range(len(inputs)) for v in k.read(i)]
        type_ = k.type(k.columns[len(inputs)].type)
        k.write(len(inputs), *build(ConvertOp, operands, [type_], instruction=instruction))

    add(f"convert-{instruction}", ConvertOp, tuple(inputs), (output,), body, each(*makers), grid=(16, 1, 1))


def finite(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Finite floats of all patterns, and infinities."""
    values = any_bits("f4")(rng, rows)
    return np.where(np.isnan(values), np.float32(np.inf), values)


def near(exponent: int):
    """Floats of all sizes in which a small format differs."""
    return spread(2.0**-exponent, 2.0**exponent, negative=True)


for _packed, _reach in (("e4m3x2", 10), ("e5m2x2", 18)):
    _conversion(f"cvt.rn.satfinite.{_packed}.f32", ("f4", "f4"), "i2", near(_reach), finite)
    _conversion(f"cvt.rn.f16x2.{_packed}", ("i2",), "i4", any_bits("i2"))
_conversion("cvt.rz.f16.f32", ("f4",), "i2", near(24))
_conversion("cvt.rz.bf16.f32", ("f4",), "i2", finite)
_conversion("cvt.rna.tf32.f32", ("f4",), "i4", finite)


# --- matrices -------------------------------------------------------------------------------------------

#: kind of element -> (bits, how its words are made)
_ELEMENTS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "f64": 64, "e4m3": 8, "e5m2": 8}


def _words(kind: str, count: int):
    """Random matrices as the registers of threads; floats of moderate size."""

    def make(rng: np.random.Generator, rows: int) -> np.ndarray:
        if kind == "s8":
            return any_bits("i4", count)(rng, rows)
        numbers = rng.standard_normal((rows, count, 32 // min(_ELEMENTS[kind], 32)))
        match kind:
            case "f64":
                return numbers
            case "f16":
                return numbers.astype("f2").view("i4")
            case "bf16":
                return (numbers.astype("f4").view("u4") >> 16).astype("u2").view("i4")
            case "tf32":
                return (numbers.astype("f4").view("u4") & 0xFFFFE000).view("i4")
        # 8 bits: a sign, an exponent near the middle, any fraction
        signs, low = rng.integers(0, 2, numbers.shape) << 7, rng.integers(0x28, 0x48, numbers.shape)
        return (signs | low).astype("u1").view("i4")

    return make


#: how far the sums of the tensor cores may be from the exact ones, as a part of the largest: dots are exact, and
#: are aligned to the largest with few bits more than the accumulator has; those of 8-bit floats with about 14
SUM_ERROR = {"f32": 2.0**-20, "f64": 2.0**-50, "s32": 0.0}
SUM_ERROR_8 = 2.0**-11


def _mma(shape: str, left: str, right: str, total: str, counts: tuple[int, int, int]) -> None:
    held = {"f32": "f4", "f64": "f8", "s32": "i4"}[total]
    word = "f8" if left == "f64" else "i4"

    def body(k: Kernel) -> None:
        operands = [v for i in range(3) for v in k.read(i)]
        types = [v.type for v in k.read(2)]
        attributes = {
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(list(counts)),
            "shape": ir.StringAttr.get(shape),
            "kinds": ir.StringAttr.get(f"{left} {right} {total}"),
        }
        k.write(3, *MmaOp.build(operands, types, attributes))

    def totals(rng: np.random.Generator, rows: int) -> np.ndarray:
        if total == "s32":
            return rng.integers(-(2**20), 2**20, (rows, counts[2]))
        return rng.standard_normal((rows, counts[2]))

    eight = _ELEMENTS[left] == 8 and total != "s32"
    error = SUM_ERROR_8 if eight else SUM_ERROR[total]

    def bound(_: Arrays, expected: np.ndarray) -> np.ndarray:
        return np.full(expected.shape, error * float(np.abs(expected).max()))

    columns = ((word, counts[0]), (word, counts[1]), (held, counts[2]))
    makers = each(_words(left, counts[0]), _words(right, counts[1]), totals)
    name = f"mma-{shape}-{left}-{right}-{total}"
    add(name, MmaOp, columns, ((held, counts[2]),), body, makers, bound=bound if error else None)


_mma("m16n8k16", "f16", "f16", "f32", (4, 2, 4))
_mma("m16n8k16", "bf16", "bf16", "f32", (4, 2, 4))
_mma("m16n8k8", "tf32", "tf32", "f32", (4, 2, 4))
_mma("m16n8k32", "s8", "s8", "s32", (4, 2, 4))
_mma("m8n8k4", "f64", "f64", "f64", (1, 1, 2))
for _left in ("e4m3", "e5m2"):
    for _right in ("e4m3", "e5m2"):
        _mma("m16n8k32", _left, _right, "f32", (4, 2, 4))


#: the registers of the operands of a block-scaled dot, and of its sum
SCALED_COUNTS = (4, 2, 4)


def scaled_mma(
    k: Kernel, kind: str, kinds: str, selectors: Sequence[int], operands: Sequence[ir.Value]
) -> Sequence[ir.Value]:
    """The op with words of A and B, sums, and a word of scales for each."""
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([*SCALED_COUNTS, 1, 1]),
        "kind": ir.StringAttr.get(kind),
        "kinds": ir.StringAttr.get(kinds),
        "selectors": ir.DenseI32ArrayAttr.get(list(selectors)),
    }
    return ScaledMmaOp.build(operands, [k.b.f32] * SCALED_COUNTS[2], attributes)


def _scale_words(scale: str):
    """Scales around 1: e8m0 of any byte near 127, e4m3 without a sign."""
    low, high = (120, 135) if scale == "ue8m0" else (0x28, 0x48)
    return lambda rng, rows: rng.integers(low, high, (rows, 4)).astype("u1").view("i4")


def _scaled(kind: str, left: str, right: str, scale: str, selectors: tuple[int, int, int, int]) -> None:
    def body(k: Kernel) -> None:
        operands = [v for i in range(5) for v in k.read(i)]
        k.write(5, *scaled_mma(k, kind, f"{left} {right} {scale}", selectors, operands))

    def bound(_: Arrays, expected: np.ndarray) -> np.ndarray:
        return np.full(expected.shape, SUM_ERROR_8 * float(np.abs(expected).max()))

    def totals(rng: np.random.Generator, rows: int) -> np.ndarray:
        return rng.standard_normal((rows, SCALED_COUNTS[2]))

    a, b, c = SCALED_COUNTS
    makers = [any_bits("i4", n) if kind != "mxf8f6f4" else _words(t, n) for t, n in ((left, a), (right, b))]
    scales = [_scale_words(scale)] * 2
    name = f"mma_scaled-{kind}-{left}-{right}-{scale}-{''.join(map(str, selectors))}"
    columns = (("i4", a), ("i4", b), ("f4", c), "i4", "i4")
    values = each(*makers, totals, *scales)
    add(name, ScaledMmaOp, columns, (("f4", c),), body, values, bound=bound, arch="sm_120a")


for _left in ("e4m3", "e5m2"):
    for _right in ("e4m3", "e5m2"):
        _scaled("mxf8f6f4", _left, _right, "ue8m0", (3, 1, 2, 3))
_scaled("mxf8f6f4", "e4m3", "e4m3", "ue8m0", (0, 0, 0, 0))
_scaled("mxf8f6f4", "e4m3", "e4m3", "ue8m0", (1, 0, 3, 1))
_scaled("mxf4", "e2m1", "e2m1", "ue8m0", (2, 1, 0, 2))
_scaled("mxf4nvf4", "e2m1", "e2m1", "ue4m3", (0, 1, 0, 3))


def _ldmatrix(count: int, transposed: bool) -> None:
    """Rows at random places of the warp's part of shared memory."""

    def body(k: Kernel) -> None:
        b = k.b
        own = b.mul(k.thread, b.int_(16))
        b.store(b.load(k.place(0), b.vector_type(b.i32, 4)), b.gep(k.shared(), own, b.int_type(8)))
        BarrierOp.build([])
        warp = b.and_(k.thread, b.int_(-32))
        place = b.gep(k.shared(), b.mul(b.add(warp, k.read(1)[0]), b.int_(16)), b.int_type(8))
        attributes = {"transposed": ir.BoolAttr.get(transposed)}
        k.write(2, *LdMatrixOp.build([place], [b.i32] * count, attributes))

    name = f"ldmatrix-x{count}{'-trans' if transposed else ''}"
    values = each(any_bits("i4", 4), lanes)
    add(name, LdMatrixOp, (("i4", 4), "i4"), (("i4", count),), body, values, shared=1024)


for _count in (1, 2, 4):
    for _transposed in (False, True):
        _ldmatrix(_count, _transposed)


def rows_of_warps(rng: np.random.Generator, rows: int) -> np.ndarray:
    """For each lane another number from 0 to 31."""
    return np.concatenate([rng.permutation(32) for _ in range(rows // 32)])


def _stmatrix(count: int, transposed: bool) -> None:
    """Rows to places of the warp's part of shared memory in any order; the others keep what they had."""

    def body(k: Kernel) -> None:
        b = k.b
        own = b.gep(k.shared(), b.mul(k.thread, b.int_(16)), b.int_type(8))
        b.store(b.load(k.place(0), b.vector_type(b.i32, 4)), own)
        BarrierOp.build([])
        warp = b.and_(k.thread, b.int_(-32))
        place = b.gep(k.shared(), b.mul(b.add(warp, k.read(1)[0]), b.int_(16)), b.int_type(8))
        attributes = {"transposed": ir.BoolAttr.get(transposed)}
        StMatrixOp.build([place, *k.read(2)], (), attributes)
        BarrierOp.build([])
        k.write(3, *b.unpack(b.load(own, b.vector_type(b.i32, 4))))

    name = f"stmatrix-x{count}{'-trans' if transposed else ''}"
    values = each(any_bits("i4", 4), rows_of_warps, any_bits("i4", count))
    add(name, StMatrixOp, (("i4", 4), "i4", ("i4", count)), (("i4", 4),), body, values, shared=1024)


for _count in (1, 2, 4):
    for _transposed in (False, True):
        _stmatrix(_count, _transposed)
