"""Two units that nothing in tri knows of, each described here alone by public interfaces: pipelined as they need, right in the simulator.

The *wave* unit has warps of 64, 64 banks of shared memory and no asynchronous copies: loads go through registers.  The *block* unit has warps
of 16 and loads operands as it takes them: a pass of its own gives loads that layout, and they stay in registers up to their use.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

import tri
from integration.kernels.matmul import matmul
from integration.tests.third_party_ops import BLOCK, BlockLoadOp
from tri_core import mlir
from tri_core.api import CommonOptions, Pass, StageContext, Target, TargetKey, TargetSpec
from tri_core.codegen import service
from tri_core.dialects.tt import LoadOp
from tri_core.ir.rewriting import rebuild
from tri_core.ir.traits import source_of
from tri_core.ir.views import defining_op, isa
from tri_core.mlir import ext, ir, registry
from tri_core.passes import ttir_stage
from tri_core.target import Memory
from tri_core.testing import filecheck
from tri_core.text import parse_module
from tri_gpu_dialect import ttgir_stage
from tri_gpu_dialect.dialect import ConvertLayoutOp
from tri_gpu_dialect.edit import all_ops, convert
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding, Slice, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA, generic_table, lower
from tri_gpu_dialect.policies import DefaultPolicy, DotPolicy, MatrixInstruction, PipelinePolicy
from tri_gpu_dialect.policies.loads import LoadStrategy
from tri_gpu_dialect.policies.operands import ByCycles
from tri_gpu_dialect.testing import ReferencePrimitives
from tri_gpu_dialect.transforms.pipeline.building import build
from tri_gpu_dialect.transforms.pipeline.strategies import InRegisters, ThroughRegisters
from tri_gpu_dialect.types import TensorInfo, tensor_info, tensor_type
from tri_runtime.simulator import simulate

Array = npt.NDArray[Any]
#: sizes, and whether they are over registers or lanes and along which dimension, of the elements of operands and result
Parts = Sequence[tuple[int, str, str]]


class WAVE(ext.Dialect, name="wave"):  # type: ignore[call-arg]  # the bindings read it
    """A matrix unit of 64 lanes."""


WAVE_PARTS: Mapping[int, Parts] = {
    0: ((2, REGISTER, "dim1"), (4, LANE, "dim1"), (16, LANE, "dim0")),
    1: ((2, REGISTER, "dim0"), (4, LANE, "dim0"), (16, LANE, "dim1")),
    ACCUMULATOR: ((4, REGISTER, "dim1"), (4, LANE, "dim1"), (16, LANE, "dim0")),
}
BLOCK_PARTS: Mapping[int, Parts] = {
    0: ((16, LANE, "dim1"), (8, REGISTER, "dim0")),
    1: ((16, LANE, "dim1"), (16, REGISTER, "dim0")),
    ACCUMULATOR: ((16, LANE, "dim1"), (8, REGISTER, "dim0")),
}


def layout_of(parts: Parts) -> LinearLayout:
    """Layout that ``parts`` give."""
    layout = LinearLayout.identity1d(1, REGISTER, "dim0") * LinearLayout.identity1d(1, LANE, "dim1")
    for size, place, dim in parts:
        layout *= LinearLayout.identity1d(size, place, dim)
    return layout.transpose_outs(["dim0", "dim1"])


@encoding(WAVE, "matrix", keys={"warps_per_cta": "warpsPerCTA"})
@dataclass(frozen=True)
class WaveMatrix(MatrixEncoding):
    """16 x 16 sums of 8 products."""

    warps_per_cta: tuple[int, ...] = (1, 1)

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """Neighbours along k are in a lane's registers."""
        return layout_of(WAVE_PARTS[role])


@encoding(BLOCK, "matrix", keys={"warps_per_cta": "warpsPerCTA"})
@dataclass(frozen=True)
class BlockMatrix(MatrixEncoding):
    """8 x 16 sums of 16 products."""

    warps_per_cta: tuple[int, ...] = (1, 1)

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """A row of a block is one register of all lanes."""
        return layout_of(BLOCK_PARTS[role])


@cache
def places(kind: str, role: int) -> tuple[Array, Array]:
    """The row and the column of each lane's registers: [lanes, registers]."""
    parts = (WAVE_PARTS if kind == "wave" else BLOCK_PARTS)[role]
    count = {p: int(np.prod([size for size, place, _ in parts if place == p])) for p in (LANE, REGISTER)}
    index = dict(zip((LANE, REGISTER), np.indices((count[LANE], count[REGISTER])), strict=True))
    found = {"dim0": np.zeros_like(index[LANE]), "dim1": np.zeros_like(index[LANE])}
    reached = {"dim0": 1, "dim1": 1}
    for size, place, dim in parts:
        found[dim] = found[dim] + index[place] % size * reached[dim]
        index[place] = index[place] // size
        reached[dim] *= size
    return found["dim0"], found["dim1"]


