module {
  tt.func public @matmul(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32, tt.pointer_range = 32 : i32}, %n: i32) {
    %zero = arith.constant dense<0.000000e+00> : tensor<256x256xf32>
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %along = arith.constant dense<64> : tensor<256x64xi32>
    %down = arith.constant dense<16384> : tensor<64x256xi32>
    %width = arith.constant dense<4096> : tensor<256x1xi32>
    %w = arith.constant dense<256> : tensor<64x1xi32>
    %l = arith.constant dense<256> : tensor<256x1xi32>
    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %k = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %rows = tt.expand_dims %r {axis = 1 : i32} : tensor<256xi32> -> tensor<256x1xi32>
    %columns = tt.expand_dims %r {axis = 0 : i32} : tensor<256xi32> -> tensor<1x256xi32>
    %deep = tt.expand_dims %k {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %depth = tt.expand_dims %k {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %0 = arith.muli %rows, %width : tensor<256x1xi32>
    %1 = tt.broadcast %0 : tensor<256x1xi32> -> tensor<256x64xi32>
    %2 = tt.broadcast %depth : tensor<1x64xi32> -> tensor<256x64xi32>
    %3 = arith.addi %1, %2 : tensor<256x64xi32>
    %4 = arith.muli %deep, %w : tensor<64x1xi32>
    %5 = tt.broadcast %4 : tensor<64x1xi32> -> tensor<64x256xi32>
    %6 = tt.broadcast %columns : tensor<1x256xi32> -> tensor<64x256xi32>
    %7 = arith.addi %5, %6 : tensor<64x256xi32>
    %8 = tt.splat %a : !tt.ptr<f16> -> tensor<256x64x!tt.ptr<f16>>
    %9 = tt.addptr %8, %3 : tensor<256x64x!tt.ptr<f16>>, tensor<256x64xi32>
    %10 = tt.splat %b : !tt.ptr<f16> -> tensor<64x256x!tt.ptr<f16>>
    %11 = tt.addptr %10, %7 : tensor<64x256x!tt.ptr<f16>>, tensor<64x256xi32>
    %12:3 = scf.for %i = %first to %n step %one iter_args(%acc = %zero, %x = %9, %y = %11) -> (tensor<256x256xf32>, tensor<256x64x!tt.ptr<f16>>, tensor<64x256x!tt.ptr<f16>>) : i32 {
      %20 = tt.load %x : tensor<256x64x!tt.ptr<f16>>
      %21 = tt.load %y : tensor<64x256x!tt.ptr<f16>>
      %22 = tt.dot %20, %21, %acc : tensor<256x64xf16> * tensor<64x256xf16> -> tensor<256x256xf32>
      %23 = tt.addptr %x, %along : tensor<256x64x!tt.ptr<f16>>, tensor<256x64xi32>
      %24 = tt.addptr %y, %down : tensor<64x256x!tt.ptr<f16>>, tensor<64x256xi32>
      scf.yield %22, %23, %24 : tensor<256x256xf32>, tensor<256x64x!tt.ptr<f16>>, tensor<64x256x!tt.ptr<f16>>
    }
    %13 = arith.muli %rows, %l : tensor<256x1xi32>
    %14 = tt.broadcast %13 : tensor<256x1xi32> -> tensor<256x256xi32>
    %15 = tt.broadcast %columns : tensor<1x256xi32> -> tensor<256x256xi32>
    %16 = arith.addi %14, %15 : tensor<256x256xi32>
    %17 = tt.splat %c : !tt.ptr<f32> -> tensor<256x256x!tt.ptr<f32>>
    %18 = tt.addptr %17, %16 : tensor<256x256x!tt.ptr<f32>>, tensor<256x256xi32>
    tt.store %18, %12#0 : tensor<256x256x!tt.ptr<f32>>
    tt.return
  }
}
