module {
  tt.func public @edges(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %size = arith.constant 256 : i32
    %pid = tt.get_program_id x : i32
    %start = arith.muli %pid, %size : i32
    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %0 = tt.splat %start : i32 -> tensor<256xi32>
    %1 = arith.addi %0, %r : tensor<256xi32>
    %2 = tt.splat %n : i32 -> tensor<256xi32>
    %mask = arith.cmpi slt, %1, %2 : tensor<256xi32>
    %3 = tt.splat %p : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %4 = tt.addptr %3, %1 : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %5 = tt.load %4, %mask : tensor<256x!tt.ptr<f32>>
    %6 = tt.splat %out : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %7 = tt.addptr %6, %1 : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    tt.store %7, %5, %mask : tensor<256x!tt.ptr<f32>>
    tt.return
  }
}
