"""Both sides do what the whole function did: a small interpreter runs all three and compares what they load.

Programs are next_tiles at random: loops and branches in each other, with loads whose places are computed from what is around.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tri_gpu_dialect.text  # noqa: F401  registers the text of ttg
from tri_core import mlir, text
from tri_core.api import CommonOptions, StageContext, Target, TargetKey, TargetSpec
from tri_core.mlir import ir
from tri_gpu_dialect.async_units.warp_specialize import WarpSpecialize
from tri_gpu_dialect.dialect.partitions import default_block, partition_blocks
from tri_gpu_dialect.edit import all_ops, block_ops, functions
from tri_gpu_dialect.passes import VerifyLayouts
from tri_gpu_dialect.policies.gpu import DefaultPolicy, Specialization
from tri_gpu_dialect.testing.block_copies import BLOCK_COPY_POLICY

HEAD = """
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %o: !tt.ptr<f32>, %n: i32, %m: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %one = arith.constant 1 : i64
    %t0 = arith.constant dense<0.0> : tensor<32x32xf32, #blocked>
    %d = tt.make_tensor_descriptor %p, [%n, %m], [%one, %one] : <f32>, <32x32xf32>
    %e = tt.make_tensor_descriptor %q, [%n, %m], [%one, %one] : <f32>, <32x32xf32>
