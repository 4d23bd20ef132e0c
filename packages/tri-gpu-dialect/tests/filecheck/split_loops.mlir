// A loop of dots is split where a comparison of indices stops, or begins, to hold for whole tiles.
// RUN: split-loops

// rows >= columns + i: (first row - low - 31 + 32) / 32 iterations need no mask; the others go on from them
// CHECK-LABEL: "tt.func"
// CHECK: %[[ITERATIONS:.*]] = arith.divsi
// CHECK: %[[AHEAD:.*]] = arith.muli %[[ITERATIONS]], %[[STEP:.*]] : i32
// CHECK: %[[END:.*]] = arith.addi %[[LOW:.*]], %[[AHEAD]] : i32
// CHECK: %[[MOST:.*]] = arith.maxsi %[[LOW]], %[[HIGH:.*]] : i32
// CHECK: %[[MIDDLE:.*]] = arith.minsi %[[END]], %[[MOST]] : i32
// CHECK: %[[FIRST:.*]] = scf.for %{{.*}} = %[[LOW]] to %[[MIDDLE]] step %[[STEP]] iter_args(%[[A:.*]] = %{{.*}})
// CHECK-NOT: arith.cmpi
// CHECK: %[[DOT:.*]] = "ttg.warp_group_dot_wait"
// CHECK-NEXT: %[[ADDED:.*]] = arith.addf %[[A]], %[[DOT]]
// CHECK-NEXT: scf.yield %[[ADDED]]
// CHECK: %[[SECOND:.*]] = scf.for %{{.*}} = %[[MIDDLE]] to %[[HIGH]] step %[[STEP]] iter_args(%{{.*}} = %[[FIRST]])
// CHECK: arith.cmpi sge
// CHECK: arith.select
// CHECK: "tt.return"(%[[SECOND]])

// rows + i > columns: the iterations that need the mask come first
// CHECK-LABEL: "tt.func"
// CHECK: %[[FIRST:.*]] = scf.for %{{.*}} = %{{.*}} to %[[MIDDLE:.*]] step
// CHECK: arith.cmpi sgt
// CHECK: arith.select
// CHECK: scf.for %{{.*}} = %[[MIDDLE]] to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %[[FIRST]])
// CHECK-NOT: arith.cmpi
// CHECK: "tt.return"

// the diagonal alone: no iteration can do without the mask
// CHECK-LABEL: "tt.func"
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
// CHECK: "tt.return"

