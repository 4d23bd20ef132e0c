"""What a visit raises ends the walk, and is raised from it as itself."""

from __future__ import annotations

import gc
import signal
import time

import pytest

from tri_core import mlir
from tri_core.dialects import tt  # noqa: F401  registers the dialect
from tri_core.ir.walking import collect, walk
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


def test_all_ops_are_collected_inner_ones_first() -> None:
    seen: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        seen.append(op)
        return ir.WalkResult.ADVANCE

    with mlir.session():
        module = mlir.parse(TEXT)
        walk(module.operation, visit)
        found = collect(module.operation)
        assert found == seen
        assert [op.name for op in found[-2:]] == ["func.func", "builtin.module"]


def _collect_until(seconds: float, root: ir.Operation) -> None:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        collect(root)
    pytest.fail(f"the alarm after {seconds} s was lost")


def test_a_signal_while_ops_are_collected() -> None:
    """An alarm that rings again and again, at any place of the walk."""

    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    # Python ignores what is raised while it collects garbage, which calls functions of the test tools
    gc.disable()
    try:
        with mlir.session():
            module = mlir.parse(TEXT)
            for microseconds in range(5, 205, 5):
                with pytest.raises(KeyboardInterrupt):
                    _collect_until(microseconds * 1e-6, module.operation)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
