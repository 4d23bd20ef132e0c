"""A loop of dots over tiles of two matrices, as text of TTIR: what passes that pipeline loops are tested with."""

from __future__ import annotations

__all__ = ["dot_text", "matmul", "second_loads"]

#: ``c += sum over i of a[i] @ b[i]``, then once more with ``a`` transposed if ``%b`` is read through ``TRANS``
_MATMUL = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: !tt.ptr<f16, "global">, %b: !tt.ptr<f16, "global">, %c: !tt.ptr<f32, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %start = arith.constant dense<0.0> : tensor<16x16xf32>
    %r16 = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %rk = "tt.make_range"() {start = 0 : i32, end = KK : i32} : () -> tensor<KKxi32>
    %ar = "tt.expand_dims"(%r16) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %ac = "tt.expand_dims"(%rk) {axis = 0 : i32} : (tensor<KKxi32>) -> tensor<1xKKxi32>
    %aw = arith.constant dense<KK> : tensor<16x1xi32>
    %as = arith.muli %ar, %aw : tensor<16x1xi32>
    %arb = "tt.broadcast"(%as) : (tensor<16x1xi32>) -> tensor<16xKKxi32>
    %acb = "tt.broadcast"(%ac) : (tensor<1xKKxi32>) -> tensor<16xKKxi32>
    %ao = arith.addi %arb, %acb : tensor<16xKKxi32>
    %a0 = "tt.splat"(%a) : (!tt.ptr<f16, "global">) -> tensor<16xKKx!tt.ptr<f16, "global">>
    %a1 = "tt.addptr"(%a0, %ao) : (tensor<16xKKx!tt.ptr<f16, "global">>, tensor<16xKKxi32>) -> tensor<16xKKx!tt.ptr<f16, "global">>
    BPOINTERS
    %co_r = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %cw = arith.constant dense<16> : tensor<16x1xi32>
    %cs = arith.muli %ar, %cw : tensor<16x1xi32>
    %crb = "tt.broadcast"(%cs) : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %ccb = "tt.broadcast"(%co_r) : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %co = arith.addi %crb, %ccb : tensor<16x16xi32>
    %c0 = "tt.splat"(%c) : (!tt.ptr<f32, "global">) -> tensor<16x16x!tt.ptr<f32, "global">>
    %c1 = "tt.addptr"(%c0, %co) : (tensor<16x16x!tt.ptr<f32, "global">>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32, "global">>
    %step = arith.constant dense<STEP> : tensor<16xKKxi32>
    %stepb = arith.constant dense<STEP> : tensor<BSHAPExi32>
    %r:3 = scf.for %i = %zero to %n step %one iter_args(%acc = %start, %at = %a1, %bt = %b1) -> (tensor<16x16xf32>, tensor<16xKKx!tt.ptr<f16, "global">>, tensor<BSHAPEx!tt.ptr<f16, "global">>) : i32 {
      %x = "tt.load"(%at) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16xKKx!tt.ptr<f16, "global">>) -> tensor<16xKKxf16>
      %y = "tt.load"(%bt) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<BSHAPEx!tt.ptr<f16, "global">>) -> tensor<BSHAPExf16>
      BODY
      %at2 = "tt.addptr"(%at, %step) : (tensor<16xKKx!tt.ptr<f16, "global">>, tensor<16xKKxi32>) -> tensor<16xKKx!tt.ptr<f16, "global">>
      %bt2 = "tt.addptr"(%bt, %stepb) : (tensor<BSHAPEx!tt.ptr<f16, "global">>, tensor<BSHAPExi32>) -> tensor<BSHAPEx!tt.ptr<f16, "global">>
      scf.yield %next, %at2, %bt2 : tensor<16x16xf32>, tensor<16xKKx!tt.ptr<f16, "global">>, tensor<BSHAPEx!tt.ptr<f16, "global">>
    }
    "tt.store"(%c1, %r#0) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32, "global">>, tensor<16x16xf32>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f16, "global">, !tt.ptr<f16, "global">, !tt.ptr<f32, "global">, i32) -> (), sym_name = "f", arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}]} : () -> ()
}) : () -> ()
"""
#: the right operand as it lies: k rows of 16, or 16 rows of k
_ROWS = """
    %br = "tt.expand_dims"(%rk) {axis = 1 : i32} : (tensor<KKxi32>) -> tensor<KKx1xi32>
    %bc = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %bw = arith.constant dense<16> : tensor<KKx1xi32>
    %bs = arith.muli %br, %bw : tensor<KKx1xi32>
    %brb = "tt.broadcast"(%bs) : (tensor<KKx1xi32>) -> tensor<KKx16xi32>
    %bcb = "tt.broadcast"(%bc) : (tensor<1x16xi32>) -> tensor<KKx16xi32>
    %bo = arith.addi %brb, %bcb : tensor<KKx16xi32>
    %b0 = "tt.splat"(%b) : (!tt.ptr<f16, "global">) -> tensor<KKx16x!tt.ptr<f16, "global">>
    %b1 = "tt.addptr"(%b0, %bo) : (tensor<KKx16x!tt.ptr<f16, "global">>, tensor<KKx16xi32>) -> tensor<KKx16x!tt.ptr<f16, "global">>
"""
_COLUMNS = """
    %b0 = "tt.splat"(%b) : (!tt.ptr<f16, "global">) -> tensor<16xKKx!tt.ptr<f16, "global">>
    %b1 = "tt.addptr"(%b0, %ao) : (tensor<16xKKx!tt.ptr<f16, "global">>, tensor<16xKKxi32>) -> tensor<16xKKx!tt.ptr<f16, "global">>
"""
_DOT = '%{0} = "tt.dot"(%{1}, %{2}, %{3}) {{inputPrecision = 2 : i32}} : (tensor<16xKKxf16>, tensor<KKx16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>\n'
_TRANS = '%z = "tt.trans"(%y) {order = array<i32: 1, 0>} : (tensor<16xKKxf16>) -> tensor<KKx16xf16>\n'


def matmul(k: int, *, transposed: bool, twice: bool) -> str:
    """The text of the kernel; ``twice``: two dots per iteration."""
    body = _TRANS if transposed else ""
    right = "z" if transposed else "y"
    body += dot_text("mid", "x", right, "acc") if twice else ""
    # a second dot of the same loads would make them have two readers: it takes loads of its own
    if twice:
        body += second_loads(transposed)
        body += dot_text("next", "x2", "z2" if transposed else "y2", "mid")
    else:
        body += dot_text("next", "x", right, "acc")
    shape = f"16x{k}" if transposed else f"{k}x16"
    text = _MATMUL.replace("BPOINTERS", _COLUMNS if transposed else _ROWS).replace("BODY", body)
    return text.replace("BSHAPE", shape).replace("STEP", str(16 * k)).replace("KK", str(k))


def dot_text(result: str, left: str, right: str, total: str) -> str:
    """A dot, by the names of its values; ``KK`` is to be replaced by k."""
    return _DOT.format(result, left, right, total)


def second_loads(transposed: bool) -> str:
    """Loads of both operands once more; ``KK`` and ``BSHAPE`` are to be replaced."""
    load = '%{0} = "tt.load"(%{1}) {{cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<{2}x!tt.ptr<f16, "global">>) -> tensor<{2}xf16>\n'
    text = load.format("x2", "at", "16xKK") + load.format("y2", "bt", "BSHAPE")
    return text + (_TRANS.replace("%z", "%z2").replace("%y", "%y2") if transposed else "")
