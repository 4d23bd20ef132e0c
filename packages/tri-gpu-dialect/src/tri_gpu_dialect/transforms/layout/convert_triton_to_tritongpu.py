"""Gives every tensor a place: TTIR becomes TTGIR.

Each tensor gets the default blocked encoding of its shape (one element per thread, last dimension
fastest).  Where an op wants something else of its operands (``expand_dims`` a slice of its result's layout,
``dot`` its operands' layouts), or gives something else (``reduce``), a ``ttg.convert_layout`` stands
between.  These conversions are where the later passes start from, not what remains.

Types are changed in place; no op is made anew.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import ClassVar

from tri_core.api import OutOfResources, Pass, StageContext, Unsupported
from tri_core.dialects.tt import BarrierOp, CallOp, DotOp
from tri_core.ir.regions import is_control, region_blocks
from tri_core.ir.traits import source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import Kind, encoding_of, pack_of
from tri_gpu_dialect.dialect.markers import CONVERSION_BYTES
from tri_gpu_dialect.edit import (
    GLOBAL,
    SHARED,
    all_ops,
    barrier,
    block_ops,
    convert,
    functions,
    set_encoding,
)
from tri_gpu_dialect.encodings import Blocked, Encoding
from tri_gpu_dialect.plans.conversion import PIECE_BYTES
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.types import bitwidth, tensor_info

__all__ = ["ConvertTritonToTritonGPU", "dot_encoding"]

Shape = tuple[int, ...]

#: elements of one tensor that a thread may have: each is a register and at least one instruction per op
MOST_ELEMENTS = 4096

#: columns of a dot's result that a thread has next to each other: what it reads and stores at once
DOT_RUN = 4

#: columns of a dot's result that neighbouring lanes have: a line of memory, in f32
DOT_LINE = 32


@dataclass(frozen=True)
class ConvertTritonToTritonGPU(Pass):
    """See the module; ``target`` is the target key's text that goes into the module's attributes.

    Where the ``policy`` has matrix instructions for warps of another size than ``threads_per_warp``, and they compute a dot
    of the module, warps have that size.
    """

    name: ClassVar[str] = "convert-triton-to-tritongpu"
    required: ClassVar[bool] = True

    target: str
    num_warps: int
    threads_per_warp: int
    num_ctas: int = 1
    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Set the module's execution attributes and convert its functions."""
        i32 = ir.IntegerType.get_signless(32)
        attributes = module.operation.attributes
        threads_per_warp = self._threads_per_warp(module)
        attributes["ttg.target"] = ir.StringAttr.get(self.target)
        attributes["ttg.num-warps"] = ir.IntegerAttr.get(i32, self.num_warps)
        attributes["ttg.threads-per-warp"] = ir.IntegerAttr.get(i32, threads_per_warp)
        attributes["ttg.num-ctas"] = ir.IntegerAttr.get(i32, self.num_ctas)
        if self.policy.conversion_bytes != PIECE_BYTES:
            attributes[CONVERSION_BYTES] = ir.IntegerAttr.get(i32, self.policy.conversion_bytes)
        conversion = _Conversion(replace(self, threads_per_warp=threads_per_warp))
        for function in functions(module):
            for block in function.regions[0].blocks:
                conversion.block(block)

    def _threads_per_warp(self, module: ir.Module) -> int:
        wanted = self.policy.dots.threads_per_warp
        if wanted in (0, self.threads_per_warp):
            return self.threads_per_warp
        dots = (op for function in functions(module) for op in all_ops(function) if isa(op, DotOp))
        return wanted if any(map(self.policy.mma, dots)) else self.threads_per_warp


