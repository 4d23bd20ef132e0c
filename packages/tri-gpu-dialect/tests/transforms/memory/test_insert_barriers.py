from __future__ import annotations

import pytest

from tri_core.api import StageContext
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import MemDescType
from tri_gpu_dialect.encodings import Blocked, SwizzledShared
from tri_gpu_dialect.passes import AllocateSharedMemory, InsertBarriers

BLOCKED = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
OTHER = Blocked((4, 1), (8, 4), (1, 4), (0, 1))
SHARED = SwizzledShared(1, 1, 1, (1, 0))

FILL = '"ttg.local_store"(%t, %{0}) : (TENSOR, MEM) -> ()'
LOAD = '%{1} = "ttg.local_load"(%{0}) : (MEM) -> TENSOR'
DESC = "!tt.tensordesc<tensor<64x32xf32>>"
CONVERT = '%{0} = "ttg.convert_layout"(%t) : (TENSOR) -> OTHER'
INTO = (
    '"ttg.async_copy_descriptor_to_local"(%d, %i0, %i0, %m, %{0}, %c)'
    " : (!tt.tensordesc<tensor<64x32xf32>>, i32, i32, BAR, MEM, i1) -> ()"
)
OUT_OF = (
    '"ttg.async_copy_local_to_descriptor"(%d, %i0, %i0, %{0})'
    " : (!tt.tensordesc<tensor<64x32xf32>>, i32, i32, MEM) -> ()"
)
INIT = '"ttg.init_barrier"(%m) {count = 1 : i32} : (BAR) -> ()'
INVAL = '"ttg.inval_barrier"(%m) : (BAR) -> ()'
AWAIT = '"ttg.wait_barrier"(%m, %i0) : (BAR, i32) -> ()'
DOT_WAIT = '%{0} = "ttg.warp_group_dot_wait"(%t) {{pendings = 0 : i32}} : (TENSOR) -> TENSOR'
ORDERED_BARRIER = '"ttg.ordered_barrier"() {{group_warps = 4 : i32, step = "{0}"}} : () -> ()'
GIVE = '"ttg.arrive_barrier"(%m, %{0}) : (BAR, MEM) -> ()'
FENCE = '"ttg.fence_async_shared"() : () -> ()'
STORED = '"ttg.async_store_wait"() {pendings = 0 : i32} : () -> ()'
BARRIER = '"ttg.barrier"() {addrSpace = 1 : i32} : () -> ()'


def names(body: str, context: StageContext, apart_bytes: int = 0) -> list[str]:
    """The ops that touch shared memory, and the barriers, in order of the text after the pass."""
    barrier = MemDescType.of(
        (1,), ir.IntegerType.get_signless(64), SwizzledShared(1, 1, 1, (0,)).to_attr(), mutable=True
    )
    memory = MemDescType.of((64, 32), ir.F32Type.get(), SHARED.to_attr(), mutable=True)
    text = (
        body.replace("TENSOR", f"tensor<64x32xf32, {BLOCKED}>")
        .replace("OTHER", f"tensor<64x32xf32, {OTHER}>")
        .replace("BAR", str(barrier))
    )
    attributes = '"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32'
    made = ir.Module.parse(
        f'module attributes {{{attributes}}} {{ "tt.func"() ({{ ^bb0(%n: i32, %c: i1, %d: {DESC}):\n'
        "%i0 = arith.constant 0 : i32\n%i1 = arith.constant 1 : i32\n"
        f"%t = arith.constant dense<0.0> : tensor<64x32xf32, {BLOCKED}>\n"
        '%a = "ttg.local_alloc"() : () -> MEM\n%b = "ttg.local_alloc"() : () -> MEM\n'.replace(
            "MEM", str(memory)
        )
        + f'%m = "ttg.local_alloc"() : () -> {barrier}\n'
        + text.replace("MEM", str(memory))
        + '\n"ttg.local_dealloc"(%a) : (MEM) -> ()\n"ttg.local_dealloc"(%b) : (MEM) -> ()\n'.replace(
            "MEM", str(memory)
        )
        + f'"ttg.local_dealloc"(%m) : ({barrier}) -> ()\n'
        + '"tt.return"() : () -> () }) {sym_name = "f", function_type = (i32, i1, '
        f"{DESC}) -> ()}} : () -> () }}"
    )
    AllocateSharedMemory(apart_bytes=apart_bytes).apply(made, context)
    InsertBarriers().apply(made, context)
    assert made.operation.verify()
    short = {
        "ttg.barrier": "barrier", "ttg.local_load": "load", "ttg.local_store": "store",
        "ttg.convert_layout": "convert", "ttg.async_wait": "wait",
        "ttg.init_barrier": "init", "ttg.inval_barrier": "inval", "ttg.wait_barrier": "await", "ttg.fence_async_shared": "fence",
        "ttg.async_copy_descriptor_to_local": "into", "ttg.async_copy_local_to_descriptor": "out",
        "ttg.async_store_wait": "stored", "ttg.arrive_barrier": "give",
        "ttg.warp_group_dot_wait": "dots", "ttg.ordered_barrier": "ordered",
    }  # fmt: skip
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in short:
            found.append(short[op.name])
        return ir.WalkResult.ADVANCE

    made.operation.walk(visit)
    return found


