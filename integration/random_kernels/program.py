"""A random program: statements drawn one after another, each over the values that exist by then."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from integration.random_kernels.values import DTYPES, MATRICES, VECTORS, Shape, Value, is_float, largest

__all__ = ["HEADER", "INPUT", "LARGEST_INPUT", "Program", "RandomKernel", "Stored"]

#: elements of each input
INPUT = 4096
#: floats of the inputs are quarters below this
LARGEST_INPUT = 4.0


@dataclass(frozen=True)
class Stored:
    """An output: elements of ``dtype``, which all targets must agree on exactly, or within ``tolerance``
    (relative, and of the largest magnitude of the output)."""

    name: str
    dtype: str
    numel: int
    tolerance: float


@dataclass(frozen=True)
class RandomKernel:
    """The source of a kernel ``kernel(x0, x1, ..., out0, out1, ..., n, flag)`` with what it reads and writes."""

    source: str
    inputs: tuple[str, ...]
    outputs: tuple[Stored, ...]
    trip_count: int
    flag: int
    num_warps: int
    seed: int


HEADER = '''"""A random kernel."""

from __future__ import annotations

import typing

import tri
import tri.language as tl
from tri.language.extra import libdevice


class Two(typing.NamedTuple):
    first: typing.Any
    second: typing.Any


@tri.aggregate
class Span:
    low: tl.tensor
    high: tl.tensor
    step: tl.constexpr

    def __init__(self, low, high, step):
        self.low = low
        self.high = high
        self.step = tl.constexpr(step)

    @tri.jit
    def grow(self, x):
        return Span(tl.minimum(self.low, x), tl.maximum(self.high, x), self.step)

    @tri.jit
    def __add__(self, other):
        return Span(self.low + other.high, self.high ^ other.low, self.step)

    @tri.constexpr_function
    def twice(self):
        return self.step * 2


@tri.jit
def swap(pair):
    return pair[1], pair[0]


@tri.jit
def mix(two, flag):
    if flag > 0:
        two = Two(two.second, two.first + two.second)
    return two


@tri.jit
def larger(a, b):
    return tl.maximum(a, b)


@tri.jit
def pick(a, b, flag):
    if flag > 1:
        return a
    return b


@tri.jit
def twice(a, b):
    c = a ^ b
    return c + a, c - b
'''


@dataclass
class Program:
    """Builds the text of one kernel."""

    draw: st.DrawFn
    inputs: tuple[str, ...]
    lines: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    outputs: list[Stored] = field(default_factory=list)
    depth: int = 1
    names: int = 0

    def choose(self, options: Iterable[object]) -> object:
        """One of ``options``."""
        return self.draw(st.sampled_from(list(options)))

    def text(self, *options: str) -> str:
        """One of some texts."""
        return str(self.choose(options))

    def integer(self, low: int, high: int) -> int:
        """A number of ``low`` to ``high``."""
        return self.draw(st.integers(low, high))

    def draw_shape(self, shapes: Iterable[Shape]) -> Shape:
        """One of ``shapes``."""
        return self.draw(st.sampled_from(list(shapes)))

    def emit(self, line: str) -> None:
        """Add a line at the present depth."""
        self.lines.append("    " * self.depth + line)

    def fresh(self) -> str:
        """A new name."""
        self.names += 1
        return f"v{self.names}"

    def let(
        self, expression: str, dtype: str, shape: Shape, bound: float = math.inf, exact: bool = True
    ) -> Value:
        """A new value."""
        if is_float(dtype) and bound > 0.25 * largest(dtype):
            bound = math.inf
        value = Value(self.fresh(), dtype, shape, bound, exact)
        self.emit(f"{value.name} = {expression}")
        self.values.append(value)
        return value

    def pick(
        self, *, floats: bool | None = None, dtypes: Iterable[str] = (), ranks: Iterable[int] = ()
    ) -> Value:
        """An exact value of the kind asked for, loaded when there is none."""
        wanted, dimensions = tuple(dtypes), tuple(ranks)
        fitting = [
            v
            for v in self.values
            if v.exact
            and v.dtype != "int1"
            and (floats is None or is_float(v.dtype) == floats)
            and (not wanted or v.dtype in wanted)
            and (not dimensions or len(v.shape) in dimensions)
        ]
        if fitting:
            return self.draw(st.sampled_from(fitting))
        kinds = wanted or tuple(d for d in DTYPES if floats is None or is_float(d) == floats)
        shape = self.draw(st.sampled_from(VECTORS if 1 in dimensions else MATRICES))
        return self.cast(self.load(shape), str(self.choose(kinds)))

    def like(self, value: Value) -> Value:
        """An exact value of the shape and type of ``value``."""
        fitting = [v for v in self.values if v.exact and (v.dtype, v.shape) == (value.dtype, value.shape)]
        if len(fitting) > 1:
            return self.draw(st.sampled_from(fitting))
        return self.cast(self.load(value.shape), value.dtype)

    def condition(self, shape: Shape) -> str:
        """An i1 expression of ``shape``."""
        value = self.load(shape)
        other = self.like(value)
        return f"({value.name} {self.text('<', '<=', '>', '>=', '==', '!=')} {other.name})"

    def offsets(self, shape: Shape) -> str:
        """Offsets of a block in row-major or column-major order."""
        if not shape:
            return "0"
        if len(shape) == 1:
            return f"tl.arange(0, {shape[0]})"
        m, n = shape
        rows, columns = f"tl.arange(0, {m})[:, None]", f"tl.arange(0, {n})[None, :]"
        if self.draw(st.booleans()):
            return f"({rows} * {n} + {columns})"
        return f"({rows} + {columns} * {m})"

    def load(self, shape: Shape) -> Value:
        """A block of an input, masked or not."""
        source = self.integer(0, len(self.inputs) - 1)
        dtype = self.inputs[source]
        first = self.integer(0, INPUT - math.prod(shape))
        place = f"{self.offsets(shape)} + {first}"
        masked = ""
        if shape and self.integer(0, 3) == 0:
            limit = self.integer(0, math.prod(shape))
            masked = f", mask=({place}) < {first + limit}, other={self.integer(0, 3)}"
        return self.let(f"tl.load(x{source} + {place}{masked})", dtype, shape, LARGEST_INPUT)

    def cast(self, value: Value, dtype: str) -> Value:
        """``value`` in another type; integers of floats only when they are small enough."""
        if value.dtype == dtype:
            return value
        if is_float(value.dtype) and not is_float(dtype):
            return self._to_integer(value, dtype)
        bound = value.bound if is_float(value.dtype) else float(largest(value.dtype))
        return self.let(f"{value.name}.to(tl.{dtype})", dtype, value.shape, bound)

    def _to_integer(self, value: Value, dtype: str) -> Value:
        small = f"tl.where({value.name} == {value.name}, {value.name}, 0.0)"
        low = "0.0" if dtype.startswith("u") else "-100.0"
        clamped = f"tl.minimum(tl.maximum({small}, {low}), 100.0).to(tl.{dtype})"
        return self.let(clamped, dtype, value.shape)

    def store(self, value: Value, tolerance: float = 0.0) -> None:
        """Store ``value`` to an output of its own."""
        dtype = "int32" if value.dtype == "int1" else value.dtype
        stored = Stored(f"out{len(self.outputs)}", dtype, value.numel, tolerance)
        self.outputs.append(stored)
        data = f"{value.name}.to(tl.int32)" if value.dtype == "int1" else value.name
        place = f" + {self.offsets(value.shape)}" if value.shape else ""
        self.emit(f"tl.store({stored.name}{place}, {data})")

    def finish(self) -> str:
        """The text of the module."""
        pointers = [*(f"x{i}" for i in range(len(self.inputs))), *(o.name for o in self.outputs)]
        head = f"\n\n@tri.jit\ndef kernel({', '.join(pointers)}, n, flag):\n"
        return HEADER + head + "\n".join(self.lines) + "\n"
