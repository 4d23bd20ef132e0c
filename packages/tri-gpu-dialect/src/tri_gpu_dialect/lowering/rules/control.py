"""Structured control flow: the same ops with a tensor's registers in place of the tensor.

Registers that hold copies are carried once.  Operands of matrix instructions are carried as the 32-bit words that
they are read and used in, as is what loads gave in words where the target asks for it (``Primitives.carries_words``), their results as the vectors that the target's words ask for
(``Primitives.carried_vector``), so that nothing is taken apart and put together again on the way round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tri_core.errors import Unsupported
from tri_core.ir.regions import For, If, While
from tri_core.mlir import ir
from tri_gpu_dialect.dialect.markers import CLUSTER
from tri_gpu_dialect.edit import GLOBAL, SHARED
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding, decode
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Token
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width, from_words, to_words

__all__ = ["RULES"]


def flatten(ctx: Lowering, value: Lowered, type_: ir.Type) -> list[ir.Value]:
    """The SSA values to carry for a lowered value of source type ``type_``."""
    if not isinstance(value, list):
        return value.parts()
    values = [value[r] for r in _carried(ctx, type_)]
    if (size := _per_vector(ctx, type_)) > 1:
        return [ctx.b.pack(values[i : i + size]) for i in range(0, len(values), size)]
    return values if _per_word(ctx, type_) == 1 else to_words(ctx.b, values)


def rebuild(ctx: Lowering, parts: Iterator[ir.Value], type_: ir.Type, like: Lowered | None) -> Lowered:
    """The lowered value of source type ``type_`` made of the next ``parts``, shaped as ``like``."""
    if like is not None and not isinstance(like, list):
        return like.rebuilt([next(parts) for _ in like.parts()])
    carried = _carried(ctx, type_)
    group, size = _per_word(ctx, type_), _per_vector(ctx, type_)
    if size > 1:
        scalars = [v for _ in range(len(carried) // size) for v in ctx.b.unpack(next(parts))]
    elif group == 1:
        scalars = [next(parts) for _ in carried]
    else:
        words = [next(parts) for _ in range(len(carried) // group)]
        scalars = from_words(ctx.b, words, ctx.storage(type_), len(carried))
    values = dict(zip(carried, scalars, strict=True))
    if not isinstance(type_, ir.RankedTensorType):
        return [values[0]]
    images = ctx.layout(type_).images(REGISTER)
    by_image = {images[r]: value for r, value in values.items()}
    return [by_image[image] for image in images]


def _carried(ctx: Lowering, type_: ir.Type) -> list[int]:
    """The registers of a tensor without copies."""
    if not isinstance(type_, ir.RankedTensorType):
        return [0]
    first: dict[int, int] = {}
    for register, image in enumerate(ctx.layout(type_).images(REGISTER)):
        first.setdefault(image, register)
    return list(first.values())


def _per_word(ctx: Lowering, type_: ir.Type) -> int:
    """The number of registers of a tensor that one word carries: several if it is a matrix instruction's operand, or was loaded in words."""
    if not isinstance(type_, ir.RankedTensorType):
        return 1
    encoding = decode(type_.encoding)
    operand = isinstance(encoding, DotOperand) and isinstance(encoding.parent, MatrixEncoding)
    if not operand and (not ctx.hw.carries_words or isinstance(encoding, MatrixEncoding)):
        return 1
    bits = bit_width(ctx.storage(type_))
    group = 32 // bits if bits in (8, 16) else 1
    return group if len(_carried(ctx, type_)) % group == 0 else 1


def _per_vector(ctx: Lowering, type_: ir.Type) -> int:
    """Number of registers of a tensor carried in one vector: several if it is a matrix instruction's result."""
    if not isinstance(type_, ir.RankedTensorType):
        return 1
    encoding = decode(type_.encoding)
    size = ctx.hw.carried_vector(encoding) if isinstance(encoding, MatrixEncoding) else 1
    return size if len(_carried(ctx, type_)) % size == 0 else 1


def _part(ctx: Lowering, type_: ir.Type) -> tuple[ir.Type, int]:
    """Type that carries a scalar or tensor, and the number of registers in one value of it."""
    element = ctx.storage(type_)
    if (size := _per_vector(ctx, type_)) > 1:
        return ctx.b.vector_type(element, size), size
    group = _per_word(ctx, type_)
    return (element, 1) if group == 1 else (ctx.b.i32, group)


def _flat(ctx: Lowering, values: Sequence[Lowered], types: Sequence[ir.Type]) -> list[ir.Value]:
    return [part for v, t in zip(values, types, strict=True) for part in flatten(ctx, v, t)]


def _rebuilt(
    ctx: Lowering, parts: Sequence[ir.Value], types: Sequence[ir.Type], like: Sequence[Lowered]
) -> list[Lowered]:
    rest = iter(parts)
    return [rebuild(ctx, rest, t, shape) for t, shape in zip(types, like, strict=True)]


def _types(values: Sequence[ir.Value]) -> list[ir.Type]:
    return [value.type for value in values]


