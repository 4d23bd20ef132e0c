// A side that is made of constants is made in the layout that users want; the other is converted under the condition.
// RUN: remove-layout-conversions
// CHECK-DAG: #[[LOADED:.*]] = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
// CHECK-DAG: #[[STORED:.*]] = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
// CHECK: scf.if %c -> (tensor<64x64xf32, #[[STORED]]>)
// CHECK: %[[X:.*]] = tt.load %p : tensor<64x64x!tt.ptr<f32>, #[[LOADED]]>
// CHECK: %[[Y:.*]] = ttg.convert_layout %[[X]]
// CHECK: scf.yield %[[Y]]
// CHECK: } else {
// CHECK-NOT: convert_layout
// CHECK: tt.store
#loaded = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#stored = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%c: i1, %p: tensor<64x64x!tt.ptr<f32>, #loaded>, %q: tensor<64x64x!tt.ptr<f32>, #stored>) {
    %cst = arith.constant dense<1.000000e+00> : tensor<64x64xf32, #loaded>
    %0 = scf.if %c -> (tensor<64x64xf32, #loaded>) {
      %2 = tt.load %p : tensor<64x64x!tt.ptr<f32>, #loaded>
      scf.yield %2 : tensor<64x64xf32, #loaded>
    } else {
      scf.yield %cst : tensor<64x64xf32, #loaded>
    }
    %1 = ttg.convert_layout %0 : tensor<64x64xf32, #loaded> -> tensor<64x64xf32, #stored>
    tt.store %q, %1 : tensor<64x64x!tt.ptr<f32>, #stored>
    tt.return
  }
}