def lines(*text: str) -> str:
    return "\n".join(text)


def in_turn(*ops: str) -> list[str]:
    return [
        ORDERED_BARRIER.format("open"),
        ORDERED_BARRIER.format("wait"),
        *ops,
        ORDERED_BARRIER.format("pass"),
        ORDERED_BARRIER.format("close"),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # read after write, write after read, write after write
        (lines(FILL.format("a"), LOAD.format("a", "x")), "store barrier load"),
        (lines(LOAD.format("a", "x"), FILL.format("a")), "load barrier store"),
        (lines(FILL.format("a"), FILL.format("a")), "store barrier store"),
        # reads, and other buffers, need none
        (lines(LOAD.format("a", "x"), LOAD.format("a", "y")), "load load"),
        (lines(FILL.format("a"), FILL.format("b"), LOAD.format("a", "x")), "store store barrier load"),
        (lines(FILL.format("a"), LOAD.format("b", "x")), "store load"),
        # a barrier in memory: all threads synchronise once it is there; a wait for its phase is enough for what it counts
        (
            lines(INIT, INTO.format("a"), AWAIT, LOAD.format("a", "x"), INTO.format("a")),
            "init barrier into await load fence barrier into",
        ),
        # one thread starts and ends all barriers in memory, in order; others synchronise with it before they use them, and before their end
        (lines(INIT, INIT, AWAIT), "init init barrier await"),
        (lines(INIT, AWAIT, INVAL, INIT, AWAIT), "init barrier await barrier inval init barrier await"),
        (lines(FILL.format("a"), INIT, INIT, LOAD.format("a", "x"), AWAIT), "store init init barrier load await"),
        # copies see what ordinary code wrote after a fence and a barrier, wherever that barrier stands
        (lines(FILL.format("a"), OUT_OF.format("a")), "store fence barrier out stored"),
        (lines(FILL.format("a"), FENCE, OUT_OF.format("a")), "store fence barrier out stored"),
        (lines(FILL.format("a"), FENCE, BARRIER, OUT_OF.format("a")), "store fence barrier out stored"),
        (lines(FILL.format("a"), BARRIER, FENCE, OUT_OF.format("a")), "store barrier fence barrier out stored"),
        (lines(FILL.format("a"), BARRIER, OUT_OF.format("a")), "store barrier fence barrier out stored"),
        (lines(FILL.format("a"), INIT, INTO.format("a"), AWAIT), "store init fence barrier into await"),
        (lines(FILL.format("a"), INIT, INTO.format("b"), AWAIT), "store init barrier into await"),
        # copies overtake ordinary loads under way: whoever read executes a fence, then all synchronise
        (
            lines(INIT, INTO.format("a"), AWAIT, LOAD.format("a", "x"), BARRIER, INTO.format("a")),
            "init barrier into await load fence barrier into",
        ),
        (
            lines(INIT, INTO.format("a"), AWAIT, LOAD.format("a", "x"), FENCE, INTO.format("a")),
            "init barrier into await load fence barrier into",
        ),
        (
            lines(INIT, INTO.format("a"), AWAIT, LOAD.format("a", "x"), INTO.format("b")),
            "init barrier into await load into",
        ),
        (
            lines(INIT, "scf.for %k = %i0 to %n step %i1 : i32 {", INTO.format("a"), AWAIT, LOAD.format("a", "x"), "}"),
            "init fence barrier into await load",
        ),
        # who gives a buffer away does so before, and no others synchronise
        (
            lines(INIT, INTO.format("a"), AWAIT, LOAD.format("a", "x"), GIVE.format("a"), INTO.format("b")),
            "init barrier into await load fence give into",
        ),
        (lines(INIT, INTO.format("a"), AWAIT, GIVE.format("a")), "init barrier into await give"),
        (lines(INIT, INTO.format("a"), AWAIT, LOAD.format("b", "x"), GIVE.format("a")), "init barrier into await load give"),
        (lines(INIT, INTO.format("a"), AWAIT, LOAD.format("b", "x"), GIVE.format("b")), "init barrier into await load give"),
        # while dots run that are waited for in between
        (
            lines(INIT, INTO.format("a"), AWAIT, LOAD.format("a", "x"), DOT_WAIT.format("y"), GIVE.format("a")),
            "init barrier into await load fence dots give",
        ),
        (
            lines(INIT, INTO.format("a"), AWAIT, DOT_WAIT.format("y"), LOAD.format("a", "x"), GIVE.format("a")),
            "init barrier into await dots load fence give",
        ),
        (
            lines(INIT, INTO.format("a"), AWAIT, LOAD.format("a", "x"), FENCE, GIVE.format("a")),
            "init barrier into await load fence give",
        ),
        # no ordered barrier in which all would synchronise, and none begins where none is left
        (lines(*in_turn(LOAD.format("a", "x"))), "ordered ordered load ordered ordered"),
        (lines(*in_turn(FILL.format("a"), LOAD.format("a", "x"))), "store barrier load"),
        (lines(*in_turn(CONVERT.format("y"))), "convert"),
        (
            lines(*in_turn(CONVERT.format("y"), ORDERED_BARRIER.format("pass"), ORDERED_BARRIER.format("wait"), LOAD.format("a", "x"))),
            "ordered convert ordered load ordered ordered",
        ),
        # what copies read is written again when they are done
        (lines(OUT_OF.format("a"), FILL.format("a")), "out stored barrier store"),
        (lines(OUT_OF.format("a"), FILL.format("b")), "out store stored"),
        (lines(OUT_OF.format("a"), LOAD.format("a", "x")), "out load stored"),
        (lines(OUT_OF.format("a"), STORED, FILL.format("a")), "out stored barrier store"),
        (
            lines("scf.for %k = %i0 to %n step %i1 : i32 {", FILL.format("a"), OUT_OF.format("a"), "}"),
            "stored barrier store fence barrier out stored",
        ),
        # one barrier serves all that came before it
        (
            lines(FILL.format("a"), FILL.format("b"), LOAD.format("a", "x"), LOAD.format("b", "y")),
            "store store barrier load load",
        ),
        # one that is there already counts
        (lines(FILL.format("a"), BARRIER, LOAD.format("a", "x")), "store barrier load"),
        (lines(FILL.format("a"), BARRIER.replace("1 : i32", "2 : i32"), LOAD.format("a", "x")),
         "store barrier barrier load"),
    ],
)  # fmt: skip
def test_straight_code(body: str, expected: str, context: StageContext) -> None:
    assert names(body, context) == expected.split()


