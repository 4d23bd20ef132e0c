from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.api import OutOfResources, StageContext, TargetSpec
from tri_core.mlir import ir
from tri_core.target import ComputeUnit
from tri_gpu_dialect.analysis.liveness import Buffer
from tri_gpu_dialect.dialect import MemDescType
from tri_gpu_dialect.encodings import Blocked, Encoding, PaddedShared, SwizzledShared
from tri_gpu_dialect.passes import AllocateSharedMemory
from tri_gpu_dialect.transforms.memory.placement import ALIGNMENT, Need, buffer_bytes, place

BLOCKED = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
OTHER = Blocked((4, 1), (8, 4), (1, 4), (0, 1))
SHARED = SwizzledShared(1, 1, 1, (1, 0))
DESC = "!tt.tensordesc<tensor<64x32xf32>>"


def memory(shape: tuple[int, ...] = (64, 32), encoding: Encoding = SHARED) -> MemDescType:
    return MemDescType.of(shape, ir.F32Type.get(), encoding.to_attr(), mutable=True)


def module(body: str) -> ir.Module:
    """TTGIR with a tensor %t and buffers' types written M; 64 x 32 x 4 bytes are 8192."""
    text = body.replace("TENSOR", f"tensor<64x32xf32, {BLOCKED}>").replace(
        "OTHER", f"tensor<64x32xf32, {OTHER}>"
    )
    attributes = '"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32'
    return ir.Module.parse(
        f'module attributes {{{attributes}}} {{ "tt.func"() ({{ ^bb0(%n: i32, %c: i1, %desc: {DESC}):\n'
        f"%t = arith.constant dense<0.0> : tensor<64x32xf32, {BLOCKED}>\n{text.replace('MEM', str(memory()))}\n"
        f'"tt.return"() : () -> () }}) {{sym_name = "f", function_type = (i32, i1, {DESC}) -> ()}} : () -> () }}'
    )


ALLOC = '%{0} = "ttg.local_alloc"() : () -> MEM\n"ttg.local_store"(%t, %{0}) : (TENSOR, MEM) -> ()'
LOAD = '%{0}_read = "ttg.local_load"(%{0}) : (MEM) -> TENSOR'


def allocated(body: str, context: StageContext, apart: int = 8192) -> tuple[list[int], int]:
    made = module(body)
    AllocateSharedMemory(apart_bytes=apart).apply(made, context)
    found: list[int] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if "allocation.offset" in op.attributes:
            found.append(ir.IntegerAttr(op.attributes["allocation.offset"]).value)
        return ir.WalkResult.ADVANCE

    made.operation.walk(visit)
    return found, ir.IntegerAttr(made.operation.attributes["ttg.shared"]).value


def both(*lines: str) -> str:
    return "\n".join(lines)


def test_buffers_that_live_one_after_the_other_share(context: StageContext) -> None:
    body = both(ALLOC.format("a"), LOAD.format("a"), ALLOC.format("b"), LOAD.format("b"))
    assert allocated(body, context, apart=0) == ([0, 0], 8192)


def test_small_buffers_that_follow_each_other_are_apart(context: StageContext) -> None:
    """The second is written while the first may still be read: no barrier between."""
    body = both(ALLOC.format("a"), LOAD.format("a"), ALLOC.format("b"), LOAD.format("b"))
    assert allocated(body, context) == ([0, 8192], 16384)


def test_small_buffers_are_apart_from_what_is_made_after_their_end(context: StageContext) -> None:
    """Two operands of a dot, then one of the next dot: it is written while either may still be read."""
    first = both(ALLOC.format("a"), ALLOC.format("b"), LOAD.format("a"), LOAD.format("b"))
    body = both(first, ALLOC.format("d"), LOAD.format("d"))
    assert allocated(body, context) == ([0, 8192, 16384], 24576)
    assert allocated(body, context, apart=0)[1] == 16384


def test_buffers_that_live_together_do_not(context: StageContext) -> None:
    body = both(ALLOC.format("a"), ALLOC.format("b"), LOAD.format("a"), LOAD.format("b"))
    assert allocated(body, context) == ([0, 8192], 16384)


def test_a_view_keeps_its_buffer_alive(context: StageContext) -> None:
    view = '%v = "ttg.memdesc_trans"(%a) {order = array<i32: 0, 1>} : (MEM) -> MEM'
    late = '%r = "ttg.local_load"(%v) : (MEM) -> TENSOR'
    assert allocated(both(ALLOC.format("a"), view, ALLOC.format("b"), late), context, apart=0)[1] == 16384
    assert allocated(both(ALLOC.format("a"), view, late, ALLOC.format("b")), context, apart=0)[1] == 8192


LOOP = "%i0 = arith.constant 0 : i32\n%i1 = arith.constant 1 : i32\nscf.for %i = %i0 to %n step %i1 : i32 {{\n{0}\n}}"


