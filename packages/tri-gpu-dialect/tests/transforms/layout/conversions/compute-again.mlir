// What is cheaper to compute again than to convert is computed in both layouts; x is converted once.
// RUN: remove-layout-conversions
// CHECK: %[[X:.*]] = tt.load
// CHECK: %[[Y:.*]] = ttg.convert_layout %[[X]]
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT: convert_layout
// CHECK: tt.return
#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: tensor<64x64x!tt.ptr<f32>, #rows>, %q: tensor<64x64x!tt.ptr<f32>, #columns>, %r: tensor<64x64x!tt.ptr<f32>, #columns>) {
    %0 = tt.load %p : tensor<64x64x!tt.ptr<f32>, #rows>
    %1 = arith.mulf %0, %0 : tensor<64x64xf32, #rows>
    tt.store %p, %1 : tensor<64x64x!tt.ptr<f32>, #rows>
    %2 = ttg.convert_layout %0 : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    tt.store %q, %2 : tensor<64x64x!tt.ptr<f32>, #columns>
    %3 = ttg.convert_layout %1 : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
    tt.store %r, %3 : tensor<64x64x!tt.ptr<f32>, #columns>
    tt.return
  }
}
