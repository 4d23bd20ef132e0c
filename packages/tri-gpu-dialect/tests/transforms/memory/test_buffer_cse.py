"""Equal buffers that nobody writes become one, wherever the first is made before the second on every way there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core import mlir
from tri_core.api import StageContext
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import MemDescType
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.encodings import Blocked, SwizzledShared
from tri_gpu_dialect.passes import BufferCSE

BLOCKED = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
OTHER = Blocked((4, 1), (8, 4), (1, 4), (0, 1))
ROWS, COLUMNS = SwizzledShared(4, 1, 8, (1, 0)), SwizzledShared(4, 1, 8, (0, 1))
TYPES = {"TENSOR": f"tensor<64x64xf32, {BLOCKED}>", "OTHER": f"tensor<64x64xf32, {OTHER}>"}


def memory(encoding: SwizzledShared, *, mutable: bool = False) -> str:
    return str(MemDescType.of((64, 64), ir.F32Type.get(), encoding.to_attr(), mutable=mutable))


def alloc(
    name: str,
    value: str = "%t",
    encoding: SwizzledShared = ROWS,
    type_: str = "TENSOR",
    *,
    mutable: bool = False,
) -> str:
    return f'%{name} = "ttg.local_alloc"({value}) : ({type_}) -> {memory(encoding, mutable=mutable)}'


def use(name: str, encoding: SwizzledShared = ROWS) -> str:
    return f'"test.use"(%{name}) : ({memory(encoding)}) -> ()'


def free(name: str, encoding: SwizzledShared = ROWS) -> str:
    return f'"ttg.local_dealloc"(%{name}) : ({memory(encoding)}) -> ()'


TRANS = '%x = "tt.trans"(%t) {order = array<i32: 1, 0>} : (TENSOR) -> OTHER'
CONVERTED = '%x = "ttg.convert_layout"(%t) : (TENSOR) -> OTHER'


@pytest.fixture(autouse=True)
def _ops_that_nobody_knows() -> Iterator[None]:
    with mlir.session() as context:
        context.allow_unregistered_dialects = True
        yield
        context.allow_unregistered_dialects = False


def after(*lines: str, context: StageContext | None = None, transposed: bool = False) -> ir.Module:
    """The module with a function of ``lines``, whose tensor is %t and flag %c, behind the pass."""
    body = "\n".join(lines)
    for name, type_ in TYPES.items():
        body = body.replace(name, type_)
    types = f"{TYPES['TENSOR']}, i1, index"
    made = ir.Module.parse(
        'module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {'
        f'"tt.func"() ({{ ^bb0(%t: {TYPES["TENSOR"]}, %c: i1, %n: index):\n{body}\n"tt.return"() : () -> () }})'
        f' {{sym_name = "f", function_type = ({types}) -> ()}} : () -> () }}'
    )
    BufferCSE(transposed=transposed).apply(made, context)  # type: ignore[arg-type]
    assert made.operation.verify()
    return made


def names(module: ir.Module) -> list[str]:
    found: list[str] = []

    def note(op: ir.Operation) -> ir.WalkResult:
        found.append(op.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(note, ir.WalkOrder.PRE_ORDER)
    return found


def buffers(module: ir.Module) -> int:
    return names(module).count("ttg.local_alloc")


def test_two_buffers_of_a_tensor_are_one() -> None:
    assert buffers(after(alloc("a"), alloc("b"), use("a"), use("b"))) == 1


def test_the_layout_that_it_had_in_registers_does_not_matter() -> None:
    assert buffers(after(CONVERTED, alloc("a"), alloc("b", "%x", type_="OTHER"), use("a"), use("b"))) == 1


@pytest.mark.parametrize(
    "second",
    [
        lambda: alloc("b", encoding=COLUMNS),
        lambda: alloc("b", mutable=True),
        lambda: TRANS + "\n" + alloc("b", "%x", COLUMNS, "OTHER"),
    ],
    ids=["another order", "may be written", "its transpose"],
)
def test_others_stay_apart(second: Callable[[], str]) -> None:
    assert buffers(after(alloc("a"), second(), use("a"))) == 2


def test_the_transpose_is_a_view_where_that_is_asked_for() -> None:
    """In memory the transpose's columns lie where the tensor's rows do."""
    lines = alloc("a"), TRANS, alloc("b", "%x", COLUMNS, "OTHER"), use("a"), use("b", COLUMNS)
    made = after(*lines, transposed=True)
    assert buffers(made) == 1
    assert "ttg.memdesc_trans" in names(made)
    kept = TRANS, alloc("b", "%x", ROWS, "OTHER"), alloc("a"), use("a"), use("b")
    assert buffers(after(*kept, transposed=True)) == 2  # its rows do not


def test_one_from_outside_serves_loops() -> None:
    loop = "scf.for %{0} = %n to %n step %n {{\n{1}\n}}"
    made = after(
        alloc("a"),
        loop.format("i", alloc("b") + "\n" + use("b") + "\n" + free("b")),
        loop.format("j", alloc("d") + "\n" + use("d")),
        free("a"),
    )
    assert buffers(made) == 1
    assert names(made)[-2:] == ["ttg.local_dealloc", "tt.return"]


def test_what_is_made_in_a_branch_serves_nobody_outside() -> None:
    branch = f"scf.if %c {{\n{alloc('a')}\n{use('a')}\n}}"
    assert buffers(after(branch, alloc("b"), use("b"))) == 2
    assert buffers(after(f"scf.if %c {{\n{alloc('a')}\n}} else {{\n{alloc('b')}\n}}")) == 2


def test_it_is_freed_behind_the_last_use_of_both() -> None:
    made = names(after(alloc("a"), use("a"), free("a"), alloc("b"), use("b"), free("b")))
    assert made.count("ttg.local_dealloc") == 1
    assert made[-3:] == ["test.use", "ttg.local_dealloc", "tt.return"]


def test_they_stay_where_the_longer_life_would_not_fit(context: StageContext) -> None:
    """The two live one after the other beside something large in between."""
    limit = context.target.spec.limits["shared"]
    rows = (limit - 64 * 64 * 4) // 256 + 8
    type_ = MemDescType.of((rows, 64), ir.F32Type.get(), ROWS.to_attr(), mutable=True)
    between = f'%w = "ttg.local_alloc"() : () -> {type_}\n"test.use"(%w) : ({type_}) -> ()'
    lines = alloc("a"), use("a"), between, alloc("b"), use("b")
    assert buffers(after(*lines, context=context)) == 3
    assert buffers(after(alloc("a"), use("a"), alloc("b"), use("b"), context=context)) == 1


PLACES = st.lists(st.sampled_from(["alloc", "loop", "branch", "end"]), min_size=1, max_size=12)


@given(PLACES)
def test_no_two_are_left_of_which_one_dominates_the_other(places: list[str]) -> None:
    """Against a count over the nesting itself: a scope without one around it makes its own."""
    lines, scopes, expected = [], [False], 0
    for number, place in enumerate(places):
        if place == "alloc":
            lines += [alloc(f"b{number}"), use(f"b{number}")]
            expected += not any(scopes)
            scopes[-1] = True
        elif place == "end" and len(scopes) > 1:
            lines.append("}")
            scopes.pop()
        elif place in ("loop", "branch"):
            lines.append(f"scf.for %i{number} = %n to %n step %n {{" if place == "loop" else "scf.if %c {")
            scopes.append(False)
    lines += ["}"] * (len(scopes) - 1)
    made = after(*lines)
    assert buffers(made) == expected
    uses = [op for op in all_ops(made.operation) if op.name == "test.use"]
    assert len(uses) == places.count("alloc")
    assert math.prod(op.operands[0].owner.operation.name == "ttg.local_alloc" for op in uses)