def test_a_buffer_used_in_a_loop_lives_through_it(context: StageContext) -> None:
    inside = both(LOAD.format("a"), ALLOC.format("b"))
    assert allocated(both(ALLOC.format("a"), LOOP.format(inside)), context)[1] == 16384


def test_a_carried_buffer_lives_through_the_loop(context: StageContext) -> None:
    inside = both(ALLOC.format("d"), LOAD.format("d"), ALLOC.format("b"), "scf.yield %b : MEM")
    loop = (
        "%i0 = arith.constant 0 : i32\n%i1 = arith.constant 1 : i32\n"
        f"%l = scf.for %i = %i0 to %n step %i1 iter_args(%x = %a) -> (MEM) : i32 {{\n{inside}\n}}"
    )
    last = '%r = "ttg.local_load"(%l) : (MEM) -> TENSOR'
    assert allocated(both(ALLOC.format("a"), loop, last), context)[1] == 3 * 8192


CONVERT = '%{0} = "ttg.convert_layout"(%t) : (TENSOR) -> OTHER'


def test_scratch_of_a_conversion_is_allocated_beside_live_buffers(context: StageContext) -> None:
    body = both(ALLOC.format("a"), CONVERT.format("x"), LOAD.format("a"))
    assert allocated(body, context) == ([0, 8192], 16384)
    assert allocated(CONVERT.format("x"), context) == ([0], 8192)


def test_small_scratches_that_follow_each_other_are_kept_apart(context: StageContext) -> None:
    body = both(CONVERT.format("x"), CONVERT.format("y"), CONVERT.format("z"))
    offsets, total = allocated(body, context)
    assert total == 16384
    assert offsets[0] != offsets[1] != offsets[2]


def test_too_much_is_an_error_with_numbers_and_a_way_out(context: StageContext) -> None:
    small = dataclasses.replace(context.target, spec=TargetSpec(limits={"shared": 10000}))
    body = both(ALLOC.format("a"), ALLOC.format("b"), LOAD.format("a"), LOAD.format("b"))
    with pytest.raises(OutOfResources, match="16384 bytes of shared memory; the target has 10000") as caught:
        allocated(body, dataclasses.replace(context, target=small))
    assert (caught.value.need, caught.value.have) == (16384, 10000)
    assert "smaller blocks" in (caught.value.remedy or "")


def test_padding_counts() -> None:
    padded = memory((64, 32), PaddedShared(((32, 4),), (1, 0)))
    assert buffer_bytes(padded) == (64 * 32 + 63 * 4) * 4


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 6), st.integers(1, 500), st.sampled_from([16, 128])),
        max_size=12,
    )
)
def test_nothing_that_lives_together_overlaps(lives: list[tuple[int, int, int, int]]) -> None:
    needs = [
        Need(Buffer(None, start, start + length), size, alignment) for start, length, size, alignment in lives
    ]
    placed = place(needs)
    assert len(placed) == len(needs)
    for i, (need, offset) in enumerate(placed):
        assert offset % need.alignment == 0
        for other, at in placed[:i]:
            if need.overlaps(other):
                assert offset + need.size <= at or at + other.size <= offset


def test_alignment_is_that_of_the_widest_access() -> None:
    assert ALIGNMENT == 16


SLOTTED = (
    '%s = "ttg.local_alloc"() : () -> SLOTS\n%v = "ttg.memdesc_index"(%s, %i0) : (SLOTS, i32) -> MEM\n'
    '"ttg.local_store"(%t, %v) : (TENSOR, MEM) -> ()\n%r = "ttg.local_load"(%v) : (MEM) -> TENSOR'
)


@pytest.mark.parametrize(
    ("limit", "stages", "nearest"),
    [
        (30_000, 4, {"num_stages": 3}),
        (17_000, 4, {"num_stages": 2}),
        (17_000, 3, {"num_stages": 1}),
        (5000, 4, {}),
    ],
)
def test_fewer_stages_that_fit_are_named(
    context: StageContext, limit: int, stages: int, nearest: dict[str, int]
) -> None:
    """Four stages; with three stages, one of them is for dots that are still under way."""
    small = dataclasses.replace(context.target, spec=TargetSpec(limits={"shared": limit}))
    options = dataclasses.replace(context.options, num_stages=stages)
    body = both("%i0 = arith.constant 0 : i32", SLOTTED.replace("SLOTS", str(memory((4, 64, 32)))))
    with pytest.raises(OutOfResources) as caught:
        allocated(body, dataclasses.replace(context, target=small, options=options))
    assert caught.value.nearest == nearest
    assert "of the elements fit" in str(caught.value) or f"num_stages={nearest['num_stages']} fits" in str(
        caught.value
    )


OUT = f'"ttg.async_copy_local_to_descriptor"(%desc, %i0, %i0, %{{0}}) : ({DESC}, i32, i32, MEM) -> ()'


