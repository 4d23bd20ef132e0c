#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 1, 4], threadsPerWarp = [8, 4, 1], warpsPerCTA = [4, 1, 1], order = [2, 1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [0, 1]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @memory(%arg0: tensor<64x32xf32, #blocked>, %arg1: tensor<64x32x!tt.ptr<f32>, #blocked>, %arg2: tensor<64x32xi1, #blocked>, %arg3: i32, %arg4: tensor<64x32xi32, #blocked>) {
    %0 = ttg.convert_layout %arg0 : tensor<64x32xf32, #blocked> -> tensor<64x32xf32, #ttg.slice<{dim = 2, parent = #blocked1}>>
    %1 = ttg.local_alloc %arg0 : (tensor<64x32xf32, #blocked>) -> !ttg.memdesc<64x32xf32, #shared, #smem>
    %2 = ttg.local_alloc {alignment = 16 : i32, allocation.offset = 0 : i32} : () -> !ttg.memdesc<3x64x32xf32, #shared, #smem, mutable>
    %3 = ttg.memdesc_index %2[%arg3] : !ttg.memdesc<3x64x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf32, #shared, #smem, mutable>
    %4 = ttg.local_load %3 : !ttg.memdesc<64x32xf32, #shared, #smem, mutable> -> tensor<64x32xf32, #blocked>
    ttg.local_store %arg0, %3 : tensor<64x32xf32, #blocked> -> !ttg.memdesc<64x32xf32, #shared, #smem, mutable>
    %5 = ttg.memdesc_subslice %3[32, 0] : !ttg.memdesc<64x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<32x32xf32, #shared, #smem, mutable, 64x32>
    %6 = ttg.memdesc_trans %3 {order = array<i32: 1, 0>} : !ttg.memdesc<64x32xf32, #shared, #smem, mutable> -> !ttg.memdesc<32x64xf32, #shared1, #smem, mutable>
    %7 = ttg.async_copy_global_to_local %arg1, %3 : tensor<64x32x!tt.ptr<f32>, #blocked> -> <64x32xf32, #shared, #smem, mutable>
    %8 = ttg.async_copy_global_to_local %arg1, %3 mask %arg2 other %arg0 {isVolatile = true} : tensor<64x32x!tt.ptr<f32>, #blocked> -> <64x32xf32, #shared, #smem, mutable>
    %9 = ttg.async_commit_group tokens %7, %8
    %10 = ttg.async_commit_group
    %11 = ttg.async_wait %9 {num = 1 : i32}
    %12 = ttg.async_wait {num = 0 : i32}
    %13 = ttg.local_load %3 token %11 : !ttg.memdesc<64x32xf32, #shared, #smem, mutable> -> tensor<64x32xf32, #blocked>
    %14 = ttg.local_gather %3[%arg4] {axis = 0 : i32} : !ttg.memdesc<64x32xf32, #shared, #smem, mutable>, tensor<64x32xi32, #blocked> -> tensor<64x32xf32, #blocked>
    ttg.local_scatter %3[%arg4], %arg0 {axis = 0 : i32} : !ttg.memdesc<64x32xf32, #shared, #smem, mutable>, tensor<64x32xi32, #blocked>, tensor<64x32xf32, #blocked>
    ttg.local_dealloc %2 : !ttg.memdesc<3x64x32xf32, #shared, #smem, mutable>
    tt.return
  }
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], block = []}>
#shared = #ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#shared2 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "made-up:m1", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @others(%arg0: tensor<16x32xf16, #linear>, %arg1: !ttg.memdesc<4x4xf32, #shared, #smem>, %arg2: !ttg.memdesc<64x32xf32, #shared1, #smem, mutable>, %arg3: i32, %arg4: i1, %arg5: tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = #blocked}>>, %arg6: tensor<64x32xi8, #blocked>) {
    ttg.barrier local
    ttg.barrier local|global_read
    ttg.barrier all
    ttg.barrier none
    %0 = ttg.warp_id
    %grid = ttg.get_grid_size y : i32
    %next = ttg.next_tile %grid, %grid : i32
    %ticket = ttg.fetch_tile %grid : i32
    %place = ttg.local_alloc : () -> !ttg.memdesc<1xi32, #shared2, #smem, mutable>
    ttg.broadcast_tile %ticket, %place : !ttg.memdesc<1xi32, #shared2, #smem, mutable>
    %number = ttg.read_tile %place : !ttg.memdesc<1xi32, #shared2, #smem, mutable> -> i32
    %1 = ttg.predicate_stage %arg3, %arg3, %arg3 maxStage 2 stage 1 : i32 -> i1
    %2 = ttg.global_scratch_alloc {alignment = 16 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
    %3 = "ttg.mask"(%arg4) ({
      ttg.mask.return %arg3 : i32
    }) : (i1) -> i32
    %4 = ttg.memdesc_reinterpret %arg2 : !ttg.memdesc<64x32xf32, #shared1, #smem, mutable> -> !ttg.memdesc<32x32xf32, #shared1, #smem, mutable>
    %5 = ttg.memdesc_reshape %arg2 : !ttg.memdesc<64x32xf32, #shared1, #smem, mutable> -> !ttg.memdesc<128x16xf32, #shared1, #smem, mutable>
    %6 = ttg.fp4_to_fp %arg6 {axis = 1 : i32} : tensor<64x32xi8, #blocked> -> tensor<64x64xf16, #blocked1>
    tt.return
  }
}
// -----
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "made-up:m1", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @copies(%arg0: !tt.tensordesc<64x64xf16>, %arg1: i32, %arg2: i1, %arg3: !tt.ptr<f16>) {
    %0 = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    %1 = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.init_barrier %1, 1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.barrier_expect %1, 8192, %arg2 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.async_copy_descriptor_to_local %arg0[%arg1, %arg1] %0, %1, %arg2 : !tt.tensordesc<64x64xf16>, !ttg.memdesc<1xi64, #shared1, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    ttng.wait_barrier %1, %arg1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.arrive_barrier %1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.wait_barrier %1, %arg1 deps %1, %1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>, !ttg.memdesc<1xi64, #shared1, #smem, mutable>, !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.arrive_barrier %1 deps %1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>, !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.inval_barrier %1 : !ttg.memdesc<1xi64, #shared1, #smem, mutable>
    ttng.fence_async_shared
    ttg.ordered_barrier {group_warps = 4 : i32, step = "pass"}
    ttng.async_copy_local_to_descriptor %arg0[%arg1, %arg1] %0 : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    ttng.async_copy_local_to_descriptor %arg0[%arg1, %arg1] %0 {kind = 1 : i32} : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    ttng.async_store_wait {pendings = 0 : i32}
    %c1_i64 = arith.constant 1 : i64
    %2 = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>
    %3 = ttng.tensormap_create %2, %arg3, [%arg1, %arg1], [%c1_i64, %c1_i64] {padding = 1 : i32} : !tt.ptr<i8>, !tt.ptr<f16>, <64x64xf16>
    tt.return
  }
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttg.total-num-warps" = 12 : i32} {
  tt.func public @partitions(%p: !tt.ptr<f32>, %n: i32) attributes {noinline = false} {
    %c1_i32 = arith.constant 1 : i32
    %0:2 = ttg.warp_specialize(%p, %n) attributes {actualRegisters = array<i32: 232, 40, 24>, warpGroupStartIds = array<i32: 4, 8>}
    default {
      %c0_i32 = arith.constant 0 : i32
      %x = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #blocked>
      ttg.warp_yield %c0_i32, %x : i32, tensor<64xi32, #blocked>
    }
    partition0(%q: !tt.ptr<f32>, %m: i32) num_warps(1) {
      %c2_i32 = arith.constant 2 : i32
      %k = arith.constant 0 : i32
      %z = scf.for %arg4 = %k to %m step %c2_i32 iter_args(%arg5 = %k) -> (i32)  : i32 {
        %b = arith.addi %arg5, %arg4 : i32
        scf.yield %b : i32
      }
      %s = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #blocked1>
      ttg.warp_return
    }
    partition1(%q_0: !tt.ptr<f32>, %m_1: i32) num_warps(4) {
      ttg.warp_return
    } : (!tt.ptr<f32>, i32) -> (i32, tensor<64xi32, #blocked>)
    ttg.warp_specialize()
    default {
      ttg.warp_yield
    }
    partition0() num_warps(2) {
      ttg.warp_return
    } : () -> ()
    tt.return
  }
}
