"""Checks that the layouts of a TTGIR module agree: what no op's own verifier can see.

:func:`verify_layouts`, of every module that is parsed: the numbers of the module are such as its target has; encodings are well
formed, and fit their tensors and buffers; every tensor's layout covers it, and has as many lanes, warps and blocks as the module
(within a partition: as many warps as its ``ttg.warp_specialize``) says.

:class:`VerifyLayouts`, for tests and authors of passes, beside that: the operands and results of every op go together, as the target's
rules (:mod:`tri_gpu_dialect.analysis.layout_rules`) say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tri_core.api import Pass, StageContext, TriError, VerificationError
from tri_core.dialects.tt import ReduceOp
from tri_core.ir.markers import EXPLICIT
from tri_core.ir.regions import edges_of, is_control
from tri_core.ir.traits import source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import Kind, LayoutRules, encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import WarpSpecializeOp
from tri_gpu_dialect.dialect.partitions import partition_blocks, warp_counts
from tri_gpu_dialect.edit import all_ops, functions, module_int
from tri_gpu_dialect.encodings import Linear, PaddedShared, SharedLinear
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout, dim_names, layout_for, of
from tri_gpu_dialect.layouts.encoding import MALFORMED, Encoding, SharedEncoding, decode, places_alike
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.types import shape_of, tensor_info

if TYPE_CHECKING:
    from tri_core.target import Target

__all__ = ["VerifyLayouts", "verify_layouts"]


@dataclass(frozen=True)
class VerifyLayouts(Pass):
    """See the module; raises VerificationError at the first disagreement."""

    name: ClassVar[str] = "verify-layouts"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Check all functions; changes nothing."""
        for name in _NUMBERS:
            module_int(module, name)
        verify_layouts(module)
        for function in functions(module):
            for op in all_ops(function):
                if (complaint := _complaint(op, self.policy.layout_rules)) is not None:
                    raise VerificationError(f"{op.name}: {complaint}", location=source_location(op.location))


#: what a module says how many of there are, by the inputs of layouts
_NUMBERS = {"ttg.threads-per-warp": LANE, "ttg.num-warps": WARP, "ttg.num-ctas": BLOCK}
#: registers of a thread for one tensor: beyond, a layout is a mistake that takes all memory to work with
_MOST_REGISTERS = 1 << 17


def verify_layouts(module: ir.Module, target: Target | None = None) -> None:
    """Check the layouts of ``module``, where it says warps, threads and CTAs, each type once; VerificationError at the first op that is wrong.

    ``target``: what the module's numbers have to be such as it has.
    """
    if not any(name in module.operation.attributes for name in _NUMBERS):
        return
    sizes = _sizes(module, target)
    seen = set[tuple[ir.Type, int]]()
    may_be_open = EXPLICIT in module.operation.attributes
    for function in functions(module):
        warps = _warps_of_partitions(function)
        for op in all_ops(function):
            own = {**sizes, WARP: warps.get(op, sizes[WARP])} if op in warps else sizes
            blocks = [block for region in op.regions for block in region.blocks]
            for value in (*op.results, *(argument for block in blocks for argument in block.arguments)):
                key = (value.type, own[WARP])
                if key not in seen and not (may_be_open and _is_open(value)):
                    seen.add(key)
                    _check_type(value.type, own, op)


def _is_open(value: ir.Value) -> bool:
    """True for a tensor without a layout: where an author chooses layouts, a pass resolves those that are left."""
    info = tensor_info(value.type)
    return info is not None and info.encoding is None


def _sizes(module: ir.Module, target: Target | None) -> dict[str, int]:
    """Lanes, warps and blocks that the module says there are; VerificationError for such as cannot be."""
    found = {}
    where = source_location(module.operation.location)
    for name, dim in _NUMBERS.items():
        given = module.operation.attributes.get(name, None)
        number = 1 if given is None and dim == BLOCK else _positive(given)
        if number is None or number & (number - 1):
            raise VerificationError(
                f"the module's {name} is {given}; a power of two is expected",
                location=where,
                remedy=f'write "{name}" = 4 : i32, or another one',
            )
        found[dim] = number
    if target is None:
        return found
    warps = target.spec.threads_per_warp
    if warps and found[LANE] not in warps:
        raise VerificationError(
            f"the module has warps of {found[LANE]} threads; those of {target} have {' or '.join(map(str, warps))}",
            location=where,
            remedy="compile it for the target that it was made for, or start from TTIR",
        )
    for limit, have in (("threads", found[LANE] * found[WARP]), ("cluster", found[BLOCK])):
        most = target.spec.limits.get(limit)
        if most is not None and have > most:
            raise VerificationError(
                f"the module has {have} {'threads' if limit == 'threads' else 'CTAs of a cluster'}; {target} has {most} at most",
                location=where,
                remedy="compile it for the target that it was made for, or start from TTIR",
            )
    return found


def _positive(attribute: ir.Attribute | None) -> int | None:
    plain = None if attribute is None else attribute.maybe_downcast()
    return plain.value if isinstance(plain, ir.IntegerAttr) and plain.value > 0 else None


