// Work groups in turn over XCDs: a group's number by the XCD that it runs on.
// TARGET: amd:gfx942
// RUN: amdg-remap-programs{xcds=6}

// CHECK: %[[G:.*]] = tt.get_program_id x : i32
// CHECK-NEXT: %[[N:.*]] = tt.get_num_programs x : i32
// CHECK-NEXT: %[[X:.*]] = arith.constant 6 : i32
// CHECK-NEXT: %[[XCD:.*]] = arith.remui %[[G]], %[[X]] : i32
// CHECK-NEXT: %[[PLACE:.*]] = arith.divui %[[G]], %[[X]] : i32
// CHECK-NEXT: %[[Q:.*]] = arith.divui %[[N]], %[[X]] : i32
// CHECK-NEXT: %[[R:.*]] = arith.remui %[[N]], %[[X]] : i32
// CHECK-NEXT: %[[M:.*]] = arith.minui %[[XCD]], %[[R]] : i32
// CHECK-NEXT: %[[A:.*]] = arith.muli %[[XCD]], %[[Q]] : i32
// CHECK-NEXT: %[[B:.*]] = arith.addi %[[A]], %[[M]] : i32
// CHECK-NEXT: %[[P:.*]] = arith.addi %[[B]], %[[PLACE]] : i32
// CHECK-NOT: tt.get_program_id
// CHECK: arith.muli %[[P]], %size

module {
  tt.func public @product(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %zero = arith.constant dense<0.000000e+00> : tensor<32x32xf32>
    %size = arith.constant 1024 : i32
    %tile = tt.get_program_id x : i32
    %begin = arith.muli %tile, %size : i32
    %from = tt.addptr %a, %begin : !tt.ptr<f16>, i32
    %to = tt.addptr %c, %begin : !tt.ptr<f32>, i32
    %w = arith.constant dense<32> : tensor<32x1xi32>
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %0 = tt.expand_dims %r {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %1 = arith.muli %0, %w : tensor<32x1xi32>
    %2 = tt.expand_dims %r {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %3 = tt.broadcast %1 : tensor<32x1xi32> -> tensor<32x32xi32>
    %4 = tt.broadcast %2 : tensor<1x32xi32> -> tensor<32x32xi32>
    %5 = arith.addi %3, %4 : tensor<32x32xi32>
    %6 = tt.splat %from : !tt.ptr<f16> -> tensor<32x32x!tt.ptr<f16>>
    %7 = tt.addptr %6, %5 : tensor<32x32x!tt.ptr<f16>>, tensor<32x32xi32>
    %8 = tt.load %7 : tensor<32x32x!tt.ptr<f16>>
    %9 = tt.dot %8, %8, %zero : tensor<32x32xf16> * tensor<32x32xf16> -> tensor<32x32xf32>
    %10 = tt.splat %to : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>>
    %11 = tt.addptr %10, %5 : tensor<32x32x!tt.ptr<f32>>, tensor<32x32xi32>
    tt.store %11, %9 : tensor<32x32x!tt.ptr<f32>>
    tt.return
  }
}