@pytest.mark.parametrize(
    ("limit", "offsets", "total"),
    [
        # one CTA whatever is done: the first tile beside the stages, the second on these
        (48_000, [0, 24576, 0], 32768),
        # two CTAs with 24 KiB, not with 32: tiles on the stages, apart from each other; with 32 as well
        (60_000, [0, 0, 8192], 24576),
        (65_536, [0, 24576, 0], 32768),
        (30_000, [0, 0, 8192], 24576),
    ],
)
def test_tiles_that_are_copied_out_are_apart_where_that_costs_no_cta(
    context: StageContext, limit: int, offsets: list[int], total: int
) -> None:
    unit = ComputeUnit(partitions=4, warps=16, registers=512, shared=limit, blocks=32)
    small = dataclasses.replace(context.target, spec=TargetSpec(limits={"shared": limit}, unit=unit))
    slots = both("%i0 = arith.constant 0 : i32", SLOTTED.replace("SLOTS", str(memory((3, 64, 32)))))
    tiles = (line.format(name) for name in "ab" for line in (ALLOC, OUT))
    given = dataclasses.replace(context, target=small)
    assert allocated(both(slots, *tiles), given, apart=0) == (offsets, total)


def test_smaller_blocks_that_fit_are_named(context: StageContext) -> None:
    small = dataclasses.replace(context.target, spec=TargetSpec(limits={"shared": 5000}))
    body = both(ALLOC.format("a"), ALLOC.format("b"), LOAD.format("a"), LOAD.format("b"))
    with pytest.raises(OutOfResources, match=r"1/4 of the elements fit.*a buffer of 64x32xf32") as caught:
        allocated(body, dataclasses.replace(context, target=small))
    assert caught.value.nearest == {}


# --- rings -----------------------------------------------------------------------------------------------

FILLED = """
%ring = "ttg.local_alloc"() {{{attribute}}} : () -> MEM
"ttg.warp_specialize"(%ring) ({{
  {default}
  "ttg.warp_yield"() : () -> ()
}}, {{
  "ttg.warp_specialize_partitions"() ({{
  ^bb0(%r: MEM):
    {partition}
    "ttg.warp_return"() : () -> ()
  }}) : () -> ()
}}) {{partitionNumWarps = array<i32: 1>, warpGroupStartIds = array<i32: 4>}} : (MEM) -> ()
"""
READ_RING = LOAD.format("ring")
TILE = both(ALLOC.format("b"), LOAD.format("b"))


def ring(default: str, *, partition: str = "", awaited: bool = True) -> str:
    attribute = "ttg.awaited" if awaited else ""
    return FILLED.format(default=default, partition=partition, attribute=attribute)


def test_what_the_default_region_waits_for_is_its_own_again(context: StageContext) -> None:
    assert allocated(ring(both(READ_RING, TILE)), context, apart=0) == ([0, 0], 8192)


def test_other_buffers_that_partitions_have_live_as_long_as_these(context: StageContext) -> None:
    given = ring(
        both(READ_RING, TILE), partition='"ttg.local_store"(%t, %r) : (TENSOR, MEM) -> ()', awaited=False
    )
    assert allocated(given, context, apart=0)[1] == 16384


def test_a_ring_that_is_read_later_is_in_use(context: StageContext) -> None:
    assert allocated(ring(both(TILE, READ_RING)), context, apart=0)[1] == 16384


def test_a_ring_is_in_use_through_a_loop(context: StageContext) -> None:
    assert allocated(ring(LOOP.format(both(READ_RING, TILE))), context, apart=0)[1] == 16384


def test_partitions_have_no_memory_of_rings(context: StageContext) -> None:
    assert allocated(ring(READ_RING, partition=TILE), context, apart=0)[1] == 16384


@pytest.mark.parametrize("told", [True, False])
def test_operands_of_a_dot_onto_memory_live_until_the_last_barrier_is_waited_for(context, told: bool) -> None:
    """A barrier in memory tells its end, and which one is not known."""
    square, bar = (
        MemDescType.of(shape, kind, SwizzledShared(1, 1, 1, order).to_attr(), mutable=True)
        for shape, kind, order in (
            ((32, 32), ir.F32Type.get(), (1, 0)),
            ((1,), ir.IntegerType.get_signless(64), (0,)),
        )
    )
    body = both(
        f'%bar = "ttg.local_alloc"() : () -> {bar}',
        '%sums = "ttg.local_alloc"() : () -> MEM',
        '%a = "ttg.local_alloc"() : () -> MEM',
        f'%b = "ttg.local_alloc"() : () -> {square}',
        '%d = "ttg.warp_group_dot"(%a, %b, %sums, %c) {inputPrecision = 0 : i32} : '
        f"(MEM, {square}, MEM, i1) -> MEM",
        ALLOC.format("next"),
        LOAD.format("next"),
        f'"ttg.wait_barrier"(%bar, %n) : ({bar}, i32) -> ()' if told else "",
        '%r = "ttg.local_load"(%sums) : (MEM) -> TENSOR',
    )
    (_, _, a, _, later), _ = allocated(body, context, apart=0)
    assert (later != a) == told
