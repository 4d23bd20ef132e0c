// The variable of a loop that counts up from 0 is never negative; an argument may be.
// RUN: unsigned-divisions

// CHECK: scf.for
// CHECK: arith.divui
// CHECK: arith.remui
// CHECK: arith.divsi
// CHECK: scf.yield
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%n: i32, %z: i32):
    %low = "arith.constant"() {value = 0 : i32} : () -> i32
    %step = "arith.constant"() {value = 1 : i32} : () -> i32
    %eight = "arith.constant"() {value = 8 : i32} : () -> i32
    %0 = "scf.for"(%low, %n, %step, %z) ({
    ^bb1(%i: i32, %x: i32):
      %1 = "arith.divsi"(%i, %eight) : (i32, i32) -> i32
      %2 = "arith.remsi"(%i, %eight) : (i32, i32) -> i32
      %3 = "arith.divsi"(%z, %eight) : (i32, i32) -> i32
      %4 = "arith.addi"(%1, %2) : (i32, i32) -> i32
      %5 = "arith.addi"(%4, %3) : (i32, i32) -> i32
      "scf.yield"(%5) : (i32) -> ()
    }) : (i32, i32, i32, i32) -> i32
    "tt.return"() : () -> ()
  }) {function_type = (i32, i32) -> (), sym_name = "f"} : () -> ()
}) {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32} : () -> ()
