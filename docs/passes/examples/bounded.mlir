module {
  tt.func public @bounded(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %first = arith.constant 0 : i32
    %step = arith.constant 16 : i32
    %end = arith.constant 64 : i32
    %size = arith.constant dense<64> : tensor<16xi32>
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %0 = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %1 = tt.splat %out : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    scf.for %i = %first to %end step %step : i32 {
      %2 = tt.splat %i : i32 -> tensor<16xi32>
      %3 = arith.addi %2, %r : tensor<16xi32>
      %mask = arith.cmpi slt, %3, %size : tensor<16xi32>
      %4 = tt.addptr %0, %3 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
      %5 = tt.load %4, %mask : tensor<16x!tt.ptr<f32>>
      %6 = tt.addptr %1, %3 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
      tt.store %6, %5, %mask : tensor<16x!tt.ptr<f32>>
    }
    tt.return
  }
}
