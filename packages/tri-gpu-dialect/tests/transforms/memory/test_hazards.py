"""Accesses of shared memory as ops declare them: those of a third party are ordered with no edit elsewhere."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tri_core import mlir
from tri_core.api import PluginError, StageContext, VerificationError
from tri_core.ir.effects import ASYNC, READ_SHARED, WRITE_SHARED, Effects, accesses_of
from tri_core.mlir import ext, ir
from tri_gpu_dialect.dialect import MemDescType
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import Blocked, SwizzledShared
from tri_gpu_dialect.passes import AllocateSharedMemory, InsertBarriers
from tri_gpu_dialect.transforms.memory import hazards
from tri_gpu_dialect.transforms.memory.hazards import NONE, Accesses, Ordering, Pending, Ranges, overlap


class Copies(ext.Dialect, name="made_up_copies"):  # type: ignore[call-arg]  # the bindings are untyped
    """A third party's."""


class MoveOp(
    Copies.Operation, name="move", traits=[Effects(READ_SHARED.on("source"), WRITE_SHARED.on("target"))]
):
    """All threads copy a buffer to another one."""

    source: ext.Operand[Any]
    target: ext.Operand[Any]


class ClearOp(Copies.Operation, name="clear", traits=[Effects(WRITE_SHARED)]):
    """Writes what it is given."""

    buffer: ext.Operand[Any]


class LookOp(Copies.Operation, name="look", traits=[Effects()]):
    """Does nothing to what it is given."""

    buffer: ext.Operand[Any]


class OddOp(Copies.Operation, name="odd"):
    """Declares nothing."""

    buffer: ext.Operand[Any]


class StartOp(Copies.Operation, name="start", traits=[Effects(WRITE_SHARED.on("buffer"), ASYNC)]):
    """A unit writes the buffer until ``made_up_copies.settle``."""

    buffer: ext.Operand[Any]


class SettleOp(Copies.Operation, name="settle", traits=[Effects(ASYNC)]):
    """Waits for what was started."""


@pytest.fixture(autouse=True)
def _dialect() -> Iterator[None]:
    mlir.registry.add_dialect(Copies)
    with mlir.session():
        yield


def _ordered(context: StageContext, *ops: str) -> list[str]:
    """The ops between allocations and the end, after the pass; an op is its name and buffers, as ``move a b``."""
    memory = MemDescType.of((64,), ir.F32Type.get(), SwizzledShared(1, 1, 1, (0,)).to_attr(), mutable=True)
    lines = [f'%{name} = "ttg.local_alloc"() : () -> {memory}' for name in "abc"]
    for op in ops:
        name, *buffers = op.split()
        types = ", ".join([str(memory)] * len(buffers))
        lines.append(f'"made_up_copies.{name}"({", ".join("%" + b for b in buffers)}) : ({types}) -> ()')
    lines += [f'"ttg.local_dealloc"(%{name}) : ({memory}) -> ()' for name in "abc"]
    attributes = '"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32'
    module = ir.Module.parse(
        f'module attributes {{{attributes}}} {{ "tt.func"() ({{\n' + "\n".join(lines) + '\n"tt.return"() : '
        '() -> () }) {function_type = () -> (), sym_name = "f", sym_visibility = "public", '
        "arg_attrs = [], res_attrs = []} : () -> () }"
    )
    for step in (AllocateSharedMemory(), InsertBarriers()):
        step.apply(module, context)
    (function,) = functions(module)
    names = [op.name.rpartition(".")[2] for op in all_ops(function)]
    return [name for name in names if not name.startswith(("local_", "return", "func"))]


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        # what is read may be read again, and what was written must be seen
        (("move a b", "move a c"), ["move", "move"]),
        (("move a b", "move b c"), ["move", "barrier", "move"]),
        (("move a b", "move c a"), ["move", "barrier", "move"]),
        (("move a b", "move c b"), ["move", "barrier", "move"]),
        # an effect that names no operand is on all of them; one that is not declared does not happen
        (("clear a", "move a b"), ["clear", "barrier", "move"]),
        (("clear a", "look a"), ["clear", "look"]),
        # who declares nothing may do anything
        (("move a b", "odd a"), ["move", "barrier", "odd"]),
    ],
)
def test_a_third_partys_accesses_are_ordered(
    context: StageContext, ops: tuple[str, ...], expected: list[str]
) -> None:
    assert _ordered(context, *ops) == expected


