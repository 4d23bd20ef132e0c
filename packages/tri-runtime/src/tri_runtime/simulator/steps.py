"""The ops that do more than compute: constants, memory, atomics, control flow, calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import Unsupported
from tri_core.extern_libraries import meaning_of
from tri_core.ir.views import isa
from tri_core.mlir import ir, llvm
from tri_runtime.races import Semantics
from tri_runtime.simulator.cta import CTA, Step
from tri_runtime.simulator.memory import Memory
from tri_runtime.simulator.numbering import External, Numbering
from tri_runtime.simulator.subword import SubwordMemory, element_of
from tri_runtime.simulator.values import Shape, shape_of, to_bf16, to_f32

__all__ = ["SPECIAL", "Maker", "atomic_update", "fill", "update_of"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
#: LLVM's address space of global memory, of every GPU
_GLOBAL = 1

Maker = Callable[[Numbering, ir.OpView, list[int], list[int]], Step]


# --- constants --------------------------------------------------------------------------------------------


def _constant(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    shape = shape_of(op.results[0].type)
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        row = _vector(attribute, shape)
    else:
        row = _scalar(attribute, shape)
    return fill(outputs[0], row)


def fill(output: int, row: Array) -> Step:
    """Sets a value that is the same for all threads."""

    def step(cta: CTA) -> None:
        cta.values[output] = np.broadcast_to(row, (cta.num_threads, *row.shape))

    return step


def _vector(attribute: ir.DenseElementsAttr, shape: Shape) -> Array:
    if attribute.is_splat:  # the bindings give no numbers of 16-bit floats one by one
        return np.full(len(attribute), _scalar(attribute.get_splat_value(), shape))
    return np.array(list(attribute), shape.dtype)


def _scalar(attribute: ir.Attribute, shape: Shape) -> Array:
    if isinstance(attribute, ir.BoolAttr):
        return np.array(attribute.value)
    if isinstance(attribute, ir.IntegerAttr):
        return np.array(attribute.value).astype(shape.dtype)
    value = np.array(ir.FloatAttr(attribute).value)
    return to_bf16(value) if shape.bf16 else value.astype(shape.dtype)


def _undefined(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    shape = shape_of(op.results[0].type)
    return fill(outputs[0], np.zeros(() if shape.count == 1 else (shape.count,), shape.dtype))


def _address_of(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    name = ir.FlatSymbolRefAttr(op.attributes["global_name"]).value
    return lambda cta: cta.write(outputs[0], np.full(cta.num_threads, cta.symbols[name], np.int64))


# --- memory -----------------------------------------------------------------------------------------------


def _space(type_: ir.Type) -> int:
    text = str(type_)
    return int(text[10:-1]) if "<" in text else 0


def _alignment(op: ir.OpView, type_: ir.Type) -> int:
    """Alignment in bytes that the op declares, else LLVM's default: the size, up to a power of two."""
    if "alignment" in op.attributes:
        return ir.IntegerAttr(op.attributes["alignment"]).value
    shape = shape_of(type_)
    return 1 << (max(shape.dtype.itemsize * shape.count, 1) - 1).bit_length()


