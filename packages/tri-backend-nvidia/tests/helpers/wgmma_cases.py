"""``wgmma`` as machine cases: random bytes in shared memory, multiplied through matrix descriptors of every kind."""

from __future__ import annotations

import numpy as np

from machine_cases import SUM_ERROR, SUM_ERROR_8, Column, Kernel, MachineCase
from tma_cases import CASES
from tri_backend_nvidia.machine import BarrierOp, FenceOp, WgmmaOp, WgmmaShape, WgmmaWaitOp
from tri_core.mlir import ir

__all__ = ["CASES", "WGMMA"]

THREADS, WORDS = 128, 64
#: where B is: behind 64 rows of 128 bytes
B_START, SHARED_BYTES = 8192, 4 * THREADS * WORDS
_SWIZZLE = {128: 1, 64: 2, 32: 3}
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "e4m3": 8, "e5m2": 8}


def values(kind: str, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Moderate numbers of a type, as words."""
    numbers = rng.standard_normal((*shape, 32 // _BITS[kind]))
    match kind:
        case "f16":
            return numbers.astype("f2").view("i4")
        case "bf16":
            return (numbers.astype("f4").view("u4") >> 16).astype("u2").view("i4")
        case "tf32":
            return numbers.astype("f4").view("i4")
        case "s8":
            return rng.integers(-128, 128, numbers.shape).astype("i1").view("i4")
    signs, low = rng.integers(0, 2, numbers.shape) << 7, rng.integers(0x28, 0x48, numbers.shape)
    return (signs | low).astype("u1").view("i4")


def descriptor(width: int, *, rows_along_k: bool) -> tuple[int, int]:
    """Words of a descriptor at address 0: atoms after each other, panels of 16 rows."""
    leading = 0 if rows_along_k else 16 * width
    return leading >> 4 << 16, 8 * width >> 4 | _SWIZZLE[width] << 30


def _case(shape: WgmmaShape, widths: tuple[int, int], *, a_in_memory: bool = True, steps: int = 1) -> None:
    held = "i4" if shape.accumulator == "s32" else "f4"
    lows, highs = zip(
        descriptor(widths[0], rows_along_k=shape.a_rows),
        descriptor(widths[1], rows_along_k=shape.b_rows),
        strict=True,
    )
    # the next 32 bytes of a row, or the next 16 rows
    ahead = [2 if rows else width for rows, width in zip((shape.a_rows, shape.b_rows), widths, strict=True)]

    def body(k: Kernel) -> None:
        b = k.b
        own = b.mul(k.thread, b.int_(4 * WORDS))
        for i, word in enumerate(k.read(0)):
            b.store(word, b.gep(b.gep(k.shared(), own, b.i8), b.int_(4 * i), b.i8))
        FenceOp.build([], (), {"kind": ir.StringAttr.get("proxy.async.shared::cta")})
        BarrierOp.build([])
        address = b.int_cast(b.ptr_to_int(k.shared()), b.i32)
        base = b.lshr(address, 4)
        left = [b.add(base, b.int_(lows[0]))] if a_in_memory else k.read(1)
        right = b.add(base, b.int_(lows[1] + (B_START >> 4)))
        plan = [v for i in range(steps) for v in (0, i * ahead[0] if a_in_memory else 4 * i, i * ahead[1])]
        total, i64 = k.read(2), ir.IntegerType.get_signless(64)
        types = [v.type for v in total]
        attributes = {
            "shape": ir.StringAttr.get(str(shape)),
            "a_high": ir.IntegerAttr.get(i64, highs[0]),
            "b_high": ir.IntegerAttr.get(i64, highs[1]),
            "steps": ir.DenseI32ArrayAttr.get(plan),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(total), len(left), 1, 1]),
        }
        # odd programs begin anew, even ones add to what there is
        odd = b.cmp("eq", b.and_(k.hw.program_id(b, 0), b.int_(1)), b.int_(0))
        made = WgmmaOp.build([*total, *left, right, odd], types, attributes)
        pendings = {"pendings": ir.IntegerAttr.get(b.i32, 0)}
        k.write(3, *WgmmaWaitOp.build(made, types, pendings))

    def make(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
        memory = np.empty((rows, WORDS), "i4")
        b_first = B_START // 4 // WORDS
        of_b = np.arange(rows) % THREADS >= b_first
        memory[~of_b] = values(shape.a, rng, (int((~of_b).sum()), WORDS))[..., 0].reshape(-1, WORDS)
        memory[of_b] = values(shape.b, rng, (int(of_b.sum()), WORDS))[..., 0].reshape(-1, WORDS)
        registers = values(shape.a, rng, (rows, 4 * steps))[..., 0]
        if held == "i4":
            return [memory, registers, rng.integers(-(2**20), 2**20, (rows, shape.registers))]
        return [memory, registers, rng.standard_normal((rows, shape.registers))]

    error = SUM_ERROR_8 if _BITS[shape.a] == 8 and held == "f4" else SUM_ERROR[shape.accumulator]

    def bound(_: list[np.ndarray], expected: np.ndarray) -> np.ndarray:
        return np.full(expected.shape, error * float(np.abs(expected).max()))

    place = "m" if a_in_memory else "r"
    majors = "".join("k" if rows else "m" for rows in (shape.a_rows, shape.b_rows))
    name = f"wgmma-n{shape.n}-{shape.a}-{shape.b}-{place}{majors}-{widths[0]}-{widths[1]}-x{steps}"
    inputs = (Column("i4", WORDS), Column("i4", 4 * steps), Column(held, shape.registers))
    CASES[name] = MachineCase(
        name,
        WgmmaOp.OPERATION_NAME,
        inputs,
        (Column(held, shape.registers),),
        body,
        make,
        bound if error else None,
        warps=4,
        shared=SHARED_BYTES,
    )


def _shape(n: int, a: str, b: str, *, a_rows: bool = True, b_rows: bool = True) -> WgmmaShape:
    return WgmmaShape(n, 256 // _BITS[a], a, b, "s32" if a == "s8" else "f32", a_rows, b_rows)


for _kind in _BITS:
    _case(_shape(64, _kind, _kind), (128, 128), steps=4)
    _case(_shape(16, _kind, _kind), (128, 64), a_in_memory=False, steps=2)
_case(_shape(32, "e4m3", "e5m2"), (64, 32))
for _width in (128, 64, 32):
    _case(_shape(128, "f16", "f16"), (_width, _width))
    _case(_shape(128, "f16", "f16", b_rows=False), (_width, _width))
    _case(_shape(64, "bf16", "bf16", a_rows=False), (_width, _width))
    _case(_shape(64, "bf16", "bf16", a_rows=False, b_rows=False), (_width, _width))
for _n in (8, 256):
    # rows across hold what fits behind A: 256 columns in panels of 16 rows
    _case(_shape(_n, "f16", "f16", b_rows=_n == 8), (128, 128))

WGMMA = [name for name in CASES if name.startswith("wgmma-")]


def _wait_case() -> None:
    """The wait of a case of its own: what the other cases have, by another name."""
    found = CASES[WGMMA[0]]
    name = "wgmma_wait"
    CASES[name] = MachineCase(
        name,
        WgmmaWaitOp.OPERATION_NAME,
        found.inputs,
        found.outputs,
        found.body,
        found.values,
        found.bound,
        warps=4,
        shared=SHARED_BYTES,
    )


_wait_case()
