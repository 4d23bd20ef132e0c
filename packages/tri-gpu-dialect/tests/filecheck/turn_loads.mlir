// What is written along its columns is loaded with 4 rows of 4 elements in a thread: 8 lanes write 16 bytes each to different banks, and load whole
// lines of 4 rows. What is written along its rows stays in rows, and so does what goes anywhere else as well.
// RUN: turn-loads

// CHECK: "tt.load"{{.*}} -> tensor<64x128xf32, #ttg.linear<{lane = {{\[\[}}0, 4], [4, 0], [8, 0], [0, 8], [0, 16]], rank = 2 : i64, register = {{\[\[}}0, 1], [0, 2], [1, 0], [2, 0], [16, 0], [32, 0]], warp = {{\[\[}}0, 32], [0, 64]]}>>
// CHECK: "tt.load"{{.*}} -> tensor<64x128xf32, #ttg.blocked<
// CHECK: "tt.load"{{.*}} -> tensor<64x128xf32, #ttg.blocked<
#b = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.swizzled_shared<{vec = 4 : i64, perPhase = 1 : i64, maxPhase = 8 : i64, order = [0, 1]}>
#rows = #ttg.swizzled_shared<{vec = 4 : i64, perPhase = 1 : i64, maxPhase = 8 : i64, order = [1, 0]}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: tensor<64x128x!tt.ptr<f32, 1>, #b>):
    %0 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x128x!tt.ptr<f32, 1>, #b>) -> tensor<64x128xf32, #b>
    %1 = arith.negf %0 : tensor<64x128xf32, #b>
    %2 = "ttg.local_alloc"(%1) : (tensor<64x128xf32, #b>) -> !ttg.memdesc<array<i64: 64, 128>, f32, #columns, #ttg.shared_memory, false, array<i64: 64, 128>>
    %3 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x128x!tt.ptr<f32, 1>, #b>) -> tensor<64x128xf32, #b>
    %4 = "ttg.local_alloc"(%3) : (tensor<64x128xf32, #b>) -> !ttg.memdesc<array<i64: 64, 128>, f32, #rows, #ttg.shared_memory, false, array<i64: 64, 128>>
    %5 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<64x128x!tt.ptr<f32, 1>, #b>) -> tensor<64x128xf32, #b>
    %6 = "ttg.local_alloc"(%5) : (tensor<64x128xf32, #b>) -> !ttg.memdesc<array<i64: 64, 128>, f32, #columns, #ttg.shared_memory, false, array<i64: 64, 128>>
    "tt.store"(%p, %5) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<64x128x!tt.ptr<f32, 1>, #b>, tensor<64x128xf32, #b>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (tensor<64x128x!tt.ptr<f32, 1>, #b>) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} : () -> ()