def test_a_view_is_its_buffer(context: StageContext) -> None:
    view = '%v = "ttg.memdesc_trans"(%a) {order = array<i32: 0, 1>} : (MEM) -> MEM'
    assert names(lines(view, FILL.format("v"), LOAD.format("a", "x")), context) == [
        "store",
        "barrier",
        "load",
    ]


def test_scratch_has_its_own_barrier_inside(context: StageContext) -> None:
    # the barrier within the conversion separates the store from the load
    assert names(lines(FILL.format("a"), CONVERT.format("y"), LOAD.format("a", "x")), context) == [
        "store",
        "convert",
        "load",
    ]


def test_scratch_in_one_place_waits_for_its_last_reader(context: StageContext) -> None:
    twice = lines(CONVERT.format("x"), CONVERT.format("y"))
    assert names(twice, context) == ["convert", "barrier", "convert"]
    assert names(twice, context, apart_bytes=1 << 20) == ["convert", "convert"]


LOOP = "scf.for %i = %i0 to %n step %i1 : i32 {{\n{0}\n}}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # the next iteration's store overlaps this one's load
        (lines(FILL.format("a"), LOAD.format("a", "x")), "barrier store barrier load"),
        (lines(LOAD.format("a", "x")), "load"),
        (lines(FILL.format("b")), "barrier store"),
    ],
)
def test_loops_come_round(body: str, expected: str, context: StageContext) -> None:
    assert names(LOOP.format(body), context) == expected.split()


