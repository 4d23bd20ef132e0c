"""A program while it is drawn: statements one after another, each over the values that exist by then."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from integration.random_kernels.program import INPUT, Statement, Step, Stored, View
from integration.random_kernels.values import (
    BOOL,
    COLUMNS_AND_ROWS,
    DTYPES,
    MATRICES,
    VECTORS,
    Shape,
    Value,
    bits,
    is_float,
)

__all__ = ["UNUSUAL_NAMES", "Choice", "Draft"]

T = TypeVar("T")
Choice: TypeAlias = Callable[[int, int], int]

#: names that Python allows, and that generated code, launchers and libraries use themselves
UNUSUAL_NAMES = (
    "v0", "v1", "v2", "f0", "f1", "s0", "type", "options", "readers0", "readers1", "readersN", "self", "cls", "grid",
    "args", "kwargs", "stream", "np", "device", "launch", "key", "cache", "signature", "constants", "key_of", "bound",
    "__", "__x__", "_0", "x", "lambda_", "int", "float", "tuple", "len", "id", "min", "max", "sum", "abs", "hash",
    "print", "object", "None_", "\u03b1", "\u00b5", "\u017fize", "\u0447\u0438\u0441\u043b\u043e", "\u5909\u6570", "e\u0301", "module", "function",
    "kernel", "builder", "warmup", "i32", "f32", "llvm", "ptr", "void", "return_", "getattr", "isinstance",
)  # fmt: skip


@dataclass
class Draft:
    """Builds one kernel; ``integer`` chooses a number of a range, ``table`` is what may be drawn anywhere."""

    integer: Choice
    inputs: tuple[str, ...]
    table: Sequence[Any] = ()
    unusual: bool = False
    body: list[Statement] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    outputs: list[Stored] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    depth: int = 0
    count: int = 0

    def choose(self, options: Iterable[T]) -> T:
        """One of ``options``."""
        found = tuple(options)
        return found[self.integer(0, len(found) - 1)]

    def text(self, *options: str) -> str:
        """One of some texts."""
        return self.choose(options)

    def one_in(self, count: int) -> bool:
        """True once in ``count``; shrinks to False."""
        return self.integer(0, count - 1) == count - 1

    def fresh(self, stem: str = "v") -> str:
        """A new name: an unusual one at times, in a kernel that has them."""
        if self.unusual and self.one_in(2):
            free = [name for name in UNUSUAL_NAMES if name not in self.taken]
            name = self.choose(free)
        else:
            while (name := f"{stem}{self.count}") in self.taken:
                self.count += 1
        self.count += 1
        self.taken.add(name)
        return name

    def dtype(self, floats: bool | None = None) -> str:
        """A type; bfloat16 seldom, since Triton's interpreter can't compute in it."""
        kinds = [d for d in DTYPES if d != "bfloat16" and (floats is None or is_float(d) == floats)]
        return "bfloat16" if floats is not False and self.one_in(24) else self.choose(kinds)

    def step(
        self,
        production: str,
        operands: Sequence[Value | str],
        dtype: str,
        shape: Shape,
        /,
        *,
        name: str = "",
        exact: bool = True,
        **attributes: Any,
    ) -> Value:
        """A new value, or ``name`` assigned again."""
        value = Value(name or self.fresh(), dtype, shape, exact)
        self.steps(production, operands, (value,), **attributes)
        return value

    def steps(
        self, production: str, operands: Sequence[Value | str], results: Sequence[Value], /, **attributes: Any
    ) -> None:
        """A statement with any number of results, which are known from then on."""
        names = tuple(o if isinstance(o, str) else o.name for o in operands)
        self.body.append(Step(production, tuple(results), names, tuple(attributes.items())))
        assigned = {value.name for value in results}
        self.values[:] = [v for v in self.values if v.name not in assigned] + list(results)

    def pick(
        self,
        *,
        floats: bool | None = None,
        dtypes: Iterable[str] = (),
        ranks: Iterable[int] = (),
        most: int = 4096,
    ) -> Value:
        """An exact value of the kind asked for, loaded when there is none."""
        wanted, dimensions = tuple(dtypes), tuple(ranks)
        fitting = [
            v
            for v in self.values
            if v.exact
            and v.numel <= most
            and (v.dtype in wanted if wanted else v.dtype != BOOL)
            and (floats is None or is_float(v.dtype) == floats)
            and (not dimensions or len(v.shape) in dimensions)
        ]
        if fitting and not self.one_in(6):
            return self.choose(fitting)
        shapes = [s for s in self._shapes(dimensions) if math.prod(s) <= most]
        kind = self.choose(wanted) if wanted else self.dtype(floats)
        return self.cast(self.load(self.choose(shapes)), kind)

    def _shapes(self, ranks: Sequence[int]) -> tuple[Shape, ...]:
        if 1 in ranks and 2 in ranks:
            return (*VECTORS[:2], *MATRICES[:2])
        return VECTORS if 1 in ranks else MATRICES if ranks else (*VECTORS, *COLUMNS_AND_ROWS)

    def like(self, value: Value) -> Value:
        """An exact value of the shape and type of ``value``."""
        fitting = [v for v in self.values if v.exact and (v.dtype, v.shape) == (value.dtype, value.shape)]
        if len(fitting) > 1:
            return self.choose(fitting)
        return self.cast(self.load(value.shape), value.dtype)

    def partner(self, value: Value, *, floats: bool | None = None) -> Value:
        """An exact value, of any type, whose shape broadcasts with that of ``value``."""
        fitting = [
            v
            for v in self.values
            if v.exact
            and v.dtype != BOOL
            and (floats is None or is_float(v.dtype) == floats)
            and _broadcasts(v.shape, value.shape)
        ]
        if fitting and not self.one_in(4):
            return self.choose(fitting)
        loaded = self.load(self.choose(_companions(value.shape)))
        return (
            loaded
            if floats is None or is_float(loaded.dtype) == floats
            else self.cast(loaded, self.dtype(floats))
        )

    def is_dot(self, value: Value) -> bool:
        """A dot of the block under way makes ``value``."""
        return any(isinstance(s, Step) and s.production == "dot" and value in s.results for s in self.body)

    def condition(self, shape: Shape) -> Value:
        """An i1 value of ``shape``."""
        fitting = [v for v in self.values if (v.dtype, v.shape) == (BOOL, shape)]
        if fitting and not self.one_in(3):
            return self.choose(fitting)
        x = self.load(shape)
        y = self.like(x)
        return self.step("compare", (x, y), BOOL, shape, sign=self.text("<", "<=", ">", ">=", "==", "!="))

    def load(
        self, shape: Shape, *, dtypes: Sequence[str] = (), index: str = "", strides: Shape = ()
    ) -> Value:
        """A block of an input, in any order, masked or not; it moves with ``index``, the counter of a loop."""
        fitting = [i for i, dtype in enumerate(self.inputs) if not dtypes or dtype in dtypes]
        source = self.choose(fitting or range(len(self.inputs)))
        strides = strides or self._strides(shape)
        span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        moved = min(math.prod(shape), (INPUT - span) // 4) if index else 0
        first = self.integer(0, INPUT - span - 3 * moved)
        mask = ("", 0, 0)
        if shape and self.one_in(4):
            mask = ("block", first + self.integer(0, span), self.integer(0, 3))
            if len(shape) == 2 and 1 not in shape and self.one_in(2):
                mask = (self.text("rows", "columns"), self.integer(0, max(shape)), self.integer(0, 3))
        wide = self.text("offsets", "pointer", "both") if self.one_in(16) else ""
        return self.step(
            "load", (index,) if index else (), self.inputs[source], shape,
            source=source, shape=shape, first=first, strides=strides, moved=moved, mask=mask, wide=wide,
        )  # fmt: skip

    def _strides(self, shape: Shape) -> tuple[int, ...]:
        """Of rows one after another, of columns, or any."""
        if len(shape) < 2:
            return (self.choose((1, 1, 1, 2, 3, 0)),) if shape else ()
        m, n = shape
        kinds = ((n, 1), (n, 1), (1, m), (2 * n, 1), (n, 2), (1, 1), (0, 1), (1, 0))
        made = self.choose(kinds)
        return made if (m - 1) * made[0] + (n - 1) * made[1] < INPUT // 4 else (n, 1)

    def cast(self, value: Value, dtype: str, name: str = "") -> Value:
        """``value`` in another type: an integer of a float only within ±100, bfloat16 in single roundings."""
        if value.dtype == dtype:
            return value
        if is_float(value.dtype) and not is_float(dtype) and dtype != BOOL:
            return self.step("truncate", (value,), dtype, value.shape, name=name, to=dtype)
        wide = value.dtype == "float64" or (not is_float(value.dtype) and bits(value.dtype) > 16)
        if dtype == "bfloat16" and wide:
            value = self.step("cast", (value,), "float32", value.shape, to="float32")
        return self.step("cast", (value,), dtype, value.shape, name=name, to=dtype)

    def store(self, value: Value, tolerance: float = 0.0) -> None:
        """Store ``value`` to an output of its own, in any order, masked or not."""
        if value.dtype == BOOL:
            value = self.cast(value, "int8")
        columns = len(value.shape) == 2 and self.one_in(3)
        limit = self.integer(0, value.numel) if value.shape and self.one_in(6) else -1
        output = self.output(value.dtype, value.numel, tolerance)
        self.steps("store", (value,), (), output=output, shape=value.shape, columns=columns, limit=limit)

    def output(self, dtype: str, numel: int, tolerance: float = 0.0) -> int:
        """A new output's number."""
        self.outputs.append(Stored(self.fresh("out"), dtype, numel, tolerance))
        return len(self.outputs) - 1

    def overlapped(self, dtype: str, numel: int, first: int) -> int:
        """A new output's number, whose memory is a parameter twice: the second begins at element ``first``."""
        output = self.output(dtype, numel)
        self.views.append(View(self.fresh("again"), output, first))
        return output


def _broadcasts(x: Shape, y: Shape) -> bool:
    same_rank = len(x) == len(y) and all(m == n or 1 in (m, n) for m, n in zip(x, y, strict=True))
    return same_rank or not x or not y


def _companions(shape: Shape) -> list[Shape]:
    """Shapes that broadcast with ``shape``."""
    if len(shape) != 2:
        return [shape, shape, shape, ()] if shape else [(), (32,), (8, 16)]
    m, n = shape
    grown = (8 if m == 1 else m, 16 if n == 1 else n)
    return [shape, shape, grown, (m, 1) if m > 1 else grown, (1, n) if n > 1 else grown, ()]
