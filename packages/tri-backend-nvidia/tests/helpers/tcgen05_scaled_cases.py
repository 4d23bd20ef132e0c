"""Block-scaled dots as machine cases: random operands and scales in shared memory, scales copied to tensor memory."""

from __future__ import annotations

import numpy as np

from machine_cases import SUM_ERROR, SUM_ERROR_8, Column, Kernel, MachineCase
from tcgen05_cases import ARCH, CASES, THREADS, TensorKernel, high
from tri_backend_nvidia.machine import (
    SCALED_KINDS,
    BarrierWaitOp,
    FenceOp,
    ScaledDescriptor,
    ScaledStep,
    TensorCommitOp,
    TensorCopyOp,
    TensorMultiplyScaledOp,
)
from tri_core.mlir import ir

__all__ = ["CASES", "E2M1", "SCALED", "SCALED_MATMULS", "ScaledMatmul"]

#: the numbers of 4 bits
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
#: bytes of a row of an operand, all of which four instructions read; of a block of scales of 128 rows
WIDTH, STEPS, BLOCK = 128, 4, 512
#: the high word of a descriptor without swizzle: 8 rows of 16 bytes, after each other
PLAIN = 128 >> 4 | 1 << 14


class ScaledMatmul:
    """128 x n: rows of 128 bytes along k, scales in blocks of 128 rows of four."""

    def __init__(self, shape: ScaledDescriptor) -> None:
        self.shape, self.kind = shape, SCALED_KINDS[shape.kind]
        self.kinds, self.extents = (shape.a, shape.b), (shape.m, shape.n)
        self.words = STEPS * self.kind.scales // 4
        self.blocks = [self.words * -(-extent // 128) for extent in self.extents]
        self.sizes = [extent * WIDTH for extent in self.extents] + [BLOCK * n for n in self.blocks]
        self.starts = [sum(self.sizes[:i]) for i in range(4)]
        self.each = -(-sum(self.sizes) // (4 * THREADS))
        self.shared = 4 * THREADS * self.each + 16

    def plan(self) -> list[ScaledStep]:
        """The instructions: the next 32 bytes of rows, the next scales."""
        found = []
        for i in range(STEPS):
            word, number = divmod(i * self.kind.scales, 4)
            columns = [4 * word * n // self.words for n in self.blocks]
            found.append(ScaledStep(0, 2 * i, 2 * i, *columns, number, number))
        return found

    def copies(self, index: int) -> ir.Attribute:
        """Those of the scales of operand ``index``."""
        return ir.DenseI32ArrayAttr.get([v for i in range(self.blocks[index]) for v in (4 * i, 32 * i)])

    def columns(self) -> list[int]:
        """Where scales begin, and the end."""
        first = max(self.shape.n, 32)
        return [first, first + 4 * self.blocks[0], first + 4 * sum(self.blocks)]

    def start(self, t: TensorKernel, add: ir.Value, *, copies: bool = True, width: int = WIDTH) -> None:
        """Copies, dots and the commit."""
        b = t.k.b
        i64, i32 = (ir.IntegerType.get_signless(bits) for bits in (64, 32))
        base = b.lshr(b.int_cast(b.ptr_to_int(t.k.shared()), b.i32), 4)
        a, other, *sources = [b.add(base, b.int_(start >> 4)) for start in self.starts]
        scales = [b.add(t.base, b.int_(column)) for column in self.columns()[:2]]
        for i in range(2 if copies else 0):
            attributes = {"high": ir.IntegerAttr.get(i64, PLAIN), "steps": self.copies(i)}
            TensorCopyOp.build([scales[i], sources[i], t.first], (), attributes)
        TensorMultiplyScaledOp.build(
            [t.base, a, other, *scales, add, t.first],
            (),
            {
                "kind": ir.StringAttr.get(self.shape.kind),
                "vectors": ir.StringAttr.get(self.kind.vectors(family=False)),
                "descriptor": ir.IntegerAttr.get(i32, self.shape.word),
                "a_high": ir.IntegerAttr.get(i64, high(width)),
                "b_high": ir.IntegerAttr.get(i64, high(width)),
                "steps": ir.DenseI32ArrayAttr.get([v for step in self.plan() for v in step.numbers]),
            },
        )
        TensorCommitOp.build([t.done, t.first])

    def fill(self, t: TensorKernel) -> None:
        """Each thread writes its row to shared memory."""
        b, own = t.k.b, t.k.b.mul(t.k.thread, t.k.b.int_(4 * self.each))
        for i, word in enumerate(t.k.read(0)):
            b.store(word, b.gep(b.gep(t.k.shared(), own, b.i8), b.int_(4 * i), b.i8))
        FenceOp.build([], (), {"kind": ir.StringAttr.get("proxy.async.shared::cta")})

    def kernel(self, k: Kernel) -> TensorKernel:
        """Allocation, an accumulator from the input, operands and scales in shared memory."""
        t = TensorKernel(k, 1 << (self.columns()[-1] - 1).bit_length(), 4 * THREADS * self.each)
        words = [k.b.bitcast(v, k.b.i32) for v in k.read(1)]
        t.store(words)
        t.wait("st", words[:1])
        self.fill(t)
        t.synchronize()
        return t

    def body(self, k: Kernel) -> None:
        """Odd programs begin anew, even ones add to what there is."""
        t = self.kernel(k)
        odd = k.b.cmp("eq", k.b.and_(k.hw.program_id(k.b, 0), k.b.int_(1)), k.b.int_(0))
        self.start(t, odd)
        BarrierWaitOp.build([t.done, k.b.int_(0)], (), t.number(polls=0))
        t.fence("after_thread_sync")
        k.write(2, *[k.b.bitcast(v, k.type("f32")) for v in t.load(self.shape.n)])
        t.end()

    def make(self, rng: np.random.Generator, rows: int) -> list[np.ndarray]:
        """Random bytes of shared memory, and accumulators."""
        programs = rows // THREADS
        scales = (0x20, 0x60) if self.shape.scale == "ue4m3" else (118, 137)
        parts = []
        for kind, size in zip(self.kinds, self.sizes[:2], strict=True):
            moderate = rng.integers(0x28, 0x48, (programs, size)) | rng.integers(0, 2, (programs, size)) << 7
            parts.append(
                moderate if kind[0] == "e" and kind[1] in "45" else rng.integers(0, 256, (programs, size))
            )
        parts += [rng.integers(*scales, (programs, size)) for size in self.sizes[2:]]
        memory = np.zeros((programs, 4 * THREADS * self.each), "u1")
        memory[:, : sum(self.sizes)] = np.concatenate(parts, axis=1)
        return [memory.view("i4").reshape(rows, self.each), rng.standard_normal((rows, self.shape.n))]

    def case(self, name: str, op: str) -> MachineCase:
        """As a machine case."""
        error = SUM_ERROR["f32"] if self.shape.kind != "mxf8f6f4" else SUM_ERROR_8

        def bound(_: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
            return np.full(expected.shape, error * float(np.abs(expected).max()))

        total = Column("f4", self.shape.n)
        inputs = (Column("i4", self.each), total)
        return MachineCase(
            name, op, inputs, (total,), self.body, self.make, bound, warps=4, shared=self.shared, arch=ARCH
        )


SCALED_MATMULS: dict[str, ScaledMatmul] = {}


def _add(kind: str, n: int, a: str, b: str, scale: str = "ue8m0") -> None:
    name = f"tcgen05-{kind}-n{n}-{a}-{b}-{scale}"
    SCALED_MATMULS[name] = ScaledMatmul(ScaledDescriptor(kind, 128, n, a, b, scale))
    CASES[name] = SCALED_MATMULS[name].case(name, TensorMultiplyScaledOp.OPERATION_NAME)


_add("mxf8f6f4", 32, "e4m3", "e4m3")
_add("mxf8f6f4", 64, "e5m2", "e4m3")
_add("mxf8f6f4", 32, "e2m1p", "e5m2")
_add("mxf8f6f4", 64, "e4m3", "e2m1p")
_add("mxf4", 64, "e2m1", "e2m1")
_add("mxf4nvf4", 32, "e2m1", "e2m1", "ue4m3")
_add("mxf4nvf4", 32, "e2m1", "e2m1")

SCALED = list(SCALED_MATMULS)
CASES["tcgen05_cp"] = SCALED_MATMULS[SCALED[0]].case("tcgen05_cp", TensorCopyOp.OPERATION_NAME)
