// Dots that run on their own are waited for as late as may be.
// RUN: sink-dot-waits

// a sum that the next dot alone adds to: one dot stays under way; the last is waited for where the loop has run
// CHECK-LABEL: "tt.func"
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %[[FROM:.*]], %[[TO:.*]] : i32
// CHECK-NEXT: %[[OUT:.*]] = scf.if %[[RUNS]]
// CHECK-NEXT: %[[ALL:.*]] = scf.for %{{.*}} = %[[FROM]] to %[[TO]] step %{{.*}} iter_args(%[[SUM:.*]] = %arg0)
// CHECK-NOT: "ttg.warp_group_dot_wait"
// CHECK: %[[DOT:.*]] = "ttg.warp_group_dot"(%{{.*}}, %{{.*}}, %[[SUM]])
// CHECK-NEXT: "ttg.warp_group_dot_wait"() {pendings = 1 : i32}
// CHECK-NEXT: scf.yield %[[DOT]] :
// CHECK: %[[DONE:.*]] = "ttg.warp_group_dot_wait"(%[[ALL]]) {pendings = 0 : i32}
// CHECK-NEXT: scf.yield %[[DONE]] :
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %arg0 :
// CHECK: "tt.return"(%[[OUT]])

// a sum that is scaled first: its wait stands right before that, in the next iteration
// CHECK-LABEL: "tt.func"
// CHECK: scf.if
// CHECK-NEXT: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %arg0)
// CHECK-NOT: "ttg.warp_group_dot"
// CHECK: %[[DONE:.*]] = "ttg.warp_group_dot_wait"(%[[SUM]]) {pendings = 0 : i32}
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[DONE]],
// CHECK-NEXT: %[[DOT:.*]] = "ttg.warp_group_dot"(%{{.*}}, %{{.*}}, %[[SCALED]])
// CHECK-NEXT: scf.yield %[[DOT]] :
// CHECK: "ttg.warp_group_dot_wait"(%[[ALL]]) {pendings = 0 : i32}

// within a block: both are started, the second may be under way when the first is waited for
// CHECK-LABEL: "tt.func"
// CHECK: %[[ONE:.*]] = "ttg.warp_group_dot"
// CHECK-NEXT: %[[BESIDE:.*]] = arith.addf
// CHECK-NEXT: %[[TWO:.*]] = "ttg.warp_group_dot"({{.*}}, %[[BESIDE]])
// CHECK-NEXT: %[[X:.*]] = "ttg.warp_group_dot_wait"(%[[ONE]]) {pendings = 1 : i32}
// CHECK-NEXT: %[[Y:.*]] = "ttg.warp_group_dot_wait"(%[[TWO]]) {pendings = 0 : i32}
// CHECK-NEXT: arith.addf %[[X]], %[[Y]]

// an operand in registers that each iteration writes anew: the dot reads them until it is waited for
// CHECK-LABEL: "tt.func"
// CHECK: scf.for
// CHECK: %[[REGISTERS:.*]] = "ttg.local_load"
// CHECK-NEXT: %[[DOT:.*]] = "ttg.warp_group_dot"(%[[REGISTERS]], %{{.*}}, %{{.*}})
// CHECK-NEXT: %[[DONE:.*]] = "ttg.warp_group_dot_wait"(%[[DOT]]) {pendings = 0 : i32}
// CHECK-NEXT: scf.yield %[[DONE]] :

