module {
  tt.func public @f(%a: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %k: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %zero = arith.constant 0 : i32
    %size = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    %width = arith.constant 64 : i64
    %sum = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %depth = arith.extsi %k : i32 to i64
    %da = tt.make_tensor_descriptor %a, [%size, %k], [%depth, %one] : !tt.ptr<f32>, !tt.tensordesc<64x64xf32>
    %db = tt.make_tensor_descriptor %b, [%k, %size], [%width, %one] : !tt.ptr<f32>, !tt.tensordesc<64x64xf32>
    %dc = tt.make_tensor_descriptor %c, [%size, %size], [%width, %one] : !tt.ptr<f32>, !tt.tensordesc<64x64xf32>
    %r = scf.for %i = %zero to %k step %size iter_args(%t = %sum) -> (tensor<64x64xf32>) : i32 {
      %x = tt.descriptor_load %da[%zero, %i] : !tt.tensordesc<64x64xf32> -> tensor<64x64xf32>
      %y = tt.descriptor_load %db[%i, %zero] : !tt.tensordesc<64x64xf32> -> tensor<64x64xf32>
      %d = tt.dot %x, %y, %t, inputPrecision = tf32 : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    } {tt.warp_specialize}
    tt.descriptor_store %dc[%zero, %zero], %r : !tt.tensordesc<64x64xf32>, tensor<64x64xf32>
    tt.return
  }
}
