module {
  tt.func public @k(%a: !tt.ptr<i8>, %p: !tt.ptr<f32>) {
    %c = arith.constant dense<0.000000e+00> : tensor<128x64xf32>
    %0 = tt.splat %a : !tt.ptr<i8> -> tensor<128x128x!tt.ptr<i8>>
    %x = tt.load %0 : tensor<128x128x!tt.ptr<i8>>
    %1 = tt.splat %a : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>>
    %y = tt.load %1 : tensor<64x64x!tt.ptr<i8>>
    %2 = tt.splat %a : !tt.ptr<i8> -> tensor<128x4x!tt.ptr<i8>>
    %s = tt.load %2 : tensor<128x4x!tt.ptr<i8>>
    %3 = tt.splat %a : !tt.ptr<i8> -> tensor<64x4x!tt.ptr<i8>>
    %t = tt.load %3 : tensor<64x4x!tt.ptr<i8>>
    %f = tt.bitcast %x : tensor<128x128xi8> -> tensor<128x128xf8E4M3FN>
    %d = tt.dot_scaled %f scale %s, %y scale %t, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<128x128xf8E4M3FN>, tensor<128x4xi8> * tensor<64x64xi8>, tensor<64x4xi8> -> tensor<128x64xf32>
    %4 = tt.splat %p : !tt.ptr<f32> -> tensor<128x64x!tt.ptr<f32>>
    tt.store %4, %d : tensor<128x64x!tt.ptr<f32>>
    tt.return
  }
}
