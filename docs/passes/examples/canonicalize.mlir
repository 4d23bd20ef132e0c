module {
  tt.func public @k(%p: tensor<8x!tt.ptr<i32>>, %x: tensor<4x2xi32>, %n: i32) {
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %0 = tt.splat %true : i1 -> tensor<8xi1>
    %1 = tt.splat %c0 : i32 -> tensor<8xi32>
    %2 = tt.addptr %p, %1 : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    %3 = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x2xi32> -> tensor<2x4xi32>
    %4 = tt.trans %3 {order = array<i32: 1, 0>} : tensor<2x4xi32> -> tensor<4x2xi32>
    %5 = tt.reshape %4 : tensor<4x2xi32> -> tensor<8xi32>
    %6 = arith.muli %n, %c0 : i32
    tt.store %2, %5, %0 : tensor<8x!tt.ptr<i32>>
    tt.return
  }
}
