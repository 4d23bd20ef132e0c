#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 16], warpsPerCTA = [4, 2], order = [1, 0]}>
#left = #ttg.dot_op<{opIdx = 0 : i64, parent = #b, kWidth = 0 : i64}>
#right = #ttg.dot_op<{opIdx = 1 : i64, parent = #b, kWidth = 0 : i64}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @matmul(%p: tensor<64x128x!tt.ptr<i8>, #b>, %q: tensor<64x64x!tt.ptr<f16>, #b>, %c: tensor<64x128xf32, #b>, %out: tensor<64x128x!tt.ptr<f32>, #b>) {
    %0 = tt.load %p : tensor<64x128x!tt.ptr<i8>, #b>
    %1 = arith.sitofp %0 : tensor<64x128xi8, #b> to tensor<64x128xf16, #b>
    %2 = tt.load %q : tensor<64x64x!tt.ptr<f16>, #b>
    %3 = ttg.convert_layout %2 : tensor<64x64xf16, #b> -> tensor<64x64xf16, #left>
    %4 = ttg.convert_layout %1 : tensor<64x128xf16, #b> -> tensor<64x128xf16, #right>
    %5 = tt.dot %3, %4, %c : tensor<64x64xf16, #left> * tensor<64x128xf16, #right> -> tensor<64x128xf32, #b>
    tt.store %out, %5 : tensor<64x128x!tt.ptr<f32>, #b>
    tt.return
  }
}