def _load(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    shape, space = shape_of(op.results[0].type), _space(op.operands[0].type)
    alignment = _alignment(op, op.results[0].type)
    (pointer,), (output,) = inputs, outputs
    element = element_of(program.slots, op)
    if element is not None:
        return program.observed(_load_word(space, shape.dtype, pointer, output, element))

    def step(cta: CTA) -> None:
        memory = cta.memory(space)
        cta.write(output, memory.load(cta.values[pointer], shape.dtype, cta.active, shape.count, alignment))

    def volatile_step(cta: CTA) -> None:
        with cta.memory(space).volatile(cta.values[pointer], cta.active, shape.dtype.itemsize * shape.count):
            step(cta)

    if "ordering" in op.attributes and ir.IntegerAttr(op.attributes["ordering"]).value:
        return program.observed(_atomic_load(space, shape, pointer, output, _semantics(op)))
    return program.observed(volatile_step if "volatile_" in op.attributes else step)


def _atomic_load(space: int, shape: Shape, pointer: int, output: int, semantics: Semantics) -> Step:
    nbytes = shape.dtype.itemsize * shape.count

    def step(cta: CTA) -> None:
        memory, addresses, threads = cta.memory(space), cta.values[pointer], np.flatnonzero(cta.active)
        with memory.atomic(addresses[threads], threads, nbytes, semantics):
            cta.write(output, memory.load(addresses, shape.dtype, cta.active, shape.count, nbytes))

    return step


def _load_word(
    space: int, dtype: np.dtype[np.generic], pointer: int, output: int, element: tuple[int, int]
) -> Step:
    slot, nbytes = element

    def step(cta: CTA) -> None:
        memory, elements = cta.memory(space), cta.values[slot]
        with memory.volatile(elements, cta.active, nbytes):
            cta.write(
                output, SubwordMemory(memory, elements, nbytes).load(cta.values[pointer], dtype, cta.active)
            )

    return step


def _store(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    space, alignment = _space(op.operands[1].type), _alignment(op, op.operands[0].type)
    value, pointer = inputs

    def step(cta: CTA) -> None:
        cta.memory(space).store(cta.values[pointer], cta.values[value], cta.active, alignment)

    def volatile_step(cta: CTA) -> None:
        with cta.memory(space).written_through():
            step(cta)

    return program.observed(volatile_step if "volatile_" in op.attributes else step)


# --- atomics ----------------------------------------------------------------------------------------------


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
    12: np.subtract,
    13: np.fmax,
    14: np.fmin,
}


#: those that compute on floats
_ARITHMETIC = range(11, 15)


def _in_f32(update: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: to_bf16(update(to_f32(x), to_f32(y)))


def update_of(op: ir.OpView) -> Callable[[Any, Any], Any]:
    """Content of memory behind the ``llvm.atomicrmw`` ``op``, of the old value and the operand."""
    number = ir.IntegerAttr(op.attributes["bin_op"]).value
    if number not in _RMW:
        raise Unsupported(f"the simulator has no atomic of LLVM's number {number}")
    return (
        _in_f32(_RMW[number])
        if shape_of(op.operands[1].type).bf16 and number in _ARITHMETIC
        else _RMW[number]
    )


def _atomic_rmw(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    return atomic_update(program, op, inputs, outputs, update_of(op))


def atomic_update(
    program: Numbering,
    op: ir.OpView,
    inputs: list[int],
    outputs: list[int],
    update: Callable[[Any, Any], Any],
) -> Step:
    """Step of an ``llvm.atomicrmw`` that leaves ``update`` of the old value and the operand, one thread after the other."""

    def change(old: Any, rest: Sequence[Any]) -> tuple[Any, Any]:
        return update(old, rest[0]), old

    return program.observed(_one_by_one(program, op, inputs, outputs, change))


def _compare_swap(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    def update(old: Any, rest: Sequence[Any]) -> tuple[Any, Any]:
        expected, value = rest
        equal = old == expected
        return np.where(equal, value, old), (old, equal)

    return program.observed(_one_by_one(program, op, inputs, outputs, update))


#: LLVM's numbers of memory orders, and its names of the scope of a CTA
_ORDERS = {4: "acquire", 5: "release", 6: "acq_rel", 7: "acq_rel"}
_OF_CTA = frozenset({"workgroup", "block", "cta"})


def _semantics(op: ir.OpView) -> Semantics:
    """Ordering between programs of an atomic."""
    name = "ordering" if "ordering" in op.attributes else "success_ordering"
    number = ir.IntegerAttr(op.attributes[name]).value
    scope = ir.StringAttr(op.attributes["syncscope"]).value if "syncscope" in op.attributes else ""
    within = scope.removesuffix("-one-as") in _OF_CTA
    return Semantics.named(_ORDERS.get(number, "relaxed"), "cta" if within else "")


def _one_by_one(
    program: Numbering,
    op: ir.OpView,
    inputs: list[int],
    outputs: list[int],
    update: Callable[[Any, Sequence[Any]], tuple[Any, Any]],
) -> Step:
    """An atomic: one thread after the other."""
    space, pair, semantics = (
        _space(op.operands[0].type),
        isa(op.operation, llvm.AtomicCmpXchgOp),
        _semantics(op),
    )
    element = element_of(program.slots, op)

    def step(cta: CTA) -> None:
        memory, pointers = cta.memory(space), cta.values[inputs[0]]
        rest = [cta.values[i] for i in inputs[1:]]
        old, equal = np.zeros_like(rest[0]), np.zeros(cta.num_threads, np.bool_)
        threads = np.flatnonzero(cta.active)
        dtype, form = rest[0].dtype, rest[0].shape
        word = dtype if len(form) == 1 else np.dtype(f"i{dtype.itemsize * form[1]}")  # a vector is one word
        elements, nbytes = pointers, word.itemsize
        place: Memory | SubwordMemory = memory
        if element is not None:
            elements, nbytes = cta.values[element[0]], element[1]
            place = SubwordMemory(memory, elements, nbytes)
        with memory.atomic(elements[threads], threads, nbytes, semantics):
            for thread in threads:
                alone = np.arange(cta.num_threads) == thread
                before = place.load(pointers, word, alone).view(dtype).reshape(form)
                after, result = update(before, rest)
                place.store(pointers, np.ascontiguousarray(after).reshape(-1).view(word), alone)
                old[thread] = (result[0] if pair else result)[thread]
                equal[thread] = result[1][thread] if pair else False
        cta.write(outputs[0], (old, equal) if pair else old)

    return step


# --- control flow -----------------------------------------------------------------------------------------

#: which threads go a way
Chosen = Callable[[CTA], Mask]


def _branch(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    (target,) = op.operation.successors
    return _go(program, op, [], [(target, inputs, lambda cta: cta.active)])


def _conditional(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    condition, yes, no = _segments(op, inputs)
    first, second = op.operation.successors
    slot = condition[0]
    return _go(
        program,
        op,
        condition,
        [
            (first, yes, lambda cta: cta.active & cta.values[slot]),
            (second, no, lambda cta: cta.active & ~cta.values[slot]),
        ],
    )


def _switch(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    value, default, *others = _switch_parts(op, inputs)
    cases = (
        list(ir.DenseIntElementsAttr(op.attributes["case_values"])) if "case_values" in op.attributes else []
    )
    successors = list(op.operation.successors)
    slot = value[0]

    def is_case(number: int) -> Chosen:
        return lambda cta: cta.active & (cta.values[slot] == number)

    def is_none(cta: CTA) -> Mask:
        return cta.active & ~np.isin(cta.values[slot], cases)

    ways: list[tuple[ir.Block, list[int], Chosen]] = [(successors[0], default, is_none)]
    for number, block, operands in zip(cases, successors[1:], others, strict=True):
        ways.append((block, operands, is_case(int(number))))
    return _go(program, op, value, ways)


def _switch_parts(op: ir.OpView, inputs: list[int]) -> list[list[int]]:
    value, default, rest = _segments(op, inputs)
    sizes = list(ir.DenseI32ArrayAttr(op.attributes["case_operand_segments"]))
    cases = []
    for size in sizes:
        cases.append(rest[:size])
        rest = rest[size:]
    return [value, default, *cases]


def _segments(op: ir.OpView, inputs: list[int]) -> list[list[int]]:
    parts, rest = [], list(inputs)
    for size in ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]):
        parts.append(rest[:size])
        rest = rest[size:]
    return parts


def _go(
    program: Numbering, op: ir.OpView, condition: list[int], ways: list[tuple[ir.Block, list[int], Chosen]]
) -> Step:
    """Threads go the ``ways`` for which they are chosen, by the slots ``condition``."""
    found = [
        (program.order[block], [program.slots[a] for a in block.arguments], operands, chosen)
        for block, operands, chosen in ways
    ]
    present = program.order[op.operation.block]
    for target, slots, operands, _ in found:
        program.flow.goes(present, condition, target, zip(slots, operands, strict=True))

    def step(cta: CTA) -> None:
        values = cta.values
        cta.jump(
            [
                (chosen(cta), block, [(s, values[o]) for s, o in zip(slots, operands, strict=True)])
                for block, slots, operands, chosen in found
            ]
        )

    return step


def _return(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    return lambda cta: cta.leave()


# --- calls ------------------------------------------------------------------------------------------------


def _call(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    key = "intrin" if "intrin" in op.attributes else "callee"
    name = op.attributes[key].value
    if name == "llvm.trap":
        return program.observed(lambda cta: cta.stop())
    external = program.externals.get(name) or _registered(name)
    if external is None:
        raise Unsupported(
            f"the simulator does not know the function {name}",
            remedy="run on a real device, say what it means with tri_core.extern_libraries.register_meaning, or have the backend's"
            " tri_simulation say what it does",
        )

    def step(cta: CTA) -> object:
        for slot, value in zip(outputs, external(cta, [cta.values[i] for i in inputs]), strict=True):
            cta.write(slot, value)
        return cta.take_wait()

    return program.observed(step)


def _registered(symbol: str) -> External | None:
    """Simulation that a program has registered for a function of its own library; None if there is none."""
    meaning = meaning_of(symbol)
    return None if meaning is None else lambda cta, operands: [meaning(*operands)]


def _fence(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    semantics = _semantics(op)

    def step(cta: CTA) -> None:
        if cta.active.any():
            cta.memory(_GLOBAL).order(semantics)

    return program.observed(step)


def _nothing(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    return lambda cta: None


SPECIAL: dict[str, Maker] = {
    "llvm.mlir.constant": _constant,
    "llvm.mlir.undef": _undefined,
    "llvm.mlir.poison": _undefined,
    "llvm.mlir.zero": _undefined,
    "llvm.mlir.addressof": _address_of,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.atomicrmw": _atomic_rmw,
    "llvm.cmpxchg": _compare_swap,
    "llvm.fence": _fence,
    "llvm.intr.assume": _nothing,
    "llvm.br": _branch,
    "llvm.cond_br": _conditional,
    "llvm.switch": _switch,
    "llvm.return": _return,
    "llvm.unreachable": _return,
    "llvm.call": _call,
    "llvm.call_intrinsic": _call,
}
