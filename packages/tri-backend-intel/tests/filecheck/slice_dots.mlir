// An operand in registers and one in blocks that would fill half of them: two dots. By elements: one for each instruction; both: a
// loop. What something else reads too, and what memory is written behind, stays whole.
// What is read out of local memory is read a slice at a time as well, right before its dot.
// RUN: slice-dots

// CHECK: %[[A0:.*]] = "ttig.register_slice"(%[[A:.*]]) {offsets = array<i32: 0, 0>} : {{.*}} -> tensor<16x32xf16
// CHECK: %[[B0:.*]] = "ttig.tile_load"({{.*}} -> tensor<32x64xf16
// CHECK: %[[C0:.*]] = "tt.dot"(%[[A0]], %[[B0]], %[[C:.*]]) {
// CHECK: %[[A1:.*]] = "ttig.register_slice"(%[[A]]) {offsets = array<i32: 0, 32>}
// CHECK: %[[K:.*]] = arith.constant 32 : i32
// CHECK: %[[Y:.*]] = arith.addi %[[I:.*]], %[[K]] :
// CHECK: %[[B1:.*]] = "ttig.tile_load"(%[[D:.*]], %[[Y]], %[[I]])
// CHECK: "tt.dot"(%[[A1]], %[[B1]], %[[C0]])
// CHECK: "ttig.tile_load"(%[[D]], %[[I]], %[[I]]) {by_elements, transposed} : {{.*}} -> tensor<16x64xf16
// CHECK: %[[X:.*]] = arith.addi %[[I]], %{{.*}} :
// CHECK: "ttig.tile_load"(%[[D]], %[[I]], %[[X]]) {by_elements, transposed} : {{.*}} -> tensor<16x64xf16
// CHECK: "tt.dot"
// CHECK: %[[L:.*]] = scf.for
// CHECK: "ttig.tile_load"({{.*}}) {by_elements} : {{.*}} -> tensor<16x16xf16
// CHECK: "ttig.tile_load"({{.*}}) {by_elements} : {{.*}} -> tensor<16x64xf16
// CHECK: "tt.dot"
// CHECK: scf.yield
// CHECK: %[[W:.*]] = "ttig.tile_load"({{.*}} -> tensor<64x64xf16
// CHECK: "ttig.tile_store"
// CHECK: "tt.dot"(%[[A]], %[[W]],
// CHECK: %[[Z:.*]] = "ttig.tile_load"({{.*}} -> tensor<64x64xf16
// CHECK: "tt.dot"(%[[A]], %[[Z]],
// CHECK: "tt.dot"(%[[A]], %[[Z]],
// CHECK: "tt.return"
// CHECK: "ttig.register_slice"(%[[A:.*]]) {offsets = array<i32: 0, 0>}
// CHECK: %[[V0:.*]] = "ttg.memdesc_subslice"(%[[M:.*]]) {offsets = array<i32: 0, 0>} : {{.*}} -> !ttg.memdesc<array<i64: 32, 128>, {{.*}}, array<i64: 64, 128>>
// CHECK: %[[B0:.*]] = "ttg.local_load"(%[[V0]]) : {{.*}} -> tensor<32x128xf16
// CHECK: %[[C0:.*]] = "tt.dot"({{.*}}, %[[B0]], %[[C:.*]]) {
// CHECK: "ttig.register_slice"(%[[A]]) {offsets = array<i32: 0, 32>}
// CHECK: %[[V1:.*]] = "ttg.memdesc_subslice"(%[[M]]) {offsets = array<i32: 32, 0>}
// CHECK: %[[B1:.*]] = "ttg.local_load"(%[[V1]])
// CHECK: "tt.dot"({{.*}}, %[[B1]], %[[C0]])
// CHECK-NOT: ttg.memdesc_subslice
// CHECK: %[[W:.*]] = "ttg.local_load"(%[[M]])
// CHECK: "tt.dot"(%[[A]], %[[W]],
// CHECK: "tt.dot"(%[[A]], %[[W]],
// CHECK: %[[X:.*]] = "ttg.local_load"(%[[M]])
// CHECK: "ttg.local_store"
// CHECK: "tt.dot"(%[[A]], %[[X]],
// CHECK-NOT: ttg.memdesc_subslice
#c = #ttig.dpas<{executionSize = 16 : i64, opsPerChan = 2 : i64, repCluster = [1, 4], repeatCount = 8 : i64, systolicDepth = 8 : i64, threadsPerWarp = 16 : i64, warpsPerCTA = [2, 1]}>
#a = #ttg.dot_op<{kWidth = 1 : i64, opIdx = 0 : i64, parent = #c}>
#b = #ttg.dot_op<{kWidth = 2 : i64, opIdx = 1 : i64, parent = #c}>
#s = #ttg.swizzled_shared<{maxPhase = 1 : i64, order = [1, 0], perPhase = 1 : i64, vec = 1 : i64}>
!buffer = !ttg.memdesc<array<i64: 64, 128>, f16, #s, #ttg.shared_memory, true, array<i64: 64, 128>>
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: tensor<16x64xf16, #a>, %c: tensor<16x64xf32, #c>, %d: !tt.tensordesc<tensor<64x64xf16>>, %e: !tt.tensordesc<tensor<16x64xf16>>, %o: !tt.tensordesc<tensor<16x64xf32>>, %i: i32):
    %b0 = "ttig.tile_load"(%d, %i, %i) : (!tt.tensordesc<tensor<64x64xf16>>, i32, i32) -> tensor<64x64xf16, #b>
    %0 = "tt.dot"(%a, %b0, %c) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x64xf16, #b>, tensor<16x64xf32, #c>) -> tensor<16x64xf32, #c>
    %b1 = "ttig.tile_load"(%d, %i, %i) {by_elements, transposed} : (!tt.tensordesc<tensor<64x64xf16>>, i32, i32) -> tensor<64x64xf16, #b>
    %1 = "tt.dot"(%a, %b1, %0) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x64xf16, #b>, tensor<16x64xf32, #c>) -> tensor<16x64xf32, #c>
    %a2 = "ttig.tile_load"(%e, %i, %i) {by_elements} : (!tt.tensordesc<tensor<16x64xf16>>, i32, i32) -> tensor<16x64xf16, #a>
    %b2 = "ttig.tile_load"(%d, %i, %i) {by_elements} : (!tt.tensordesc<tensor<64x64xf16>>, i32, i32) -> tensor<64x64xf16, #b>
    %2 = "tt.dot"(%a2, %b2, %1) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x64xf16, #b>, tensor<16x64xf32, #c>) -> tensor<16x64xf32, #c>
    %b3 = "ttig.tile_load"(%d, %i, %i) : (!tt.tensordesc<tensor<64x64xf16>>, i32, i32) -> tensor<64x64xf16, #b>
    "ttig.tile_store"(%o, %2, %i, %i) : (!tt.tensordesc<tensor<16x64xf32>>, tensor<16x64xf32, #c>, i32, i32) -> ()
    %3 = "tt.dot"(%a, %b3, %2) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x64xf16, #b>, tensor<16x64xf32, #c>) -> tensor<16x64xf32, #c>
    %b4 = "ttig.tile_load"(%d, %i, %i) : (!tt.tensordesc<tensor<64x64xf16>>, i32, i32) -> tensor<64x64xf16, #b>
    %4 = "tt.dot"(%a, %b4, %3) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x64xf16, #b>, tensor<16x64xf32, #c>) -> tensor<16x64xf32, #c>
    %5 = "tt.dot"(%a, %b4, %4) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x64xf16, #b>, tensor<16x64xf32, #c>) -> tensor<16x64xf32, #c>
    "ttig.tile_store"(%o, %5, %i, %i) : (!tt.tensordesc<tensor<16x64xf32>>, tensor<16x64xf32, #c>, i32, i32) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (tensor<16x64xf16, #a>, tensor<16x64xf32, #c>, !tt.tensordesc<tensor<64x64xf16>>, !tt.tensordesc<tensor<16x64xf16>>, !tt.tensordesc<tensor<16x64xf32>>, i32) -> (), sym_name = "f"} : () -> ()
  "tt.func"() ({
  ^bb0(%a: tensor<16x64xf16, #a>, %c: tensor<16x128xf32, #c>, %t: tensor<64x128xf16, #b>):
    %m = "ttg.local_alloc"(%t) : (tensor<64x128xf16, #b>) -> !buffer
    %b0 = "ttg.local_load"(%m) : (!buffer) -> tensor<64x128xf16, #b>
    %0 = "tt.dot"(%a, %b0, %c) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x128xf16, #b>, tensor<16x128xf32, #c>) -> tensor<16x128xf32, #c>
    %b1 = "ttg.local_load"(%m) : (!buffer) -> tensor<64x128xf16, #b>
    %1 = "tt.dot"(%a, %b1, %0) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x128xf16, #b>, tensor<16x128xf32, #c>) -> tensor<16x128xf32, #c>
    %2 = "tt.dot"(%a, %b1, %1) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x128xf16, #b>, tensor<16x128xf32, #c>) -> tensor<16x128xf32, #c>
    %b2 = "ttg.local_load"(%m) : (!buffer) -> tensor<64x128xf16, #b>
    "ttg.local_store"(%t, %m) : (tensor<64x128xf16, #b>, !buffer) -> ()
    %3 = "tt.dot"(%a, %b2, %2) {inputPrecision = 2 : i32} : (tensor<16x64xf16, #a>, tensor<64x128xf16, #b>, tensor<16x128xf32, #c>) -> tensor<16x128xf32, #c>
    "tt.return"() : () -> ()
  }) {function_type = (tensor<16x64xf16, #a>, tensor<16x128xf32, #c>, tensor<64x128xf16, #b>) -> (), sym_name = "g"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} : () -> ()
