"""The rules of ``ttg`` ops beyond their operand counts: small predicates that ops name in their class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tri_core.api import TriError
from tri_core.dialects.tt import PointerType, TensorDescType
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.layouts.encoding import MALFORMED, DistributedEncoding, SharedEncoding, decode

__all__ = [
    "allocates",
    "changes_layout",
    "copies_async",
    "copies_from_descriptor",
    "copies_to_descriptor",
    "forwards",
    "indexes",
    "loads",
    "multiplies",
    "multiplies_async",
    "permutes",
    "positive",
    "reshapes",
    "rule",
    "specializes",
    "stores",
    "subslices",
    "uses_barrier",
]

#: what is wrong with an op, or None
Check = Callable[[Any], str | None]


def rule(*checks: Check) -> Any:
    """A ``verify_invariants`` that emits the first complaint of ``checks`` at the op's location."""

    def verify_invariants(op: Any) -> bool:
        for check in checks:
            try:
                complaint = check(op)
            except TriError as error:
                complaint = error.message
            except MALFORMED as error:
                complaint = f"a layout does not fit: {error}"
            if complaint is not None:
                op.location.emit_error(f"{op.operation.name}: {complaint}")
                return False
        return True

    return staticmethod(verify_invariants)


def _tensor(value: ir.Value, what: str) -> str | None:
    if not isinstance(value.type, ir.RankedTensorType):
        return f"{what} is {value.type}; a tensor is expected"
    encoding = value.type.encoding
    if encoding is None or not isinstance(decode(encoding), DistributedEncoding):
        return f"{what} is {value.type}; an encoding that places it in registers is expected"
    return None


def _memory(value: ir.Value, what: str, *, mutable: bool = False) -> str | None:
    if not isinstance(value.type, MemDescType):
        return f"{what} is {value.type}; a !ttg.memdesc is expected"
    if not isinstance(decode(value.type.encoding), SharedEncoding):
        return f"{what} is {value.type}; a shared-memory encoding is expected"
    if mutable and not value.type.mutable:
        return f"{what} is {value.type}; writing needs a mutable one"
    return None


def _alike(left: ir.Value, right: ir.Value) -> str | None:
    a, b = left.type, right.type
    if list(a.shape) != list(b.shape) or a.element_type != b.element_type:
        return f"needs equal shapes and element types; {a} and {b} are given"
    return None


def changes_layout(op: Any) -> str | None:
    """Tensors of one shape and element type, each with a layout."""
    source, result = op.operands[0], op.results[0]
    return _tensor(source, "source") or _tensor(result, "result") or _alike(source, result)


def allocates(op: Any) -> str | None:
    """A memory descriptor, made of a tensor of the same shape if there is one; without, it is mutable."""
    result = op.results[0]
    if not len(op.operands):
        return _memory(result, "result", mutable=True)
    return _memory(result, "result") or _tensor(op.operands[0], "source") or _alike(op.operands[0], result)


def loads(op: Any) -> str | None:
    """The result and the buffer agree in shape and element type."""
    registers, shared = op.results[0], op.operands[0]
    return _tensor(registers, "result") or _memory(shared, "src") or _alike(registers, shared)


def stores(op: Any) -> str | None:
    """The tensor and the (mutable) buffer agree in shape and element type."""
    registers, shared = op.operands[0], op.operands[1]
    return _tensor(registers, "src") or _memory(shared, "dst", mutable=True) or _alike(registers, shared)


def _view(op: Any) -> str | None:
    source, result = op.operands[0], op.results[0]
    if found := _memory(source, "source") or _memory(result, "result"):
        return found
    if source.type.element_type != result.type.element_type:
        return f"keeps the element type; {source.type} and {result.type} are given"
    return None


def _shapes(op: Any) -> tuple[list[int], list[int]]:
    return op.operands[0].type.shape, op.results[0].type.shape


def indexes(op: Any) -> str | None:
    """The result is one of the source's leading dimension."""
    if found := _view(op):
        return found
    source, result = _shapes(op)
    return None if result == source[1:] else f"gives shape {source[1:]}, not {result}"


def subslices(op: Any) -> str | None:
    """The result at ``offsets`` lies within the source; offsets are multiples of the result's sizes."""
    if found := _view(op):
        return found
    source, result = _shapes(op)
    offsets = list(ir.DenseI32ArrayAttr(op.attributes["offsets"]))
    if len(offsets) != len(source) or len(result) != len(source):
        return f"needs one offset and one size per dimension of {source}"
    for offset, size, whole in zip(offsets, result, source, strict=True):
        if offset % size or offset + size > whole:
            return f"at {offsets} of shape {result} is not an aligned part of {source}"
    return None