def multiplied(kind: str, operands: Sequence[Array]) -> list[Array]:
    """The product in double precision, rounded once, of a warp's registers."""
    matrices, begin = [], 0
    for role in (0, 1, ACCUMULATOR):
        rows, columns = places(kind, role)
        lanes, registers = rows.shape
        values = np.stack(operands[begin : begin + registers], axis=1).astype(np.float64)
        matrix = np.zeros((len(values) // lanes, rows.max() + 1, columns.max() + 1))
        matrix[:, rows, columns] = values.reshape(-1, lanes, registers)
        matrices.append(matrix)
        begin += registers
    a, b, c = matrices
    rows, columns = places(kind, ACCUMULATOR)
    made = (a @ b + c)[:, rows, columns].reshape(-1, rows.shape[1]).astype(np.float32)
    return list(made.T)


class WaveMultiplyOp(MachineOp, dialect=WAVE, name="multiply"):
    """Registers of the left operand, the right one and the accumulator."""

    outputs: Sequence[ext.Result[Any]]
    left: Sequence[ext.Operand[Any]]
    right: Sequence[ext.Operand[Any]]
    total: Sequence[ext.Operand[Any]]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        return multiplied("wave", operands)


class BlockMultiplyOp(MachineOp, dialect=BLOCK, name="multiply"):
    """Registers of the left operand, the right one and the accumulator."""

    outputs: Sequence[ext.Result[Any]]
    left: Sequence[ext.Operand[Any]]
    right: Sequence[ext.Operand[Any]]
    total: Sequence[ext.Operand[Any]]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        return multiplied("blocks", operands)


class UnitPrimitives(ReferencePrimitives):
    """The reference GPU with another matrix unit."""

    multiply: ClassVar[type[Any]]

    def matrix_multiply(
        self,
        b: Builder,
        dot: ir.Operation,
        left: Sequence[ir.Value],
        right: Sequence[ir.Value],
        total: Sequence[ir.Value],
    ) -> Sequence[ir.Value]:
        groups = ir.DenseI32ArrayAttr.get([len(left), len(right), len(total)])
        made: Sequence[ir.Value] = self.multiply.build(
            [*left, *right, *total], [t.type for t in total], {"operandSegmentSizes": groups}
        )
        return made


class WavePrimitives(UnitPrimitives):
    """The wave unit's."""

    multiply = WaveMultiplyOp


class BlockPrimitives(UnitPrimitives):
    """The block unit's."""

    multiply = BlockMultiplyOp


@dataclass(frozen=True)
class LoadBlocks(Pass):
    """Loads of operands give them as the unit takes them: where they are loaded, not behind."""

    name: ClassVar[str] = "blocks-load"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """A conversion of what is loaded becomes one of the pointers and the mask, which a loop carries from its start."""
        for op in all_ops(module.operation):
            load = defining_op(source_of(op), LoadOp) if isa(op, ConvertLayoutOp) else None
            info = tensor_info(op.results[0].type) if load is not None else None
            if load is None or info is None or not isinstance(info.encoding, DotOperand):
                continue
            old = load.operation
            with ir.InsertionPoint(old), old.location:
                operands = [
                    convert(v, info.encoding, ir.InsertionPoint(old), old.location) for v in old.operands
                ]
            made = rebuild(old, operands=operands, results=[op.results[0].type])
            op.results[0].replace_all_uses_with(made.results[0])
            op.erase()


@dataclass(frozen=True)
class LoadOperands(Pass):
    """Block loads give what the conversion behind them gives."""

    name: ClassVar[str] = "blocks-load-operands"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """The hardware has blocks in that layout alone."""
        for op in all_ops(module.operation):
            load = defining_op(source_of(op), BlockLoadOp) if isa(op, ConvertLayoutOp) else None
            if load is not None:
                made = rebuild(load.operation, results=[op.results[0].type])
                op.results[0].replace_all_uses_with(made.results[0])
                op.erase()


@dataclass(frozen=True)
class ExpandLoads(Pass):
    """A block load becomes, for the simulator, loads through pointers."""

    name: ClassVar[str] = "blocks-expand-loads"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """One element of each register and lane."""
        for op in [op for op in all_ops(module.operation) if isa(op, BlockLoadOp)]:
            info = tensor_info(op.results[0].type)
            assert info is not None
            with ir.InsertionPoint(op), op.location:
                base, row, column, stride = op.operands
                rows, columns = (self.places(n, axis, info) for axis, n in enumerate((row, column)))
                offsets = build(
                    "arith.addi",
                    [build("arith.muli", [rows, splat(stride, rows.type)], [rows.type]), columns],
                    [rows.type],
                )
                pointers = tensor_type(info.shape, base.type, info.encoding)
                addresses = build("tt.addptr", [build("tt.splat", [base], [pointers]), offsets], [pointers])
                sizes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0])}
                loaded = build("tt.load", [addresses], [op.results[0].type], sizes)
            op.results[0].replace_all_uses_with(loaded)
            op.erase()

    def places(self, first: ir.Value, axis: int, info: TensorInfo) -> ir.Value:
        """The row, or the column, of each element."""
        encoded = info.encoding
        assert encoded is not None
        line = tensor_type((info.shape[axis],), first.type, Slice(1 - axis, encoded))
        bounds = {k: ir.IntegerAttr.get(first.type, v) for k, v in (("start", 0), ("end", info.shape[axis]))}
        own = build("tt.make_range", [], [line], bounds)
        own = build("arith.addi", [own, splat(first, line)], [line])
        thin = tuple(size if dim == axis else 1 for dim, size in enumerate(info.shape))
        own = build(
            "tt.expand_dims",
            [own],
            [tensor_type(thin, first.type, info.encoding)],
            {"axis": ir.IntegerAttr.get(first.type, 1 - axis)},
        )
        return build("tt.broadcast", [own], [tensor_type(info.shape, first.type, info.encoding)])


