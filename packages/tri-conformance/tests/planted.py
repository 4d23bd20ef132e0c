"""Planted bugs: ``python planted.py NAME`` breaks one thing in this process and runs the cases that it affects.

Prints JSON: the ids of the cases by verdict.  ``NAME`` is a row of BUGS, or ``none:cpu``/``none:gpu`` for all of
their cases with nothing broken.  Bugs in the kernel's IR hit any backend, for they are planted behind its TTIR passes.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tri
import tri.language as tl
from tri_conformance import Selection, Subject, cases, judge
from tri_conformance.modules import encodings_of
from tri_core import mlir
from tri_core.options import CommonOptions
from tri_core.pipeline import PassList
from tri_core.plugins import manager
from tri_runtime.registry import runtime

ir = mlir.ir


@dataclass(frozen=True)
class Bug:
    """How to plant it, where it shows (``cpu`` or ``gpu``: a simulated target), and which cases must see it."""

    plant: Callable[[str], None]
    where: str
    seen_by: tuple[str, ...]


def replace(module: str, path: str, make: Callable[[Any], Any]) -> None:
    """Put ``make(old)`` in the place of an attribute, and wherever else the same function was imported to."""
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    old = getattr(owner, name)
    new = make(old)
    setattr(owner, name, new)
    package = module.split(".")[0]
    for other in [m for n, m in sys.modules.items() if n.split(".")[0] == package]:
        if not outer and vars(other).get(name) is old:
            setattr(other, name, new)


# --- in the kernel's IR ---------------------------------------------------------------------------------------


def in_ttir(*names: str) -> Callable[[Callable[[Any], object]], Callable[[str], None]]:
    """Apply a function to each op called so, after the stage's own passes."""

    def wrap(change: Callable[[Any], object]) -> Callable[[str], None]:
        def plant(target: str) -> None:
            del target
            run = PassList.run

            def running(self: PassList, stage: str, module: Any, context: Any) -> None:
                run(self, stage, module, context)
                if stage == "ttir":
                    for op in list(_ops(module, names)):
                        change(op)

            PassList.run = running  # type: ignore[method-assign]

        return plant

    return wrap


def _ops(module: Any, names: tuple[str, ...]) -> Iterator[Any]:
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return iter(found)


def _set_integer(op: Any, name: str, value: int) -> None:
    op.attributes[name] = ir.IntegerAttr.get(ir.IntegerAttr(op.attributes[name]).type, value)


