// Every op of the tt dialect, valid: read back by our parser, and given to the original's by integration/.
// One module per op or group; "// -----" separates them.

// programs, functions and calls
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">, %n: i32):
    %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
    %np = "tt.get_num_programs"() {axis = 2 : i32} : () -> i32
    %r:2 = "tt.call"(%pid, %np) {callee = @helper} : (i32, i32) -> (i32, i32)
    "tt.return"() : () -> ()
  }) {arg_attrs = [{tt.divisibility = 16 : i32}, {}], function_type = (!tt.ptr<f32, "global">, i32) -> (), noinline = false, sym_name = "kernel", sym_visibility = "public"} : () -> ()
  "tt.func"() ({
  ^bb0(%a: i32, %b: i32):
    "tt.return"(%b, %a) : (i32, i32) -> ()
  }) {function_type = (i32, i32) -> (i32, i32), sym_name = "helper", sym_visibility = "private"} : () -> ()
}) : () -> ()

// -----
// casts
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%i: i64, %it: tensor<8xi64>, %f: tensor<8xf32>, %h: f16, %c: !tt.ptr<i8, "constant">):
    %p = "tt.int_to_ptr"(%i) : (i64) -> !tt.ptr<f32, "global">
    %pt = "tt.int_to_ptr"(%it) : (tensor<8xi64>) -> tensor<8x!tt.ptr<f32, "global">>
    %j = "tt.ptr_to_int"(%p) : (!tt.ptr<f32, "global">) -> i64
    %jt = "tt.ptr_to_int"(%pt) : (tensor<8x!tt.ptr<f32, "global">>) -> tensor<8xi64>
    %b = "tt.bitcast"(%f) : (tensor<8xf32>) -> tensor<8xi32>
    %bp = "tt.bitcast"(%p) : (!tt.ptr<f32, "global">) -> !tt.ptr<i8, "global">
    %e = "tt.fp_to_fp"(%f) {rounding = 1 : i32} : (tensor<8xf32>) -> tensor<8xf8E5M2>
    %w = "tt.fp_to_fp"(%e) : (tensor<8xf8E5M2>) -> tensor<8xf32>
    %s = "tt.fp_to_fp"(%h) {rounding = 0 : i32} : (f16) -> f8E4M3FN
    "tt.return"() : () -> ()
  }) {function_type = (i64, tensor<8xi64>, tensor<8xf32>, f16, !tt.ptr<i8, "constant">) -> (), sym_name = "casts", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// elementwise arithmetic
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: tensor<8xf32>, %y: tensor<8xf32>, %s: f64, %i: tensor<8xi32>, %p: tensor<8x!tt.ptr<f16, "global">>, %q: !tt.ptr<f16, "global">, %k: i64):
    %0 = "tt.precise_sqrt"(%x) : (tensor<8xf32>) -> tensor<8xf32>
    %1 = "tt.precise_divf"(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %2 = "tt.approx_divf"(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %3 = "tt.mulhiui"(%i, %i) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %4 = "tt.clampf"(%x, %0, %y) {propagateNan = 65535 : i32} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %5 = "tt.clampf"(%s, %s, %s) {propagateNan = 0 : i32} : (f64, f64, f64) -> f64
    %6 = "tt.addptr"(%p, %i) : (tensor<8x!tt.ptr<f16, "global">>, tensor<8xi32>) -> tensor<8x!tt.ptr<f16, "global">>
    %7 = "tt.addptr"(%q, %k) : (!tt.ptr<f16, "global">, i64) -> !tt.ptr<f16, "global">
    %8 = "tt.extern_elementwise"(%x, %y) {libname = "m", libpath = "", pure = true, symbol = "hypotf"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %9:2 = "tt.elementwise_inline_asm"(%i, %x) {asm_string = "mov $0, $1;", constraints = "=r,=r,r,r", packed_element = 2 : i32, pure = true} : (tensor<8xi32>, tensor<8xf32>) -> (tensor<8xi32>, tensor<8xf32>)
    "tt.return"() : () -> ()
  }) {function_type = (tensor<8xf32>, tensor<8xf32>, f64, tensor<8xi32>, tensor<8x!tt.ptr<f16, "global">>, !tt.ptr<f16, "global">, i64) -> (), sym_name = "elementwise", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// a scalar region over tensors
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: tensor<8xf32>, %i: tensor<8xi32>):
    %0:2 = "tt.map_elementwise"(%x, %i) ({
    ^bb0(%a0: f32, %a1: f32, %b0: i32, %b1: i32):
      %s = arith.addf %a0, %a1 : f32
      "tt.map_elementwise_return"(%s, %a0, %b1, %b0) : (f32, f32, i32, i32) -> ()
    }) {pack = 2 : i32} : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
    "tt.return"() : () -> ()
  }) {function_type = (tensor<8xf32>, tensor<8xi32>) -> (), sym_name = "map", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// loads and stores
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">, %pt: tensor<8x!tt.ptr<f32, "global">>, %m: tensor<8xi1>, %o: tensor<8xf32>, %b: i1):
    %0 = "tt.load"(%p) {operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32, "global">) -> f32
    %1 = "tt.load"(%p, %b) {isVolatile = true, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32, "global">, i1) -> f32
    %2 = "tt.load"(%pt, %m, %o) {cache = 2 : i32, evict = 3 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi1>, tensor<8xf32>) -> tensor<8xf32>
    "tt.store"(%p, %0) {operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32, "global">, f32) -> ()
    "tt.store"(%pt, %2, %m) {cache = 6 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xf32>, tensor<8xi1>) -> ()
    "tt.store"(%pt, %2) {evict = 2 : i32, ignore_cta, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xf32>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, tensor<8x!tt.ptr<f32, "global">>, tensor<8xi1>, tensor<8xf32>, i1) -> (), sym_name = "memory", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// atomics
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<i32, "global">, %pt: tensor<8x!tt.ptr<f32, "global">>, %m: tensor<8xi1>, %v: tensor<8xf32>, %i: i32, %t: i64):
    %0 = "tt.atomic_rmw"(%pt, %v, %m) {atomic_rmw_op = 5 : i32, operandSegmentSizes = array<i32: 1, 1, 1>, scope = 1 : i32, sem = 4 : i32} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xf32>, tensor<8xi1>) -> tensor<8xf32>
    %1 = "tt.atomic_rmw"(%p, %i) {atomic_rmw_op = 10 : i32, operandSegmentSizes = array<i32: 1, 1, 0>, scope = 3 : i32, sem = 1 : i32} : (!tt.ptr<i32, "global">, i32) -> i32
    %2 = "tt.atomic_cas"(%p, %i, %i) {scope = 2 : i32, sem = 2 : i32} : (!tt.ptr<i32, "global">, i32, i32) -> i32
    %3 = "tt.atomic_load"(%p) {operandSegmentSizes = array<i32: 1, 0>, scope = 1 : i32, sem = 2 : i32} : (!tt.ptr<i32, "global">) -> i32
    %4 = "tt.atomic_load"(%pt, %m) {operandSegmentSizes = array<i32: 1, 1>, scope = 1 : i32, sem = 1 : i32} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi1>) -> tensor<8xf32>
    "tt.atomic_store"(%p, %i) {operandSegmentSizes = array<i32: 1, 1, 0>, scope = 1 : i32, sem = 3 : i32} : (!tt.ptr<i32, "global">, i32) -> ()
    "tt.atomic_store"(%pt, %v, %m) {operandSegmentSizes = array<i32: 1, 1, 1>, scope = 1 : i32, sem = 1 : i32} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xf32>, tensor<8xi1>) -> ()
    %5 = "tt.atomic_poll"(%p, %i, %t) {operandSegmentSizes = array<i32: 1, 1, 1>, scope = 1 : i32, sem = 2 : i32} : (!tt.ptr<i32, "global">, i32, i64) -> i1
    %6 = "tt.atomic_poll"(%p, %i) {operandSegmentSizes = array<i32: 1, 1, 0>, scope = 3 : i32, sem = 1 : i32} : (!tt.ptr<i32, "global">, i32) -> i1
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<i32, "global">, tensor<8x!tt.ptr<f32, "global">>, tensor<8xi1>, tensor<8xf32>, i32, i64) -> (), sym_name = "atomics", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// shapes
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">, %s: f32, %x: tensor<4x8xf32>, %one: tensor<1x1xf32>):
    %0 = "tt.make_range"() {end = 24 : i32, start = 8 : i32} : () -> tensor<16xi32>
    %1 = "tt.splat"(%s) : (f32) -> tensor<4x8xf32>
    %2 = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<16x!tt.ptr<f32, "global">>
    %3 = "tt.unsplat"(%one) : (tensor<1x1xf32>) -> f32
    %4 = "tt.expand_dims"(%0) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %5 = "tt.expand_dims"(%0) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %6 = "tt.broadcast"(%4) : (tensor<16x1xi32>) -> tensor<16x32xi32>
    %7 = "tt.reshape"(%6) : (tensor<16x32xi32>) -> tensor<2x256xi32>
    %8 = "tt.reshape"(%6) {allow_reorder, efficient_layout} : (tensor<16x32xi32>) -> tensor<512xi32>
    %9 = "tt.trans"(%x) {order = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %10 = "tt.cat"(%0, %0) : (tensor<16xi32>, tensor<16xi32>) -> tensor<32xi32>
    %11 = "tt.join"(%x, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8x2xf32>
    %12:2 = "tt.split"(%11) : (tensor<4x8x2xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %13 = "tt.trans"(%11) {order = array<i32: 2, 0, 1>} : (tensor<4x8x2xf32>) -> tensor<2x4x8xf32>
    %14 = arith.constant dense<1> : tensor<2x8xi32>
    %15 = "tt.gather"(%x, %14) {axis = 0 : i32} : (tensor<4x8xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
    %16 = "tt.gather"(%x, %14) {axis = 0 : i32, efficient_layout} : (tensor<4x8xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, f32, tensor<4x8xf32>, tensor<1x1xf32>) -> (), sym_name = "shapes", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// reductions and scans
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>):
    %0 = "tt.reduce"(%x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "tt.reduce_return"(%c) : (f32) -> ()
    }) {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4xf32>
    %1 = "tt.reduce"(%0) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      "tt.reduce_return"(%c) : (f32) -> ()
    }) {axis = 0 : i32} : (tensor<4xf32>) -> f32
    %2:2 = "tt.reduce"(%x, %i) ({
    ^bb0(%a: f32, %ia: i32, %b: f32, %ib: i32):
      %c = arith.cmpf ogt, %a, %b : f32
      %v = arith.select %c, %a, %b : f32
      %w = arith.select %c, %ia, %ib : i32
      "tt.reduce_return"(%v, %w) : (f32, i32) -> ()
    }) {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
    %3 = "tt.scan"(%x) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "tt.scan_return"(%c) : (f32) -> ()
    }) {axis = 1 : i32, reverse = true} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "tt.return"() : () -> ()
  }) {function_type = (tensor<4x8xf32>, tensor<4x8xi32>) -> (), sym_name = "reductions", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// dots and counts
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: tensor<16x32xf16>, %b: tensor<32x64xf16>, %c: tensor<16x64xf32>, %ba: tensor<2x16x32xf32>, %bb: tensor<2x32x64xf32>, %bc: tensor<2x16x64xf32>, %i: tensor<256xi32>, %m: tensor<256xi1>, %qa: tensor<128x64xi8>, %qb: tensor<64x128xi8>, %qs: tensor<128x4xi8>, %qc: tensor<128x128xf32>):
    %0 = "tt.dot"(%a, %b, %c) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x32xf16>, tensor<32x64xf16>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %1 = "tt.dot"(%ba, %bb, %bc) {inputPrecision = 2 : i32} : (tensor<2x16x32xf32>, tensor<2x32x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %2 = "tt.histogram"(%i) {operandSegmentSizes = array<i32: 1, 0>} : (tensor<256xi32>) -> tensor<16xi32>
    %3 = "tt.histogram"(%i, %m) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<256xi32>, tensor<256xi1>) -> tensor<16xi32>
    %4 = "tt.dot_scaled"(%qa, %qb, %qc, %qs, %qs) {a_elem_type = 4 : i32, b_elem_type = 4 : i32, fastMath = false, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<128x64xi8>, tensor<64x128xi8>, tensor<128x128xf32>, tensor<128x4xi8>, tensor<128x4xi8>) -> tensor<128x128xf32>
    "tt.return"() : () -> ()
  }) {function_type = (tensor<16x32xf16>, tensor<32x64xf16>, tensor<16x64xf32>, tensor<2x16x32xf32>, tensor<2x32x64xf32>, tensor<2x16x64xf32>, tensor<256xi32>, tensor<256xi1>, tensor<128x64xi8>, tensor<64x128xi8>, tensor<128x4xi8>, tensor<128x128xf32>) -> (), sym_name = "products", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// tensor descriptors
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f16, "global">, %m: i32, %n: i32, %sm: i64, %sn: i64, %rows: tensor<32xi32>, %y: i32):
    %0 = "tt.make_tensor_descriptor"(%p, %m, %n, %sm, %sn) {operandSegmentSizes = array<i32: 1, 2, 2>, padding = 2 : i32} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<32x64xf16>>
    %1 = "tt.descriptor_load"(%0, %m, %n) {cache = 3 : i32} : (!tt.tensordesc<tensor<32x64xf16>>, i32, i32) -> tensor<32x64xf16>
    "tt.descriptor_store"(%0, %1, %m, %n) : (!tt.tensordesc<tensor<32x64xf16>>, tensor<32x64xf16>, i32, i32) -> ()
    "tt.descriptor_reduce"(%0, %1, %m, %n) {kind = 1 : i32} : (!tt.tensordesc<tensor<32x64xf16>>, tensor<32x64xf16>, i32, i32) -> ()
    %2 = "tt.make_tensor_descriptor"(%p, %m, %n, %sm, %sn) {operandSegmentSizes = array<i32: 1, 2, 2>} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> !tt.tensordesc<tensor<1x64xf16>>
    %3 = "tt.descriptor_gather"(%2, %rows, %y) : (!tt.tensordesc<tensor<1x64xf16>>, tensor<32xi32>, i32) -> tensor<32x64xf16>
    "tt.descriptor_scatter"(%2, %rows, %y, %3) : (!tt.tensordesc<tensor<1x64xf16>>, tensor<32xi32>, i32, tensor<32x64xf16>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f16, "global">, i32, i32, i64, i64, tensor<32xi32>, i32) -> (), sym_name = "descriptors", sym_visibility = "public"} : () -> ()
}) : () -> ()

// -----
// debugging and grid order
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: tensor<8xf32>, %i: i32, %c: tensor<8xi1>, %d: i1):
    "tt.print"(%x, %i) {hex = false, isSigned = array<i32: 0, 1>, prefix = "x: "} : (tensor<8xf32>, i32) -> ()
    "tt.assert"(%c) {message = "out of range"} : (tensor<8xi1>) -> ()
    "tt.assert"(%d) {message = "wrong"} : (i1) -> ()
    "tt.grid_dependency_wait"() : () -> ()
    "tt.grid_dependency_launch_dependents"() : () -> ()
    "tt.return"() : () -> ()
  }) {function_type = (tensor<8xf32>, i32, tensor<8xi1>, i1) -> (), sym_name = "debugging", sym_visibility = "public"} : () -> ()
}) : () -> ()
