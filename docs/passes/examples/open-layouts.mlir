#b = #ttg.blocked<{order = [0], sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32, tt.explicit} {
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<i32, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %unused = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
    %r = "tt.make_range"() {start = 0 : i32, end = 128 : i32} : () -> tensor<128xi32>
    %s = "tt.splat"(%p) : (!tt.ptr<i32, "global">) -> tensor<128x!tt.ptr<i32, "global">, #b>
    %sum = scf.for %i = %zero to %n step %one iter_args(%acc = %r) -> (tensor<128xi32>) : i32 {
      %next = arith.addi %acc, %r : tensor<128xi32>
      scf.yield %next : tensor<128xi32>
    }
    %placed = "gluon.set_auto_layout"(%sum) : (tensor<128xi32>) -> tensor<128xi32, #b>
    "tt.store"(%s, %placed) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<128x!tt.ptr<i32, "global">, #b>, tensor<128xi32, #b>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<i32, "global">, i32) -> (), sym_name = "f", sym_visibility = "public"} : () -> ()
}