"""
TAIL = """
    %oo = tt.make_tensor_descriptor %o, [%n, %m], [%one, %one] : <f32>, <32x32xf32>
    tt.descriptor_store %oo[%c0, %c0], RESULT : !tt.tensordesc<32x32xf32>, tensor<32x32xf32, #blocked>
    tt.return
  }
}
"""
TENSOR = "tensor<32x32xf32, #blocked>"
MEMORY = "!ttg.memdesc<32x32xf32, #shared, #smem>"


@dataclass
class Writer:
    """Text of a program; ``total`` is the accumulator so far, ``numbers`` are i32 values that can be used."""

    draw: Any
    lines: list[str] = field(default_factory=list)
    names: int = 0
    total: str = "%t0"
    numbers: list[str] = field(default_factory=lambda: ["%c0", "%c1", "%c3", "%n", "%m"])

    def new(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def number(self) -> str:
        """Some i32: one that is there, or the sum of two."""
        one, other = self.draw(st.sampled_from(self.numbers)), self.draw(st.sampled_from(self.numbers))
        if self.draw(st.booleans()):
            return one
        name = self.new()
        self.lines.append(f"{name} = arith.addi {one}, {other} : i32")
        return name

    def statement(self, depth: int) -> None:
        kinds = ["dot", "dot", "wait", *(["loop", "branch", "count"] if depth else [])]
        getattr(self, self.draw(st.sampled_from(kinds)))(depth)

    def wait(self, depth: int) -> None:
        """For the grids that make what is loaded."""
        self.lines.append("tt.grid_dependency_wait")

    def dot(self, depth: int) -> None:
        """Two loads and a dot that reads them in place."""
        names = []
        for descriptor in self.draw(st.sampled_from([("%d", "%e"), ("%d", "%d")])):
            row, column, loaded, buffer = self.number(), self.number(), self.new(), self.new()
            self.lines += [
                f"{loaded} = tt.descriptor_load {descriptor}[{row}, {column}] : !tt.tensordesc<32x32xf32> -> {TENSOR}",
                f"{buffer} = ttg.local_alloc {loaded} : ({TENSOR}) -> {MEMORY}",
            ]
            names.append(buffer)
        made, done = self.new(), self.new()
        self.lines += [
            f"{made} = ttng.warp_group_dot {names[0]}, {names[1]}, {self.total} {{inputPrecision = 0 : i32}} : {MEMORY} * {MEMORY} -> {TENSOR}",
            f"{done} = ttng.warp_group_dot_wait {made} {{pendings = 0 : i32}} : ({TENSOR}) -> {TENSOR}",
        ]
        self.total = done

    def inside(self, depth: int, total: str, extra: Sequence[str]) -> list[str]:
        """The lines of a nested block; ``self.total`` is its own."""
        lines, numbers = self.lines, list(self.numbers)
        self.lines, self.total, self.numbers = [], total, [*numbers, *extra]
        for _ in range(self.draw(st.integers(1, 2))):
            self.statement(depth - 1)
        made, self.lines, self.numbers = self.lines, lines, numbers
        return made

    def loop(self, depth: int) -> None:
        result, index, total, number = self.new(), self.new(), self.new(), self.new()
        bounds = self.draw(st.sampled_from([("%c0", "%c3"), ("%c1", "%n"), ("%n", "%c1")]))
        start = self.number()
        before = self.total
        body = self.inside(depth, total, [index, number])
        step = self.new()
        self.lines += [
            f"{result}:2 = scf.for {index} = {bounds[0]} to {bounds[1]} step %c1 iter_args({total} = {before}, {number} = {start}) -> ({TENSOR}, i32) : i32 {{",
            *body,
            f"{step} = arith.addi {number}, {index} : i32",
            f"scf.yield {self.total}, {step} : {TENSOR}, i32",
            "}",
        ]
        self.total = f"{result}#0"
        self.numbers.append(f"{result}#1")

    def branch(self, depth: int) -> None:
        result, condition = self.new(), self.new()
        left, right = self.number(), self.number()
        before = self.total
        then = self.inside(depth, before, [])
        yes = self.total
        other = self.inside(depth, before, []) if self.draw(st.booleans()) else []
        no = self.total if other else before
        self.lines += [
            f"{condition} = arith.cmpi slt, {left}, {right} : i32",
            f"{result} = scf.if {condition} -> ({TENSOR}) {{",
            *then,
            f"scf.yield {yes} : {TENSOR}",
            "} else {",
            *other,
            f"scf.yield {no} : {TENSOR}",
            "}",
        ]
        self.total = result

    def count(self, depth: int) -> None:
        """An ``scf.while`` that counts to three."""
        result, total, number = self.new(), self.new(), self.new()
        going, passed, counted, following = self.new(), self.new(), self.new(), self.new()
        before = self.total
        body = self.inside(depth, passed, [counted])
        self.lines += [
            f"{result}:2 = scf.while ({total} = {before}, {number} = %c0) : ({TENSOR}, i32) -> ({TENSOR}, i32) {{",
            f"{going} = arith.cmpi slt, {number}, %c3 : i32",
            f"scf.condition({going}) {total}, {number} : {TENSOR}, i32",
            "} do {",
            f"^bb0({passed}: {TENSOR}, {counted}: i32):",
            *body,
            f"{following} = arith.addi {counted}, %c1 : i32",
            f"scf.yield {self.total}, {following} : {TENSOR}, i32",
            "}",
        ]
        self.total = f"{result}#0"
        self.numbers.append(f"{result}#1")


@st.composite
def programs(draw: Any) -> str:
    writer = Writer(draw)
    writer.dot(0)
    for _ in range(draw(st.integers(1, 3))):
        writer.statement(2)
    return HEAD + "\n".join(writer.lines) + TAIL.replace("RESULT", writer.total)


# --- the interpreter ----------------------------------------------------------------------------------------


WAIT = "tt.grid_dependency_wait"
REPORTED = frozenset({
    "tt.descriptor_load", "tt.descriptor_store", "ttg.init_barrier", "ttg.barrier_expect", "ttg.wait_barrier",
    "ttg.async_copy_descriptor_to_local", "ttg.arrive_barrier", "ttg.warp_group_dot", "tt.grid_dependency_wait",
})  # fmt: skip


def scalar(op: ir.Operation, given: list[Any]) -> Any:
    """What an op without effects gives."""
    match op.name:
        case "arith.constant":
            value = op.attributes["value"].maybe_downcast()
            return value.value if isinstance(value, ir.IntegerAttr) else 0
        case "arith.addi":
            return given[0] + given[1]
        case "arith.xori":
            return given[0] ^ given[1]
        case "arith.cmpi":
            equal = ir.IntegerAttr(op.attributes["predicate"]).value == 0
            return given[0] == given[1] if equal else given[0] < given[1]
        case "arith.select":
            return given[1] if given[0] else given[2]
        case "ttg.memdesc_index":
            return (given[0], given[1])
        case "tt.make_tensor_descriptor" | "ttg.warp_group_dot_wait":
            return given[0]
    raise AssertionError(op.name)


class Machine:
    """Runs scalars and control flow; ``reported`` has what loads, copies, waits and arrivals were seen, in order."""

    def __init__(self, n: int, m: int) -> None:
        self.values: dict[ir.Value, Any] = {}
        self.parameters = [*(f"argument {i}" for i in range(3)), n, m]
        self.reported: list[tuple[Any, ...]] = []

    def run(self, function: ir.Operation) -> None:
        block = function.regions[0].blocks[0]
        self.values.update(zip(block.arguments, self.parameters, strict=True))
        self.block(block)

    def block(self, block: ir.Block) -> list[Any]:
        for op in block_ops(block):
            if op.name in ("scf.yield", "scf.condition", "tt.return", "ttg.warp_yield", "ttg.warp_return"):
                return [self.values[v] for v in op.operands]
            made = self.op(op, [self.values[v] for v in op.operands])
            self.values.update(zip(op.results, made, strict=True))
        raise AssertionError("a block ends")

    def op(self, op: ir.Operation, given: list[Any]) -> list[Any]:
        name = op.name
        if name in REPORTED:
            self.reported.append((name, *given))
            return ["sum"] if name == "ttg.warp_group_dot" else [tuple(given)] * len(op.results)
        match name:
            case "scf.for":
                return self.loop(op, given)
            case "scf.if":
                chosen = op.regions[0 if given[0] else 1].blocks
                return self.block(chosen[0]) if len(chosen) else []
            case "scf.while":
                return self.while_(op, given)
            case "ttg.local_alloc":
                return [given[0] if given else op]
        return [scalar(op, given)]

    def loop(self, op: ir.Operation, given: list[Any]) -> list[Any]:
        lower, upper, step, *carried = given
        body = op.regions[0].blocks[0]
        for index in range(lower, upper, step):
            self.values.update(zip(body.arguments, [index, *carried], strict=True))
            carried = self.block(body)
        return carried

    def while_(self, op: ir.Operation, given: list[Any]) -> list[Any]:
        head, body = (region.blocks[0] for region in op.regions)
        while True:
            self.values.update(zip(head.arguments, given, strict=True))
            going, *passed = self.block(head)
            if not going:
                return passed
            self.values.update(zip(body.arguments, passed, strict=True))
            given = self.block(body)


def specialized(program: str, stages: int) -> ir.Module:
    module = text.parse_module(program)
    how = Specialization(1, 4, stages=stages)
    units = replace(BLOCK_COPY_POLICY.async_units, producer=how, specialize=True)
    WarpSpecialize(policy=DefaultPolicy(async_units=units)).apply(module, CONTEXT)
    VerifyLayouts().apply(module, CONTEXT)
    mlir.verify(module)
    return module


TARGET = Target(key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,)))
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]


def the_function(module: ir.Module) -> ir.Operation:
    (found,) = functions(module)
    return found


def sides(module: ir.Module, n: int, m: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """What the consumer and the producer do."""
    function = the_function(module)
    (op,) = [op for op in all_ops(function) if op.name == "ttg.warp_specialize"]
    reported = []
    for block in (default_block(op), *partition_blocks(op)):
        machine = Machine(n, m)
        body = function.regions[0].blocks[0]
        machine.values.update(zip(body.arguments, machine.parameters, strict=True))
        for before in block_ops(body):
            if before == op:
                break
            machine.values.update(
                zip(
                    before.results,
                    machine.op(before, [machine.values[v] for v in before.operands]),
                    strict=True,
                )
            )
        machine.reported.clear()
        if len(block.arguments):
            machine.values.update(zip(block.arguments, [machine.values[v] for v in op.operands], strict=True))
        machine.block(block)
        reported.append(machine.reported)
    return reported[0], reported[1]


def named(reported: Sequence[tuple[Any, ...]], *names: str) -> Iterator[tuple[Any, ...]]:
    return (each[1:] for each in reported if each[0] in names)


def blocks_and_waits(reported: Sequence[tuple[Any, ...]]) -> list[str]:
    """In which order blocks are loaded or copied and other grids waited for; what follows the last block delays none."""
    order = {"tt.descriptor_load": "block", "ttg.async_copy_descriptor_to_local": "block", WAIT: WAIT}
    found = [order[each[0]] for each in reported if each[0] in order]
    return found[: max((i + 1 for i, name in enumerate(found) if name == "block"), default=0)]


@settings(max_examples=25)
@given(programs(), st.integers(1, 3), st.integers(0, 4), st.integers(0, 4))
def test_both_sides_agree(program: str, stages: int, n: int, m: int) -> None:
    whole = Machine(n, m)
    # ops do not keep their module alive
    module, made = text.parse_module(program), specialized(program, stages)
    whole.run(the_function(module))
    consumer, producer = sides(made, n, m)
    copied: dict[Any, list[tuple[Any, ...]]] = {}
    for descriptor, *place, _, buffer, _ in named(producer, "ttg.async_copy_descriptor_to_local"):
        copied.setdefault(buffer, []).append((descriptor, *place))
    # every dot reads what it read: the stages are filled with the same blocks, in this order
    used: dict[Any, int] = {}
    for before, after in zip(
        named(whole.reported, "ttg.warp_group_dot"), named(consumer, "ttg.warp_group_dot"), strict=True
    ):
        for block, stage in zip(before[:2], after[:2], strict=True):
            assert copied[stage][used.get(stage, 0)] == block
            used[stage] = used.get(stage, 0) + 1
    assert used == {stage: len(blocks) for stage, blocks in copied.items()}
    # no block is copied before a wait that stood ahead of its load, nor after one that followed
    assert blocks_and_waits(whole.reported) == blocks_and_waits(producer)
    assert len(list(named(consumer, WAIT))) == len(list(named(whole.reported, WAIT)))
    assert list(named(consumer, "tt.descriptor_store")) == list(named(whole.reported, "tt.descriptor_store"))
    for reported in (consumer, producer):
        assert_phases(reported, flipped=reported is producer)
    assert_slots_are_named(consumer)


def assert_slots_are_named(reported: Sequence[tuple[Any, ...]]) -> None:
    """Between the wait and the arrival that name a stage dots read it, and no others do."""
    held: set[Any] = set()
    for name, *operands in reported:
        if name == "ttg.wait_barrier":
            assert len(operands) > 2
            held.update(operands[2:])
        elif name == "ttg.arrive_barrier":
            assert held.issuperset(operands[1:])
            held.difference_update(operands[1:])
        elif name == "ttg.warp_group_dot":
            assert held.issuperset(operands[:2])
    assert not held


def assert_phases(reported: Sequence[tuple[Any, ...]], *, flipped: bool) -> None:
    """Waits for a barrier are for phase 0, 1, 0, ... (the producer's: for the one before)."""
    phases: dict[Any, int] = {}
    for barrier, phase, *_ in named(reported, "ttg.wait_barrier"):
        assert phase == phases.get(barrier, 0) ^ flipped
        phases[barrier] = phases.get(barrier, 0) ^ 1
