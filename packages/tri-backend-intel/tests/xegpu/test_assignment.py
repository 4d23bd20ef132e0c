"""Who owns what of a kernel's tensors."""

from __future__ import annotations

from tri_backend_intel.xegpu.assignment import assign
from tri_backend_intel.xegpu.own_sources import with_own_sources
from tri_backend_intel.xegpu.shares import Grid
from tri_core.mlir import ir, session
from tri_gpu_dialect.edit import all_ops, functions

_DOT = "inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32"


def _kernel(body: str) -> str:
    return f"""module {{ "tt.func"() ({{
  {body}
  "tt.return"() : () -> ()
}}) {{function_type = () -> (), sym_name = "k", arg_attrs = []}} : () -> () }}"""


#: a dot whose result is the first operand of another one, as in attention
CHAINED = _kernel(f"""
  %q = arith.constant dense<1.0> : tensor<64x32xf16>
  %b = arith.constant dense<1.0> : tensor<32x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %s = "tt.dot"(%q, %b, %z) {{{_DOT}}} : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %w = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
  %v = arith.constant dense<1.0> : tensor<64x64xf16>
  %o = "tt.dot"(%w, %v, %z) {{{_DOT}}} : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
""")
SINGLE = CHAINED.replace("%w, %v", "%v, %v")
#: rows of one tensor are columns of another one
SQUARE = _kernel("""
  %r = "tt.make_range"() {end = 64 : i32, start = 0 : i32} : () -> tensor<64xi32>
  %a = "tt.expand_dims"(%r) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>
  %b = "tt.expand_dims"(%r) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>
  %c = "tt.broadcast"(%a) : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %d = "tt.broadcast"(%b) : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %e = arith.addi %c, %d : tensor<64x64xi32>
""")


def grid_of(text: str, warps: int) -> Grid:
    with session():
        module = ir.Module.parse(text)
        (kernel,) = functions(module)
        with_own_sources(kernel)
        return assign(kernel, warps).grid


def test_the_grid_is_as_square_as_the_dot_wants() -> None:
    assert grid_of(SINGLE, 4) == Grid(2, 2, 4)


def test_a_result_that_is_an_operand_stays_in_its_rows() -> None:
    assert grid_of(CHAINED, 4) == Grid(4, 1, 4)


def test_numbers_of_rows_and_of_columns_are_two_values() -> None:
    with session():
        module = ir.Module.parse(SQUARE)
        (kernel,) = functions(module)
        before = assign(kernel, 4)
        last = next(op for op in all_ops(kernel) if op.name == "arith.addi")
        assert not before.share(last.results[0]).fits
        with_own_sources(kernel)
        shares = assign(kernel, 4)
        last = next(op for op in all_ops(kernel) if op.name == "arith.addi")
        assert shares.share(last.results[0]).piece == (8, 16)
        assert sum(op.name == "tt.make_range" for op in all_ops(kernel)) == 2
