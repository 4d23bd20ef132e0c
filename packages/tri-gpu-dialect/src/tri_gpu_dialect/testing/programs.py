"""Random tensor programs as TTIR text: a hypothesis strategy for tests of whole pipelines.

A program has parameters ``%in`` and ``%out`` (f32 pointers, arrays of :data:`INPUT` and :data:`OUTPUT`
elements), ``%n`` (i32, the trip count of its loops) and ``%c`` (i1, the condition of its branches).  It
loads vectors and matrices in either order, computes, reduces, transposes, reshapes, joins and splits,
multiplies, in loops and branches, and stores the last few values.  Small integers in, so that sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field

from hypothesis import strategies as st

from tri_core.lazy_dataclasses import dataclass

SIZES = (16, 32, 64)
INPUT, OUTPUT = 1 << 14, 1 << 16
POINTER = '!tt.ptr<f32, "global">'


@dataclass(frozen=True)
class _Value:
    name: str
    shape: tuple[int, ...]


def _tensor(shape: tuple[int, ...], element: str = "f32") -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>" if shape else element


@dataclass
class _Program:
    """Builds the text of a program by drawing one op after another."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    values: list[_Value] = field(default_factory=list)
    names: int = 0
    written: int = 0

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def op(self, name: str, operands: str, types: str, result: str, attributes: str = "") -> str:
        made = self.fresh()
        self.lines.append(f'{made} = "{name}"({operands}) {attributes} : ({types}) -> {result}')
        return made

    def emit(self, text: str) -> str:
        made = self.fresh()
        self.lines.append(f"{made} = {text}")
        return made

    def pick(self, *ranks: int) -> _Value:
        fitting = [v for v in self.values if len(v.shape) in ranks]
        return self.draw(st.sampled_from(fitting)) if fitting else self.load(ranks[0])

    def new_shape(self, rank: int) -> tuple[int, ...]:
        return tuple(self.draw(st.sampled_from(SIZES)) for _ in range(rank))

    # --- ops ----------------------------------------------------------------------------------------------

    def offsets(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
        """An i32 tensor of the sum of coordinates times strides."""
        total = None
        for axis, (size, stride) in enumerate(zip(shape, strides, strict=True)):
            at = self.op(
                "tt.make_range", "", "", _tensor((size,), "i32"), f"{{start = 0 : i32, end = {size} : i32}}"
            )
            one: tuple[int, ...] = (size,)
            for other in range(len(shape)):
                if other != axis:
                    wide = tuple(size if d == axis else 1 for d in range(len(one) + 1))
                    wide = (*one[:other], 1, *one[other:])
                    at = self.op(
                        "tt.expand_dims",
                        at,
                        _tensor(one, "i32"),
                        _tensor(wide, "i32"),
                        f"{{axis = {other} : i32}}",
                    )
                    one = wide
            factor = self.emit(f"arith.constant dense<{stride}> : {_tensor(one, 'i32')}")
            at = self.emit(f"arith.muli {at}, {factor} : {_tensor(one, 'i32')}")
            if one != shape:
                at = self.op("tt.broadcast", at, _tensor(one, "i32"), _tensor(shape, "i32"))
            total = at if total is None else self.emit(f"arith.addi {total}, {at} : {_tensor(shape, 'i32')}")
        assert total is not None
        return total

    def pointers(self, base: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
        offsets = self.offsets(shape, strides)
        splat = self.op("tt.splat", base, POINTER, _tensor(shape, POINTER))
        types = f"{_tensor(shape, POINTER)}, {_tensor(shape, 'i32')}"
        return self.op("tt.addptr", f"{splat}, {offsets}", types, _tensor(shape, POINTER))

    def load(self, rank: int | None = None) -> _Value:
        shape = self.new_shape(rank or self.draw(st.integers(1, 2)))
        strides = (shape[1], 1) if len(shape) == 2 else (1,)
        if len(shape) == 2 and self.draw(st.booleans()):
            strides = (1, shape[0])
        at = self.pointers("%in", shape, strides)
        none = "{operandSegmentSizes = array<i32: 1, 0, 0>}"
        return self.keep(self.op("tt.load", at, _tensor(shape, POINTER), _tensor(shape), none), shape)

    def keep(self, name: str, shape: tuple[int, ...]) -> _Value:
        value = _Value(name, shape)
        self.values.append(value)
        return value

    def constant(self) -> None:
        shape = self.new_shape(self.draw(st.integers(1, 2)))
        self.keep(
            self.emit(f"arith.constant dense<{self.draw(st.integers(-3, 3))}.0> : {_tensor(shape)}"), shape
        )

    def elementwise(self) -> None:
        a = self.pick(1, 2)
        b = self.draw(st.sampled_from([v for v in self.values if v.shape == a.shape]))
        name = self.draw(st.sampled_from(["addf", "subf", "maxnumf"]))
        self.keep(self.emit(f"arith.{name} {a.name}, {b.name} : {_tensor(a.shape)}"), a.shape)

    def reduce(self) -> None:
        a = self.pick(2)
        axis = self.draw(st.integers(0, 1))
        shape = (a.shape[1 - axis],)
        x, y, z = self.fresh(), self.fresh(), self.fresh()
        region = (
            f"({{ ^bb0({x}: f32, {y}: f32): {z} = arith.maxnumf {x}, {y} : f32\n"
            f'"tt.reduce_return"({z}) : (f32) -> () }})'
        )
        made = self.fresh()
        self.lines.append(
            f'{made} = "tt.reduce"({a.name}) {region} {{axis = {axis} : i32}} : ({_tensor(a.shape)}) -> {_tensor(shape)}'
        )
        self.keep(made, shape)

    def spread(self) -> None:
        """A vector along one dimension of a matrix."""
        a = self.pick(1)
        a = a if a.shape[0] <= max(SIZES) else self.load(1)
        axis = self.draw(st.integers(0, 1))
        other = self.draw(st.sampled_from(SIZES))
        thin = (1, a.shape[0]) if axis == 0 else (a.shape[0], 1)
        wide = (other, a.shape[0]) if axis == 0 else (a.shape[0], other)
        made = self.op("tt.expand_dims", a.name, _tensor(a.shape), _tensor(thin), f"{{axis = {axis} : i32}}")
        self.keep(self.op("tt.broadcast", made, _tensor(thin), _tensor(wide)), wide)

    def trans(self) -> None:
        a = self.pick(2)
        order = "{order = array<i32: 1, 0>}"
        self.keep(self.op("tt.trans", a.name, _tensor(a.shape), _tensor(a.shape[::-1]), order), a.shape[::-1])

    def reshape(self) -> None:
        a = self.pick(1, 2)
        columns = min(4, a.shape[0])
        shape = (math.prod(a.shape),) if len(a.shape) == 2 else (a.shape[0] // columns, columns)
        self.keep(self.op("tt.reshape", a.name, _tensor(a.shape), _tensor(shape)), shape)

    def pair(self) -> None:
        """Join, then split, using the second half."""
        a = self.pick(1)
        a = a if a.shape[0] <= max(SIZES) ** 2 else self.load(1)
        b = self.draw(st.sampled_from([v for v in self.values if v.shape == a.shape]))
        both = (*a.shape, 2)
        joined = self.op("tt.join", f"{a.name}, {b.name}", ", ".join([_tensor(a.shape)] * 2), _tensor(both))
        halves = self.fresh()
        one = _tensor(a.shape)
        self.lines.append(f'{halves}:2 = "tt.split"({joined}) : ({_tensor(both)}) -> ({one}, {one})')
        self.keep(joined, both)
        self.keep(f"{halves}#{self.draw(st.integers(0, 1))}", a.shape)

    def dot(self) -> None:
        a = self.pick(2)
        a = a if max(a.shape) <= max(SIZES) else self.load(2)
        n = self.draw(st.sampled_from(SIZES))
        fitting = [v for v in self.values if len(v.shape) == 2 and v.shape[0] == a.shape[1]]
        b = self.draw(st.sampled_from(fitting)) if fitting else self.constant_of((a.shape[1], n))
        shape = (a.shape[0], b.shape[1])
        c = self.constant_of(shape)
        types = ", ".join(_tensor(v.shape) for v in (a, b, c))
        precision = "{inputPrecision = 2 : i32}"
        self.keep(self.op("tt.dot", f"{a.name}, {b.name}, {c.name}", types, _tensor(shape), precision), shape)

    def constant_of(self, shape: tuple[int, ...]) -> _Value:
        return self.keep(self.emit(f"arith.constant dense<1.0> : {_tensor(shape)}"), shape)

    def loop(self, depth: int) -> None:
        """A loop that carries one or two values and a pointer."""
        carried = [self.pick(1, 2) for _ in range(self.draw(st.integers(1, 2)))]
        shape = carried[0].shape
        at = self.pointers("%in", shape, tuple(math.prod(shape[d + 1 :]) for d in range(len(shape))))
        step = self.emit(f"arith.constant dense<4> : {_tensor(shape, 'i32')}")
        made, inner, where = self.fresh(), [self.fresh() for _ in carried], self.fresh()
        types = [_tensor(v.shape) for v in carried] + [_tensor(shape, POINTER)]
        inits = [
            f"{i} = {v.name}" for i, v in zip([*inner, where], [*carried, _Value(at, shape)], strict=True)
        ]
        self.lines.append(
            f"{made}:{len(types)} = scf.for {self.fresh()} = %i0 to %n step %i1 "
            f"iter_args({', '.join(inits)}) -> ({', '.join(types)}) : i32 {{"
        )
        outside = list(self.values)
        self.values += [_Value(i, v.shape) for i, v in zip(inner, carried, strict=True)]
        none = "{operandSegmentSizes = array<i32: 1, 0, 0>}"
        loaded = self.op("tt.load", where, _tensor(shape, POINTER), _tensor(shape), none)
        self.keep(loaded, shape)
        self.steps(self.draw(st.integers(1, 3)), depth + 1)
        moved = self.op(
            "tt.addptr",
            f"{where}, {step}",
            f"{_tensor(shape, POINTER)}, {_tensor(shape, 'i32')}",
            _tensor(shape, POINTER),
        )
        out = [
            self.draw(st.sampled_from([w for w in self.values if w.shape == v.shape])).name for v in carried
        ]
        self.lines.append(f"scf.yield {', '.join([*out, moved])} : {', '.join(types)}\n}}")
        self.values = outside
        for i, v in enumerate(carried):
            self.keep(f"{made}#{i}", v.shape)

    def branch(self, depth: int) -> None:
        shape = self.pick(1, 2).shape
        made = self.fresh()
        self.lines.append(f"{made} = scf.if %c -> ({_tensor(shape)}) {{")
        for word in ("} else {", "}"):
            outside = list(self.values)
            self.steps(self.draw(st.integers(0, 2)), depth + 1)
            out = self.draw(st.sampled_from([v for v in self.values if v.shape == shape]))
            self.lines.append(f"scf.yield {out.name} : {_tensor(shape)}\n{word}")
            self.values = outside
        self.keep(made, shape)

    def steps(self, count: int, depth: int = 0) -> None:
        plain: list[Callable[[], object]] = [
            self.load, self.constant, self.elementwise, self.elementwise, self.reduce, self.spread, self.trans,
            self.reshape, self.pair, self.dot,
        ]  # fmt: skip
        for _ in range(count):
            choice = self.draw(st.integers(0, len(plain) + (1 if depth < 2 else -1)))
            if choice < len(plain):
                plain[choice]()
            else:
                (self.loop, self.branch)[choice - len(plain)](depth)

    def store(self, value: _Value) -> None:
        base = self.emit(f"arith.constant {self.written} : i32")
        out = self.op("tt.addptr", f"%out, {base}", f"{POINTER}, i32", POINTER)
        strides = tuple(math.prod(value.shape[d + 1 :]) for d in range(len(value.shape)))
        at = self.pointers(out, value.shape, strides)
        types = f"{_tensor(value.shape, POINTER)}, {_tensor(value.shape)}"
        segments = "{operandSegmentSizes = array<i32: 1, 1, 0>}"
        self.lines.append(f'"tt.store"({at}, {value.name}) {segments} : ({types}) -> ()')
        self.written += math.prod(value.shape)

    def text(self) -> str:
        body = "\n".join(self.lines)
        return (
            f'"tt.func"() ({{ ^bb0(%in: {POINTER}, %out: {POINTER}, %n: i32, %c: i1):\n'
            "%i0 = arith.constant 0 : i32\n%i1 = arith.constant 1 : i32\n"
            f'{body}\n"tt.return"() : () -> () }}) {{sym_name = "f", '
            f"function_type = ({POINTER}, {POINTER}, i32, i1) -> (), "
            "arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}, {}]} : () -> ()"
        )


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a random program; see the module."""
    program = _Program(draw)
    program.load()
    program.steps(draw(st.integers(2, 8)))
    for value in program.values[-3:]:
        program.store(value)
    return program.text()
