module {
  tt.func public @f(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %k: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %zero = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %size = arith.constant 128 : i32
    %one = arith.constant 1 : i64
    %width = arith.constant 128 : i64
    %sum = arith.constant dense<0.000000e+00> : tensor<128x128xf32>
    %depth = arith.extsi %k : i32 to i64
    %da = tt.make_tensor_descriptor %a, [%size, %k], [%depth, %one] : !tt.ptr<f16>, !tt.tensordesc<128x64xf16>
    %db = tt.make_tensor_descriptor %b, [%k, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x128xf16>
    %dc = tt.make_tensor_descriptor %c, [%size, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<128x128xf16>
    %r = scf.for %i = %zero to %k step %step iter_args(%t = %sum) -> (tensor<128x128xf32>) : i32 {
      %x = tt.descriptor_load %da[%zero, %i] : !tt.tensordesc<128x64xf16> -> tensor<128x64xf16>
      %y = tt.descriptor_load %db[%i, %zero] : !tt.tensordesc<64x128xf16> -> tensor<64x128xf16>
      %d = tt.dot %x, %y, %t, inputPrecision = tf32 : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
      scf.yield %d : tensor<128x128xf32>
    }
    %h = arith.truncf %r : tensor<128x128xf32> to tensor<128x128xf16>
    tt.descriptor_store %dc[%zero, %zero], %h : !tt.tensordesc<128x128xf16>, tensor<128x128xf16>
    tt.return
  }
}