def _integer(op: Any, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


@in_ttir("arith.cmpi")
def one_more_behind_the_mask(op: Any) -> None:
    """``i <= n`` for ``i < n``."""
    if _integer(op, "predicate") == 2 and isinstance(op.results[0].type, ir.RankedTensorType):
        _set_integer(op, "predicate", 3)


@in_ttir("tt.load")
def other_is_dropped(op: Any) -> None:
    """What is masked off is 0, whatever `other` says."""
    if len(op.operands) == 3:
        kind = ir.RankedTensorType(op.operands[2].type)
        float_kind = isinstance(kind.element_type, ir.FloatType)
        zero = (ir.FloatAttr if float_kind else ir.IntegerAttr).get(kind.element_type, 0)
        attributes = {"value": ir.DenseElementsAttr.get_splat(kind, zero)}
        made = ir.Operation.create(
            "arith.constant", results=[kind], attributes=attributes, ip=ir.InsertionPoint(op), loc=op.location
        )
        op.operands[2] = made.results[0]


@in_ttir("arith.extsi")
def sign_is_lost(op: Any) -> None:
    """Integers are widened as if they were unsigned: large products and negative numbers go wrong."""
    made = ir.Operation.create(
        "arith.extui",
        results=[op.results[0].type],
        operands=[op.operands[0]],
        ip=ir.InsertionPoint(op),
        loc=op.location,
    )
    op.results[0].replace_all_uses_with(made.results[0])


@in_ttir("tt.reduce")
def ties_go_to_the_last(op: Any) -> None:
    """Of equal elements the one with the larger index is taken."""
    for inner in op.regions[0].blocks[0].operations:
        if (
            inner.operation.name == "arith.cmpi"
            and _integer(inner, "predicate") == 2
            and len(op.operands) == 2
        ):
            _set_integer(inner, "predicate", 4)


@in_ttir("tt.scan")
def scans_run_backwards(op: Any) -> None:
    """A scan from the other end."""
    op.attributes["reverse"] = ir.BoolAttr.get(not ir.BoolAttr(op.attributes["reverse"]).value)


@in_ttir("tt.dot")
def accumulator_is_forgotten(op: Any) -> None:
    """The dot starts from the dot's own operand of zeros."""
    kind = ir.RankedTensorType(op.operands[2].type)
    zero = (ir.FloatAttr if isinstance(kind.element_type, ir.FloatType) else ir.IntegerAttr).get(
        kind.element_type, 0
    )
    made = ir.Operation.create(
        "arith.constant",
        results=[kind],
        attributes={"value": ir.DenseElementsAttr.get_splat(kind, zero)},
        ip=ir.InsertionPoint(op),
        loc=op.location,
    )
    op.operands[2] = made.results[0]


# --- in a backend that needs no device ------------------------------------------------------------------------


def rounding_toward_zero(target: str) -> None:
    """Floats are cut off instead of rounded to the nearest."""
    del target
    replace(
        "tri_backend_cpu.lower.casts",
        "narrow",
        lambda old: lambda b, v, d, **_: old(b, v, d, toward_zero=True),
    )


def sums_are_not_rounded_up(target: str) -> None:
    """A function of libdevice that rounds up rounds to the nearest."""
    del target
    table = importlib.import_module("tri.language.libdevice.catalogue").CATALOGUE
    table["add_ru"] = table["add_rn"]


def wrong_neutral_element(target: str) -> None:
    """Reductions start from 1."""
    del target
    importlib.import_module("tri_backend_cpu.lower.kernel")
    replace(
        "tri_backend_cpu.lower.accumulate",
        "neutral_element",
        lambda old: lambda *a: 1 if old(*a) is not None else None,
    )


def grid_z_is_ignored(target: str) -> None:
    """The launcher runs one layer of the grid."""
    _wrap_launches(
        target, lambda launch: lambda grid, stream, args: launch((*grid[:2], min(grid[2], 1)), stream, args)
    )


def axes_are_exchanged(target: str) -> None:
    """The launcher takes x for y."""
    _wrap_launches(
        target, lambda launch: lambda grid, stream, args: launch((grid[1], grid[0], grid[2]), stream, args)
    )


def _wrap_launches(target: str, wrap: Callable[[Any], Any]) -> None:
    live: Any = runtime(Subject(target).target.device_kind)
    launcher = live.launcher
    live.launcher = lambda kernel, image: wrap(launcher(kernel, image))


def limits_are_not_checked(target: str) -> None:
    """Any grid is taken for an empty one."""
    _wrap_launches(
        target,
        lambda launch: (
            lambda grid, stream, args: launch(tuple(g if g < 65536 else 0 for g in grid), stream, args)
        ),
    )


# --- in the language -------------------------------------------------------------------------------------------


@tri.jit
def _plus(a, b):  # type: ignore[no-untyped-def]
    return a + b


@tri.jit
def _narrow_cumsum(input, axis=0, reverse: tl.constexpr = False, dtype: tl.constexpr = None):  # type: ignore[no-untyped-def, assignment]
    return tl.associative_scan(input, axis, _plus, reverse).to(tl.int32 if dtype is None else dtype)  # type: ignore[union-attr]


def running_sums_stay_narrow(target: str) -> None:
    """A running sum wraps in the type of its operand, and is widened afterwards."""
    del target
    importlib.import_module("tri_conformance.kernels.each_type").tl.cumsum = _narrow_cumsum


def the_common_type_decides_on_the_sign(target: str) -> None:
    """``>>`` is logical when either operand is unsigned."""
    del target
    language = importlib.import_module("tri.language.arithmetic")
    plain = language.BINARY[">>"]
    language.BINARY[">>"] = lambda b, x, y: plain(b, *language.operands(b, ">>", x, y))


# --- in the driver --------------------------------------------------------------------------------------------


def key_ignores_an_option(target: str) -> None:
    """Kernels for other options are taken from the cache."""
    del target
    plain = CommonOptions.to_json
    CommonOptions.to_json = lambda self: {k: v for k, v in plain(self).items() if k != "enable_fp_fusion"}  # type: ignore[method-assign]


def code_differs_each_time(target: str) -> None:
    """A number that counts compiles gets into the code."""
    del target
    count = itertools.count()
    run = PassList.run

    def running(self: PassList, stage: str, module: Any, context: Any) -> None:
        run(self, stage, module, context)
        if stage == "ttir":
            module.operation.attributes["tt.compiled"] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(32), next(count)
            )

    PassList.run = running  # type: ignore[method-assign]


# --- in the GPU's common path ---------------------------------------------------------------------------------


def barriers_are_dropped(target: str) -> None:
    """No thread waits for another one."""
    del target
    replace(
        "tri_gpu_dialect.transforms.memory.insert_barriers",
        "InsertBarriers.apply",
        lambda _: lambda *args: None,
    )
    replace("tri_gpu_dialect.lowering.primitives", "Primitives.barrier", lambda _: lambda *args: None)
    backends = [m for m in list(sys.modules.values()) if hasattr(m, "make_primitives")]
    for module in backends:
        for value in list(vars(module).values()):
            if isinstance(value, type) and "barrier" in vars(value):
                value.barrier = lambda *args: None  # type: ignore[attr-defined]


