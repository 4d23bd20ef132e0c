"""Checks of single ops in tests of dialects: made of their generic text, and verified."""

from __future__ import annotations

from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.encodings import SwizzledShared

__all__ = ["barrier_type", "memory_type", "verify_op"]


def memory_type(shape: tuple[int, ...], encoding: SwizzledShared, *, mutable: bool = True) -> str:
    """A buffer of f32 in ``encoding``."""
    return str(MemDescType.of(shape, ir.F32Type.get(), encoding.to_attr(), mutable=mutable))


def barrier_type(count: int = 1, *, bits: int = 64, mutable: bool = True) -> str:
    """The buffer of ``count`` barriers, or of other integers of ``bits``."""
    encoding = SwizzledShared(1, 1, 1, (0,)).to_attr()
    return str(MemDescType.of((count,), ir.IntegerType.get_signless(bits), encoding, mutable=mutable))


def verify_op(op: str, inputs: list[str], output: str | None) -> None:
    """Verify one generic op ``op`` (its name and attributes) on values of types ``inputs``; MLIRError where it is wrong."""
    args = ", ".join(f"%{i}: {t}" for i, t in enumerate(inputs))
    name, _, attributes = op.partition(" ")
    values = ", ".join(f"%{i}" for i in range(len(inputs)))
    body = f'"{name}"({values}) {attributes} : ({", ".join(inputs)}) -> ({output or ""})'
    text = f"module {{ func.func @f({args}) {{ {'%r = ' if output else ''}{body}\n return }} }}"
    assert ir.Module.parse(text).operation.verify()
