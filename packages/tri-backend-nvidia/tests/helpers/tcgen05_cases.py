"""``tcgen05`` as machine cases: random bytes in shared memory, multiplied into tensor memory, which is read at the end."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from machine_cases import SUM_ERROR, SUM_ERROR_8, Column, Kernel, MachineCase
from tri_backend_nvidia.machine import (
    BarrierInitOp,
    BarrierOp,
    BarrierWaitOp,
    FenceOp,
    InstructionDescriptor,
    TensorCommitOp,
    TensorFenceOp,
    TensorMemoryAllocOp,
    TensorMemoryDeallocOp,
    TensorMemoryLoadOp,
    TensorMemoryStoreOp,
    TensorMemoryWaitOp,
    TensorMultiplyOp,
)
from tri_core.mlir import ir
from wgmma_cases import CASES, values

__all__ = ["ARCH", "BITS", "CASES", "TCGEN05", "Matmul", "TensorKernel", "high", "unpacked"]

ARCH = "sm_100a"
THREADS = 128
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "e4m3": 8, "e5m2": 8}
_SWIZZLE = {128: 2, 64: 4, 32: 6}


def high(width: int) -> int:
    """The high word of a descriptor whose atoms of 8 rows of ``width`` bytes follow each other."""
    return 8 * width >> 4 | 1 << 14 | _SWIZZLE[width] << 29


class TensorKernel:
    """What every kernel with tensor memory does around its own: allocation, a barrier in memory, deallocation."""

    def __init__(self, k: Kernel, columns: int, start: int) -> None:
        """``start``: bytes of shared memory before what this needs."""
        self.k, self.columns = k, columns
        b = k.b
        self.first_warp = b.cmp("ult", k.thread, b.int_(32))
        self.first = b.cmp("eq", k.thread, b.int_(0))
        self.slot, self.done = self.shared(start), self.shared(start + 8)
        TensorMemoryAllocOp.build([self.slot, self.first_warp], (), self.number(columns=columns))
        BarrierInitOp.build([self.done, self.first], (), self.number(count=1))
        FenceOp.build([], (), {"kind": ir.StringAttr.get("mbarrier_init.release.cluster")})
        self.synchronize()
        self.base = b.load(self.slot, b.i32)

    def number(self, **numbers: int) -> dict[str, ir.Attribute]:
        """Integer attributes."""
        return {name: ir.IntegerAttr.get(self.k.b.i32, value) for name, value in numbers.items()}

    def shared(self, offset: int) -> ir.Value:
        """A place in shared memory."""
        return self.k.b.gep(self.k.shared(), self.k.b.int_(offset), self.k.b.i8)

    def fence(self, kind: str) -> None:
        """``tcgen05.fence``."""
        TensorFenceOp.build([], (), {"kind": ir.StringAttr.get(kind)})

    def synchronize(self) -> None:
        """All threads, and what they did in tensor memory."""
        self.fence("before_thread_sync")
        BarrierOp.build([])
        self.fence("after_thread_sync")

    def own(self) -> ir.Value:
        """The address of this warp's lanes."""
        b = self.k.b
        lane = b.and_(self.k.thread, b.int_(96))
        return b.add(self.base, b.shl(lane, 16))

    def load(self, count: int, *, waits: bool = True) -> list[ir.Value]:
        """``count`` columns of this thread's lane."""
        made = TensorMemoryLoadOp.build([self.own()], [self.k.b.i32] * count)
        return self.wait("ld", made) if waits else made

    def store(self, words: list[ir.Value]) -> None:
        """Columns of this thread's lane."""
        TensorMemoryStoreOp.build([self.own(), *words])

    def wait(self, kind: str, given: list[ir.Value]) -> list[ir.Value]:
        """``tcgen05.wait``."""
        return TensorMemoryWaitOp.build(given, [v.type for v in given], {"kind": ir.StringAttr.get(kind)})

    def end(self) -> None:
        """Give the memory back."""
        self.synchronize()
        TensorMemoryDeallocOp.build([self.base, self.first_warp], (), self.number(columns=self.columns))


