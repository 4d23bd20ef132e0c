#acc = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "nvidia:sm_90a", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %rows: !ttg.memdesc<64xf32, #shared1, #smem, mutable>, %out: tensor<64x64x!tt.ptr<f32>, #acc>) {
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #acc>
    %no = arith.constant false
    %s = ttng.warp_group_dot %a, %b, %zero, %no {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #acc>
    %t = ttng.warp_group_dot %a, %b, %zero, %no {inputPrecision = 0 : i32} : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> * !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf32, #acc>
    %u = ttng.warp_group_dot_wait %s {pendings = 1 : i32} : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %d = ttg.local_load %rows : !ttg.memdesc<64xf32, #shared1, #smem, mutable> -> tensor<64xf32, #ttg.slice<{dim = 0, parent = #acc}>>
    %e = tt.expand_dims %d {axis = 0 : i32} : tensor<64xf32, #ttg.slice<{dim = 0, parent = #acc}>> -> tensor<1x64xf32, #acc>
    %f = tt.broadcast %e : tensor<1x64xf32, #acc> -> tensor<64x64xf32, #acc>
    %v = ttng.warp_group_dot_wait %t {pendings = 0 : i32} : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>
    %x = arith.subf %v, %f : tensor<64x64xf32, #acc>
    %y = arith.mulf %u, %x : tensor<64x64xf32, #acc>
    tt.store %out, %y : tensor<64x64x!tt.ptr<f32>, #acc>
    tt.return
  }
}
