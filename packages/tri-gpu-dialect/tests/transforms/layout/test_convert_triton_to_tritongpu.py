from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from tri_core.api import OutOfResources, Unsupported, VerificationError
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.edit import module_int
from tri_gpu_dialect.encodings import Blocked, DotOperand, Slice
from tri_gpu_dialect.passes import Coalesce, ConvertTritonToTritonGPU
from tri_gpu_dialect.policies.gpu import DotPolicy
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.transforms.layout.convert_triton_to_tritongpu import dot_encoding


def function(body: str, args: str = "") -> str:
    types = ", ".join(arg.split(":", 1)[1] for arg in re.split(r",\s*(?=%)", args) if arg)
    return (
        f'"tt.func"() ({{ ^bb0({args}):\n{body}\n"tt.return"() : () -> () }}) '
        f'{{sym_name = "f", function_type = ({types}) -> ()}} : () -> ()\n'
    )


def ops(module: ir.Module, name: str) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def test_the_module_says_how_it_runs(run, kernel) -> None:  # type: ignore[no-untyped-def]
    module = run(kernel("vector_add"), num_warps=8)
    attributes = module.operation.attributes
    assert {name: str(attributes[name]) for name in attributes} == {
        "ttg.num-ctas": "1 : i32",
        "ttg.num-warps": "8 : i32",
        "ttg.target": '"made-up:m1"',
        "ttg.threads-per-warp": "32 : i32",
    }


@pytest.mark.parametrize(
    ("name", "instructions", "lanes"), [("matmul", True, 16), ("matmul", False, 32), ("softmax", True, 32)]
)
def test_warps_have_the_size_of_the_matrix_unit_where_it_has_work(  # type: ignore[no-untyped-def]
    kernel, context, name: str, instructions: bool, lanes: int
) -> None:
    table = MATRIX_POLICY.dots.instructions if instructions else ()
    policy = replace(MATRIX_POLICY, dots=DotPolicy(instructions=table, threads_per_warp=16))
    module = ir.Module.parse(kernel(name))
    ConvertTritonToTritonGPU(target="made-up:m1", num_warps=4, threads_per_warp=32, policy=policy).apply(
        module, context
    )
    assert module_int(module, "ttg.threads-per-warp") == lanes
    for load in ops(module, "tt.load"):
        encoding = encoding_of(load.results[0])
        assert isinstance(encoding, Blocked)
        assert math.prod(encoding.threads_per_warp) == lanes


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layernorm", "matmul"])
@pytest.mark.parametrize("num_warps", [1, 4])
def test_example_kernels_convert(run, kernel, name: str, num_warps: int) -> None:  # type: ignore[no-untyped-def]
    module = run(kernel(name), num_warps=num_warps)
    for load in ops(module, "tt.load"):
        assert isinstance(encoding_of(load.results[0]), Blocked)


def test_expand_dims_takes_a_slice_of_its_result(run) -> None:  # type: ignore[no-untyped-def]
    body = (
        '%0 = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>\n'
        '%1 = "tt.expand_dims"(%0) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>'
    )
    (op,) = ops(run(function(body)), "tt.expand_dims")
    result = encoding_of(op.results[0])
    assert result is not None
    assert encoding_of(op.operands[0]) == Slice(1, result)


def test_reduce_gives_a_slice_and_a_conversion_follows(run) -> None:  # type: ignore[no-untyped-def]
    body = (
        "%0 = arith.constant dense<1.0> : tensor<64x64xf32>\n"
        '%1 = "tt.reduce"(%0) ({ ^bb0(%a: f32, %b: f32): %c = arith.addf %a, %b : f32\n'
        '"tt.reduce_return"(%c) : (f32) -> () }) {axis = 1 : i32} : (tensor<64x64xf32>) -> tensor<64xf32>\n'
        "%2 = arith.negf %1 : tensor<64xf32>"
    )
    module = run(function(body))
    (op,) = ops(module, "tt.reduce")
    source = encoding_of(op.operands[0])
    assert source is not None
    assert encoding_of(op.results[0]) == Slice(1, source)
    (negated,) = ops(module, "arith.negf")
    assert encoding_of(negated.results[0]) == Blocked.default((64,), 4, 32)


def test_dot_operands_have_the_layouts_of_the_result(run, kernel) -> None:  # type: ignore[no-untyped-def]
    (op,) = ops(run(kernel("matmul")), "tt.dot")
    result = encoding_of(op.results[0])
    assert result == Blocked((1, 4), (4, 8), (4, 1), (1, 0))
    assert [encoding_of(v) for v in op.operands] == [DotOperand(0, result), DotOperand(1, result), result]


@pytest.mark.parametrize(
    ("shape", "run", "cells"),
    [
        ((64, 64), 4, (4, 8)),
        ((128, 128), 4, (8, 16)),
        ((64, 64), 1, (16, 2)),
        ((16, 16), 4, (2, 1)),
        ((32, 32), 4, (2, 4)),
        ((16, 64), 4, (2, 4)),
        ((32, 128), 4, (4, 8)),
        ((128, 16), 4, (4, 4)),
        ((4, 32, 32), 4, (1, 4, 8)),
        ((2, 64), 1, (1, 1)),
    ],
)
def test_dots_have_squares_of_elements_per_thread(
    shape: tuple[int, ...], run: int, cells: tuple[int, ...]
) -> None:
    layout = dot_encoding(shape, 4, 32, run=run).linear_layout(shape)
    assert layout.is_surjective
    seen = {layout.unpack_out(image) for image in layout.images("register")}
    assert tuple(len(set(column)) for column in zip(*seen, strict=True)) == cells


def test_constants_of_any_kind_follow_their_type(run) -> None:  # type: ignore[no-untyped-def]
    body = "%0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n%1 = arith.constant dense<true> : tensor<8xi1>"
    first, second = ops(run(function(body)), "arith.constant")
    assert str(first.attributes["value"]).startswith("dense<[1, 2, 3, 4]> : tensor<4xi32, #ttg.blocked")
    assert str(second.attributes["value"]).startswith("dense<true> : tensor<8xi1, #ttg.blocked")


def test_calls_are_refused_with_their_place(run) -> None:  # type: ignore[no-untyped-def]
    body = '"tt.call"() {callee = @g} : () -> () loc("k.py":3:5)'
    with pytest.raises(Unsupported, match="not inlined") as caught:
        run(function(body) + function("").replace('"f"', '"g"'))
    assert str(caught.value.location) == "k.py:3:5"


def test_huge_tensors_are_refused_before_anything_is_done_with_them(run) -> None:  # type: ignore[no-untyped-def]
    body = '%0 = "tt.make_range"() {start = 0 : i32, end = 1048576 : i32} : () -> tensor<1048576xi32> loc("k.py":3:5)'
    with pytest.raises(OutOfResources, match="8192 elements for each of 128 threads") as caught:
        run(function(body))
    assert "num_warps=8" in str(caught.value)
    assert str(caught.value.location) == "k.py:3:5"
    run(function(body), num_warps=8)


def test_other_passes_name_the_one_that_is_missing(kernel, context) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(VerificationError, match=ConvertTritonToTritonGPU.name):
        Coalesce().apply(ir.Module.parse(kernel("vector_add")), context)


def test_a_barrier_of_the_program_orders_all_memory(run) -> None:  # type: ignore[no-untyped-def]
    module = run(function('"tt.barrier"() : () -> ()'))
    assert ops(module, "tt.barrier") == []
    (op,) = ops(module, "ttg.barrier")
    assert str(op.attributes["addrSpace"]) == "3 : i32"
