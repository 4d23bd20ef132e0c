// Programs one after the other: ids and sizes of the grid that the launch asked for, x first.  Constants stay where they are.
// RUN: make-persistent

// CHECK: %[[C:.*]] = arith.constant 64 : i32
// CHECK: %[[X:.*]] = "ttg.get_grid_size"() {axis = 0 : i32}
// CHECK: %[[Y:.*]] = "ttg.get_grid_size"() {axis = 1 : i32}
// CHECK: %[[Z:.*]] = "ttg.get_grid_size"() {axis = 2 : i32}
// CHECK: %[[XY:.*]] = arith.muli %[[X]], %[[Y]]
// CHECK: %[[ALL:.*]] = arith.muli %[[XY]], %[[Z]]
// CHECK: %[[CTA:.*]] = "tt.get_program_id"() {axis = 0 : i32}
// CHECK: %[[CTAS:.*]] = "tt.get_num_programs"() {axis = 0 : i32}
// CHECK: scf.for %[[TILE:.*]] = %[[CTA]] to %[[ALL]] step %[[CTAS]]
// CHECK: %[[PX:.*]] = arith.remui %[[TILE]], %[[X]]
// CHECK: %[[PZ:.*]] = arith.divui %[[TILE]], %[[XY]]
// CHECK-NOT: tt.get_program_id
// CHECK: %[[A:.*]] = arith.muli %[[PX]], %[[C]]
// CHECK: %[[B:.*]] = arith.muli %[[PZ]], %[[Y]]
// CHECK: %[[AT:.*]] = arith.addi %[[A]], %[[B]]
// CHECK: "tt.addptr"(%{{.*}}, %[[AT]])
// CHECK: "tt.store"
// CHECK: ttg.persistent
// CHECK: "tt.return"
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<i32, "global">):
    %x = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %c64 = arith.constant 64 : i32
    %a = arith.muli %x, %c64 : i32
    %z = "tt.get_program_id"() {axis = 2 : i32} : () -> i32
    %n = "tt.get_num_programs"() {axis = 1 : i32} : () -> i32
    %b = arith.muli %z, %n : i32
    %at = arith.addi %a, %b : i32
    %q = "tt.addptr"(%p, %at) : (!tt.ptr<i32, "global">, i32) -> !tt.ptr<i32, "global">
    "tt.store"(%q, %at) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<i32, "global">, i32) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<i32, "global">) -> (), sym_name = "f", sym_visibility = "public"} : () -> ()
}
