"""Random programs compute the same values before and after canonicalization."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tri_core import mlir
from tri_core.mlir import ir
from tri_core.passes import ttir_stage
from tri_core.pipeline import StageContext

Array = npt.NDArray[np.int64]
ARGUMENTS = {"%a": 5, "%b": -3, "%c": 0}


# --- programs ---------------------------------------------------------------------------------------------


def type_of(shape: tuple[int, ...], element: str = "i32") -> str:
    return f"tensor<{'x'.join(map(str, (*shape, element)))}>" if shape else element


def factors(size: int) -> list[tuple[int, ...]]:
    """Shapes of ``size`` elements, of one to three dimensions."""
    sizes = [2**k for k in range(size.bit_length())]
    two = [(a, size // a) for a in sizes]
    three = [(a, b, size // (a * b)) for a in sizes for b in sizes if a * b <= size and b > 1]
    return [(size,), *two, *three]


@dataclass
class Program:
    """Adds one op after another; ``values`` holds names and shapes (none for a scalar) of i32 values."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    values: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    varied: set[str] = field(default_factory=set)

    def add(
        self, name: str, operands: list[str], types: list[str], shape: tuple[int, ...], attrs: str = ""
    ) -> str:
        made = f"%v{len(self.lines)}"
        signature = f"({', '.join(types)}) -> {type_of(shape)}"
        self.lines.append(f'{made} = "{name}"({", ".join(operands)}) {attrs} : {signature}')
        self.values.append((made, shape))
        return made

    def pick(self, fits: Callable[[tuple[int, ...]], bool]) -> tuple[str, tuple[int, ...]] | None:
        found = [v for v in self.values if fits(v[1])]
        return self.draw(st.sampled_from(found[-3:])) if found else None

    def step(self) -> None:
        kinds = [self.splat, self.constant, self.ramp, *[self.move] * 3, *[self.binary] * 3, self.select]
        self.draw(st.sampled_from(kinds))()

    def ramp(self) -> None:
        start, length = self.draw(st.integers(0, 3)), self.draw(st.sampled_from([8, 4, 1]))
        attrs = f"{{start = {start} : i32, end = {start + length} : i32}}"
        self.varied.add(self.add("tt.make_range", [], [], (length,), attrs))

    def splat(self) -> None:
        name = self.draw(st.sampled_from([*ARGUMENTS, *(n for n, s in self.values if not s)]))
        self.add(
            "tt.splat",
            [name],
            ["i32"],
            self.draw(st.sampled_from([(4,), (4, 1), (1, 2), (4, 2), (2, 4), (8,)])),
        )

    def constant(self) -> None:
        shape = self.draw(st.sampled_from([(), (4,), (4, 2), (1, 2), (8,)]))
        value = self.draw(st.integers(-9, 9))
        text = f"dense<{value}> : {type_of(shape)}" if shape else f"{value} : i32"
        self.add("arith.constant", [], [], shape, f"{{value = {text}}}")

    def move(self) -> None:
        """A few moves of one value, most often one that is not the same everywhere."""
        varied = [v for v in self.values if v[1] and v[0] in self.varied]
        name, shape = self.draw(st.sampled_from((varied or self.values)[-4:]))
        for _ in range(self.draw(st.integers(2, 4)) if shape else 0):
            op, result, attrs = self.draw(st.sampled_from(self.moves_of(shape)))
            made = self.add(op, [name], [type_of(shape)], result, attrs)
            if name in self.varied:
                self.varied.add(made)
            name, shape = made, result

    def moves_of(self, shape: tuple[int, ...]) -> list[tuple[str, tuple[int, ...], str]]:
        moves = [("tt.reshape", self.draw(st.sampled_from(factors(math.prod(shape)))), "")]
        if 1 in shape:
            moves.append(("tt.broadcast", tuple(2 if n == 1 else n for n in shape), ""))
        if len(shape) < 3:
            axis = self.draw(st.integers(0, len(shape)))
            moves.append(("tt.expand_dims", (*shape[:axis], 1, *shape[axis:]), f"{{axis = {axis} : i32}}"))
        if len(shape) > 1:
            order = self.draw(st.permutations(range(len(shape))))
            attrs = f"{{order = array<i32: {', '.join(map(str, order))}>}}"
            moves.append(("tt.trans", tuple(shape[i] for i in order), attrs))
        return moves

    def pair(self) -> tuple[str, str, tuple[int, ...]] | None:
        first = self.pick(lambda shape: True)
        if first is None:
            return None
        second = self.pick(lambda shape: shape == first[1])
        assert second is not None
        return first[0], second[0], first[1]

    def binary(self) -> None:
        picked = self.pair()
        if picked is not None:
            a, b, shape = picked
            op = self.draw(st.sampled_from(["addi", "subi", "muli", "minsi", "xori"]))
            self.add(f"arith.{op}", [a, b], [type_of(shape)] * 2, shape)

    def select(self) -> None:
        picked = self.pair()
        if picked is not None:
            a, b, shape = picked
            self.lines.append(
                f'%k{len(self.lines)} = "arith.cmpi"({a}, {b}) {{predicate = 2 : i64}} : ({type_of(shape)}, {type_of(shape)}) -> {type_of(shape, "i1")}'
            )
            condition = f"%k{len(self.lines) - 1}"
            self.add(
                "arith.select",
                [condition, b, a],
                [type_of(shape, "i1"), type_of(shape), type_of(shape)],
                shape,
            )

    def text(self) -> str:
        printed = list(self.values)
        for name, shape in printed:
            self.lines.append(
                f'"tt.print"({name}) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : ({type_of(shape)}) -> ()'
            )
        body = "\n".join(self.lines)
        arguments = ", ".join(f"{name}: i32" for name in ARGUMENTS)
        return (
            f'"tt.func"() ({{\n^bb0({arguments}):\n{body}\n"tt.return"() : () -> ()\n}}) {{function_type = '
            '(i32, i32, i32) -> (), sym_name = "k", sym_visibility = "public"} : () -> ()'
        )


