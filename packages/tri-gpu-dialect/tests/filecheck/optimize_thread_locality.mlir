// What a thread has of a row is added up in the loop, the threads of a row behind it.
// RUN: convert-triton-to-tritongpu, coalesce, remove-layout-conversions, optimize-thread-locality

// CHECK: %[[NEUTRAL:.*]] = arith.constant dense<-0.000000e+00> : tensor<4x32xf32, #ttg.blocked<{order = [1, 0], sizePerThread = [1, 1]
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}}(%[[PART:.*]] = %[[NEUTRAL]],
// CHECK: %[[X:.*]] = "tt.load"
// CHECK: %[[APART:.*]] = "tt.reshape"(%[[X]]){{.*}} -> tensor<4x32x4xf32
// CHECK: %[[OWN:.*]] = "tt.reduce"(%[[APART]])
// CHECK: axis = 2 : i32
// CHECK-SAME: -> tensor<4x32xf32
// CHECK: %[[NEXT:.*]] = arith.addf %[[PART]], %{{.*}} : tensor<4x32xf32
// CHECK-NOT: "tt.reduce"
// CHECK: scf.yield %[[NEXT]],
// CHECK: "tt.reduce"(%[[LOOP]]#0)
// CHECK: axis = 1 : i32
// CHECK: arith.addf {{.*}} : tensor<4xf32
//
// A sum that is scaled by what grows with it is kept in parts as well; the second loop goes on with the parts of the first.
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4x32xf32
// CHECK: %[[FIRST:.*]]:2 = scf.for {{.*}}(%[[PART:.*]] = %[[ZERO]],
// CHECK: %[[STRETCHED:.*]] = "tt.broadcast"({{.*}} -> tensor<4x32xf32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[PART]], %[[STRETCHED]] : tensor<4x32xf32
// CHECK: %[[NEXT:.*]] = arith.addf %[[SCALED]], %{{.*}} : tensor<4x32xf32
// CHECK: scf.yield %[[NEXT]],
// CHECK-NOT: "tt.reduce"
// CHECK: %[[SECOND:.*]]:2 = scf.for {{.*}} = %[[FIRST]]#0,
// CHECK: scf.yield
// CHECK: "tt.reduce"(%[[SECOND]]#0)
// CHECK: axis = 1 : i32
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: !tt.ptr<f32, "global">, %out: !tt.ptr<f32, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %rm = "tt.make_range"() {start = 0 : i32, end = 4 : i32} : () -> tensor<4xi32>
    %rn = "tt.make_range"() {start = 0 : i32, end = 128 : i32} : () -> tensor<128xi32>
    %r1 = "tt.expand_dims"(%rm) {axis = 1 : i32} : (tensor<4xi32>) -> tensor<4x1xi32>
    %c1 = "tt.expand_dims"(%rn) {axis = 0 : i32} : (tensor<128xi32>) -> tensor<1x128xi32>
    %w = arith.constant dense<128> : tensor<4x1xi32>
    %r2 = arith.muli %r1, %w : tensor<4x1xi32>
    %r3 = "tt.broadcast"(%r2) : (tensor<4x1xi32>) -> tensor<4x128xi32>
    %c3 = "tt.broadcast"(%c1) : (tensor<1x128xi32>) -> tensor<4x128xi32>
    %at = arith.addi %r3, %c3 : tensor<4x128xi32>
    %base = "tt.splat"(%x) : (!tt.ptr<f32, "global">) -> tensor<4x128x!tt.ptr<f32, "global">>
    %p0 = "tt.addptr"(%base, %at) : (tensor<4x128x!tt.ptr<f32, "global">>, tensor<4x128xi32>) -> tensor<4x128x!tt.ptr<f32, "global">>
    %step = arith.constant dense<512> : tensor<4x128xi32>
    %init = arith.constant dense<3.0> : tensor<4xf32>
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%acc = %init, %p = %p0) -> (tensor<4xf32>, tensor<4x128x!tt.ptr<f32, "global">>) : i32 {
      %v = "tt.load"(%p) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x128x!tt.ptr<f32, "global">>) -> tensor<4x128xf32>
      %s = "tt.reduce"(%v) ({
      ^bb0(%a: f32, %b: f32):
        %t = arith.addf %a, %b : f32
        "tt.reduce_return"(%t) : (f32) -> ()
      }) {axis = 1 : i32} : (tensor<4x128xf32>) -> tensor<4xf32>
      %next = arith.addf %acc, %s : tensor<4xf32>
      %q = "tt.addptr"(%p, %step) : (tensor<4x128x!tt.ptr<f32, "global">>, tensor<4x128xi32>) -> tensor<4x128x!tt.ptr<f32, "global">>
      scf.yield %next, %q : tensor<4xf32>, tensor<4x128x!tt.ptr<f32, "global">>
    }
    %ro = "tt.make_range"() {start = 0 : i32, end = 4 : i32} : () -> tensor<4xi32>
    %ob = "tt.splat"(%out) : (!tt.ptr<f32, "global">) -> tensor<4x!tt.ptr<f32, "global">>
    %op = "tt.addptr"(%ob, %ro) : (tensor<4x!tt.ptr<f32, "global">>, tensor<4xi32>) -> tensor<4x!tt.ptr<f32, "global">>
    "tt.store"(%op, %r#0) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x!tt.ptr<f32, "global">>, tensor<4xf32>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32) -> (), sym_name = "f", arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}]} : () -> ()
  "tt.func"() ({
  ^bb0(%x: !tt.ptr<f32, "global">, %out: !tt.ptr<f32, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %rm = "tt.make_range"() {start = 0 : i32, end = 4 : i32} : () -> tensor<4xi32>
    %rn = "tt.make_range"() {start = 0 : i32, end = 128 : i32} : () -> tensor<128xi32>
    %r1 = "tt.expand_dims"(%rm) {axis = 1 : i32} : (tensor<4xi32>) -> tensor<4x1xi32>
    %c1 = "tt.expand_dims"(%rn) {axis = 0 : i32} : (tensor<128xi32>) -> tensor<1x128xi32>
    %w = arith.constant dense<128> : tensor<4x1xi32>
    %r2 = arith.muli %r1, %w : tensor<4x1xi32>
    %r3 = "tt.broadcast"(%r2) : (tensor<4x1xi32>) -> tensor<4x128xi32>
    %c3 = "tt.broadcast"(%c1) : (tensor<1x128xi32>) -> tensor<4x128xi32>
    %at = arith.addi %r3, %c3 : tensor<4x128xi32>
    %base = "tt.splat"(%x) : (!tt.ptr<f32, "global">) -> tensor<4x128x!tt.ptr<f32, "global">>
    %p0 = "tt.addptr"(%base, %at) : (tensor<4x128x!tt.ptr<f32, "global">>, tensor<4x128xi32>) -> tensor<4x128x!tt.ptr<f32, "global">>
    %step = arith.constant dense<512> : tensor<4x128xi32>
    %init = arith.constant dense<0.0> : tensor<4xf32>
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%acc = %init, %p = %p0) -> (tensor<4xf32>, tensor<4x128x!tt.ptr<f32, "global">>) : i32 {
      %v = "tt.load"(%p) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x128x!tt.ptr<f32, "global">>) -> tensor<4x128xf32>
      %s = "tt.reduce"(%v) ({
      ^bb0(%a: f32, %b: f32):
        %t = arith.addf %a, %b : f32
        "tt.reduce_return"(%t) : (f32) -> ()
      }) {axis = 1 : i32} : (tensor<4x128xf32>) -> tensor<4xf32>
      %f = "tt.reduce"(%v) ({
      ^bb0(%a: f32, %b: f32):
        %t = arith.maxnumf %a, %b : f32
        "tt.reduce_return"(%t) : (f32) -> ()
      }) {axis = 1 : i32} : (tensor<4x128xf32>) -> tensor<4xf32>
      %scaled = arith.mulf %acc, %f : tensor<4xf32>
      %next = arith.addf %scaled, %s : tensor<4xf32>
      %q = "tt.addptr"(%p, %step) : (tensor<4x128x!tt.ptr<f32, "global">>, tensor<4x128xi32>) -> tensor<4x128x!tt.ptr<f32, "global">>
      scf.yield %next, %q : tensor<4xf32>, tensor<4x128x!tt.ptr<f32, "global">>
    }
    %z:2 = scf.for %i = %zero to %n step %one iter_args(%acc = %r#0, %p = %p0) -> (tensor<4xf32>, tensor<4x128x!tt.ptr<f32, "global">>) : i32 {
      %v = "tt.load"(%p) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x128x!tt.ptr<f32, "global">>) -> tensor<4x128xf32>
      %s = "tt.reduce"(%v) ({
      ^bb0(%a: f32, %b: f32):
        %t = arith.addf %a, %b : f32
        "tt.reduce_return"(%t) : (f32) -> ()
      }) {axis = 1 : i32} : (tensor<4x128xf32>) -> tensor<4xf32>
      %f = "tt.reduce"(%v) ({
      ^bb0(%a: f32, %b: f32):
        %t = arith.maxnumf %a, %b : f32
        "tt.reduce_return"(%t) : (f32) -> ()
      }) {axis = 1 : i32} : (tensor<4x128xf32>) -> tensor<4xf32>
      %scaled = arith.mulf %acc, %f : tensor<4xf32>
      %next = arith.addf %scaled, %s : tensor<4xf32>
      %q = "tt.addptr"(%p, %step) : (tensor<4x128x!tt.ptr<f32, "global">>, tensor<4x128xi32>) -> tensor<4x128x!tt.ptr<f32, "global">>
      scf.yield %next, %q : tensor<4xf32>, tensor<4x128x!tt.ptr<f32, "global">>
    }
    %ro = "tt.make_range"() {start = 0 : i32, end = 4 : i32} : () -> tensor<4xi32>
    %ob = "tt.splat"(%out) : (!tt.ptr<f32, "global">) -> tensor<4x!tt.ptr<f32, "global">>
    %op = "tt.addptr"(%ob, %ro) : (tensor<4x!tt.ptr<f32, "global">>, tensor<4xi32>) -> tensor<4x!tt.ptr<f32, "global">>
    "tt.store"(%op, %z#0) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x!tt.ptr<f32, "global">>, tensor<4xf32>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32) -> (), sym_name = "g", arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}]} : () -> ()
}) : () -> ()
