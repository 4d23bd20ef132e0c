"""TTIR kernels written op by op, compiled and run on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tri_backend_cpu.runtime import CpuRuntime
from tri_core import compiler
from tri_core.api import Launch
from tri_core.compiler import CompiledKernel, IRSource
from tri_runtime import runtime

__all__ = ["NUMPY", "Kernel", "T", "cpu_runtime"]

#: NumPy's type for what memory holds of each MLIR type
NUMPY: dict[str, Any] = {
    "i1": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": np.uint16,
    "f8E5M2": np.uint8, "f8E4M3FN": np.uint8, "f8E4M3FNUZ": np.uint8, "f8E5M2FNUZ": np.uint8, "f8E4M3B11FNUZ": np.uint8,
}  # fmt: skip


@dataclass(frozen=True)
class T:
    """A value: its SSA name, element type (``"*f32"`` for pointers) and shape (None for a scalar)."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None = None

    @property
    def type(self) -> str:
        element = f'!tt.ptr<{self.dtype[1:]}, "global">' if self.dtype.startswith("*") else self.dtype
        return element if self.shape is None else f"tensor<{''.join(f'{n}x' for n in self.shape)}{element}>"


@dataclass
class Kernel:
    """Text of a kernel in the making; ``parameters`` maps names to types, ``divisible`` names those by 16."""

    parameters: dict[str, str]
    divisible: Sequence[str] = ()
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def __getitem__(self, name: str) -> T:
        return T(f"%{name}", self.parameters[name])

    def op(
        self,
        name: str,
        operands: Sequence[T],
        result: tuple[str, tuple[int, ...] | None] | None = None,
        attributes: str = "",
        properties: str = "",
        region: str = "",
    ) -> T:
        """Any op, in generic form."""
        made = T(f"%v{self.count}", *(result or ("none", None)))
        self.count += 1
        types = ", ".join(o.type for o in operands)
        head = f"{made.name} = " if result else ""
        props = f" <{{{properties}}}>" if properties else ""
        attrs = f" {{{attributes}}}" if attributes else ""
        self.lines.append(
            f'{head}"{name}"({", ".join(o.name for o in operands)}){props}{region}{attrs} : '
            f"({types}) -> {made.type if result else '()'}"
        )
        return made

    # --- values ------------------------------------------------------------------------------------------

    def constant(self, value: float | str, dtype: str, shape: tuple[int, ...] | None = None) -> T:
        kind = T("", dtype, shape).type
        if isinstance(value, bool):
            text = "true" if value else "false"
        else:
            text = value if isinstance(value, str) else repr(float(value) if dtype[0] in "fb" else int(value))
        literal = text if shape is None else f"dense<{text}>"
        typed = literal if literal in {"true", "false"} else f"{literal} : {kind}"
        return self.op("arith.constant", [], (dtype, shape), properties=f"value = {typed}")

    def range(self, end: int, start: int = 0) -> T:
        return self.op(
            "tt.make_range", [], ("i32", (end - start,)), f"start = {start} : i32, end = {end} : i32"
        )

    def program_id(self, axis: int = 0) -> T:
        return self.op("tt.get_program_id", [], ("i32", None), f"axis = {axis} : i32")

    def splat(self, value: T, shape: tuple[int, ...]) -> T:
        return self.op("tt.splat", [value], (value.dtype, shape))

    def expand(self, value: T, axis: int) -> T:
        assert value.shape is not None
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        return self.op("tt.expand_dims", [value], (value.dtype, shape), f"axis = {axis} : i32")

    def broadcast(self, value: T, shape: tuple[int, ...]) -> T:
        if value.shape is None:
            return self.splat(value, shape)
        return value if value.shape == shape else self.op("tt.broadcast", [value], (value.dtype, shape))

    def trans(self, value: T, *order: int) -> T:
        assert value.shape is not None
        shape = tuple(value.shape[d] for d in order)
        attributes = f"order = array<i32: {', '.join(map(str, order))}>"
        return self.op("tt.trans", [value], (value.dtype, shape), attributes)

    def reshape(self, value: T, *shape: int) -> T:
        return self.op("tt.reshape", [value], (value.dtype, shape))

    # --- arithmetic --------------------------------------------------------------------------------------

    def same(self, name: str, *operands: T) -> T:
        return self.op(name, operands, (operands[0].dtype, operands[0].shape))

    def add(self, x: T, y: T) -> T:
        return self.same("arith.addf" if x.dtype[0] in "fb" else "arith.addi", x, y)

    def mul(self, x: T, y: T) -> T:
        return self.same("arith.mulf" if x.dtype[0] in "fb" else "arith.muli", x, y)

    def compare(self, predicate: int, x: T, y: T) -> T:
        name = "arith.cmpf" if x.dtype[0] in "fb" else "arith.cmpi"
        return self.op(name, [x, y], ("i1", x.shape), properties=f"predicate = {predicate} : i64")

    def convert(self, name: str, x: T, dtype: str, attributes: str = "") -> T:
        return self.op(name, [x], (dtype, x.shape), attributes)

    # --- memory ------------------------------------------------------------------------------------------

    def offsets(self, base: T | str, index: T) -> T:
        """Tensor of pointers ``base + index``."""
        pointer = self[base] if isinstance(base, str) else base
        if pointer.shape is None and index.shape is not None:
            pointer = self.splat(pointer, index.shape)
        return self.op("tt.addptr", [pointer, index], (pointer.dtype, pointer.shape))

    def load(self, pointer: T, mask: T | None = None, other: T | None = None) -> T:
        operands = [pointer, *(x for x in (mask, other) if x is not None)]
        sizes = f"operandSegmentSizes = array<i32: 1, {int(mask is not None)}, {int(other is not None)}>"
        return self.op("tt.load", operands, (pointer.dtype[1:], pointer.shape), sizes)

    def store(self, pointer: T, value: T, mask: T | None = None) -> None:
        operands = [pointer, value, *([mask] if mask is not None else [])]
        self.op(
            "tt.store",
            operands,
            attributes=f"operandSegmentSizes = array<i32: 1, 1, {int(mask is not None)}>",
        )

    def grid_index(self, shape: tuple[int, ...], strides: Sequence[int] | None = None) -> T:
        """The row-major (or strided) offset of every element of ``shape``."""
        total: T | None = None
        strides = strides or [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
        for d, (n, stride) in enumerate(zip(shape, strides, strict=True)):
            index = self.range(n)
            for axis in range(len(shape)):
                if axis != d:
                    index = self.expand(index, axis)
            index = self.mul(index, self.constant(stride, "i32", index.shape))
            index = self.broadcast(index, shape)
            total = index if total is None else self.add(total, index)
        assert total is not None
        return total

    def read(self, name: str, *shape: int) -> T:
        """The whole row-major array that parameter ``name`` points to."""
        return self.load(self.offsets(name, self.grid_index(shape)))

    def write(self, name: str, value: T) -> None:
        """Store ``value`` as the whole row-major array at parameter ``name``."""
        if value.dtype == "i1":
            value = self.convert("arith.extui", value, "i8")
        if value.shape is None:
            self.store(self[name], value)
        else:
            self.store(self.offsets(name, self.grid_index(value.shape)), value)

    # --- regions -----------------------------------------------------------------------------------------

    def reduce(
        self, axis: int, values: Sequence[T], combine: Callable[[list[T], list[T]], Sequence[T]]
    ) -> list[T]:
        """``tt.reduce`` of ``values``."""
        shape = values[0].shape
        assert shape is not None
        rest = (*shape[:axis], *shape[axis + 1 :])
        return self._combining("tt.reduce", f"axis = {axis} : i32", values, rest or None, combine)

    def scan(
        self,
        axis: int,
        values: Sequence[T],
        combine: Callable[[list[T], list[T]], Sequence[T]],
        reverse: bool = False,
    ) -> list[T]:
        attributes = f"axis = {axis} : i32, reverse = {'true' if reverse else 'false'}"
        return self._combining("tt.scan", attributes, values, values[0].shape, combine)

    def _combining(
        self, name: str, attributes: str, values: Sequence[T], shape: tuple[int, ...] | None, combine: Any
    ) -> list[T]:
        start = self.count
        self.count += 1
        left = [T(f"%l{start}_{i}", v.dtype) for i, v in enumerate(values)]
        right = [T(f"%r{start}_{i}", v.dtype) for i, v in enumerate(values)]
        outer, self.lines = self.lines, []
        results = combine(left, right)
        body, self.lines = self.lines, outer
        arguments = ", ".join(f"{v.name}: {v.type}" for v in (*left, *right))
        names, types = ", ".join(r.name for r in results), ", ".join(r.type for r in results)
        ending = f'"{name}_return"({names}) : ({types}) -> ()'
        made = [T(f"%w{start}#{i}", v.dtype, shape) for i, v in enumerate(values)]
        self.lines.append(
            f'%w{start}:{len(values)} = "{name}"({", ".join(v.name for v in values)}) ({{ ^bb0({arguments}):\n'
            + "\n".join((*body, ending))
            + f"}}) {{{attributes}}} : ({', '.join(v.type for v in values)}) -> ({', '.join(m.type for m in made)})"
        )
        return made

    @contextmanager
    def loop(self, lower: T, upper: T, step: T, initial: Sequence[T]) -> Iterator[Loop]:
        """``scf.for``: set ``next`` to the values of the next iteration; ``results`` afterwards."""
        made = Loop(self, self.count, lower, list(initial))
        self.count += 1
        carried = ", ".join(f"{a.name} = {v.name}" for a, v in zip(made.arguments, initial, strict=True))
        types = ", ".join(v.type for v in initial)
        head = f"{made.name}:{len(initial)} = " if initial else ""
        tail = f" iter_args({carried}) -> ({types})" if initial else ""
        self.lines.append(
            f"{head}scf.for {made.index.name} = {lower.name} to {upper.name} step {step.name}{tail} : {lower.dtype} {{"
        )
        yield made
        if initial:
            self.lines.append(f"scf.yield {', '.join(v.name for v in made.next)} : {types}")
        self.lines.append("}")

    # --- compiling and running ---------------------------------------------------------------------------

    @property
    def text(self) -> str:
        arguments = ", ".join(f"%{n}: {T('', t).type}" for n, t in self.parameters.items())
        types = ", ".join(T("", t).type for t in self.parameters.values())
        hints = ", ".join(
            "{tt.divisibility = 16 : i32}" if n in self.divisible else "{}" for n in self.parameters
        )
        return "\n".join(
            (
                f'module {{ "tt.func"() ({{ ^bb0({arguments}):',
                *self.lines,
                '"tt.return"() : () -> ()',
                f'}}) {{sym_name = "kernel", sym_visibility = "public", function_type = ({types}) -> (),',
                f"arg_attrs = [{hints}]}} : () -> () }}",
            )
        )

    def compile(self, target: str = "cpu", **options: Any) -> CompiledKernel:
        return compiler.compile(IRSource("ttir", self.text), target, options)

    def launch(self, target: str = "cpu", **options: Any) -> Launch:
        kernel = self.compile(target, **options)
        live = cpu_runtime()
        return live.launcher(live.load(kernel.image, live.current_device()), kernel.image)

    def run(self, *arguments: Any, grid: tuple[int, ...] = (1,), target: str = "cpu", **options: Any) -> None:
        """Launch on NumPy arrays and numbers."""
        addresses = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
        poison_scratch_memory()
        x, y, z = (*grid, 1, 1)[:3]
        self.launch(target, **options)((x, y, z), None, addresses)


class Loop:
    """A loop in the making."""

    def __init__(self, kernel: Kernel, number: int, lower: T, initial: list[T]) -> None:
        self.name = f"%f{number}"
        self.index = T(f"%i{number}", lower.dtype)
        self.arguments = [T(f"%a{number}_{i}", v.dtype, v.shape) for i, v in enumerate(initial)]
        self.next: list[T] = list(self.arguments)
        self.results = [T(f"{self.name}#{i}", v.dtype, v.shape) for i, v in enumerate(initial)]


@cache
def cpu_runtime() -> CpuRuntime:
    found = runtime("cpu")
    assert isinstance(found, CpuRuntime)
    return found


def poison_scratch_memory() -> None:
    """Fill what this thread's kernels use as scratch memory, so that reading before writing shows."""
    arena = getattr(cpu_runtime()._pool._own, "arena", None)
    if arena is not None and arena._memory is not None:
        np.frombuffer(arena._memory, np.uint32)[:] = 0xDEADBEEF