class Matmul:
    """A sum of dots of random bytes: A and B of 32 bytes along k per instruction, ``steps`` of them.

    What lies along k lies in rows of ``widths`` bytes; what lies across does so in panels of as many bytes.
    """

    def __init__(
        self, shape: InstructionDescriptor, widths: tuple[int, int], steps: int = 1, *, adds: bool = True
    ) -> None:
        self.shape, self.widths, self.steps, self.adds = shape, widths, steps, adds
        self.kinds, self.rows = (shape.a, shape.b), (shape.a_rows, shape.b_rows)
        self.extents = (shape.m, shape.n)
        self.bytes = [self._bytes(i) for i in (0, 1)]
        self.shared = sum(self.bytes) + 16

    def _deep(self, index: int) -> int:
        """Elements along k that are in memory."""
        per = 256 // BITS[self.kinds[index]]
        return self.widths[index] * 8 // BITS[self.kinds[index]] if self.rows[index] else per * self.steps

    def _bytes(self, index: int) -> int:
        return self.extents[index] * self._deep(index) * BITS[self.kinds[index]] // 8

    def _leading(self, index: int) -> int:
        return 0 if self.rows[index] else self._deep(index) * self.widths[index]

    def _ahead(self, index: int) -> int:
        """From one instruction's operand to the next one's, in pieces of 16 bytes."""
        per = 256 // BITS[self.kinds[index]]
        return 2 if self.rows[index] else per * self.widths[index] >> 4

    @property
    def words(self) -> int:
        """Words of shared memory that each thread fills."""
        return sum(self.bytes) // 4 // THREADS

    def attributes(self) -> dict[str, ir.Attribute]:
        """Those of the op."""
        i64, i32 = (ir.IntegerType.get_signless(bits) for bits in (64, 32))
        ahead = [self._ahead(i) for i in (0, 1)]
        plan = [v for i in range(self.steps) for v in (0, i * ahead[0], i * ahead[1])]
        return {
            "kind": ir.StringAttr.get(self.shape.kind),
            "descriptor": ir.IntegerAttr.get(i32, self.shape.word),
            "a_high": ir.IntegerAttr.get(i64, high(self.widths[0])),
            "b_high": ir.IntegerAttr.get(i64, high(self.widths[1])),
            "steps": ir.DenseI32ArrayAttr.get(plan),
        }

    def fill(self, t: TensorKernel, column: int) -> None:
        """Each thread writes its row to shared memory."""
        b, own = t.k.b, t.k.b.mul(t.k.thread, t.k.b.int_(4 * self.words))
        for i, word in enumerate(t.k.read(column)):
            b.store(word, b.gep(b.gep(t.k.shared(), own, b.i8), b.int_(4 * i), b.i8))
        FenceOp.build([], (), {"kind": ir.StringAttr.get("proxy.async.shared::cta")})

    def start(self, t: TensorKernel, add: ir.Value) -> None:
        """The dots, and the commit."""
        b = t.k.b
        base = b.lshr(b.int_cast(b.ptr_to_int(t.k.shared()), b.i32), 4)
        places = (0, self.bytes[0])
        lows = [
            b.add(base, b.int_((place >> 4) + (self._leading(i) >> 4 << 16)))
            for i, place in enumerate(places)
        ]
        TensorMultiplyOp.build([t.base, *lows, add, t.first], (), self.attributes())
        TensorCommitOp.build([t.done, t.first])

    def body(self, k: Kernel) -> None:
        """Odd programs begin anew, even ones add to what there is."""
        t = TensorKernel(k, max(self.shape.n, 32), sum(self.bytes))
        odd = k.b.cmp("eq", k.b.and_(k.hw.program_id(k.b, 0), k.b.int_(1)), k.b.int_(0))
        words = [k.b.bitcast(v, k.b.i32) for v in k.read(1)]
        t.store(words)
        t.wait("st", words[:1])
        self.fill(t, 0)
        t.synchronize()
        self.start(t, odd)
        BarrierWaitOp.build([t.done, k.b.int_(0)], (), t.number(polls=0))
        t.fence("after_thread_sync")
        k.write(2, *[k.b.bitcast(v, k.type(k.columns[2].type)) for v in t.load(self.shape.n)])
        t.end()

    @property
    def held(self) -> str:
        """NumPy's type of the accumulator."""
        return "i4" if self.shape.kind == "i8" else "f4"

    def make(self, rng: np.random.Generator, rows: int) -> list[np.ndarray]:
        """Random operands, as words of shared memory, and accumulators."""
        programs = rows // THREADS
        memory = [
            values(kind, rng, (programs, count // 4))[..., 0].reshape(programs, -1)
            for kind, count in zip(self.kinds, self.bytes, strict=True)
        ]
        words = np.concatenate(memory, axis=1).reshape(rows, self.words)
        if self.held == "i4":
            return [words, rng.integers(-(2**20), 2**20, (rows, self.shape.n))]
        return [words, rng.standard_normal((rows, self.shape.n))]

    def case(self, name: str, op: str) -> MachineCase:
        """As a machine case."""
        error = (
            SUM_ERROR_8 if self.shape.kind == "f8f6f4" else SUM_ERROR["s32" if self.held == "i4" else "f32"]
        )

        def bound(_: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
            return np.full(expected.shape, error * float(np.abs(expected).max()))

        total = Column(self.held, self.shape.n)
        inputs = (Column("i4", self.words), total)
        return MachineCase(
            name,
            op,
            inputs,
            (total,),
            self.body,
            self.make,
            bound if error else None,
            warps=4,
            shared=self.shared,
            arch=ARCH,
        )


def unpacked(kind: str, words: np.ndarray) -> np.ndarray:
    """The numbers that words hold, in double precision, by NumPy's and ml_dtypes' types; tf32 cut off."""
    raw = np.ascontiguousarray(words, "i4")
    types = {
        "f16": np.float16, "bf16": ml_dtypes.bfloat16, "s8": np.int8,
        "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "tf32": np.float32,
    }  # fmt: skip
    if kind == "tf32":
        raw = raw & ~0x1FFF
    return raw.view(types[kind]).astype(np.float64)


def _add(matmul: Matmul) -> None:
    s = matmul.shape
    majors = "".join("k" if rows else "m" for rows in matmul.rows)
    widths = "-".join(map(str, matmul.widths))
    name = f"tcgen05-n{s.n}-{s.a}-{s.b}-{majors}-{widths}-x{matmul.steps}"
    CASES[name] = matmul.case(name, TensorMultiplyOp.OPERATION_NAME)
    MATMULS[name] = matmul


MATMULS: dict[str, Matmul] = {}
_KIND = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "e4m3": "f8f6f4", "e5m2": "f8f6f4"}


def _shape(n: int, a: str, b: str, *, a_rows: bool = True, b_rows: bool = True) -> InstructionDescriptor:
    return InstructionDescriptor(_KIND[a], 128, n, a, b, a_rows, b_rows)


for _kind in BITS:
    _add(Matmul(_shape(32, _kind, _kind), (128, 128), 4))
_add(Matmul(_shape(64, "e4m3", "e5m2"), (64, 32)))
for _width in (128, 64, 32):
    _add(Matmul(_shape(64, "f16", "f16", b_rows=False), (_width, _width), 2 if _width > 32 else 1))
    _add(Matmul(_shape(64, "bf16", "bf16", a_rows=False, b_rows=False), (_width, _width), 2))
_add(Matmul(_shape(128, "s8", "s8", a_rows=False, b_rows=False), (128, 128), 2))
_add(Matmul(_shape(128, "e4m3", "e5m2", b_rows=False), (128, 64), 2))
_add(Matmul(_shape(16, "f16", "f16"), (128, 128)))

TCGEN05 = list(MATMULS)


def _others() -> None:
    """A case of its own for each of the other ops: the first dot's kernel has them all."""
    others = {
        "tcgen05_alloc": TensorMemoryAllocOp,
        "tcgen05_dealloc": TensorMemoryDeallocOp,
        "tcgen05_ld": TensorMemoryLoadOp,
        "tcgen05_st": TensorMemoryStoreOp,
        "tcgen05_wait": TensorMemoryWaitOp,
        "tcgen05_commit": TensorCommitOp,
        "tcgen05_fence": TensorFenceOp,
    }
    for name, op in others.items():
        CASES[name] = MATMULS[TCGEN05[0]].case(name, op.OPERATION_NAME)


_others()
