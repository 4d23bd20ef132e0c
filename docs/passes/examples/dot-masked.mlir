module {
  tt.func public @f(%q: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %k: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %first: i32 {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %zero = arith.constant 0 : i32
    %size = arith.constant 64 : i32
    %one = arith.constant 1 : i64
    %width = arith.constant 64 : i64
    %sum = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %dq = tt.make_tensor_descriptor %q, [%n, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %dk = tt.make_tensor_descriptor %k, [%n, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %do = tt.make_tensor_descriptor %o, [%n, %size], [%width, %one] : !tt.ptr<f16>, !tt.tensordesc<64x64xf16>
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %f = tt.splat %first : i32 -> tensor<64xi32>
    %row = arith.addi %f, %range : tensor<64xi32>
    %column = tt.expand_dims %row {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %rows = tt.broadcast %column : tensor<64x1xi32> -> tensor<64x64xi32>
    %x = tt.descriptor_load %dq[%first, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
    %r = scf.for %i = %zero to %n step %size iter_args(%acc = %sum) -> (tensor<64x64xf32>) : i32 {
      %y = tt.descriptor_load %dk[%i, %zero] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
      %t = tt.trans %y {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
      %s = tt.dot %x, %t, %sum, inputPrecision = tf32 : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      %e = math.exp2 %s : tensor<64x64xf32>
      %at = tt.splat %i : i32 -> tensor<64xi32>
      %key = arith.addi %at, %range : tensor<64xi32>
      %line = tt.expand_dims %key {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
      %keys = tt.broadcast %line : tensor<1x64xi32> -> tensor<64x64xi32>
      %mask = arith.cmpi sge, %rows, %keys : tensor<64x64xi32>
      %m = arith.select %mask, %e, %sum : tensor<64x64xi1>, tensor<64x64xf32>
      %a = arith.addf %acc, %m : tensor<64x64xf32>
      scf.yield %a : tensor<64x64xf32>
    } {tt.warp_specialize}
    %h = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
    tt.descriptor_store %do[%first, %zero], %h : !tt.tensordesc<64x64xf16>, tensor<64x64xf16>
    tt.return
  }
}
