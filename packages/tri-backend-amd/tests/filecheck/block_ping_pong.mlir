// Four memory clusters and four dot clusters, a barrier behind each; the second four wavefronts are one barrier late.
// TARGET: amd:gfx942
// RUN: amdg-block-ping-pong

// CHECK: ttg.barrier local
// CHECK-NEXT: %[[W:.*]] = ttg.warp_id
// CHECK-NEXT: %[[H:.*]] = arith.constant 3 : i32
// CHECK-NEXT: %[[S:.*]] = arith.cmpi slt, %[[H]], %[[W]] : i32
// CHECK-NEXT: amdg.cond_barrier %[[S]]
// CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = 
// CHECK-NEXT: %[[A0:.*]] = ttg.memdesc_subslice %[[A:.*]][0, 0] : 
// CHECK-NEXT: %[[L0:.*]] = ttg.local_load %[[A0]] : 
// CHECK-NEXT: %[[B0:.*]] = ttg.memdesc_subslice %[[B:.*]][0, 0] : 
// CHECK-NEXT: %[[R0:.*]] = ttg.local_load %[[B0]] : 
// CHECK-NEXT: %[[P:.*]] = tt.load %x : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: amdg.set_priority {level = 1 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: %[[D0:.*]] = tt.dot %[[L0]], %[[R0]], %[[C]] : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.set_priority {level = 0 : i32}
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: %[[A1:.*]] = ttg.memdesc_subslice %[[A]][0, 16] : 
// CHECK-NEXT: %[[L1:.*]] = ttg.local_load %[[A1]] : 
// CHECK-NEXT: %[[B1:.*]] = ttg.memdesc_subslice %[[B]][16, 0] : 
// CHECK-NEXT: %[[R1:.*]] = ttg.local_load %[[B1]] : 
// CHECK-NEXT: %[[Q:.*]] = tt.load %y : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: amdg.set_priority {level = 1 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: %[[D1:.*]] = tt.dot %[[L1]], %[[R1]], %[[D0]] : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.set_priority {level = 0 : i32}
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: %[[A2:.*]] = ttg.memdesc_subslice %[[A]][0, 32] : 
// CHECK-NEXT: %[[L2:.*]] = ttg.local_load %[[A2]] : 
// CHECK-NEXT: %[[B2:.*]] = ttg.memdesc_subslice %[[B]][32, 0] : 
// CHECK-NEXT: %[[R2:.*]] = ttg.local_load %[[B2]] : 
// CHECK-NEXT: %[[A3:.*]] = ttg.memdesc_subslice %[[A]][0, 48] : 
// CHECK-NEXT: %[[L3:.*]] = ttg.local_load %[[A3]] : 
// CHECK-NEXT: %[[B3:.*]] = ttg.memdesc_subslice %[[B]][48, 0] : 
// CHECK-NEXT: %[[R3:.*]] = ttg.local_load %[[B3]] : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: amdg.set_priority {level = 1 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: %[[D2:.*]] = tt.dot %[[L2]], %[[R2]], %[[D1]] : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.set_priority {level = 0 : i32}
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: amdg.wait_loads {count = 0 : i32}
// CHECK-NEXT: ttg.local_store %[[P]], %[[A]] : 
// CHECK-NEXT: ttg.local_store %[[Q]], %[[B]] : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: amdg.set_priority {level = 1 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: %[[D3:.*]] = tt.dot %[[L3]], %[[R3]], %[[D2]] : 
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: ttg.barrier local
// CHECK-NEXT: amdg.set_priority {level = 0 : i32}
// CHECK-NEXT: amdg.sched_barrier {mask = 0 : i32}
// CHECK-NEXT: scf.yield %[[D3]] : 
// CHECK: %[[G:.*]] = arith.constant 4 : i32
// CHECK-NEXT: %[[F:.*]] = arith.cmpi slt, %[[W]], %[[G]] : i32
// CHECK-NEXT: amdg.cond_barrier %[[F]]

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [8, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 32], warpsPerCTA = [8, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 2], instrShape = [32, 32, 8], isTransposed = true}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#shared1 = #ttg.shared_linear<{offset = [[16, 0], [32, 0], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128], [1, 0], [2, 0], [4, 0], [8, 0], [0, 17], [0, 34], [0, 68]]}, alignment = 16>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 8 : i32, ttg.target = "amd:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @matmul(%x: tensor<256x64x!tt.ptr<f16>, #blocked>, %y: tensor<64x256x!tt.ptr<f16>, #blocked1>, %c: tensor<256x256x!tt.ptr<f32>, #mma>, %n: i32) {
    %zero = arith.constant dense<0.0> : tensor<256x256xf32, #mma>
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = ttg.local_alloc : () -> !ttg.memdesc<256x64xf16, #shared, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x256xf16, #shared1, #smem, mutable>
    %sum = scf.for %i = %first to %n step %one iter_args(%acc = %zero) -> (tensor<256x256xf32, #mma>) : i32 {
      %p = tt.load %x : tensor<256x64x!tt.ptr<f16>, #blocked>
      %q = tt.load %y : tensor<64x256x!tt.ptr<f16>, #blocked1>
      %l = ttg.local_load %a : !ttg.memdesc<256x64xf16, #shared, #smem, mutable> -> tensor<256x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 8}>>
      %r = ttg.local_load %b : !ttg.memdesc<64x256xf16, #shared1, #smem, mutable> -> tensor<64x256xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>>
      %d = tt.dot %l, %r, %acc : tensor<256x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 8}>> * tensor<64x256xf16, #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 8}>> -> tensor<256x256xf32, #mma>
      ttg.local_store %p, %a : tensor<256x64xf16, #blocked> -> !ttg.memdesc<256x64xf16, #shared, #smem, mutable>
      ttg.local_store %q, %b : tensor<64x256xf16, #blocked1> -> !ttg.memdesc<64x256xf16, #shared1, #smem, mutable>
      scf.yield %d : tensor<256x256xf32, #mma>
    }
    tt.store %c, %sum : tensor<256x256x!tt.ptr<f32>, #mma>
    tt.return
  }
}
