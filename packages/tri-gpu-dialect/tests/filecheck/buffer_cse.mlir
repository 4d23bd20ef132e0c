// Equal buffers that nobody writes become one; it is freed behind the last use of both.
// RUN: buffer-cse

// CHECK: %[[A:.*]] = "ttg.local_alloc"(%arg0)
// CHECK-NOT: "ttg.local_alloc"
// CHECK: scf.for
// CHECK: "ttg.local_load"(%[[A]])
// CHECK-NOT: "ttg.local_alloc"
// CHECK: scf.for
// CHECK: "ttg.local_load"(%[[A]])
// CHECK: "ttg.local_dealloc"(%[[A]])
// CHECK-NEXT: "tt.return"
#blocked = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1]}>
#shared = #ttg.swizzled_shared<{maxPhase = 4 : i64, order = [1, 0], perPhase = 2 : i64, vec = 8 : i64}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: tensor<32x32xf16, #blocked>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = "ttg.local_alloc"(%x) : (tensor<32x32xf16, #blocked>) -> !ttg.memdesc<array<i64: 32, 32>, f16, #shared, #ttg.shared_memory, false, array<i64: 32, 32>>
    scf.for %i = %zero to %n step %one : i32 {
      %l = "ttg.local_load"(%a) : (!ttg.memdesc<array<i64: 32, 32>, f16, #shared, #ttg.shared_memory, false, array<i64: 32, 32>>) -> tensor<32x32xf16, #blocked>
    }
    "ttg.local_dealloc"(%a) : (!ttg.memdesc<array<i64: 32, 32>, f16, #shared, #ttg.shared_memory, false, array<i64: 32, 32>>) -> ()
    %b = "ttg.local_alloc"(%x) : (tensor<32x32xf16, #blocked>) -> !ttg.memdesc<array<i64: 32, 32>, f16, #shared, #ttg.shared_memory, false, array<i64: 32, 32>>
    scf.for %i = %zero to %n step %one : i32 {
      %l = "ttg.local_load"(%b) : (!ttg.memdesc<array<i64: 32, 32>, f16, #shared, #ttg.shared_memory, false, array<i64: 32, 32>>) -> tensor<32x32xf16, #blocked>
    }
    "ttg.local_dealloc"(%b) : (!ttg.memdesc<array<i64: 32, 32>, f16, #shared, #ttg.shared_memory, false, array<i64: 32, 32>>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (tensor<32x32xf16, #blocked>, i32) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} : () -> ()
