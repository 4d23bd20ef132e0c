"""One CTA in lock step: every op runs for all threads that are at it.

Each thread has a place in the control-flow graph.  The block that comes first in reverse postorder among
those where threads are runs next, for exactly these threads: so threads that part meet again where their
paths do, and loops run until the last thread has left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import DeviceError, Unsupported
from tri_core.mlir import ir
from tri_runtime.simulator.memory import Memory, RaceChecker
from tri_runtime.simulator.ops import PURE
from tri_runtime.simulator.values import Shape, shape_of

__all__ = ["CTA", "External", "Program"]

Array = npt.NDArray[Any]

#: an external function: (cta, operands) -> results
External = Callable[["CTA", Sequence[Array]], Sequence[Array]]

#: runs one op
Step = Callable[["CTA"], None]

_DONE = 1 << 30


@dataclass
class Program:
    """A kernel made ready to run: values have slots, blocks are lists of steps in reverse postorder."""

    function: ir.Operation
    externals: dict[str, External] = field(default_factory=dict)

    def __post_init__(self) -> None:
        blocks = _reverse_postorder(self.function)
        self.order = {block: i for i, block in enumerate(blocks)}
        self.slots: dict[ir.Value, int] = {}
        for block in blocks:
            for argument in block.arguments:
                self.slots[argument] = len(self.slots)
            for op in block.operations:
                for result in op.results:
                    self.slots[result] = len(self.slots)
        self.parameters = [self.slots[a] for a in blocks[0].arguments]
        self.steps = [[_step(self, op) for op in block.operations] for block in blocks]


def _reverse_postorder(function: ir.Operation) -> list[ir.Block]:
    seen: set[ir.Block] = set()
    order: list[ir.Block] = []

    def visit(block: ir.Block) -> None:
        seen.add(block)
        # the first successor last: the body of a loop comes before what follows it
        for successor in reversed(list(list(block.operations)[-1].operation.successors)):
            if successor not in seen:
                visit(successor)
        order.append(block)

    visit(function.regions[0].blocks[0])
    return order[::-1]


class CTA:
    """The state of a running CTA; what machine ops see (``SimulatedCTA`` of the GPU dialect)."""

    def __init__(
        self,
        program: Program,
        num_threads: int,
        threads_per_warp: int,
        memories: dict[int, Memory],
        globals_: dict[str, int],
        program_id: tuple[int, int, int],
        num_programs: tuple[int, int, int],
        checker: RaceChecker | None = None,
    ) -> None:
        self.num_threads, self.threads_per_warp = num_threads, threads_per_warp
        self.program_id, self.num_programs = program_id, num_programs
        self.active: npt.NDArray[np.bool_] = np.ones(num_threads, np.bool_)
        self.place = np.zeros(num_threads, np.int64)
        self.values: list[Any] = [None] * len(program.slots)
        self.globals = globals_
        self._program, self._memories, self._checker = program, memories, checker

    def memory(self, space: int) -> Memory:
        """The memory of LLVM address space ``space``."""
        found = self._memories.get(space)
        if found is None:
            raise DeviceError(f"address space {space} has no memory here")
        return found

    def barrier(self) -> None:
        """All threads of the CTA meet; DeviceError when some are elsewhere."""
        if not self.active.all():
            raise DeviceError(
                f"a barrier that {int(self.active.sum())} of {self.num_threads} threads reach",
                remedy="move the barrier out of divergent control flow",
            )
        if self._checker is not None:
            self._checker.barrier()

    def run(self, arguments: Sequence[Array]) -> None:
        """Run to the end; ``arguments`` are per-thread arrays."""
        for slot, value in zip(self._program.parameters, arguments, strict=True):
            self.values[slot] = value
        with np.errstate(all="ignore"):
            while (block := int(self.place.min())) != _DONE:
                self.active = self.place == block
                for step in self._program.steps[block]:
                    step(self)

    def write(self, slot: int, value: Any) -> None:
        """Set a value for the threads that are active."""
        old = self.values[slot]
        if old is None or self.active.all():
            self.values[slot] = value
        elif isinstance(value, tuple):
            self.values[slot] = tuple(self._merge(n, o) for n, o in zip(value, old, strict=True))
        else:
            self.values[slot] = self._merge(value, old)

    def _merge(self, new: Array, old: Array) -> Array:
        return np.where(self.active if new.ndim == 1 else self.active[:, None], new, old)

    def jump(self, chosen: npt.NDArray[np.bool_], target: int) -> None:
        """Send threads to the start of block ``target``."""
        self.place = np.where(chosen, target, self.place)


# --- steps ------------------------------------------------------------------------------------------------


def _step(program: Program, op: ir.OpView) -> Step:
    inputs = [program.slots[o] for o in op.operands]
    outputs = [program.slots[r] for r in op.results]
    if op.name in PURE:
        return _pure(PURE[op.name](op), inputs, outputs[0])
    special = _SPECIAL.get(op.name)
    if special is not None:
        return special(program, op, inputs, outputs)
    view = op.operation.opview
    if hasattr(view, "simulate"):
        return _machine(view, inputs, outputs)
    raise Unsupported(f"the simulator cannot run {op.name}")


def _pure(function: Callable[..., Any], inputs: list[int], output: int) -> Step:
    def step(cta: CTA) -> None:
        values = cta.values
        cta.write(output, function(*[values[i] for i in inputs]))

    return step


def _machine(view: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    def step(cta: CTA) -> None:
        made = view.simulate(cta, [cta.values[i] for i in inputs])
        for slot, value in zip(outputs, made, strict=True):
            cta.write(slot, value)

    return step


def _constant(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    shape = shape_of(op.results[0].type)
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        row = np.array(list(attribute), shape.dtype)
    else:
        row = _scalar(attribute, shape)
    return lambda cta: cta.write(outputs[0], np.broadcast_to(row, (cta.num_threads, *row.shape)))


def _scalar(attribute: ir.Attribute, shape: Shape) -> Array:
    if isinstance(attribute, ir.BoolAttr):
        return np.array(attribute.value)
    if isinstance(attribute, ir.IntegerAttr):
        return np.array(attribute.value).astype(shape.dtype)
    from tri_runtime.simulator.values import to_bf16

    value = np.array(ir.FloatAttr(attribute).value)
    return to_bf16(value) if shape.bf16 else value.astype(shape.dtype)


def _undefined(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    shape = shape_of(op.results[0].type)
    extra = () if shape.count == 1 else (shape.count,)
    return lambda cta: cta.write(outputs[0], np.zeros((cta.num_threads, *extra), shape.dtype))


def _address_of(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    name = ir.FlatSymbolRefAttr(op.attributes["global_name"]).value
    return lambda cta: cta.write(outputs[0], np.full(cta.num_threads, cta.globals[name], np.int64))


def _space(type_: ir.Type) -> int:
    text = str(type_)
    return int(text[10:-1]) if "<" in text else 0


def _load(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    shape, space = shape_of(op.results[0].type), _space(op.operands[0].type)

    def step(cta: CTA) -> None:
        memory = cta.memory(space)
        cta.write(outputs[0], memory.load(cta.values[inputs[0]], shape.dtype, cta.active, shape.count))

    return step


def _store(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    space = _space(op.operands[1].type)
    value, pointer = inputs
    return lambda cta: cta.memory(space).store(cta.values[pointer], cta.values[value], cta.active)


def _unsigned_pick(pick: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(x: Any, y: Any) -> Any:
        kind = f"u{x.dtype.itemsize}"
        return pick(x.view(kind), y.view(kind)).view(x.dtype)

    return call


#: by LLVM's number: what an atomic leaves in memory, from the old value and the operand
_RMW: dict[int, Callable[[Any, Any], Any]] = {
    0: lambda x, y: y,
    1: np.add,
    2: np.subtract,
    3: np.bitwise_and,
    5: np.bitwise_or,
    6: np.bitwise_xor,
    7: np.maximum,
    8: np.minimum,
    9: _unsigned_pick(np.maximum),
    10: _unsigned_pick(np.minimum),
    11: np.add,
}


def _atomic_rmw(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    update = _RMW[ir.IntegerAttr(op.attributes["bin_op"]).value]
    return _one_by_one(op, inputs, outputs, lambda old, rest: (update(old, rest[0]), old))


def _compare_swap(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    def update(old: Any, rest: Sequence[Any]) -> tuple[Any, Any]:
        expected, value = rest
        equal = old == expected
        return np.where(equal, value, old), (old, equal)

    return _one_by_one(op, inputs, outputs, update)


def _one_by_one(
    op: ir.OpView,
    inputs: list[int],
    outputs: list[int],
    update: Callable[[Any, Sequence[Any]], tuple[Any, Any]],
) -> Step:
    """An atomic: the threads take turns."""
    space, pair = _space(op.operands[0].type), op.name == "llvm.cmpxchg"

    def step(cta: CTA) -> None:
        memory, pointers = cta.memory(space), cta.values[inputs[0]]
        rest = [cta.values[i] for i in inputs[1:]]
        old, equal = np.zeros_like(rest[0]), np.zeros(cta.num_threads, np.bool_)
        checker, memory.checker = memory.checker, None
        for thread in np.flatnonzero(cta.active):
            alone = np.arange(cta.num_threads) == thread
            before = memory.load(pointers, rest[0].dtype, alone)
            after, told = update(before, rest)
            memory.store(pointers, after, alone)
            old[thread] = (told[0] if pair else told)[thread]
            equal[thread] = told[1][thread] if pair else False
        memory.checker = checker
        cta.write(outputs[0], (old, equal) if pair else old)

    return step


def _branch(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    (target,) = op.operation.successors
    return _go(program, [(target, inputs, lambda cta: cta.active)])


def _conditional(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    condition, yes, no = _segments(op, inputs)
    first, second = op.operation.successors

    def taken(cta: CTA) -> npt.NDArray[np.bool_]:
        return cta.active & cta.values[condition[0]]

    return _go(program, [(first, yes, taken), (second, no, lambda cta: cta.active & ~taken(cta))])


def _segments(op: ir.OpView, inputs: list[int]) -> list[list[int]]:
    parts, rest = [], list(inputs)
    for size in ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]):
        parts.append(rest[:size])
        rest = rest[size:]
    return parts


def _go(
    program: Program, ways: list[tuple[ir.Block, list[int], Callable[[CTA], npt.NDArray[np.bool_]]]]
) -> Step:
    found = [
        (program.order[block], [program.slots[a] for a in block.arguments], operands, chosen)
        for block, operands, chosen in ways
    ]

    def step(cta: CTA) -> None:
        moves = [(chosen(cta), [cta.values[o] for o in operands]) for _, _, operands, chosen in found]
        for (target, arguments, _, _), (threads, values) in zip(found, moves, strict=True):
            cta.active = threads
            for slot, value in zip(arguments, values, strict=True):
                cta.write(slot, value)
            cta.jump(threads, target)

    return step


def _return(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    return lambda cta: cta.jump(cta.active, _DONE)


def _call(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    key = "intrin" if "intrin" in op.attributes else "callee"
    attribute = op.attributes[key]
    name = attribute.value
    if name == "llvm.trap":
        return _trap
    external = program.externals.get(name)
    if external is None:
        raise Unsupported(f"the simulator does not know the function {name}")

    def step(cta: CTA) -> None:
        for slot, value in zip(outputs, external(cta, [cta.values[i] for i in inputs]), strict=True):
            cta.write(slot, value)

    return step


def _trap(cta: CTA) -> None:
    if cta.active.any():
        raise DeviceError(
            f"thread {int(np.flatnonzero(cta.active)[0])} stopped the kernel (an assertion failed)"
        )


def _nothing(program: Program, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    return lambda cta: None


_SPECIAL: dict[str, Callable[[Program, ir.OpView, list[int], list[int]], Step]] = {
    "llvm.mlir.constant": _constant,
    "llvm.mlir.undef": _undefined,
    "llvm.mlir.poison": _undefined,
    "llvm.mlir.zero": _undefined,
    "llvm.mlir.addressof": _address_of,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.atomicrmw": _atomic_rmw,
    "llvm.cmpxchg": _compare_swap,
    "llvm.fence": _nothing,
    "llvm.intr.assume": _nothing,
    "llvm.br": _branch,
    "llvm.cond_br": _conditional,
    "llvm.return": _return,
    "llvm.unreachable": _return,
    "llvm.call": _call,
    "llvm.call_intrinsic": _call,
}
