module {
  tt.func public @k(%x: tensor<32x64xf32>, %y: tensor<64x16xf32>, %c: tensor<32x16xf32>, %p: tensor<32x16x!tt.ptr<f32>>, %m: tensor<32x16xi1>) {
    %four = arith.constant dense<4> : tensor<32x16xi32>
    %0 = tt.expand_dims %x {axis = 2 : i32} : tensor<32x64xf32> -> tensor<32x64x1xf32>
    %1 = tt.expand_dims %y {axis = 0 : i32} : tensor<64x16xf32> -> tensor<1x64x16xf32>
    %2 = tt.broadcast %0 : tensor<32x64x1xf32> -> tensor<32x64x16xf32>
    %3 = tt.broadcast %1 : tensor<1x64x16xf32> -> tensor<32x64x16xf32>
    %4 = arith.mulf %2, %3 : tensor<32x64x16xf32>
    %5 = "tt.reduce"(%4) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tt.reduce.return %s : f32
    }) : (tensor<32x64x16xf32>) -> tensor<32x16xf32>
    %6 = arith.addf %5, %c : tensor<32x16xf32>
    %7 = tt.addptr %p, %four : tensor<32x16x!tt.ptr<f32>>, tensor<32x16xi32>
    %8 = tt.addptr %7, %four : tensor<32x16x!tt.ptr<f32>>, tensor<32x16xi32>
    %9 = tt.load %8, %m : tensor<32x16x!tt.ptr<f32>>
    %10 = arith.select %m, %9, %c : tensor<32x16xi1>, tensor<32x16xf32>
    tt.store %p, %10 : tensor<32x16x!tt.ptr<f32>>
    tt.store %8, %6 : tensor<32x16x!tt.ptr<f32>>
    tt.return
  }
}
