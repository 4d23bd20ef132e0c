// A sum that starts anew where a scalar says so does that by the dot's predicate; no select of tensors is left.
// RUN: accumulator-init

// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[T:.*]] = %arg1)
// CHECK: %[[NEW:.*]] = arith.cmpi eq, %[[I]],
// CHECK-NOT: arith.select
// CHECK: %[[ADD:.*]] = arith.xori %[[NEW]],
// CHECK: %[[DOT:.*]] = "ttg.warp_group_dot"(%{{.*}}, %{{.*}}, %[[T]], %[[ADD]])
// CHECK: %[[SUM:.*]] = "ttg.warp_group_dot_wait"(%[[DOT]])
// CHECK: scf.yield %[[SUM]]
#blocked = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1]}>
#shared = #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%arg0: tensor<64x64xf16, #blocked>, %arg1: tensor<64x64xf32, #blocked>, %arg2: tensor<64x64xi1, #blocked>, %arg3: i32, %arg4: i32):
    %0 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = 8 : i32}> : () -> i32
    %2 = "ttg.local_alloc"(%arg0) : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<array<i64: 64, 64>, f16, #shared, #ttg.shared_memory, false, array<i64: 64, 64>>
    %3 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<64x64xf32, #blocked>}> : () -> tensor<64x64xf32, #blocked>
    %4 = "arith.constant"() <{value = dense<1.000000e+00> : tensor<64x64xf32, #blocked>}> : () -> tensor<64x64xf32, #blocked>
    %5 = "scf.for"(%arg3, %arg4, %0, %arg1) ({
    ^bb0(%arg5: i32, %arg6: tensor<64x64xf32, #blocked>):
      %6 = "arith.cmpi"(%arg5, %1) <{predicate = 0 : i64}> : (i32, i32) -> i1
      %7 = "tt.splat"(%6) : (i1) -> tensor<64x64xi1, #blocked>
      %8 = "arith.select"(%7, %3, %arg6) : (tensor<64x64xi1, #blocked>, tensor<64x64xf32, #blocked>, tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked>
      %9 = "ttg.warp_group_dot"(%2, %2, %8) {inputPrecision = 0 : i32} : (!ttg.memdesc<array<i64: 64, 64>, f16, #shared, #ttg.shared_memory, false, array<i64: 64, 64>>, !ttg.memdesc<array<i64: 64, 64>, f16, #shared, #ttg.shared_memory, false, array<i64: 64, 64>>, tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked>
      %10 = "ttg.warp_group_dot_wait"(%9) {pendings = 0 : i32} : (tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked>
      "scf.yield"(%10) : (tensor<64x64xf32, #blocked>) -> ()
    }) : (i32, i32, i32, tensor<64x64xf32, #blocked>) -> tensor<64x64xf32, #blocked>
    "tt.return"(%5) : (tensor<64x64xf32, #blocked>) -> ()
  }) {arg_attrs = [{}, {}, {}, {}, {}], function_type = (tensor<64x64xf16, #blocked>, tensor<64x64xf32, #blocked>, tensor<64x64xi1, #blocked>, i32, i32) -> tensor<64x64xf32, #blocked>, sym_name = "f", sym_visibility = "public"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} : () -> ()
