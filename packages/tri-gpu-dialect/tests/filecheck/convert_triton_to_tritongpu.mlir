// RUN: convert-triton-to-tritongpu
//
// Every tensor gets the default layout of its shape.  expand_dims takes a slice of its result's layout,
// broadcast the layout of its result, reduce gives a slice of its operand's: conversions stand between.

// CHECK: module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "made-up:m1", "ttg.threads-per-warp" = 32 : i32}
"tt.func"() ({
^bb0(%p: !tt.ptr<f32, "global">):
  // CHECK: %[[R:.*]] = "tt.make_range"() {{.*}} -> tensor<64xi32, #ttg.blocked<{order = [0], sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4]}>>
  %r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
  // CHECK-NEXT: %[[S:.*]] = "ttg.convert_layout"(%[[R]]) {{.*}} -> tensor<64xi32, #ttg.slice<{dim = 1 : i64, parent = [[COLUMN:#ttg.blocked<{order = \[1, 0\], sizePerThread = \[1, 1\], threadsPerWarp = \[32, 1\], warpsPerCTA = \[4, 1\]}>]]}>>
  // CHECK-NEXT: %[[E:.*]] = "tt.expand_dims"(%[[S]]) {{.*}} -> tensor<64x1xi32, [[COLUMN]]>
  %e = "tt.expand_dims"(%r) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>
  // CHECK-NEXT: %[[C:.*]] = "ttg.convert_layout"(%[[E]]) {{.*}} -> tensor<64x1xi32, [[MATRIX:#ttg.blocked<{order = \[1, 0\], sizePerThread = \[1, 1\], threadsPerWarp = \[1, 32\], warpsPerCTA = \[4, 1\]}>]]>
  // CHECK-NEXT: %[[B:.*]] = "tt.broadcast"(%[[C]]) {{.*}} -> tensor<64x32xi32, [[MATRIX]]>
  %b = "tt.broadcast"(%e) : (tensor<64x1xi32>) -> tensor<64x32xi32>
  // CHECK: %[[SUM:.*]] = "tt.reduce"(%[[B]])
  // CHECK: -> tensor<64xi32, #ttg.slice<{dim = 1 : i64, parent = [[MATRIX]]}>>
  // CHECK-NEXT: "ttg.convert_layout"(%[[SUM]]) {{.*}} -> tensor<64xi32, #ttg.blocked<
  %s = "tt.reduce"(%b) ({
  ^bb0(%x: i32, %y: i32):
    %z = arith.addi %x, %y : i32
    "tt.reduce_return"(%z) : (i32) -> ()
  }) {axis = 1 : i32} : (tensor<64x32xi32>) -> tensor<64xi32>
  %n = arith.muli %s, %s : tensor<64xi32>
  "tt.return"() : () -> ()
}) {sym_name = "f", function_type = (!tt.ptr<f32, "global">) -> ()} : () -> ()
