"""What the analyses and passes know of ``ttg.warp_specialize``."""

from __future__ import annotations

import pytest

from tri_core import mlir
from tri_core.api import StageContext, VerificationError
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import axis_info
from tri_gpu_dialect.dialect.partitions import partitions
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.passes import AllocateSharedMemory, InsertBarriers, VerifyLayouts

MEMORY = (
    "!ttg.memdesc<array<i64: 32, 32>, f32, #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], "
    "perPhase = 1 : i64, vec = 1 : i64}>, #ttg.shared_memory, true, array<i64: 32, 32>>"
)
POINTER = '!tt.ptr<f32, "global">'


def tensor(warps: int) -> str:
    return f"tensor<32x32xf32, {Blocked((1, 1), (1, 32), (warps, 1), (1, 0)).to_attr()}>"


with mlir.session():
    FOUR, ONE = tensor(4), tensor(1)


def alloc(name: str) -> str:
    return f'%{name} = "ttg.local_alloc"() {{tag = "{name}"}} : () -> {MEMORY}'


def fill(name: str, buffer: str, type_: str = FOUR) -> str:
    return f"""%v{name} = arith.constant dense<1.0> : {type_}
      "ttg.local_store"(%v{name}, {buffer}) : ({type_}, {MEMORY}) -> ()"""


def read(name: str, buffer: str, type_: str = FOUR) -> str:
    return f'%r{name} = "ttg.local_load"({buffer}) : ({MEMORY}) -> {type_}'


def specialized(default: str, part: str, before: str = "", after: str = "") -> ir.Module:
    """A default region of four warps and a partition of one, which captures buffer ``%a`` as ``%x``."""
    return mlir.parse(
        f"""module attributes {{"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32,
        "ttg.total-num-warps" = 5 : i32, "ttg.num-ctas" = 1 : i32, "ttg.shared" = 0 : i32}} {{
        "tt.func"() ({{ ^bb0(%p: {POINTER}): {alloc("a")} {before}
          "ttg.warp_specialize"(%a, %p) ({{ {default} "ttg.warp_yield"() : () -> () }}, {{
            "ttg.warp_specialize_partitions"() ({{ ^bb0(%x: {MEMORY}, %q: {POINTER}): {part}
              "ttg.warp_return"() : () -> () }}) : () -> () }})
            {{partitionNumWarps = array<i32: 1>}} : ({MEMORY}, {POINTER}) -> ()
          {after}
          "tt.return"() : () -> () }}) {{sym_name = "f", function_type = ({POINTER}) -> (),
          arg_attrs = [{{tt.divisibility = 16 : i32}}]}} : () -> () }}"""
    )


def places(module: ir.Module, context: StageContext) -> dict[str, range]:
    """The bytes of every buffer."""
    AllocateSharedMemory(apart_bytes=0).apply(module, context)
    found = {}
    for op in all_ops(module.operation):
        if "tag" in op.attributes:
            offset = ir.IntegerAttr(op.attributes["allocation.offset"]).value
            found[ir.StringAttr(op.attributes["tag"]).value] = range(offset, offset + 4096)
    return found


def overlap(left: range, right: range) -> bool:
    return left.start < right.stop and right.start < left.stop


def test_buffers_of_regions_that_run_at_the_same_time_are_apart(context: StageContext) -> None:
    own = f"{alloc('b')} {fill('0', '%b')} {read('1', '%b')} {alloc('c')} {fill('2', '%c')} {read('3', '%c')}"
    part = f"{alloc('d')} {fill('4', '%d', ONE)} {read('5', '%d', ONE)}"
    later = f"{alloc('e')} {fill('6', '%e')} {read('7', '%e')}"
    found = places(specialized(own, part, after=later), context)
    assert not any(overlap(found["d"], found[k]) for k in "bce")
    assert overlap(found["b"], found["c"])  # in one region, one after the other


def test_a_buffer_that_any_region_touches_lives_while_all_run(context: StageContext) -> None:
    part = f"{read('4', '%x', ONE)} {alloc('d')} {fill('5', '%d', ONE)}"
    found = places(specialized(f"{alloc('b')} {fill('0', '%b')}", part), context)
    assert not any(overlap(found["a"], found[k]) for k in "bd")


def test_one_that_is_dead_before_gives_its_place(context: StageContext) -> None:
    before = f"{alloc('z')} {fill('8', '%z')}"
    found = places(specialized(f"{alloc('b')} {fill('0', '%b')} {fill('1', '%a')}", "", before), context)
    assert overlap(found["z"], found["b"])


def names(block: ir.Block) -> list[str]:
    return [view.operation.name.partition(".")[2] for view in block]


def test_barriers_are_put_into_each_region_and_before_it(context: StageContext) -> None:
    default = f"{read('0', '%a')} {fill('1', '%a')}"
    part = f"{alloc('d')} {fill('2', '%d', ONE)} {read('3', '%d', ONE)}"
    module = specialized(default, part, before=fill("9", "%a"))
    AllocateSharedMemory().apply(module, context)
    InsertBarriers().apply(module, context)
    (op,) = [op for op in all_ops(module.operation) if op.name == "ttg.warp_specialize"]
    assert names(op.regions[0].blocks[0]) == [
        "local_load",
        "constant",
        "barrier",
        "local_store",
        "warp_yield",
    ]
    (only,) = partitions(op, 4)
    assert names(only.block) == [
        "local_alloc",
        "constant",
        "local_store",
        "barrier",
        "local_load",
        "warp_return",
    ]
    (function,) = functions(module)
    assert names(function.regions[0].blocks[0])[-3:] == ["barrier", "warp_specialize", "return"]


def test_no_barrier_for_what_another_region_does(context: StageContext) -> None:
    module = specialized(fill("0", "%a"), read("1", "%x", ONE))
    AllocateSharedMemory().apply(module, context)
    InsertBarriers().apply(module, context)
    assert not any(op.name == "ttg.barrier" for op in all_ops(module.operation))


def test_a_partition_has_layouts_of_its_own_warps(context: StageContext) -> None:
    VerifyLayouts().apply(specialized(fill("0", "%a"), fill("1", "%x", ONE)), context)
    with pytest.raises(VerificationError, match="warp of size 4; the module says 1"):
        VerifyLayouts().apply(specialized("", fill("1", "%x")), context)
    with pytest.raises(VerificationError, match="warp of size 1; the module says 4"):
        VerifyLayouts().apply(specialized(fill("1", "%a", ONE), ""), context)


def test_captures_are_known_inside() -> None:
    module = specialized("", "")
    (function,) = functions(module)
    (op,) = [op for op in all_ops(function) if op.name == "ttg.warp_specialize"]
    (only,) = partitions(op, 4)
    assert axis_info(function).of(only.block.arguments[1]).divisibility == (16,)
    assert (only.first, only.end) == (4, 5)
