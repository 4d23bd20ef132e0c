"""Descriptors as tensor maps: pointers at 128 bytes that the copy engine reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from tri_backend_nvidia.machine import MapAcquireOp, MapPublishOp, MapReplaceOp, WarpBarrierOp
from tri_backend_nvidia.tma.boxes import Boxes, boxes
from tri_backend_nvidia.tma.round_tf32 import ROUNDED
from tri_core.api import LaunchDescriptor
from tri_core.dialects.tt import TensorDescType
from tri_core.dialects.tt.enums import PaddingOption
from tri_core.errors import Unsupported
from tri_core.ir.markers import PROMOTED
from tri_core.ir.views import cast
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import TensormapCreateOp
from tri_gpu_dialect.dialect.launch_invariants import launch_number, parameter_number
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.lowering import Lowered, Lowering
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES", "MapPointer", "descriptor_boxes", "element_name", "launch_recipe"]

_INTEGERS = {8: "u8", 16: "u16"}


@dataclass(frozen=True)
class MapPointer:
    """A descriptor: ``pointer`` at its tensor map."""

    pointer: ir.Value

    def parts(self) -> list[ir.Value]:
        """The pointer."""
        return [self.pointer]

    def rebuilt(self, parts: list[ir.Value]) -> MapPointer:
        """Another pointer."""
        return replace(self, pointer=parts[0])


def descriptor_boxes(type_: TensorDescType) -> Boxes:
    """Boxes for blocks of a descriptor of ``type_``, as its block's encoding says.

    Unsupported where the copy engine cannot bring them so.
    """
    block = type_.block_type
    encoding = None if block.encoding is None else decode(block.encoding)
    if not isinstance(encoding, SharedEncoding):
        raise Unsupported(f"{type_} does not say how its blocks lie in shared memory")
    found = boxes(encoding.part(tuple(block.shape))[0], block.element_type.width // 8)
    if found is None or encoding.padding:
        raise Unsupported(
            f"blocks of {type_} cannot be copied to or from shared memory by the TMA",
            remedy="use a row-major encoding, swizzled by the width of its rows",
        )
    return found


def element_name(element: ir.Type) -> str | None:
    """The copy engine's name for elements of ``element``; None where it has none."""
    name = str(element)
    if name in ("f16", "bf16", "f32", "f64"):
        return name
    if isinstance(element, ir.FloatType):
        return _INTEGERS.get(element.width)
    if isinstance(element, ir.IntegerType) and element.width in (8, 16, 32, 64):
        sign = "s" if element.is_signed or element.is_signless else "u"
        return _INTEGERS.get(element.width) or f"{sign}{element.width}"
    return None


def pads_with_nan(maker: ir.Operation) -> bool:
    """True if a ``tt.make_tensor_descriptor`` pads with NaN outside of the tensor."""
    if "padding" not in maker.attributes:
        return False
    return bool(ir.IntegerAttr(maker.attributes["padding"]).value == PaddingOption.PAD_NAN)


def launch_recipe(maker: ir.Operation, found: Boxes) -> LaunchDescriptor | None:
    """Recipe by which a launch makes the descriptor of ``maker``; None if its tensor is known only in the
    kernel.
    """
    base, *numbers = maker.operands
    rank = len(numbers) // 2
    pointer, known = parameter_number(base), [launch_number(n) for n in numbers]
    element = element_name(maker.results[0].type.block_type.element_type)
    if pointer is None or element is None or any(n is None for n in known):
        return None
    sizes = [n for n in known if n is not None]
    return LaunchDescriptor(
        base=pointer,
        shape=tuple(sizes[:rank]),
        strides=tuple(sizes[rank : 2 * rank - 1]),
        element="tf32" if ROUNDED in maker.attributes else element,
        box=found.box,
        swizzle=found.swizzle,
        nan=pads_with_nan(maker),
        empty=_when_empty(maker),
    )


