module {
  tt.func public @words(%p: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %q: !tt.ptr<i32> {tt.divisibility = 16 : i32}, %n: i32) {
    %first = arith.constant 0 : i32
    %step = arith.constant 64 : i32
    %eight = arith.constant dense<8> : tensor<64xi32>
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    scf.for %i = %first to %n step %step : i32 {
      %0 = tt.splat %i : i32 -> tensor<64xi32>
      %1 = arith.addi %0, %r : tensor<64xi32>
      %2 = arith.divsi %1, %eight : tensor<64xi32>
      %3 = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
      %4 = tt.addptr %3, %2 : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      %5 = tt.load %4 : tensor<64x!tt.ptr<i32>>
      %6 = tt.splat %q : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
      %7 = tt.addptr %6, %1 : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      tt.store %7, %5 : tensor<64x!tt.ptr<i32>>
    }
    tt.return
  }
}