def permutes(op: Any) -> str | None:
    """Result dimension i is source dimension ``order[i]``."""
    if found := _view(op):
        return found
    source, result = _shapes(op)
    order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
    if sorted(order) != list(range(len(source))):
        return f"order {order} is not a permutation of the dimensions of {source}"
    expected = [source[i] for i in order]
    return None if result == expected else f"gives shape {expected}, not {result}"


def reshapes(op: Any) -> str | None:
    """Source and result have equally many elements."""
    source, result = _shapes(op)
    same = math.prod(source) == math.prod(result)
    return _view(op) or (None if same else f"cannot give {result} the elements of {source}")


def copies_async(op: Any) -> str | None:
    """Pointers (and mask, and other) of the destination's shape."""
    source, destination = op.operands[0], op.operands[1]
    if found := _memory(destination, "result", mutable=True) or _tensor(source, "src"):
        return found
    shape = destination.type.shape
    for value in (v for v in op.operands if v != destination):
        if list(value.type.shape) != shape:
            return f"needs operands of shape {shape}; {value.type} is given"
    return None


def multiplies(op: Any) -> str | None:
    """Buffers ``m x k`` and ``k x n`` (with equal leading dimensions), a tensor ``m x n``."""
    left, right, addend = op.operands
    if found := _memory(left, "a") or _memory(right, "b") or _tensor(addend, "c"):
        return found
    (*batch, m, k), (*others, inner, n) = left.type.shape, right.type.shape
    if batch != others or k != inner or list(addend.type.shape) != [*batch, m, n]:
        return f"cannot multiply {left.type} and {right.type} onto {addend.type}"
    return None if op.results[0].type == addend.type else f"gives {addend.type}"


# --- barriers in memory, and copies that they count -------------------------------------------------------


def uses_barrier(operand: int) -> Check:
    """Operand number ``operand`` is one barrier: a mutable ``1xi64`` in shared memory."""
    return lambda op: _barrier(op.operands[operand])


def names_buffers(first: int) -> Check:
    """Operands from number ``first`` on are buffers."""

    def check(op: Any) -> str | None:
        found = (_memory(value, "buffer") for value in list(op.operands)[first:])
        return next((message for message in found if message), None)

    return check


def _barrier(value: ir.Value) -> str | None:
    if found := _memory(value, "barrier", mutable=True):
        return found
    type_ = value.type
    if type_.shape != [1] or type_.element_type != ir.IntegerType.get_signless(64):
        return f"barrier is {type_}; one i64 is expected (index a buffer of several)"
    return None


def is_ordered(op: Any) -> str | None:
    """The step is one of four, the groups are made of warps."""
    step = ir.StringAttr(op.attributes["step"]).value
    if step not in ("open", "wait", "pass", "close"):
        return f"step is {step!r}; open, wait, pass or close is expected"
    if ir.IntegerAttr(op.attributes["group_warps"]).value < 1:
        return "a group has at least one warp"
    return None


def holds_number(operand: int) -> Check:
    """Operand number ``operand`` is a buffer of one i32."""

    def check(op: Any) -> str | None:
        value = op.operands[operand]
        if found := _memory(value, "buffer", mutable=True):
            return found
        expected = ir.IntegerType.get_signless(32)
        if value.type.shape != [1] or value.type.element_type != expected:
            return f"buffer is {value.type}; one i32 is expected"
        return None

    return check


def positive(name: str) -> Check:
    """Attribute ``name`` is 1 or more."""

    def check(op: Any) -> str | None:
        value = ir.IntegerAttr(op.attributes[name]).value
        return None if value > 0 else f"{name} is {value}; 1 or more is expected"

    return check


def _block_of(descriptor: ir.Value, coordinates: Sequence[ir.Value], buffer: ir.Value) -> str | None:
    if not isinstance(descriptor.type, TensorDescType):
        return f"desc is {descriptor.type}; a !tt.tensordesc is expected"
    if found := _memory(buffer, "buffer"):
        return found
    block = descriptor.type.block_type
    if len(coordinates) != len(block.shape):
        return f"needs {len(block.shape)} coordinates, as many as the descriptor has dimensions"
    shape, element = buffer.type.shape, _signless(block.element_type)
    leading = list(block.shape)[: len(block.shape) - len(shape)]
    if [*leading, *shape] != list(block.shape) or math.prod(leading) != 1:
        return f"the buffer is {buffer.type}; a block of {block} is expected"
    if buffer.type.element_type != element:
        return f"the buffer has elements {buffer.type.element_type}; the descriptor {element}"
    return None


def _signless(element: ir.Type) -> ir.Type:
    """A descriptor's element type as tensors have it."""
    if isinstance(element, ir.IntegerType):
        return ir.IntegerType.get_signless(element.width)
    return element


