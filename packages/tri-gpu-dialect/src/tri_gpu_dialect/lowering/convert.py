"""TTGIR to LLVM IR text: the lowering as a whole, and the pipeline stage ``llir``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import field

from tri_core.abi import HiddenParameters
from tri_core.errors import InternalError, Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.llvm_text import to_llvm_text
from tri_core.locations import source_location
from tri_core.mlir import ir, run_passes
from tri_core.options import CommonOptions
from tri_core.passes import ttir_stage
from tri_core.pipeline import Anchor, PassList, Pipeline, Stage, StageContext, StageResult
from tri_core.target import Target
from tri_gpu_dialect.analysis import axis_info
from tri_gpu_dialect.dialect.markers import CONVERSION_BYTES, SHARED_BYTES
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.context import Lowering
from tri_gpu_dialect.lowering.machine import EmitMachineOps
from tri_gpu_dialect.lowering.primitives import Primitives
from tri_gpu_dialect.lowering.specialize import lower_body
from tri_gpu_dialect.lowering.table import LoweringTable
from tri_gpu_dialect.plans.conversion import PIECE_BYTES
from tri_gpu_dialect.transforms.memory.allocate_shared_memory import AllocateSharedMemory
from tri_gpu_dialect.transforms.memory.insert_barriers import InsertBarriers

__all__ = ["LoweredModule", "PrimitivesFactory", "TableFactory", "llir_stage", "lower"]

logger = logging.getLogger(__name__)

#: upstream passes that take structured control flow apart; `scf` leaves `cf` and `arith`, these `llvm`
FLATTEN = (
    "cse",
    "convert-scf-to-cf",
    "convert-arith-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
)

#: bytes of shared memory of a CTA, an attribute of modules whose buffers have their places

#: makes a debug scope of each function, so that locations become LLVM's
_LINE_INFO = "ensure-debug-info-scope-on-llvm-func"

#: makes the primitives for one compile: (target, options, threads_per_warp, warps per CTA)
PrimitivesFactory = Callable[[Target, CommonOptions, int, int], Primitives]

#: makes the complete lowering table for one compile
TableFactory = Callable[[Target, CommonOptions], LoweringTable]


@dataclass(frozen=True)
class LoweredModule:
    """The ``llvm`` dialect plus machine ops: what a simulator executes.

    ``shared_bytes`` is the shared memory of a CTA; ``name`` is the kernel's symbol; ``total_num_warps`` counts
    all warps of a CTA, ``num_warps`` those that run what is no partition of its own.
    """

    module: ir.Module
    name: str
    shared_bytes: int
    num_warps: int
    total_num_warps: int
    threads_per_warp: int
    num_ctas: int = 1
    hidden: HiddenParameters = field(default_factory=HiddenParameters)


@dataclass(frozen=True)
class _Shape:
    """The execution shape that TTGIR modules carry as attributes."""

    num_warps: int
    total_num_warps: int
    threads_per_warp: int
    num_ctas: int
    shared: int
    conversion_bytes: int

    @classmethod
    def of(cls, module: ir.Module) -> _Shape:
        attributes = module.operation.attributes

        def read(name: str, default: int) -> int:
            return ir.IntegerAttr(attributes[name]).value if name in attributes else default

        warps = read("ttg.num-warps", 4)
        return cls(
            warps,
            read("ttg.total-num-warps", warps),
            read("ttg.threads-per-warp", 32),
            read("ttg.num-ctas", 1),
            read(SHARED_BYTES, 0),
            read(CONVERSION_BYTES, PIECE_BYTES),
        )


def lower(
    module: ir.Module, target: Target, options: CommonOptions, primitives: Primitives, table: LoweringTable
) -> LoweredModule:
    """Lower the kernel of a TTGIR module; a new module, the given one stays as it is.

    Raises Unsupported, located, for an op without a rule and for what the target cannot do.
    """
    shape = _Shape.of(module)
    kernel = _kernel(module)
    name = ir.StringAttr(kernel.attributes["sym_name"]).value
    with kernel.location:
        lowered = ir.Module.create()
        made = _lower_kernel(kernel, name, lowered, shape, target, options, primitives, table)
    run_passes(lowered, FLATTEN)
    return LoweredModule(
        module=lowered,
        name=name,
        shared_bytes=shape.shared,
        num_warps=shape.num_warps,
        total_num_warps=shape.total_num_warps,
        threads_per_warp=shape.threads_per_warp,
        num_ctas=shape.num_ctas,
        hidden=made,
    )


def _kernel(module: ir.Module) -> ir.Operation:
    """The one function of ``module``; device functions have been inlined."""
    functions = [op.operation for op in module.body.operations if op.name == "tt.func"]
    public = [f for f in functions if "sym_visibility" not in f.attributes or _visibility(f) == "public"]
    if len(public) != 1:
        raise InternalError(f"a module to lower has one kernel; this one has {len(public)}")
    for function in functions:
        if function != public[0]:
            raise Unsupported(
                f"device function {function.attributes['sym_name']} is not inlined",
                remedy="remove noinline",
                location=source_location(function.location),
            )
    return public[0]


def _visibility(function: ir.Operation) -> str:
    return ir.StringAttr(function.attributes["sym_visibility"]).value


def _lower_kernel(
    kernel: ir.Operation,
    name: str,
    into: ir.Module,
    shape: _Shape,
    target: Target,
    options: CommonOptions,
    primitives: Primitives,
    table: LoweringTable,
) -> HiddenParameters:
    """Fill ``into``; gives what a launch passes after the kernel's own parameters."""
    primitives.in_clusters(shape.num_ctas)
    source = kernel.regions[0].blocks[0]
    function = ir.Operation.create("llvm.func", regions=1, attributes={}, ip=ir.InsertionPoint(into.body))
    entry = function.regions[0].blocks.append()
    with ir.InsertionPoint(entry):
        builder = Builder(into, entry)
        lowering = Lowering(
            builder,
            primitives,
            table,
            target,
            options,
            axis_info(kernel, table.axis_rules),
            shape.num_warps,
            shape.conversion_bytes,
        )
        lowering.shared_bytes = shape.shared
        types = [lowering.storage(argument.type) for argument in source.arguments]
        arguments = [
            [entry.add_argument(t, a.location)] for t, a in zip(types, source.arguments, strict=True)
        ]
        if any(op.name == "ttg.get_grid_size" for op in all_ops(kernel)):
            lowering.take_grid()
        if any(op.name == "ttg.fetch_tile" for op in all_ops(kernel)):
            lowering.take_counter()
        allocations = [op for op in all_ops(kernel) if op.name == "ttg.global_scratch_alloc"]
        if allocations:
            lowering.take_scratch(allocations)
        if primitives.records_failures and any(op.name == "tt.assert" for op in all_ops(kernel)):
            lowering.take_record()
        lower_body(lowering, source, arguments)
        ir.Operation.create("llvm.return")
    _set_signature(function, name, [a.type for a in entry.arguments], len(lowering.descriptors), primitives)
    return lowering.hidden


