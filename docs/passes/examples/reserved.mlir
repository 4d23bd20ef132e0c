#rows = #ttng.tensor_memory_rows<{warpsPerCTA = [4, 1], columns = 64}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<{blockM = 128, blockN = 64, unpacked = true}>
#tmem1 = #ttng.tensor_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "nvidia:sm_100a", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @keep() {
    %zero = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #rows>
    %0 = ttng.tmem_reserve : !ttg.memdesc<128x64xf32, #tmem, #tmem1, mutable>
    %1 = ttng.tmem_reserve : !ttg.memdesc<128x64xf32, #tmem, #tmem1, mutable>
    ttng.tmem_store %zero, %0 : tensor<128x64xf32, #rows> -> !ttg.memdesc<128x64xf32, #tmem, #tmem1, mutable>
    ttng.tmem_store %zero, %1 : tensor<128x64xf32, #rows> -> !ttg.memdesc<128x64xf32, #tmem, #tmem1, mutable>
    tt.return
  }
}
