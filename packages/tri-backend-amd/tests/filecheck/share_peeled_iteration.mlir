// The iteration that was peeled is the first one of the loop with masks, and finds its operands in the buffers; the others fill them.
// TARGET: amd:gfx942
// RUN: convert-triton-to-tritongpu,coalesce,accelerate-matmul,stage-dot-operands,remove-layout-conversions,split-loops,pipeline,stage-matrix-operands,amdg-share-peeled-iteration

// CHECK: %[[A:.*]] = ttg.local_alloc : () -> 
// CHECK: %[[B:.*]] = ttg.local_alloc : () -> 
// CHECK: %[[LIVE:.*]] = arith.cmpi slt, %first, %[[MID:.*]] : i32
// CHECK: %[[MAIN:.*]]:5 = scf.for 
// CHECK-NOT: scf.if
// CHECK: %[[BACK:.*]] = arith.subi %[[MID]], %one : i32
// CHECK-NEXT: %[[FROM:.*]] = arith.select %[[LIVE]], %[[BACK]], %[[MID]] : i32
// CHECK-NEXT: %[[TO:.*]] = arith.maxsi %[[MID]], %n : i32
// CHECK-NEXT: scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %one iter_args(%[[C:.*]] = %[[MAIN]]#0, %{{.*}} = %[[MAIN]]#1, %{{.*}} = %[[MAIN]]#2)
// CHECK-NEXT: %[[PEELED:.*]] = arith.cmpi slt, %[[I]], %[[MID]] : i32
// CHECK-NEXT: %[[ONE:.*]] = arith.constant true
// CHECK-NEXT: %[[NEW:.*]] = arith.xori %[[PEELED]], %[[ONE]] : i1
// CHECK-NEXT: scf.if %[[NEW]] {
// CHECK: %[[X:.*]] = tt.load {{.*}}, {{.*}}, %none : 
// CHECK-NEXT: %[[Y:.*]] = tt.load {{.*}}, {{.*}}, %none : 
// CHECK-NEXT: ttg.local_store %[[X]], %[[A]] : 
// CHECK-NEXT: ttg.local_store %[[Y]], %[[B]] : 
// CHECK-NEXT: }
// CHECK-NEXT: %[[L:.*]] = ttg.local_load %[[A]] : 
// CHECK-NEXT: %[[R:.*]] = ttg.local_load %[[B]] : 
// CHECK-NEXT: tt.dot %[[L]], %[[R]], %[[C]] : 
// CHECK: scf.yield
// CHECK: ttg.local_dealloc %[[B]] : 
// CHECK: ttg.local_dealloc %[[A]] : 
// CHECK: tt.return

module {
  tt.func public @matmul(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %k: i32) {
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %size = arith.constant 64 : i32
    %less = arith.constant 63 : i32
    %zero = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %none = arith.constant dense<0.000000e+00> : tensor<64x64xf16>
    %along = arith.constant dense<64> : tensor<64x64xi32>
    %down = arith.constant dense<262144> : tensor<64x64xi32>
    %w = arith.constant dense<4096> : tensor<64x1xi32>
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %column = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %row = tt.expand_dims %range {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %rows = arith.muli %column, %w : tensor<64x1xi32>
    %0 = tt.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
    %1 = tt.broadcast %row : tensor<1x64xi32> -> tensor<64x64xi32>
    %at = arith.addi %0, %1 : tensor<64x64xi32>
    %2 = tt.splat %a : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %x = tt.addptr %2, %at : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %3 = tt.splat %b : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %y = tt.addptr %3, %at : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %more = arith.addi %k, %less : i32
    %n = arith.divsi %more, %size : i32
    %r:3 = scf.for %i = %first to %n step %one iter_args(%acc = %zero, %p = %x, %q = %y) -> (tensor<64x64xf32>, tensor<64x64x!tt.ptr<f16>>, tensor<64x64x!tt.ptr<f16>>) : i32 {
      %done = arith.muli %i, %size : i32
      %left = arith.subi %k, %done : i32
      %end = tt.splat %left : i32 -> tensor<1x64xi32>
      %in = arith.cmpi slt, %row, %end : tensor<1x64xi32>
      %inside = tt.broadcast %in : tensor<1x64xi1> -> tensor<64x64xi1>
      %low = tt.splat %left : i32 -> tensor<64x1xi32>
      %above = arith.cmpi slt, %column, %low : tensor<64x1xi32>
      %upper = tt.broadcast %above : tensor<64x1xi1> -> tensor<64x64xi1>
      %u = tt.load %p, %inside, %none : tensor<64x64x!tt.ptr<f16>>
      %v = tt.load %q, %upper, %none : tensor<64x64x!tt.ptr<f16>>
      %d = tt.dot %u, %v, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      %s = tt.addptr %p, %along : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      %t = tt.addptr %q, %down : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
      scf.yield %d, %s, %t : tensor<64x64xf32>, tensor<64x64x!tt.ptr<f16>>, tensor<64x64x!tt.ptr<f16>>
    }
    %4 = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
    %o = tt.addptr %4, %at : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    tt.store %o, %r#0 : tensor<64x64x!tt.ptr<f32>>
    tt.return
  }
}