def lanes_are_mixed_up(target: str) -> None:
    """A dot's operands lie in other lanes than the matrix unit reads them from."""
    del target
    cls = importlib.import_module("tri_gpu_dialect.encodings").MatrixEncoding
    plain = cls.operand_layout

    def operand_layout(self: Any, operand: int, k_width: int, shape: Any) -> Any:
        made = plain(self, operand, k_width, shape)
        return _exchanged(made, "lane", 0, 1) if operand == 1 else made

    cls.operand_layout = operand_layout


def wrong_fragment(role: int) -> Callable[[str], None]:
    """The table of a matrix instruction's lanes is wrong for the left operand (0), the right one (1) or the sum (2)."""

    def plant(target: str) -> None:
        del target
        base = importlib.import_module("tri_gpu_dialect.encodings").MatrixEncoding
        for cls in base.__subclasses__():
            plain = cls.fragment

            def fragment(self: Any, asked: int, k_width: int, plain: Any = plain) -> Any:
                made = plain(self, asked, k_width)
                return _exchanged(made, "lane", 0, 2) if asked == role else made

            cls.fragment = fragment

    return plant


def copies_are_not_waited_for(target: str) -> None:
    """Every wait for asynchronous copies lets any number of them be under way."""
    del target
    run = PassList.run

    def running(self: PassList, stage: str, module: Any, context: Any) -> None:
        run(self, stage, module, context)
        for op in _ops(module, ("ttg.async_wait",)):
            _set_integer(op, "num", 1000)

    PassList.run = running  # type: ignore[method-assign]


def _exchanged(layout: Any, dim: str, first: int, second: int) -> Any:
    bases = {name: list(columns) for name, columns in layout.bases.items()}
    if len(bases[dim]) <= max(first, second):
        return layout
    bases[dim][first], bases[dim][second] = bases[dim][second], bases[dim][first]
    return type(layout).from_bases(bases, layout.out_sizes)


def a_lane_holds_nothing_new(target: str) -> None:
    """Blocks leave elements without a place; what the pipeline made before is looked at."""
    encodings_of(Subject(target))
    cls = importlib.import_module("tri_gpu_dialect.encodings").Blocked
    plain = cls.linear_layout

    def linear_layout(self: Any, shape: Any) -> Any:
        layout = plain(self, shape)
        bases = {name: list(columns) for name, columns in layout.bases.items()}
        bases["lane"][0] = tuple(0 for _ in shape)
        return type(layout).from_bases(bases, layout.out_sizes)

    cls.linear_layout = linear_layout


def wrong_swizzle(target: str) -> None:
    """What goes through shared memory is read by another pattern than it was written by."""
    del target
    importlib.import_module("tri_gpu_dialect.lowering")

    def wrap(old: Any) -> Any:
        def load_vectors(ctx: Any, layout: Any, view: Any, *rest: Any) -> Any:
            return old(ctx, _exchanged(layout, "lane", 0, 1), view, *rest)

        return load_vectors

    replace("tri_gpu_dialect.lowering.views", "load_vectors", wrap)


def copies_update_too(target: str) -> None:
    """Every thread that holds a copy of an element makes its atomic update."""
    del target
    importlib.import_module("tri_gpu_dialect.lowering")
    replace("tri_gpu_dialect.lowering.rules.memory", "owning_thread", lambda _: lambda *args: None)


def neighbours_are_left_out(target: str) -> None:
    """Reductions leave out each lane's nearest partner."""
    del target
    importlib.import_module("tri_gpu_dialect.lowering")
    replace(
        "tri_gpu_dialect.lowering.rules.reduction",
        "_across_lanes",
        lambda old: lambda ctx, combine, values, masks: old(ctx, combine, values, masks[1:]),
    )