@dataclass
class _Conversion:
    options: ConvertTritonToTritonGPU
    defaults: dict[Shape, Encoding] = field(default_factory=dict)

    def default(self, shape: Shape) -> Encoding:
        """The default encoding of tensors of ``shape``."""
        found = self.defaults.get(shape)
        if found is None:
            o = self.options
            found = Blocked.default(shape, o.num_warps, o.threads_per_warp, o.num_ctas)
            self.defaults[shape] = found
        return found

    def give_default(self, value: ir.Value) -> None:
        """Set the default encoding of a tensor."""
        info = tensor_info(value.type)
        if info is not None and info.encoding is None:
            set_encoding(value, self.default(info.shape))

    def check_size(self, op: ir.Operation, value: ir.Value) -> None:
        """OutOfResources for a tensor that would take hours to compile, and spill all there is."""
        info = tensor_info(value.type)
        o = self.options
        threads = o.num_warps * o.threads_per_warp * o.num_ctas
        if info is None or info.numel <= MOST_ELEMENTS * threads:
            return
        each = info.numel // threads
        raise OutOfResources(
            f"a tensor of shape {list(info.shape)} is {each} elements for each of {threads} threads; "
            f"{MOST_ELEMENTS} are the most",
            remedy=f"use smaller blocks in a loop, or num_warps={o.num_warps * each // MOST_ELEMENTS}",
            location=source_location(op.location),
            resource="elements per thread",
            need=each,
            have=MOST_ELEMENTS,
        )

    def block(self, block: ir.Block) -> None:
        """Convert the ops of ``block``; afterwards every value used in it has its default encoding."""
        for argument in block.arguments:
            self.give_default(argument)
        for op in block_ops(block):
            self.op(op)

    def op(self, op: ir.Operation) -> None:
        if is_control(op):
            for result in op.results:
                self.give_default(result)
            for inner in region_blocks(op):
                self.block(inner)
            return
        if isa(op, CallOp):
            raise Unsupported(
                "a call of a device function that was not inlined",
                remedy="remove noinline from the function",
                location=source_location(op.location),
            )
        if isa(op, BarrierOp):
            barrier(ir.InsertionPoint(op), op.location, SHARED | GLOBAL)
            op.erase()
            return
        for result in op.results:
            self.give_default(result)
            self.check_size(op, result)
        self.agree(op)

    def agree(self, op: ir.Operation) -> None:
        """Make operands and results agree, starting from the result where that is possible."""
        rule = self.options.policy.layout_rules.of(op)
        if rule.kind in (Kind.SOURCE, Kind.SINK, Kind.FIXED):
            return
        own = next((e for r in op.results if (e := encoding_of(r)) is not None), None)
        wanted = None
        if isa(op, DotOp):
            own = self.dot(op)
        elif pack_of(op) > 1 and own is not None:
            own = self.packed(op, pack_of(op))
        elif own is None and len(op.results) == 0:
            own = encoding_of(source_of(op))
        if own is not None:
            wanted = rule.operands(op, own)
        if wanted is None:
            self.follow(op, rule.results(op, [encoding_of(v) for v in op.operands]))
            return
        for i, encoding in enumerate(wanted):
            value = op.operands[i]
            if encoding is not None and encoding_of(value) != encoding:
                op.operands[i] = convert(value, encoding, ir.InsertionPoint(op), op.location)

    def follow(self, op: ir.Operation, encoding: Encoding | None) -> None:
        """Give the results what follows from the operands, converted back to their default for all users."""
        for result in op.results:
            info = tensor_info(result.type)
            if info is None or encoding is None:
                continue
            default = info.encoding
            assert default is not None
            if default != encoding:
                set_encoding(result, encoding)
                self.convert_after(op, result, default)

    def convert_after(self, op: ir.Operation, result: ir.Value, encoding: Encoding) -> None:
        made = convert(result, encoding, ir.InsertionPoint.after(op), op.location)
        result.replace_all_uses_except(made, made.owner.operation)

    def packed(self, op: ir.Operation, pack: int) -> Encoding:
        """Every group of ``pack`` neighbours, row-major, in one thread."""
        info = tensor_info(op.results[0].type)
        assert info is not None
        o, left = self.options, pack
        per_thread = [1] * info.rank
        for d in reversed(range(info.rank)):
            per_thread[d] = min(left, info.shape[d])
            left //= per_thread[d]
        order = tuple(reversed(range(info.rank)))
        encoding = Blocked.make(
            info.shape, tuple(per_thread), order, o.num_warps, o.threads_per_warp, o.num_ctas
        )
        for result in op.results:
            self.choose(op, result, encoding)
        return encoding

    def choose(self, op: ir.Operation, result: ir.Value, encoding: Encoding) -> None:
        """Give ``result`` this encoding, and its users the default one as before."""
        default = encoding_of(result)
        if default is not None and default != encoding:
            set_encoding(result, encoding)
            self.convert_after(op, result, default)

    def dot(self, op: ir.Operation) -> Encoding:
        """Tiles of the result per thread, so that loaded operands are used several times."""
        result = op.results[0]
        info = tensor_info(result.type)
        assert info is not None
        o = self.options
        bits = bitwidth(info.element_type)
        run = min(max(o.policy.vector_bits(bits, "shared") // bits, 1), DOT_RUN)
        encoding = dot_encoding(info.shape, o.num_warps, o.threads_per_warp, o.num_ctas, run)
        self.choose(op, result, encoding)
        return encoding


def dot_encoding(
    shape: Shape, num_warps: int, threads_per_warp: int, num_ctas: int = 1, run: int = DOT_RUN
) -> Blocked:
    """The encoding of a plain-FMA dot's result: as near as can be to a square of elements per thread.

    A thread's columns come in runs of at most ``run``, its rows one by one: lanes that follow each
    other along n read a whole line of ``b``, those along m neighbouring rows of ``a``, which are padded to
    lie in different banks.  Where rows are fewer than columns, warps that would leave a thread fewer rows than the
    square has share columns.
    """
    *batch, m, n = shape
    order = tuple(reversed(range(len(shape))))
    left = m * n * math.prod(batch) // (num_warps * threads_per_warp * num_ctas)
    run = min(run, n)
    if left < run or num_ctas > 1:
        return Blocked.make(shape, (1,) * len(shape), order, num_warps, threads_per_warp, num_ctas)
    columns = min(n, max(1 << (left.bit_length() // 2), run))
    lanes, warps = [1] * len(shape), [1] * len(shape)
    lanes[-1] = min(n // columns if run > 1 else n, DOT_LINE // run, threads_per_warp)
    lanes[-2] = min(m, threads_per_warp // lanes[-1])
    lanes[0] *= threads_per_warp // (lanes[-1] * lanes[-2])
    rows = max(left // columns, 1) if m < n else 1
    rest = num_warps
    for d in (*range(len(batch)), len(shape) - 2):
        warps[d] = min(max(shape[d] // (lanes[d] * (rows if d == len(batch) else 1)), 1), rest)
        rest //= warps[d]
    warps[-1] = rest
    return Blocked((*(1 for _ in shape[:-1]), run), tuple(lanes), tuple(warps), order)
