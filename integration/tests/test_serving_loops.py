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

SERVING = [case for case in CASES if case.module.endswith("serving")]
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


@pytest.mark.parametrize("target", ["nvidia:sm_80", "nvidia:sm_90a"])
def test_copies_have_their_page_numbers(target: str) -> None:
    text = compiled(PAGES, target, 3)
    with mlir.session():
        module = parse_module(text)
        loads = [op for op in all_ops(module.operation) if isa(op, LoadOp) and isa(op.parent.operation, For)]
        assert {use.owner.operation.name for op in loads for use in op.results[0].uses} == {"scf.yield"}
