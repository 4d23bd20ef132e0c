"""Numbers of 64 bits that are cut to 32, against Python's integers."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tri_backend_intel.xegpu.narrowing import narrow_coordinates
from tri_core.mlir import ir, session
from tri_gpu_dialect.edit import all_ops

MASK = (1 << 64) - 1
COMPUTED = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y,
    "lshr": lambda x, y: x >> y,
    "udiv": lambda x, y: x // y,
    "urem": lambda x, y: x % y,
}

STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(COMPUTED)), st.integers(0, 9), st.integers(0, 9), st.integers(0, 40)),
    min_size=1,
    max_size=8,
)


def text_of(steps: list[tuple[str, int, int, int]]) -> str:
    """A function of a 32-bit number that is widened, and one of 64 bits; the second operand of some ops is a constant."""
    lines, values = [], ["%wide", "%b"]
    for i, (name, left, right, number) in enumerate(steps):
        if name in ("shl", "lshr", "udiv", "urem"):
            lines.append(f"%c{i} = llvm.mlir.constant({number % 40 + 1} : i64) : i64")
            second = f"%c{i}"
        else:
            second = values[right % len(values)]
        lines.append(f"%v{i} = llvm.{name} {values[left % len(values)]}, {second} : i64")
        values.append(f"%v{i}")
    body = "\n".join(lines)
    return f"""llvm.func @f(%a: i32, %b: i64) -> i32 {{
      %wide = llvm.zext %a : i32 to i64
      {body}
      %cut = llvm.trunc {values[-1]} : i64 to i32
      llvm.return %cut : i32
    }}"""


def run(function: ir.Operation, a: int, b: int) -> int:
    """What the function returns, by Python's integers."""
    entry = function.regions[0].blocks[0]
    known: dict[Any, int] = dict(zip(entry.arguments, (a, b), strict=True))
    for view in entry.operations:
        op = view.operation
        name, given_ = op.name.removeprefix("llvm."), [known[v] for v in op.operands]
        if name == "return":
            return given_[0]
        mask = (1 << op.results[0].type.width) - 1
        if name == "mlir.constant":
            made = ir.IntegerAttr(op.attributes["value"]).value
        elif name in ("zext", "trunc"):
            made = given_[0]
        else:
            made = COMPUTED[name](*given_)
        known[op.results[0]] = made & mask
    raise AssertionError("no return")


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, a=st.integers(0, (1 << 32) - 1), b=st.integers(0, MASK))
def test_the_low_half_is_the_same(steps: list[tuple[str, int, int, int]], a: int, b: int) -> None:
    with session():
        module = ir.Module.parse(text_of(steps))
        function = next(iter(module.body.operations)).operation
        wanted = run(function, a, b)
        narrow_coordinates(function)
        module.operation.verify()
        assert run(function, a, b) == wanted


def test_sums_of_what_was_widened_are_of_32_bits() -> None:
    with session():
        module = ir.Module.parse(
            text_of([("shl", 0, 0, 4), ("add", 2, 0, 0), ("urem", 0, 0, 7), ("or", 3, 4, 0)])
        )
        function = next(iter(module.body.operations)).operation
        narrow_coordinates(function)
        narrow = [op.name for op in all_ops(function) if len(op.results) and op.results[0].type.width == 32]
    assert {"llvm.shl", "llvm.add", "llvm.urem", "llvm.or"} <= set(narrow)
    assert "llvm.trunc" not in narrow
