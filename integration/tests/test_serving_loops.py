"""In loops of dots nothing waits for a load of its own iteration: not tiles, nor rows and numbers beside them, nor addresses that are loaded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tri
from integration.bench_amd_static.cases import CASES, Case, kernel_of, source_of
from tri_core import mlir
from tri_core.dialects.tt import LoadOp
from tri_core.ir.access import global_load
from tri_core.ir.dots import is_dot
from tri_core.ir.regions import For
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.edit import all_ops, block_ops

#: kernels beside those of serving whose operands are unpacked and scaled between load and dot
_UNPACKED = ("mxfp4_weights_matmul",)
SERVING = [case for case in CASES if case.module.endswith("serving") or case.kernel in _UNPACKED]
PAGES = next(case for case in SERVING if case.kernel == "paged_decode")


def loops_of_dots(module: ir.Module) -> Iterator[list[ir.Operation]]:
    """The bodies of loops that have dots and loads."""
    for op in all_ops(module.operation):
        if isa(op, For):
            body = block_ops(For(op).body)
            if any(map(is_dot, body)) and any(global_load(each) is not None for each in body):
                yield body


def compiled(case: Case, target: str, stages: int) -> str:
    source = source_of(tri.ASTSource, kernel_of(case), case)
    return str(
        tri.compile(source, target=target, options={"num_warps": 4, "num_stages": stages}).asm["ttgir"]
    )


@pytest.mark.parametrize("case", SERVING, ids=lambda case: case.name)
def test_what_is_loaded_is_read_an_iteration_later(case: Case) -> None:
    text = compiled(case, f"amd:{case.chip}", 2)
    with mlir.session():
        module = parse_module(text)
        found = list(loops_of_dots(module))
        assert found
        for load in (op for body in found for op in body if global_load(op) is not None):
            readers = {use.owner.operation.name for use in load.results[0].uses}
            assert readers <= {"scf.yield", "ttg.local_store"}, str(load)


@pytest.mark.parametrize(
    "case", [case for case in SERVING if case.kernel in _UNPACKED], ids=lambda case: case.name
)
def test_what_stays_in_registers_is_loaded_behind_its_last_use(case: Case) -> None:
    """A copy of what is loaded before would wait for it in the middle of the iteration."""
    text = compiled(case, f"amd:{case.chip}", 2)
    with mlir.session():
        module = parse_module(text)
        held = 0
        for body in loops_of_dots(module):
            loop, place = For(body[0].block.owner), {op: at for at, op in enumerate(body)}
            for argument, value in zip(loop.carried, loop.yielded, strict=True):
                load = None if isinstance(value.owner, ir.Block) else value.owner.operation
                if load in place and global_load(load) is not None:
                    held += 1
                    last = max(place[use.owner.operation] for use in argument.uses)
                    assert last < place[load], str(load)
        assert held


@pytest.mark.parametrize("target", ["nvidia:sm_80", "nvidia:sm_90a"])
def test_copies_have_their_page_numbers(target: str) -> None:
    text = compiled(PAGES, target, 3)
    with mlir.session():
        module = parse_module(text)
        loads = [op for op in all_ops(module.operation) if isa(op, LoadOp) and isa(op.parent.operation, For)]
        assert {use.owner.operation.name for op in loads for use in op.results[0].uses} == {"scf.yield"}