def test_a_conversion_in_a_loop_waits_for_itself_unless_two_take_turns(context: StageContext) -> None:
    assert names(LOOP.format(CONVERT.format("x")), context) == ["barrier", "convert"]
    two = LOOP.format(lines(CONVERT.format("x"), CONVERT.format("y")))
    assert names(two, context, apart_bytes=1 << 20) == ["convert", "convert"]
    assert names(two, context) == ["barrier", "convert", "barrier", "convert"]


def test_what_a_loop_leaves_is_pending_after_it(context: StageContext) -> None:
    body = lines(LOOP.format(FILL.format("a")), LOAD.format("a", "x"))
    assert names(body, context) == ["barrier", "store", "barrier", "load"]


def test_both_sides_of_a_branch_are_pending_after_it(context: StageContext) -> None:
    branch = f"scf.if %c {{\n{FILL.format('a')}\n}} else {{\n{LOAD.format('b', 'x')}\n}}"
    assert names(lines(branch, LOAD.format("a", "y")), context) == ["store", "load", "barrier", "load"]
    assert names(lines(branch, FILL.format("b")), context) == ["store", "load", "barrier", "store"]
    before = lines(FILL.format("a"), f"scf.if %c {{\n{BARRIER}\n}}", LOAD.format("a", "y"))
    assert names(before, context) == ["store", "barrier", "barrier", "load"]


def test_a_barrier_in_memory_that_others_have_used_waits_for_them(context: StageContext) -> None:
    """In bytes that were a buffer's, and round a loop; two branches that start one do not wait for each other."""
    used = (
        '%p = "ttg.local_alloc"() : () -> MEM', FILL.format("p"), '"ttg.local_dealloc"(%p) : (MEM) -> ()',
        '%q = "ttg.local_alloc"() : () -> BAR',
    )  # fmt: skip
    ends = '"ttg.local_dealloc"(%q) : (BAR) -> ()'
    taken = lines(*used, INIT.replace("%m", "%q"), INIT, AWAIT, ends)
    assert names(taken, context) == ["store", "barrier", "init", "init", "barrier", "await"]
    started = LOOP.format(lines(INIT, AWAIT))
    assert names(started, context) == ["barrier", "init", "barrier", "await"]
    branch = lines(f"scf.if %c {{\n{INIT}\n}} else {{\n{INIT}\n}}", INIT, AWAIT)
    assert names(branch, context) == ["init", "init", "init", "barrier", "await"]


def test_while_loops_come_round(context: StageContext) -> None:
    loop = f"scf.while : () -> () {{\nscf.condition(%c)\n}} do {{\n{FILL.format('a')}\nscf.yield\n}}"
    assert names(lines(loop, LOAD.format("a", "x")), context) == ["barrier", "store", "barrier", "load"]


def test_a_wait_is_followed_by_a_barrier(context: StageContext) -> None:
    wait = '%w = "ttg.async_wait"() {num = 0 : i32} : () -> !ttg.async_token'
    assert names(lines(FILL.format("a"), wait, LOAD.format("a", "x")), context) == [
        "store",
        "wait",
        "barrier",
        "load",
    ]


def test_an_unknown_op_on_a_buffer_may_do_anything(context: StageContext) -> None:
    view = '%v = "ttg.memdesc_trans"(%a) {order = array<i32: 0, 1>} : (MEM) -> MEM'
    odd = '%o = "builtin.unrealized_conversion_cast"(%a) : (MEM) -> MEM'
    assert names(lines(view, FILL.format("a"), odd), context).count("barrier") == 1