BUGS: Mapping[str, Bug] = {
    "off-by-one mask": Bug(one_more_behind_the_mask, "cpu", ("language/load-store/int32-1000*", "language/add/int32*", "language/tuple/*")),
    "dropped other": Bug(other_is_dropped, "cpu", ("language/load-store/int32-1000*", "programs/softmax/fp32*")),
    "integer overflow": Bug(sign_is_lost, "cpu", ("language/cast-to-int64/int8*", "language/cast-to-int64/int32*")),
    "argmax tie": Bug(ties_go_to_the_last, "cpu", ("language/argmax-axis0/int32-*", "language/argmin-axis1/fp32-*")),
    "scan from the wrong end": Bug(scans_run_backwards, "cpu", ("language/scan-cumsum-axis0/int32*",)),
    "forgotten accumulator": Bug(accumulator_is_forgotten, "cpu", ("language/dot/fp32*",)),
    "wrong rounding": Bug(rounding_toward_zero, "cpu", ("language/cast-to-bf16/fp32*", "language/cast-to-fp8e5/fp32*")),
    "narrow running sums": Bug(running_sums_stay_narrow, "cpu", ("language/scans-of-each-type/int8*", "language/scans-of-each-type/int16*")),
    "sign by the common type": Bug(the_common_type_decides_on_the_sign, "cpu", ("language/mixed-shifts/int8*", "language/mixed-shifts/int32*")),
    "wrong neutral element": Bug(wrong_neutral_element, "cpu", ("language/sum-axis0/fp32-*", "language/sum-axis0/int32-*")),
    "forgotten rounding mode": Bug(sums_are_not_rounded_up, "cpu", ("language/libdevice/add_ru-fp32*", "language/libdevice/add_ru-fp64*")),
    "grid z ignored": Bug(grid_z_is_ignored, "cpu", ("runtime/grid/2x3x4", "runtime/grid/1x1x6")),
    "grid axes exchanged": Bug(axes_are_exchanged, "cpu", ("runtime/grid/3x5",)),
    "unchecked limits": Bug(limits_are_not_checked, "cpu", ("runtime/grid-limit/x",)),
    "key without an option": Bug(key_ignores_an_option, "cpu", ("pipeline/key-of-option/enable_fp_fusion",)),
    "code that differs": Bug(code_differs_each_time, "cpu", ("pipeline/same-bytes/copy",)),
    "dropped barrier": Bug(barriers_are_dropped, "gpu", ("language/transpose/fp32-64x32*", "language/sum-axis0/fp32-1024*", "explicit/shared-swizzled/int32-t32-w4")),
    "wrong lane mapping": Bug(lanes_are_mixed_up, "gpu", ("language/dot/fp16-32x64x32*",)),
    "wrong fragment of the left operand": Bug(wrong_fragment(0), "gpu", ("language/dot/fp16-32x64x32*", "language/dot/int8-32x64x32*")),
    "wrong fragment of the right operand": Bug(wrong_fragment(1), "gpu", ("language/dot/fp16-32x64x32*", "language/dot/bf16-16x16x16*")),
    "wrong fragment of the sum": Bug(wrong_fragment(2), "gpu", ("language/dot/fp16-32x64x32*", "programs/matmul/fp16-64x64x64*")),
    "missing wait": Bug(copies_are_not_waited_for, "gpu", ("programs/matmul/fp16-64x64x64*", "programs/matmul/bf16-64x64x64*")),
    "elements without a place": Bug(a_lane_holds_nothing_new, "gpu", ("layouts/onto", "layouts/inverse")),
    "wrong swizzle": Bug(wrong_swizzle, "gpu", ("language/transpose/fp32-64x32*", "language/transpose/int8-*", "explicit/shared-padded/int32-t32-w1")),
    "copies that update": Bug(copies_update_too, "gpu", ("language/atomic_add/int32-16*", "language/atomic_add/uint32-16*", "explicit/atomic-add/int32-t32-w8")),
    "partner in a warp left out": Bug(neighbours_are_left_out, "gpu", ("language/sum-axis0/fp32-1024*",)),
}  # fmt: skip


def simulated() -> str:
    """A simulated target with matrix instructions, of the preferred backend that has one."""
    able = [b for b in manager().backends().values() if "tri_simulation" in manager().owner(b.name)[1].hooks]
    chosen = max(able, key=lambda b: b.priority)
    names = [f"sim:{chosen.name}:{arch}" for arch in chosen.architectures]
    return next(name for name in names if len(Subject(name).target.spec.dot) > 4)


def main(name: str) -> None:
    """Plant, run, print."""
    bare, _, where = name.partition(":")
    bug = BUGS.get(name)
    where = bug.where if bug else where
    target = "cpu" if where == "cpu" else simulated()
    if bug:
        manager().register_ir(mlir.registry, Subject(target).target)
        manager().compose(Subject(target).target, Subject(target).options())
        bug.plant(target)
    globs = bug.seen_by if bug else tuple(g for b in BUGS.values() if b.where == where for g in b.seen_by)
    picked, _ = cases(Selection(select=globs))
    subject = Subject(target)
    found: dict[str, list[str]] = {}
    for case in picked:
        result = judge(case, subject)
        found.setdefault(result.verdict, []).append(
            f"{case.id}: {result.detail.splitlines()[0] if result.detail else ''}"
        )
    print(json.dumps({"target": target, "bare": bare, "verdicts": found}))


if __name__ == "__main__":
    main(sys.argv[1])
