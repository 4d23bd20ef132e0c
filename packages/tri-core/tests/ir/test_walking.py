"""What a visit raises ends the walk, and is raised from it as itself."""

from __future__ import annotations

import signal

import pytest

from tri_core import mlir
from tri_core.dialects import tt  # noqa: F401  registers the dialect
from tri_core.ir.walking import walk
from tri_core.mlir import ir

TEXT = (
    "func.func @f(%a: i32) -> i32 { "
    + "".join(f"%x{i} = arith.addi %a, %a : i32 " for i in range(64))
    + "return %a : i32 }"
)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ValueError])
def test_what_is_raised_arrives_as_itself(kind: type[BaseException]) -> None:
    seen: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        seen.append(op.name)
        raise kind("enough")

    with mlir.session():
        module = mlir.parse(TEXT)
        with pytest.raises(kind, match="enough"):
            walk(module.operation, visit)
    assert len(seen) == 1


def test_a_signal_during_a_walk() -> None:
    """The handler runs wherever Python looks next: in a visit, or between two."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        signal.raise_signal(signal.SIGINT)
        return ir.WalkResult.ADVANCE

    with mlir.session(), pytest.raises(KeyboardInterrupt):
        walk(mlir.parse(TEXT).operation, visit)


def test_a_walk_says_how_it_goes_on() -> None:
    seen: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        seen.append(op.name)
        return ir.WalkResult.SKIP if op.name == "func.func" else ir.WalkResult.ADVANCE

    with mlir.session():
        walk(mlir.parse(TEXT).operation, visit, ir.WalkOrder.PRE_ORDER)
    assert seen == ["builtin.module", "func.func"]
