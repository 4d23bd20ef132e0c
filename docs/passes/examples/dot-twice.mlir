module {
  tt.func public @f(%q: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %k: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %m: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %zero = arith.constant 0 : i32
    %size = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    %width = arith.constant 64 : i64
    %sum = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %dq = tt.make_tensor_descriptor %q, [%size, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %dk = tt.make_tensor_descriptor %k, [%m, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %do = tt.make_tensor_descriptor %o, [%size, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %x = tt.descriptor_load %dq[%zero, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
    %r = scf.for %i = %zero to %n step %size iter_args(%acc = %sum) -> (tensor<64x64xf32>) : i32 {
      %y = tt.descriptor_load %dk[%i, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
      %s = tt.dot %x, %y, %acc, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %s : tensor<64x64xf32>
    }
    %l = scf.for %i = %n to %m step %size iter_args(%acc = %r) -> (tensor<64x64xf32>) : i32 {
      %y = tt.descriptor_load %dk[%i, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
      %e = math.exp2 %y : tensor<64x64xf16>
      %s = tt.dot %x, %e, %acc, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %s : tensor<64x64xf32>
    }
    %h = arith.truncf %l : tensor<64x64xf32> to tensor<64x64xf16>
    tt.descriptor_store %do[%zero, %zero], %h : !tt.tensordesc<64x64xf16>, tensor<64x64xf16>
    tt.return
  }
}
