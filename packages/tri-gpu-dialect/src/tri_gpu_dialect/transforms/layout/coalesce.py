"""Lets neighbouring threads touch neighbouring addresses, in vectors as wide as alignment allows.

For every access through a tensor of pointers the axis analysis says along which dimension addresses run.
The access gets a blocked encoding that follows this dimension: each thread takes a vector of it, the lanes
of a warp the vectors next to one another.  Accesses of one shape and order share one encoding, so that what
is loaded, computed and stored needs no conversion in between; its vector is the widest that any of them can
use, and no wider than the widest element among them makes of it.  What only dots read changes its layout on the way to them, whatever it
was loaded in: such loads have an encoding of their own, so that bytes come in vectors as wide as those of what is stored.

Blocks of tensor descriptors go through shared memory: there, too, neighbours in a row are accessed in vectors.

Conversions stand before and after each access; ``remove-layout-conversions`` takes most of them away.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DescriptorLoadOp, DescriptorReduceOp, DescriptorStoreOp, PointerType
from tri_core.ir.access import access_of
from tri_core.ir.effects import READ_GLOBAL, WRITE_GLOBAL, effects_of, may_have
from tri_core.ir.traits import is_rematerializable
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined, is_listening
from tri_gpu_dialect.analysis import AxisInfos, axis_info
from tri_gpu_dialect.analysis.pipelined_loads import DOT_OPERANDS
from tri_gpu_dialect.edit import all_ops, convert, functions, module_int, retyped, set_encoding
from tri_gpu_dialect.encodings import Blocked, Encoding
from tri_gpu_dialect.layouts.cluster import ClusterBases
from tri_gpu_dialect.plans.cta_split import wanted_blocks
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.types import TensorInfo, pointee_bytes, tensor_info

__all__ = ["Coalesce", "lay_out"]


#: accesses of blocks through a descriptor
_BLOCKS = (DescriptorLoadOp, DescriptorStoreOp, DescriptorReduceOp)

#: the widest access of shared memory, in bits
_WIDEST = 128


@dataclass(frozen=True)
class Coalesce(Pass):
    """See the module; ``policy`` gives the widest vectors."""

    name: ClassVar[str] = "coalesce"

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Change the encodings of all accesses of ``module``."""
        shape = (
            module_int(module, "ttg.num-warps"),
            module_int(module, "ttg.threads-per-warp"),
            module_int(module, "ttg.num-ctas"),
        )
        for function in functions(module):
            ops = all_ops(function)
            accesses = [op for op in ops if effects_of(op) and may_have(op, READ_GLOBAL, WRITE_GLOBAL)]
            blocks = wanted_blocks(function, shape[-1])
            groups = (
                _groups(axis_info(function, self.policy.axis_rules), accesses, blocks)
                if accesses
                else defaultdict(list)
            )
            for access in (_block(op, blocks.get(op)) for op in ops if isa(op, *_BLOCKS)):
                groups[access.key].append(access)
            for group in groups.values():
                encoding = self.encoding(group, *shape)
                if is_listening():
                    self.tell(group, math.prod(shape))
                for access in group:
                    lay_out(access.op, encoding)

    def tell(self, group: list[_Access], threads: int) -> None:
        """Log the accesses of ``group`` that are narrower than possible, with the reason."""
        for access in group:
            widest = self.policy.vector_bits(access.bits, "global") // access.bits
            could = min(widest, max(access.info.numel // threads, 1))
            if access.contiguous < could:
                text = "a thread accesses elements in runs of {}, not {}: more are not known to be neighbours at aligned addresses"
                declined(self.name, access.op, text, access.contiguous, could)

    def encoding(
        self, group: list[_Access], num_warps: int, threads_per_warp: int, num_ctas: int
    ) -> Encoding:
        """The encoding that all accesses of ``group`` get."""
        first = group[0]
        threads = num_warps * threads_per_warp * num_ctas
        # what has no neighbours at all, numbers of rows say, is accessed one by one in any case
        rows = [a for a in group if a.is_run] or group
        widest = min(self.policy.vector_bits(a.bits, "global") // a.bits for a in rows)
        vector = min(max(a.contiguous for a in group), widest, max(first.info.numel // threads, 1))
        fastest = first.order[0]
        per_thread = tuple(vector if d == fastest else 1 for d in range(first.info.rank))
        return Blocked.make(
            first.info.shape, per_thread, first.order, num_warps, threads_per_warp, num_ctas, first.blocks
        )


@dataclass(frozen=True)
class _Access:
    """``order``: dimensions by contiguity; ``contiguous``: aligned neighbours along the first, in elements; ``is_run``: there are any, aligned or not.

    ``blocks``: how the blocks of a cluster share the tensor, where a dot says so; ``feeds_dots_alone``: nothing else reads it.
    """

    op: ir.Operation
    info: TensorInfo
    order: tuple[int, ...]
    contiguous: int
    bits: int
    blocks: ClusterBases | None = None
    feeds_dots_alone: bool = False
    is_run: bool = True

    @property
    def key(self) -> tuple[object, ...]:
        """Key that accesses of one layout share."""
        return self.info.shape, self.order, self.blocks, self.feeds_dots_alone


def _groups(
    infos: AxisInfos, ops: list[ir.Operation], blocks: Mapping[ir.Operation, ClusterBases]
) -> dict[tuple[object, ...], list[_Access]]:
    groups: dict[tuple[object, ...], list[_Access]] = defaultdict(list)
    for op in ops:
        through = access_of(op)
        if through is None:
            continue
        pointers = through.address
        info = tensor_info(pointers.type)
        if info is None or not isinstance(info.element_type, PointerType):
            continue
        contiguity = infos.of(pointers).contiguity
        # equally contiguous dimensions keep row-major order
        order = tuple(sorted(range(info.rank), key=lambda d: (-contiguity[d], -d)))
        contiguous = infos.contiguous(pointers, order[0])
        bits = pointee_bytes(pointers.type) * 8
        is_run = contiguity[order[0]] > 1
        access = _Access(op, info, order, contiguous, bits, blocks.get(op), _feeds_dots_alone(op), is_run)
        groups[access.key].append(access)
    return groups


def _feeds_dots_alone(load: ir.Operation) -> bool:
    """True if the result of ``load`` is used, and only as operands of dots, perhaps after cheap ops."""
    ahead, seen, dots = list(load.results), set(load.results), 0
    while ahead:
        for use in ahead.pop().uses:
            user = use.owner.operation
            if use.operand_number in DOT_OPERANDS.get(user.name, ()):
                dots += 1
                continue
            if not is_rematerializable(user):
                return False
            ahead += [r for r in user.results if r not in seen]
            seen.update(user.results)
    return dots > 0


def _block(op: ir.Operation, blocks: ClusterBases | None) -> _Access:
    """An access of a block, in rows."""
    access = access_of(op)
    assert access is not None
    info = tensor_info(access.value.type)
    assert info is not None
    contiguous = min(info.shape[-1], max(_WIDEST // info.bitwidth, 1))
    return _Access(op, info, tuple(reversed(range(info.rank))), contiguous, info.bitwidth, blocks)


def lay_out(op: ir.Operation, encoding: Encoding) -> None:
    """Give one access ``encoding``, its surroundings staying as they are."""
    for i, value in enumerate(op.operands):
        if tensor_info(value.type) is not None and retyped(value.type, encoding) != value.type:
            op.operands[i] = convert(value, encoding, ir.InsertionPoint(op), op.location)
    for result in op.results:
        info = tensor_info(result.type)
        if info is not None and info.encoding is not None and info.encoding != encoding:
            set_encoding(result, encoding)
            made = convert(result, info.encoding, ir.InsertionPoint.after(op), op.location)
            result.replace_all_uses_except(made, made.owner.operation)