def test_what_runs_on_its_own_needs_somebody_who_orders_it(context: StageContext) -> None:
    with pytest.raises(VerificationError, match=r"made_up_copies\.start accesses shared memory") as caught:
        _ordered(context, "start a")
    assert "Ordering" in caught.value.remedy


@dataclass(frozen=True)
class _Started:
    ranges: Ranges = NONE

    def __or__(self, other: "_Started") -> "_Started":
        return _Started(self.ranges | other.ranges)

    def synchronised(self) -> "_Started":
        return self

    waits: ClassVar[bool] = False


class _Settles(Ordering):
    """Puts a wait before whoever accesses what a unit writes."""

    nothing = _Started()

    @classmethod
    def concerns(cls, op: ir.Operation) -> bool:
        return op.name == StartOp.OPERATION_NAME

    def before(self, op: ir.Operation, own: Accesses, pending: Pending) -> tuple[Pending, bool]:
        if not overlap(own.reads | own.writes, pending.states[self.place].ranges):
            return pending, False
        ir.Operation.create(SettleOp.OPERATION_NAME, ip=ir.InsertionPoint(op), loc=op.location)
        return self.put(pending, _Started()), True

    def asynchronous(self, op: ir.Operation, own: Accesses, pending: Pending) -> Pending | None:
        if op.name != StartOp.OPERATION_NAME:
            return None
        return self.put(pending, pending.states[self.place] | _Started(own.writes))

    def finish(self, function: ir.Operation, ends: Sequence[tuple[ir.Operation, Pending]]) -> None:
        """What was started is over before the kernel is."""
        for end, pending in ends:
            if pending.states[self.place].ranges:
                ir.Operation.create(SettleOp.OPERATION_NAME, ip=ir.InsertionPoint(end), loc=end.location)


def test_a_third_party_orders_what_its_units_do(
    context: StageContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hazards, "_ORDERINGS", dict(hazards._ORDERINGS))
    hazards.register_ordering(_Settles)
    assert _ordered(context, "start a", "move b c", "move a c") == [
        "start", "move", "settle", "barrier", "move",
    ]  # fmt: skip
    assert _ordered(context, "move a b", "move a c") == ["move", "move"]
    assert _ordered(context, "move b c", "start a") == ["move", "start", "settle"]


def test_an_ordering_that_lacks_what_each_defines_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Ordering):
        pass

    monkeypatch.setattr(hazards, "_ORDERINGS", {})
    with pytest.raises(
        PluginError, match=r"Silent does not define concerns and finish and nothing"
    ) as caught:
        hazards.register_ordering(Silent)
    assert "Ordering" in caught.value.remedy
    assert not hazards._ORDERINGS


def test_the_walk_knows_nothing_of_asynchronous_units() -> None:
    tree = ast.parse(Path(hazards.__file__).read_text(encoding="utf-8"))
    imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not [name for name in imported if "async_units" in name]


def test_a_buffer_is_written_where_it_is_filled() -> None:
    memory = MemDescType.of((64,), ir.F32Type.get(), SwizzledShared(1, 1, 1, (0,)).to_attr(), mutable=True)
    tensor = f"tensor<64xf32, {Blocked((1,), (32,), (2,), (0,))}>"
    module = ir.Module.parse(
        f"%t = arith.constant dense<0.0> : {tensor}\n"
        f'%a = "ttg.local_alloc"(%t) : ({tensor}) -> {memory}\n'
        f'%b = "ttg.local_alloc"() : () -> {memory}\n'
    )
    filled, empty = (op for op in all_ops(module.operation) if op.name == "ttg.local_alloc")
    assert accesses_of(filled, "shared") == ([], [filled.results[0]])
    assert accesses_of(empty, "shared") == ([], [])