def splat(value: ir.Value, type_: ir.Type) -> ir.Value:
    """``value`` everywhere in ``type_``."""
    return build("tt.splat", [value], [type_])


def policy(kind: MatrixEncoding, shape: tuple[int, int, int], loads: LoadStrategy, k: int) -> DefaultPolicy:
    """A unit of one instruction."""
    row = MatrixInstruction(a="f16", b="f16", accumulator="f32", shape=shape, k_width=k, encoding=kind)
    return DefaultPolicy(
        dots=DotPolicy(instructions=(row,), operands=ByCycles()), pipeline=PipelinePolicy(loads=loads)
    )


def target(name: str, lanes: int, shared: Memory) -> Target:
    """A target of warps of ``lanes``."""
    spec = TargetSpec(
        threads_per_warp=(lanes,),
        dtypes=frozenset(("fp16", "bf16")),
        memories=(Memory(name="global", address_space=1), shared),
        limits={"shared": 65536, "threads": 1024},
    )
    return Target(key=TargetKey(name, "v1"), spec=spec)


WAVE_TARGET = target("wave", 64, Memory(name="shared", address_space=3, banks=64))
BLOCK_TARGET = target("blocks", 16, Memory(name="shared", address_space=3, banks=16))

for each in (WAVE, BLOCK):
    registry.add_dialect(each)

NUMBERS = ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")
ONES = ("stride_ak", "stride_bn", "stride_cn")


def source() -> tri.ASTSource:
    """A matmul of blocks of 32 x 32 x 32."""
    constants = {**dict.fromkeys(ONES, 1), "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8}
    types = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16") | dict.fromkeys(NUMBERS, "i32")
    names = matmul.arg_names
    hints = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if name in types}
    return tri.ASTSource(matmul, {name: types.get(name, "constexpr") for name in names}, constants, hints)


def run(
    unit: Target,
    known: DefaultPolicy,
    words_of: type[UnitPrimitives],
    passes: Mapping[str, Sequence[Pass]],
    stages: int,
    check: Callable[[str], None],
) -> None:
    """A matmul on ``unit``, against float64."""
    m, n, k = 64, 96, 160
    options = CommonOptions(num_warps=2, num_stages=stages)
    context = StageContext(target=unit, options=options, kernel_name="matmul", codegen=service())
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float16)
    lanes = unit.spec.threads_per_warp[0]
    with mlir.session():
        module: Any = source().build(unit, options)
        module = ttir_stage().run(module, context).artifact
        module = ttgir_stage(unit, options, known, passes).run(module, context).artifact
        check(str(module))
        words = words_of(unit, options, threads_per_warp=lanes, num_warps=2)
        lowered = lower(module, unit, options, words, generic_table())
        simulate(
            lowered.module,
            lowered.name,
            (6, 1, 1),
            [a, b, c, m, n, k, k, n, n],
            num_threads=2 * lanes,
            threads_per_warp=lanes,
            shared_bytes=lowered.shared_bytes,
        )
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - expected).max() <= 1e-3 * np.abs(expected).max()


