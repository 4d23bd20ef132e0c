module {
  tt.func public @k(%a: tensor<16x32xf8E4M3FN>, %s: tensor<16x1xi8>, %b: tensor<32x16xbf16>, %p: tensor<16x16x!tt.ptr<f32>>) {
    %c = arith.constant dense<0.000000e+00> : tensor<16x16xf32>
    %0 = tt.dot_scaled %a scale %s, %b, %c lhs = e4m3 rhs = bf16 {fastMath = false} : tensor<16x32xf8E4M3FN>, tensor<16x1xi8> * tensor<32x16xbf16> -> tensor<16x16xf32>
    tt.store %p, %0 : tensor<16x16x!tt.ptr<f32>>
    tt.return
  }
}