def _set_signature(
    function: ir.Operation, name: str, types: list[ir.Type], descriptors: int, primitives: Primitives
) -> None:
    """The last ``descriptors`` parameters are encoded descriptors, passed by value."""
    signature = ir.Type.parse(f"!llvm.func<void ({', '.join(map(str, types))})>")
    function.attributes["sym_name"] = ir.StringAttr.get(name)
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    for key, value in primitives.kernel_attributes(name).items():
        function.attributes[key] = value
    if descriptors:
        by_value = primitives.descriptor_attributes()
        plain = [ir.DictAttr.get({})] * (len(types) - descriptors)
        given = [*plain, *[ir.DictAttr.get(dict(by_value))] * descriptors]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(given)


@dataclass(frozen=True, kw_only=True)
class _LowerToLLVM:
    """Action of the stage ``llir``."""

    primitives: PrimitivesFactory
    table: TableFactory
    passes: PassList
    module_attributes: Mapping[str, str] = field(default_factory=dict)
    lines: bool = False

    def __call__(self, module: ir.Module, context: StageContext) -> StageResult:
        lowered, words = _machine_level(module, context, self.primitives, self.table)
        for name, value in self.module_attributes.items():
            lowered.module.operation.attributes[name] = ir.StringAttr.get(value)
        self.passes.run("llir", lowered.module, context)
        if self.lines or context.knobs.get("LINE_INFO"):
            run_passes(lowered.module, f"{_LINE_INFO}{{emission-kind={words.line_info}}}")
        return _result(lowered, to_llvm_text(lowered.module), words)