def copies_from_descriptor(op: Any) -> str | None:
    """A descriptor, a coordinate per dimension, a barrier, and a mutable buffer of the block."""
    descriptor, *coordinates, barrier, buffer, _ = op.operands
    return (
        _barrier(barrier)
        or _memory(buffer, "result", mutable=True)
        or _block_of(descriptor, coordinates, buffer)
    )


def copies_to_descriptor(op: Any) -> str | None:
    """A descriptor, a coordinate per dimension, and a buffer of the block."""
    descriptor, *coordinates, buffer = op.operands
    return _block_of(descriptor, coordinates, buffer)


def creates_tensormap(op: Any) -> str | None:
    """Pointers to the memory for it and to the tensor, a size (i32) and a stride (i64) per dimension of the block."""
    memory, base, *numbers = op.operands
    rank = op.results[0].type.block_type.rank
    if not isinstance(memory.type, PointerType) or not isinstance(base.type, PointerType):
        return f"takes two pointers; {memory.type} and {base.type} are given"
    expected = ["i32"] * rank + ["i64"] * rank
    given = [str(n.type) for n in numbers]
    return None if given == expected else f"takes sizes and strides {expected}; {given} are given"


def multiplies_async(op: Any) -> str | None:
    """``m x k`` and ``k x n``, buffers or one of them a tensor; a tensor or buffer ``m x n``, perhaps an i1, then scales."""
    left, right, addend, *rest = op.operands
    in_registers = [isinstance(value.type, ir.RankedTensorType) for value in (left, right)]
    if all(in_registers):
        return f"a and b are tensors, {left.type} and {right.type}; one of them is to be a !ttg.memdesc"
    for value, is_tensor, name in zip((left, right), in_registers, "ab", strict=True):
        if name == "a" and _is_in_other_memory(value):
            continue
        if found := _tensor(value, name) if is_tensor else _memory(value, name):
            return found
    if not isinstance(addend.type, MemDescType) and (found := _tensor(addend, "c")):
        return found
    if any(str(v.type) != "i1" for v in rest[:1]):
        return f"takes an i1 behind c; {rest[0].type} is given"
    if any(not isinstance(v.type, MemDescType) for v in rest[1:]):
        return f"takes buffers of scales behind use_c; {rest[1].type} is given"
    (m, k), (inner, n) = left.type.shape, right.type.shape
    if k * _packed(op, "a") != inner * _packed(op, "b") or list(addend.type.shape) != [m, n]:
        return f"cannot multiply {left.type} and {right.type} onto {addend.type}"
    return None if op.results[0].type == addend.type else f"gives {addend.type}"


def _is_in_other_memory(value: ir.Value) -> bool:
    """True if ``value`` is a buffer in a vendor-specific memory."""
    return isinstance(value.type, MemDescType) and "shared_memory" not in str(value.type.memory_space)


def _packed(op: Any, name: str) -> int:
    """Elements of an operand in one of its buffer's: two of e2m1."""
    attributes = op.operation.attributes
    key = f"{name}_elem_type"
    return 2 if key in attributes and ir.IntegerAttr(attributes[key]).value == ScaleDotElemType.E2M1 else 1


def forwards(op: Any) -> str | None:
    """Results of the operands' types."""
    given, made = [v.type for v in op.operands], [v.type for v in op.results]
    return None if given == made else f"gives what it takes; {len(given)} values in, {len(made)} out"


def specializes(op: Any) -> str | None:
    """The default region yields the results; there is a block per partition, with an argument per capture."""
    holder = list(op.operation.regions[1].blocks[0].operations)
    if len(holder) != 1 or holder[0].operation.name != "ttg.warp_specialize_partitions":
        return "its second region is to hold one ttg.warp_specialize_partitions"
    counts = list(ir.DenseI32ArrayAttr(op.operation.attributes["partitionNumWarps"]))
    blocks = list(holder[0].operation.regions[0].blocks)
    if len(counts) != len(blocks):
        return f"has {len(blocks)} partitions; partitionNumWarps is {counts}"
    if any(count < 1 or count & (count - 1) for count in counts):
        return f"partitionNumWarps is {counts}; powers of two are expected"
    captures = [value.type for value in op.operation.operands]
    if tensors := [t for t in captures if isinstance(t, ir.RankedTensorType)]:
        return f"captures a {tensors[0]}: partitions have none of the registers that it is in"
    for i, block in enumerate(blocks):
        if (given := [a.type for a in block.arguments]) != captures:
            return f"partition {i} has arguments {given}; the captures are {captures}"
    made = list(op.operation.regions[0].blocks[0].operations)[-1].operation
    yielded, results = [v.type for v in made.operands], [r.type for r in op.operation.results]
    return None if yielded == results else f"yields {yielded}; the results are {results}"