// the comparison itself is used
// CHECK-LABEL: "tt.func"
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: "tt.return"
#acc = #ttg.blocked<{order = [1, 0], sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>
#plain = #ttg.swizzled_shared<{maxPhase = 8 : i64, order = [1, 0], perPhase = 1 : i64, vec = 8 : i64}>
!sum = tensor<32x32xf32, #acc>
!places = tensor<32x32xi32, #acc>
!column = tensor<32x1xi32, #acc>
!row = tensor<1x32xi32, #acc>
!down = tensor<32xi32, #ttg.slice<{dim = 1 : i64, parent = #acc}>>
!along = tensor<32xi32, #ttg.slice<{dim = 0 : i64, parent = #acc}>>
!stage = !ttg.memdesc<array<i64: 32, 32>, f16, #plain, #ttg.shared_memory, true, array<i64: 32, 32>>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%c: !sum, %top: i32, %low: i32, %high: i32):
    %step = arith.constant 32 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %x = "ttg.local_alloc"() : () -> !stage
    %down = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !down
    %along = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !along
    %r1 = "tt.expand_dims"(%down) {axis = 1 : i32} : (!down) -> !column
    %r = "tt.broadcast"(%r1) : (!column) -> !places
    %k1 = "tt.expand_dims"(%along) {axis = 0 : i32} : (!along) -> !row
    %k = "tt.broadcast"(%k1) : (!row) -> !places
    %t = "tt.splat"(%top) : (i32) -> !places
    %rows = arith.addi %t, %r : !places
    %out = "scf.for"(%low, %high, %step, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %at = "tt.splat"(%i) : (i32) -> !places
      %keys = arith.addi %at, %k : !places
      %mask = arith.cmpi sge, %rows, %keys : !places
      %s = "ttg.warp_group_dot"(%x, %x, %zeros) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %w = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %chosen = arith.select %mask, %w, %zeros : tensor<32x32xi1, #acc>, !sum
      %sum = arith.addf %acc, %chosen : !sum
      "scf.yield"(%sum) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {sym_name = "falls", function_type = (!sum, i32, i32, i32) -> !sum} : () -> ()
  "tt.func"() ({
  ^bb0(%c: !sum, %top: i32, %low: i32, %high: i32):
    %step = arith.constant 32 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %x = "ttg.local_alloc"() : () -> !stage
    %down = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !down
    %along = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !along
    %r1 = "tt.expand_dims"(%down) {axis = 1 : i32} : (!down) -> !column
    %r = "tt.broadcast"(%r1) : (!column) -> !places
    %k1 = "tt.expand_dims"(%along) {axis = 0 : i32} : (!along) -> !row
    %k = "tt.broadcast"(%k1) : (!row) -> !places
    %t = "tt.splat"(%top) : (i32) -> !places
    %rows = arith.addi %t, %r : !places
    %out = "scf.for"(%low, %high, %step, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %at = "tt.splat"(%i) : (i32) -> !places
      %here = arith.addi %at, %rows : !places
      %mask = arith.cmpi sgt, %here, %k : !places
      %s = "ttg.warp_group_dot"(%x, %x, %zeros) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %w = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %chosen = arith.select %mask, %w, %zeros : tensor<32x32xi1, #acc>, !sum
      %sum = arith.addf %acc, %chosen : !sum
      "scf.yield"(%sum) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {sym_name = "grows", function_type = (!sum, i32, i32, i32) -> !sum} : () -> ()
  "tt.func"() ({
  ^bb0(%c: !sum, %top: i32, %low: i32, %high: i32):
    %step = arith.constant 32 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %x = "ttg.local_alloc"() : () -> !stage
    %down = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !down
    %along = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !along
    %r1 = "tt.expand_dims"(%down) {axis = 1 : i32} : (!down) -> !column
    %r = "tt.broadcast"(%r1) : (!column) -> !places
    %k1 = "tt.expand_dims"(%along) {axis = 0 : i32} : (!along) -> !row
    %k = "tt.broadcast"(%k1) : (!row) -> !places
    %t = "tt.splat"(%top) : (i32) -> !places
    %rows = arith.addi %t, %r : !places
    %out = "scf.for"(%top, %high, %step, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %at = "tt.splat"(%i) : (i32) -> !places
      %keys = arith.addi %at, %k : !places
      %mask = arith.cmpi sge, %rows, %keys : !places
      %s = "ttg.warp_group_dot"(%x, %x, %zeros) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %w = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %chosen = arith.select %mask, %w, %zeros : tensor<32x32xi1, #acc>, !sum
      %sum = arith.addf %acc, %chosen : !sum
      "scf.yield"(%sum) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {sym_name = "diagonal", function_type = (!sum, i32, i32, i32) -> !sum} : () -> ()
  "tt.func"() ({
  ^bb0(%c: !sum, %top: i32, %low: i32, %high: i32):
    %step = arith.constant 32 : i32
    %zeros = arith.constant dense<0.000000e+00> : !sum
    %x = "ttg.local_alloc"() : () -> !stage
    %down = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !down
    %along = "tt.make_range"() {start = 0 : i32, end = 32 : i32} : () -> !along
    %r1 = "tt.expand_dims"(%down) {axis = 1 : i32} : (!down) -> !column
    %r = "tt.broadcast"(%r1) : (!column) -> !places
    %k1 = "tt.expand_dims"(%along) {axis = 0 : i32} : (!along) -> !row
    %k = "tt.broadcast"(%k1) : (!row) -> !places
    %t = "tt.splat"(%top) : (i32) -> !places
    %rows = arith.addi %t, %r : !places
    %out = "scf.for"(%low, %high, %step, %c) ({
    ^bb0(%i: i32, %acc: !sum):
      %at = "tt.splat"(%i) : (i32) -> !places
      %keys = arith.addi %at, %k : !places
      %mask = arith.cmpi sge, %rows, %keys : !places
      %s = "ttg.warp_group_dot"(%x, %x, %zeros) {inputPrecision = 0 : i32} : (!stage, !stage, !sum) -> !sum
      %w = "ttg.warp_group_dot_wait"(%s) {pendings = 0 : i32} : (!sum) -> !sum
      %chosen = arith.select %mask, %w, %zeros : tensor<32x32xi1, #acc>, !sum
      %bits = arith.uitofp %mask : tensor<32x32xi1, #acc> to !sum
      %both = arith.addf %chosen, %bits : !sum
      %sum = arith.addf %acc, %both : !sum
      "scf.yield"(%sum) : (!sum) -> ()
    }) : (i32, i32, i32, !sum) -> !sum
    "tt.return"(%out) : (!sum) -> ()
  }) {sym_name = "counted", function_type = (!sum, i32, i32, i32) -> !sum} : () -> ()
}
