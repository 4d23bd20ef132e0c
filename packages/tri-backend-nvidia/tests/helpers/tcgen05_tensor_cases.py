"""``tcgen05`` with A in tensor memory as machine cases: threads store rows of A, B comes from shared memory."""

from __future__ import annotations

import numpy as np

from machine_cases import SUM_ERROR, SUM_ERROR_8, Column, Kernel, MachineCase
from tcgen05_cases import ARCH, BITS, THREADS, TensorKernel, high
from tcgen05_scaled_cases import CASES
from tri_backend_nvidia.machine import (
    BarrierWaitOp,
    FenceOp,
    InstructionDescriptor,
    TensorCommitOp,
    TensorMemoryStoreOp,
    TensorMultiplyTensorOp,
)
from tri_core.mlir import ir
from wgmma_cases import values

__all__ = ["CASES", "TENSOR", "TENSOR_MATMULS", "TensorMatmul"]

#: bytes along k of rows of B, instructions, columns of a row of A
WIDTH, STEPS = 128, 4
WORDS = WIDTH // 4
_KIND = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "e4m3": "f8f6f4", "e5m2": "f8f6f4"}


class TensorMatmul:
    """128 x n, B as rows of 128 bytes along k; A in 32 columns behind the accumulator."""

    def __init__(self, kind: str, n: int) -> None:
        self.kind, self.n = kind, n
        self.shape = InstructionDescriptor(_KIND[kind], 128, n, kind, kind)
        self.each = n * WIDTH // (4 * THREADS)
        self.shared = n * WIDTH + 16

    def kernel(self, k: Kernel) -> TensorKernel:
        """The sum, A and B are where the dot reads them."""
        t = TensorKernel(k, 128, self.n * WIDTH)
        b = k.b
        sums, rows = ([b.bitcast(v, b.i32) for v in k.read(i)] for i in (2, 0))
        t.store(sums)
        TensorMemoryStoreOp.build([b.add(t.own(), b.int_(self.n)), *rows])
        t.wait("st", rows[:1])
        own = b.mul(k.thread, b.int_(4 * self.each))
        for i, word in enumerate(k.read(1)):
            b.store(word, b.gep(b.gep(k.shared(), own, b.i8), b.int_(4 * i), b.i8))
        FenceOp.build([], (), {"kind": ir.StringAttr.get("proxy.async.shared::cta")})
        return t

    def start(self, t: TensorKernel, add: ir.Value, first: int | None = None) -> None:
        """The dots, of A from column ``first`` on, and the commit."""
        b = t.k.b
        base = b.lshr(b.int_cast(b.ptr_to_int(t.k.shared()), b.i32), 4)
        left = b.add(t.base, b.int_(self.n if first is None else first))
        i64, i32 = (ir.IntegerType.get_signless(bits) for bits in (64, 32))
        attributes = {
            "kind": ir.StringAttr.get(self.shape.kind),
            "descriptor": ir.IntegerAttr.get(i32, self.shape.word),
            "b_high": ir.IntegerAttr.get(i64, high(WIDTH)),
            "steps": ir.DenseI32ArrayAttr.get([v for i in range(STEPS) for v in (0, 8 * i, 2 * i)]),
        }
        TensorMultiplyTensorOp.build([t.base, left, base, add, t.first], (), attributes)
        TensorCommitOp.build([t.done, t.first])

    def end(self, t: TensorKernel) -> None:
        """Wait, and write the accumulator."""
        BarrierWaitOp.build([t.done, t.k.b.int_(0)], (), t.number(polls=0))
        t.fence("after_thread_sync")
        t.k.write(3, *[t.k.b.bitcast(v, t.k.type(t.k.columns[3].type)) for v in t.load(self.n)])
        t.end()

    def body(self, k: Kernel) -> None:
        """Odd programs begin anew, even ones add to what there is."""
        t = self.kernel(k)
        t.synchronize()
        odd = k.b.cmp("eq", k.b.and_(k.hw.program_id(k.b, 0), k.b.int_(1)), k.b.int_(0))
        self.start(t, odd)
        self.end(t)

    def make(self, rng: np.random.Generator, rows: int) -> list[np.ndarray]:
        """Random rows of A, words of B, and accumulators."""
        a, b = (
            values(self.kind, rng, (rows, words))[..., 0].reshape(rows, -1) for words in (WORDS, self.each)
        )
        if self.held == "i4":
            return [a, b, rng.integers(-(2**20), 2**20, (rows, self.n))]
        return [a, b, rng.standard_normal((rows, self.n))]

    @property
    def held(self) -> str:
        """NumPy's type of the accumulator."""
        return "i4" if self.kind == "s8" else "f4"

    def case(self, name: str) -> MachineCase:
        """As a machine case."""
        error = (
            SUM_ERROR_8 if self.shape.kind == "f8f6f4" else SUM_ERROR["s32" if self.held == "i4" else "f32"]
        )

        def bound(_: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
            return np.full(expected.shape, error * float(np.abs(expected).max()))

        total = Column(self.held, self.n)
        return MachineCase(
            name,
            TensorMultiplyTensorOp.OPERATION_NAME,
            (Column("i4", WORDS), Column("i4", self.each), total),
            (total,),
            self.body,
            self.make,
            bound if error else None,
            warps=4,
            shared=self.shared,
            arch=ARCH,
        )


TENSOR_MATMULS = {f"tcgen05-ts-n64-{kind}": TensorMatmul(kind, 64) for kind in BITS}
TENSOR = list(TENSOR_MATMULS)
CASES.update({name: matmul.case(name) for name, matmul in TENSOR_MATMULS.items()})