def _machine_level(
    module: ir.Module, context: StageContext, primitives: PrimitivesFactory, table: TableFactory
) -> tuple[LoweredModule, Primitives]:
    """The ``llvm`` dialect with machine ops, and the words that it was written in."""
    target, options = context.target, context.options
    rules = table(target, options)
    if SHARED_BYTES not in module.operation.attributes:
        # text of another compiler, which places shared memory and barriers where it lowers
        measures = rules.scratch_measures
        for step in (AllocateSharedMemory(measures=measures), InsertBarriers(measures=measures)):
            step.apply(module, context)
    shape = _Shape.of(module)
    words = primitives(target, options, shape.threads_per_warp, shape.total_num_warps)
    lowered = lower(module, target, options, words, rules)
    if context.on_pass is not None:
        context.on_pass("llir", "lower", lowered.module)
    return lowered, words


def _result(lowered: LoweredModule, text: str, words: Primitives) -> StageResult:
    more = lowered.total_num_warps != lowered.num_warps
    return StageResult(
        artifact=text,
        resources={"shared": lowered.shared_bytes},
        entry_points=(lowered.name,),
        attrs={
            "num_warps": lowered.num_warps,
            "threads_per_warp": lowered.threads_per_warp,
            "num_ctas": lowered.num_ctas,
            **({"total_num_warps": lowered.total_num_warps} if more else {}),
            **lowered.hidden.to_attrs(),
            **words.image_attributes(),
        },
    )


@dataclass(frozen=True, kw_only=True)
class _LowerForSimulation:
    """Action of the stage ``llir`` of a simulated target: text of the ``llvm`` dialect with machine ops."""

    primitives: PrimitivesFactory
    table: TableFactory
    passes: PassList

    def __call__(self, module: ir.Module, context: StageContext) -> StageResult:
        lowered, words = _machine_level(module, context, self.primitives, self.table)
        self.passes.run("llir", lowered.module, context)
        text: str = lowered.module.operation.get_asm(enable_debug_info=True, assume_verified=True)
        return _result(lowered, text, words)


def simulated_pipeline(
    ttgir: Stage, primitives: PrimitivesFactory, table: TableFactory, ttir: Stage | None = None
) -> Pipeline:
    """The pipeline of a simulated target: ``ttir`` and ``ttgir`` as on the device, then a last stage ``llir``.

    Its image is text of the ``llvm`` dialect with machine ops and source locations.  Passes at both anchors,
    ``llir.machine`` and ``llir.end``, run on this level, since nothing is emitted.
    """
    passes = PassList([Anchor("llir.machine"), Anchor("llir.end")])
    run = _LowerForSimulation(primitives=primitives, table=table, passes=passes)
    last = Stage(name="llir", kind="text", run=run, passes=passes, final=True)
    return Pipeline(stages=(ttir or ttir_stage(), ttgir, last))


def llir_stage(
    primitives: PrimitivesFactory, table: TableFactory, target: Target, *, lines: bool = False
) -> Stage:
    """The stage ``llir``: from a TTGIR module to LLVM IR text.

    ``primitives(target, options, threads_per_warp, num_warps)``, all warps of a CTA counted, gives the vendor's words and
    ``table(target, options)`` the rules: :func:`tri_gpu_dialect.lowering.generic_table` plus what plugins
    add through ``tri_lowering``.  Passes at the anchor ``llir.machine`` see the ``llvm`` dialect with machine
    ops, those at ``llir.end`` plain ``llvm``.  ``lines``: the text has source lines whether a knob asks for them or not.  The result's resources hold ``shared`` in bytes.
    """
    llvm = target.spec.llvm
    attributes = {}
    if llvm is not None:
        attributes = {"llvm.target_triple": llvm.triple, "llvm.data_layout": llvm.data_layout}
        attributes = {name: value for name, value in attributes.items() if value}
    passes = PassList([Anchor("llir.machine"), EmitMachineOps(), Anchor("llir.end")])
    run = _LowerToLLVM(
        primitives=primitives, table=table, passes=passes, module_attributes=attributes, lines=lines
    )
    return Stage(name="llir", kind="text", run=run, passes=passes)
