#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "nvidia:sm_80", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%x: tensor<64x64x!tt.ptr<f32>, #blocked>, %y: tensor<64x64x!tt.ptr<f32>, #blocked1>, %v: tensor<64x64xf32, #blocked>, %rows: i1) {
    %0 = ttg.convert_layout %v : tensor<64x64xf32, #blocked> -> tensor<64x64xf32, #blocked1>
    scf.if %rows {
      tt.store %x, %v : tensor<64x64x!tt.ptr<f32>, #blocked>
    } else {
      tt.store %y, %0 : tensor<64x64x!tt.ptr<f32>, #blocked1>
    }
    tt.return
  }
}