def _when_empty(maker: ir.Operation) -> Literal["refused", "read", "written"]:
    """A tensor of the source's own descriptor has elements; pointers, which became descriptors, may have none to point at."""
    if PROMOTED not in maker.attributes:
        return "refused"
    return "written" if ir.StringAttr(maker.attributes[PROMOTED]).value == "written" else "read"


def make(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.make_tensor_descriptor``: a parameter that the launch fills in."""
    recipe = launch_recipe(op, descriptor_boxes(op.results[0].type))
    if recipe is None:
        raise Unsupported(
            "a tensor descriptor of what only the kernel knows, which ttng.tensormap_create makes",
            remedy="run create-tensormaps first",
        )
    return [MapPointer(ctx.encoded_descriptor(recipe))]


#: numbers of element types and of swizzles in a tensor map (PTX ISA, "tensormap.replace")
_ELEMENT_TYPES = {
    "u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 9, "bf16": 10,
}  # fmt: skip
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


@dataclass(frozen=True)
class _Field:
    """A field of a tensor map; ``ordinal`` is the dimension, 0 for fields that have none."""

    name: str
    value: ir.Value
    ordinal: int = 0


def create(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttng.tensormap_create``: the first warp fills in a map in shared memory, one lane its fields, and publishes it.

    Every thread acquires it: whoever is elected later may copy through it.
    """
    b, target = ctx.b, ctx.scalar(cast(op, TensormapCreateOp).desc_ptr)
    place, fields = ctx.scratch(op), _fields(ctx, op)

    def written() -> None:
        b.store(b.int_(0), b.gep(place, ctx.lane, b.i32))
        WarpBarrierOp.build([])
        chosen = ctx.hw.elect(b)
        for field in fields:
            attributes = {
                "field": ir.StringAttr.get(field.name),
                "ordinal": ir.IntegerAttr.get(b.i32, field.ordinal),
            }
            MapReplaceOp.build([place, field.value, chosen], (), attributes)
        WarpBarrierOp.build([])

    def published() -> None:
        MapPublishOp.build([target, place])

    _by_first_warp(ctx, written)
    ctx.barrier()
    _by_first_warp(ctx, published)
    MapAcquireOp.build([target])
    return [MapPointer(target)]


def _by_first_warp(ctx: Lowering, body: Callable[[], None]) -> None:
    if ctx.num_warps == 1:
        body()
    else:
        ctx.b.if_(ctx.b.cmp("eq", ctx.warp, ctx.b.int_(0)), body)


def _fields(ctx: Lowering, op: ir.Operation) -> list[_Field]:
    """All fields of the map, dimensions from the contiguous one on; strides in bytes."""
    b, (_, base, *numbers) = ctx.b, list(op.operands)
    type_ = op.results[0].type
    element, found = type_.block_type.element_type, descriptor_boxes(type_)
    name, rank = element_name(element), type_.block_type.rank
    if name is None:
        raise Unsupported(f"TMA copies of elements of {element}")
    made = [
        _Field("global_address", b.ptr_to_int(ctx.scalar(base))),
        _Field("rank", b.int_(rank - 1)),
        _Field("elemtype", b.int_(_ELEMENT_TYPES[name])),
        _Field("interleave_layout", b.int_(0)),
        _Field("swizzle_mode", b.int_(_SWIZZLES[found.swizzle])),
        _Field("fill_mode", b.int_(int(pads_with_nan(op)))),
    ]
    sizes, strides = (list(map(ctx.scalar, reversed(part))) for part in (numbers[:rank], numbers[rank:]))
    for d, (size, box) in enumerate(zip(sizes, reversed(found.box), strict=True)):
        made += [_Field("global_dim", size, d), _Field("box_dim", b.int_(box), d)]
        made.append(_Field("element_stride", b.int_(1), d))
    bytes_ = b.int_(element.width // 8, 64)
    made += [_Field("global_stride", b.mul(s, bytes_), d) for d, s in enumerate(strides[1:])]
    return made


RULES: dict[str, Rule] = {"tt.make_tensor_descriptor": make, "ttg.tensormap_create": create}