@st.composite
def programs(draw: st.DrawFn) -> str:
    program = Program(draw)
    program.ramp()  # something that is not the same everywhere
    for _ in range(draw(st.integers(3, 10))):
        program.step()
    return program.text()


# --- their meaning ----------------------------------------------------------------------------------------


def wrap(value: Array) -> Array:
    return value.astype(np.int32).astype(np.int64)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.xori": np.bitwise_xor,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.shli": np.left_shift,
}
PREDICATES = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]


def evaluate(module: ir.Module) -> list[list[int]]:
    """What the kernel prints."""
    block = module.body.operations[0].regions[0].blocks[0]
    values: dict[ir.Value, Any] = dict(zip(block.arguments, map(np.int64, ARGUMENTS.values()), strict=True))
    printed: list[list[int]] = []
    for view in block.operations:
        op = view.operation
        operands = [values[v] for v in op.operands]
        if op.name == "tt.print":
            printed.append(np.asarray(operands[0]).reshape(-1).tolist())
        elif op.name != "tt.return":
            values[op.results[0]] = _result(op, operands)
    return printed


def _result(op: ir.Operation, operands: list[Any]) -> Any:
    type_ = op.results[0].type
    shape = tuple(type_.shape) if isinstance(type_, ir.RankedTensorType) else ()
    match op.name:
        case "arith.constant":
            attribute = op.attributes["value"]
            if isinstance(attribute, ir.DenseIntElementsAttr):
                return np.reshape([int(v) for v in attribute], shape)
            return np.int64(ir.IntegerAttr(attribute).value)
        case "tt.make_range":
            return np.arange(*(ir.IntegerAttr(op.attributes[key]).value for key in ("start", "end")))
        case "tt.splat" | "tt.broadcast":
            return np.broadcast_to(operands[0], shape)
        case "tt.expand_dims" | "tt.reshape":
            return np.reshape(operands[0], shape)
        case "tt.trans":
            return np.transpose(operands[0], list(ir.DenseI32ArrayAttr(op.attributes["order"])))
        case "arith.cmpi":
            return PREDICATES[ir.IntegerAttr(op.attributes["predicate"]).value](*operands)
        case "arith.select":
            return np.where(*operands)
        case "arith.extui":
            return np.asarray(operands[0]).astype(np.int64)
        case _:
            return wrap(BINARY[op.name](*operands))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=programs())
def test_the_stage_keeps_what_is_printed(context: StageContext, text: str) -> None:
    with mlir.session():
        module = mlir.parse(text)
        expected = evaluate(module)
        ttir_stage().run(module, context)
        mlir.verify(module)
        assert evaluate(module) == expected