WAVE_LOOP = """
// CHECK: scf.for
// CHECK-COUNT-2: "tt.load"
// CHECK: "ttg.local_load"
// CHECK: "tt.dot"
// CHECK-COUNT-2: "ttg.local_store"
// CHECK: scf.yield
"""
BLOCK_LOOP = """
// CHECK-NOT: "ttg.local_alloc"
// CHECK: scf.for
// CHECK: "tt.load"{{.*}} #ttg.dot_op<
// CHECK: "tt.load"{{.*}} #ttg.dot_op<
// CHECK-NOT: "ttg.convert_layout"
// CHECK: "tt.dot"
// CHECK: scf.yield
"""


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_unit_of_64_lanes_and_64_banks_loads_through_registers(stages: int) -> None:
    def check(text: str) -> None:
        assert "#wave.matrix" in text
        assert "async_copy" not in text
        if stages > 1:
            filecheck(text, WAVE_LOOP)
        else:
            assert "ttg.local_store" not in text

    known = policy(WaveMatrix(), (16, 16, 8), ThroughRegisters(stages=3), 2)
    run(WAVE_TARGET, known, WavePrimitives, {}, stages, check)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_unit_that_loads_blocks_keeps_them_in_registers(stages: int) -> None:
    def check(text: str) -> None:
        assert "#blocks.matrix" in text
        filecheck(text, BLOCK_LOOP)
        # the prologue's, the loop's
        assert text.count('"tt.load"') == 2 * stages

    known = policy(BlockMatrix(), (8, 16, 16), InRegisters(stages=3), 1)
    run(BLOCK_TARGET, known, BlockPrimitives, {"ttgir.matmul": [LoadBlocks()]}, stages, check)


BLOCK_KERNEL = """
module {
  tt.func public @product(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>, %c: !tt.ptr<f32>, %k: i32, %n: i32) {
    %zero = arith.constant 0 : i32
    %step = arith.constant 32 : i32
    %none = arith.constant dense<0.0> : tensor<32x32xf32>
    %total = scf.for %i = %zero to %k step %step iter_args(%sum = %none) -> (tensor<32x32xf32>) : i32 {
      %left = "blocks.load"(%a, %zero, %i, %k) : (!tt.ptr<f16>, i32, i32, i32) -> tensor<32x32xf16>
      %right = "blocks.load"(%b, %i, %zero, %n) : (!tt.ptr<f16>, i32, i32, i32) -> tensor<32x32xf16>
      %next = tt.dot %left, %right, %sum : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
      scf.yield %next : tensor<32x32xf32>
    }
    %range = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %rows = tt.expand_dims %range {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %columns = tt.expand_dims %range {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %stride = tt.splat %n : i32 -> tensor<32x1xi32>
    %begins = arith.muli %rows, %stride : tensor<32x1xi32>
    %begins_2d = tt.broadcast %begins : tensor<32x1xi32> -> tensor<32x32xi32>
    %columns_2d = tt.broadcast %columns : tensor<1x32xi32> -> tensor<32x32xi32>
    %offsets = arith.addi %begins_2d, %columns_2d : tensor<32x32xi32>
    %base = tt.splat %c : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    %addresses = tt.addptr %base, %offsets : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>
    tt.store %addresses, %total : tensor<32x32x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize("k", [0, 32, 160])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_load_of_a_third_party_is_issued_ahead(stages: int, k: int) -> None:
    """Its op says what it reads, and that is enough; what it reads beyond the last iteration is not read at all."""
    known = policy(BlockMatrix(), (8, 16, 16), InRegisters(stages=3), 1)
    options = CommonOptions(num_warps=2, num_stages=stages)
    context = StageContext(target=BLOCK_TARGET, options=options, kernel_name="product", codegen=service())
    passes: Mapping[str, Sequence[Pass]] = {"ttgir.pipeline": [LoadOperands()], "ttgir.end": [ExpandLoads()]}
    random = np.random.default_rng(k)
    a, b = (random.standard_normal(s).astype(np.float16) for s in ((32, k), (k, 32)))
    c = np.full((32, 32), np.nan, np.float32)
    with mlir.session():
        module: Any = ttir_stage().run(parse_module(BLOCK_KERNEL), context).artifact
        module = ttgir_stage(BLOCK_TARGET, options, known, passes).run(module, context).artifact
        # the prologue's, the loop's
        assert str(module).count('"tt.load"') == 2 * stages
        assert '"ttg.local_alloc"' not in str(module)
        words = BlockPrimitives(BLOCK_TARGET, options, threads_per_warp=16, num_warps=2)
        lowered = lower(module, BLOCK_TARGET, options, words, generic_table())
        simulate(
            lowered.module,
            lowered.name,
            (1, 1, 1),
            [a, b, c, k, 32],
            num_threads=32,
            threads_per_warp=16,
            shared_bytes=lowered.shared_bytes,
        )
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-3)