def for_loop(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A counted loop."""
    bounds = [ctx.scalar(v) for v in list(op.operands)[:3]]
    inits = list(op.operands)[3:]
    lowered, types = [ctx.lowered(v) for v in inits], _types(inits)
    flat = _flat(ctx, lowered, types)
    attributes = {"unsignedCmp": op.attributes["unsignedCmp"]} if "unsignedCmp" in op.attributes else None
    made = ir.Operation.create(
        For.OPERATION_NAME, results=_types(flat), operands=[*bounds, *flat], regions=1, attributes=attributes
    )
    block = made.regions[0].blocks.append(bounds[0].type, *_types(flat))
    index, *parts = block.arguments
    with ir.InsertionPoint(block):
        arguments = [[index], *_rebuilt(ctx, parts, types, lowered)]
        _yield(ctx, op.regions[0].blocks[0], arguments)
    return _rebuilt(ctx, list(made.results), types, lowered)


def _yield(ctx: Lowering, source: ir.Block, arguments: Sequence[Lowered]) -> None:
    """Lower ``source`` here, ending with a yield of what it yields."""
    made = ctx.lower_block(source, arguments)
    types = _types(list(source.operations)[-1].operands)
    ir.Operation.create("scf.yield", operands=_flat(ctx, made, types))


def if_else(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A branch."""
    types = _types(op.results)
    like, flat = _result_shapes(ctx, op)
    made = ir.Operation.create(
        If.OPERATION_NAME, results=flat, operands=[ctx.scalar(op.operands[0])], regions=2
    )
    for source, region in zip(op.regions, made.regions, strict=True):
        if len(source.blocks):
            with ir.InsertionPoint(region.blocks.append()):
                _yield(ctx, source.blocks[0], ())
    return _rebuilt(ctx, list(made.results), types, like)


def _result_shapes(ctx: Lowering, op: ir.Operation) -> tuple[list[Lowered], list[ir.Type]]:
    """Placeholders for the results of a region op, from their types alone, and the types of their parts."""
    like: list[Lowered] = []
    flat: list[ir.Type] = []
    for result in op.results:
        if str(result.type) == "!ttg.async_token":
            like.append(Token())
        elif isinstance(result.type, ir.RankedTensorType) or _is_scalar(result.type):
            like.append([])
            part, size = _part(ctx, result.type)
            flat += [part] * (len(_carried(ctx, result.type)) // size)
        else:
            raise Unsupported(f"{op.name} that gives a {result.type}", remedy="use it inside of the branches")
    return like, flat


def _is_scalar(type_: ir.Type) -> bool:
    return isinstance(type_, (ir.IntegerType, ir.FloatType)) or str(type_).startswith("!tt.ptr")


def while_loop(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """A ``while`` loop: the first region decides and hands values to the second, and to the results."""
    before, after = (region.blocks[0] for region in op.regions)
    inits = list(op.operands)
    lowered, types = [ctx.lowered(v) for v in inits], _types(inits)
    flat = _flat(ctx, lowered, types)
    like, flat_results = _result_shapes(ctx, op)
    result_types = _types(op.results)
    made = ir.Operation.create(While.OPERATION_NAME, results=flat_results, operands=flat, regions=2)
    head = made.regions[0].blocks.append(*_types(flat))
    with ir.InsertionPoint(head):
        values = ctx.lower_block(before, _rebuilt(ctx, list(head.arguments), types, lowered))
        condition, *rest = values
        operands = [ctx.only(condition), *_flat(ctx, rest, result_types)]
        ir.Operation.create("scf.condition", operands=operands)
    body = made.regions[1].blocks.append(*flat_results)
    with ir.InsertionPoint(body):
        _yield(ctx, after, _rebuilt(ctx, list(body.arguments), result_types, like))
    return _rebuilt(ctx, list(made.results), result_types, like)


def grid_dependency(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.grid_dependency_wait`` and ``tt.grid_dependency_launch_dependents``."""
    ctx.hw.grid_dependency(ctx.b, wait=op.name == "tt.grid_dependency_wait")
    return []


def barrier(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.barrier``: shared memory is a CTA's own, global memory all CTAs of a cluster write."""
    spaces = ir.IntegerAttr(op.attributes["addrSpace"]).value
    if CLUSTER in op.attributes or spaces & GLOBAL:
        ctx.cluster_barrier()
    elif spaces == SHARED:
        ctx.shared_barrier()
    else:
        ctx.barrier()
    return []


def warp_id(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.warp_id``."""
    return [[ctx.warp]]


def warp_specialize(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.warp_specialize`` elsewhere than in :mod:`tri_gpu_dialect.lowering.specialize`: refused."""
    raise Unsupported(
        "ttg.warp_specialize inside of control flow, or a second one",
        remedy="put the loop into the default region and into each partition",
    )


RULES: dict[str, Rule] = {
    For.OPERATION_NAME: for_loop,
    If.OPERATION_NAME: if_else,
    While.OPERATION_NAME: while_loop,
    "ttg.barrier": barrier,
    "tt.grid_dependency_wait": grid_dependency,
    "tt.grid_dependency_launch_dependents": grid_dependency,
    "ttg.warp_id": warp_id,
    "ttg.warp_specialize": warp_specialize,
}