def _check_type(type_: ir.Type, sizes: dict[str, int], op: ir.Operation) -> None:
    """VerificationError at ``op`` where the layout of ``type_`` is malformed, does not fit, or has other threads than the module."""
    try:
        found = _complaint_of_type(type_, sizes)
    except VerificationError as error:
        found = error.message
    except (*MALFORMED, TriError) as error:
        # encodings are computed with before they are known to be right: what that trips over is their fault
        found = f"the layout of {type_} does not fit: {getattr(error, 'message', error)}"
    if found is not None:
        raise VerificationError(
            f"{op.name}: {found}",
            location=source_location(op.location),
            remedy="write a layout of the module's threads, warps and CTAs that has every element; `tri layout` draws it",
        )


def _complaint_of_type(type_: ir.Type, sizes: dict[str, int]) -> str | None:
    if isinstance(type_, MemDescType):
        encoding = decode(type_.encoding)
        return _out_of_bounds(encoding) or _wrong_memory(encoding, type_)
    info = tensor_info(type_)
    if info is None:
        return None
    if info.encoding is None:
        return f"{type_} has no layout"
    return _out_of_bounds(info.encoding) or _dependent(info.encoding, type_) or _wrong_size(type_, sizes)


def _out_of_bounds(encoding: Encoding) -> str | None:
    """Error in the value or count of an encoding's parameters, regardless of their meaning; None if there is
    none.
    """
    ahead: list[object] = [encoding]
    while ahead:
        each = ahead.pop()
        if isinstance(each, Encoding):
            ahead += [getattr(each, name) for _, name in type(each).keys]
        elif isinstance(each, tuple):
            ahead += each
        elif isinstance(each, int) and not 0 <= each < 1 << 31:
            return f"{encoding} has the number {each}; 0 to {(1 << 31) - 1} are expected"
    return None


def _dependent(encoding: Encoding, type_: ir.Type) -> str | None:
    """Copies of a linear layout have zeros for their bases; one that others add up to is a mistake."""
    if not isinstance(encoding, Linear):
        return None
    bases = {name: getattr(encoding, name) for name in (REGISTER, LANE, WARP, BLOCK)}
    layout = LinearLayout.from_bases(bases, dim_names(encoding.rank))
    if layout.rank != sum(map(bool, layout.columns)):
        return f"the layout of {type_} has a basis twice, or one that others add up to"
    return None


def _wrong_memory(encoding: Encoding, type_: MemDescType) -> str | None:
    """A buffer has a place for each element, and no place twice; a view of a part has the layout of the whole."""
    if not isinstance(encoding, SharedEncoding) or type_.shape != type_.alloc_shape:
        return None
    first, *others = type_.shape or [1]
    # stages of a ring: any number, one after another
    layout = layout_for(encoding, (1 << max(first - 1, 0).bit_length(), *others))
    if not layout.is_surjective:
        return f"the layout of {type_} leaves out elements"
    if isinstance(encoding, (PaddedShared, SharedLinear)) and not layout.is_injective:
        return f"the layout of {type_} has elements in several places"
    return None


def _warps_of_partitions(function: ir.Operation) -> dict[ir.Operation, int]:
    """The number of warps of each op that is in a partition."""
    found: dict[ir.Operation, int] = {}
    for op in all_ops(function):
        if isa(op, WarpSpecializeOp):
            for block, warps in zip(partition_blocks(op), warp_counts(op), strict=True):
                for view in block:
                    found.update(dict.fromkeys(all_ops(view.operation), warps))
    return found


def _complaint(op: ir.Operation, rules: LayoutRules) -> str | None:
    if is_control(op):
        return _control(op)
    rule = rules.of(op)
    if rule.kind in (Kind.SOURCE, Kind.SINK, Kind.FIXED):
        return None
    own = next((e for r in op.results if (e := encoding_of(r)) is not None), None)
    if own is None and not len(op.results) and len(op.operands):
        own = encoding_of(source_of(op))
    if own is None:
        return None
    wanted = rule.operands(op, own)
    if wanted is None or (isa(op, ReduceOp) and len(op.operands) == 1):
        # of a reduction's result, which has an equal layout by other names, no operand can be told
        made = rule.results(op, [encoding_of(v) for v in op.operands])
        return None if made is not None and _same(made, own, op.results[0]) else f"{own} does not follow"
    for i, (value, encoding) in enumerate(zip(op.operands, wanted, strict=True)):
        if encoding is not None and not _same(encoding, encoding_of(value), value):
            return f"operand {i} is {value.type}; {encoding} is expected"
    return None


def _wrong_size(type_: ir.Type, sizes: dict[str, int]) -> str | None:
    layout = of(type_)
    if layout.in_size(REGISTER) > _MOST_REGISTERS:
        return f"the layout of {type_} gives a thread {layout.in_size(REGISTER)} registers; {_MOST_REGISTERS} at most are expected"
    for dim, size in sizes.items():
        have = layout.in_size(dim) if layout.has_in(dim) else 1
        if have != size:
            return f"the layout of {type_} has {dim} of size {have}; the module says {size}"
    return None if layout.is_surjective else f"the layout of {type_} leaves out elements"


def _same(left: Encoding, right: Encoding | None, value: ir.Value) -> bool:
    if right is None:
        return False
    return places_alike(left, right, shape_of(value.type))


def _control(op: ir.Operation) -> str | None:
    """Error in the types along an edge: operand and target must have the same type; None if there is none."""
    for edge in edges_of(op):
        for a, b in zip(edge.values, edge.targets, strict=True):
            if a.type != b.type:
                return f"{a.type} and {b.type} are tied together"
    return None