// sums in f16, two in a register: each iteration waits for its own
// CHECK-LABEL: "tt.func"
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %arg0)
// CHECK: %[[DOT:.*]] = "ttg.warp_group_dot"(%{{.*}}, %{{.*}}, %[[SUM]])
// CHECK-NEXT: %[[DONE:.*]] = "ttg.warp_group_dot_wait"(%[[DOT]]) {pendings = 0 : i32}
// CHECK-NEXT: scf.yield %[[DONE]] :
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%c: tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %b = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>):
      %x = "ttg.memdesc_index"(%a, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %y = "ttg.memdesc_index"(%b, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %d = "ttg.warp_group_dot"(%x, %y, %acc) {inputPrecision = 0 : i32} : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %dw = "ttg.warp_group_dot_wait"(%d) {pendings = 0 : i32} : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      "scf.yield"(%dw) : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
    }) {ttg.late_dots} : (i32, i32, i32, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    "tt.return"(%out) : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
  }) {function_type = (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32) -> (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>), sym_name = "sum"} : () -> ()
  "tt.func"() ({
  ^bb0(%c: tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %b = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>):
      %x = "ttg.memdesc_index"(%a, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %y = "ttg.memdesc_index"(%b, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %half = arith.constant dense<5.000000e-01> : tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %s = arith.mulf %acc, %half : tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %d = "ttg.warp_group_dot"(%x, %y, %s) {inputPrecision = 0 : i32} : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %dw = "ttg.warp_group_dot_wait"(%d) {pendings = 0 : i32} : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      "scf.yield"(%dw) : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
    }) {ttg.late_dots} : (i32, i32, i32, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    "tt.return"(%out) : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
  }) {function_type = (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32) -> (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>), sym_name = "rescaled"} : () -> ()
  "tt.func"() ({
  ^bb0(%c: tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %b = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %x = "ttg.memdesc_index"(%a, %zero) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %y = "ttg.memdesc_index"(%b, %zero) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %d = "ttg.warp_group_dot"(%x, %y, %c) {inputPrecision = 0 : i32} : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    %dw = "ttg.warp_group_dot_wait"(%d) {pendings = 0 : i32} : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    %beside = arith.addf %c, %c : tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    %e = "ttg.warp_group_dot"(%x, %y, %beside) {inputPrecision = 0 : i32} : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    %ew = "ttg.warp_group_dot_wait"(%e) {pendings = 0 : i32} : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    %out = arith.addf %dw, %ew : tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    "tt.return"(%out) : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
  }) {function_type = (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32) -> (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>), sym_name = "within"} : () -> ()
  "tt.func"() ({
  ^bb0(%c: tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %b = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>):
      %x = "ttg.memdesc_index"(%a, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %y = "ttg.memdesc_index"(%b, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %r = "ttg.local_load"(%x) : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>) -> tensor<32x32xf16, #ttg.dot_op<{opIdx = 0 : i64, parent = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>}>>
      %d = "ttg.warp_group_dot"(%r, %y, %acc) {inputPrecision = 0 : i32} : (tensor<32x32xf16, #ttg.dot_op<{opIdx = 0 : i64, parent = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>}>>, !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %dw = "ttg.warp_group_dot_wait"(%d) {pendings = 0 : i32} : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      "scf.yield"(%dw) : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
    }) {ttg.late_dots} : (i32, i32, i32, tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    "tt.return"(%out) : (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
  }) {function_type = (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32) -> (tensor<32x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>), sym_name = "registers"} : () -> ()
  "tt.func"() ({
  ^bb0(%c: tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %a = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %b = "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
    %out = "scf.for"(%zero, %n, %one, %c) ({
    ^bb0(%i: i32, %acc: tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>):
      %x = "ttg.memdesc_index"(%a, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %y = "ttg.memdesc_index"(%b, %i) : (!ttg.memdesc<array<i64: 4, 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, i32) -> !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>
      %d = "ttg.warp_group_dot"(%x, %y, %acc) {inputPrecision = 0 : i32} : (!ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, !ttg.memdesc<array<i64: 32, 32>, f16, #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>, #ttg.shared_memory, true, array<i64: 4, 32, 32>>, tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      %dw = "ttg.warp_group_dot_wait"(%d) {pendings = 0 : i32} : (tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
      "scf.yield"(%dw) : (tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
    }) {ttg.late_dots} : (i32, i32, i32, tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>
    "tt.return"(%out) : (tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>) -> ()
  }) {function_type = (tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>, i32) -> (tensor<32x32xf16, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>>), sym_name = "half_sum"} : () -> ()
}
