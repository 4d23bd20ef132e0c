// A scan along the axis that two blocks split runs on all of it in both of them; along the other axis it stays as it is, and so
// does what is stored.
// RUN: gather-across-cluster

// CHECK: %[[IN:.*]] = "ttg.convert_layout"(%{{.*}}) : {{.*}} -> tensor<8x64xf32, #ttg.blocked<{CGALayout = {{\[\[}}1, 0]],
// CHECK: %[[SUM:.*]] = "tt.scan"(%[[IN]]) ({
// CHECK: %[[BACK:.*]] = "ttg.convert_layout"(%[[SUM]]) : {{.*}} -> tensor<8x64xf32, #ttg.blocked<{CGALayout = {{\[\[}}0, 1]],
// CHECK-NOT: ttg.convert_layout
// CHECK: "tt.scan"(%[[BACK]]) ({
// CHECK-NOT: ttg.convert_layout
// CHECK: "tt.store"
#b = #ttg.blocked<{CGALayout = [[0, 1]], order = [1, 0], sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1]}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">):
    %q = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<8x64x!tt.ptr<f32, "global">, #b>
    %x = "tt.load"(%q) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<8x64x!tt.ptr<f32, "global">, #b>) -> tensor<8x64xf32, #b>
    %y = "tt.scan"(%x) ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      "tt.scan_return"(%s) : (f32) -> ()
    }) {axis = 1 : i32, reverse = false} : (tensor<8x64xf32, #b>) -> tensor<8x64xf32, #b>
    %z = "tt.scan"(%y) ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      "tt.scan_return"(%s) : (f32) -> ()
    }) {axis = 0 : i32, reverse = false} : (tensor<8x64xf32, #b>) -> tensor<8x64xf32, #b>
    "tt.store"(%q, %z) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x64x!tt.ptr<f32, "global">, #b>, tensor<8x64xf32, #b>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">) -> (), sym_name = "f", arg_attrs = [{}]} : () -> ()
}) {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} : () -> ()
