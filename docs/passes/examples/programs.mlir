module {
  tt.func public @scale(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %column = tt.get_program_id x : i32
    %row = tt.get_program_id y : i32
    %columns = tt.get_num_programs x : i32
    %size = arith.constant 128 : i32
    %0 = arith.muli %row, %columns : i32
    %1 = arith.addi %0, %column : i32
    %2 = arith.muli %1, %size : i32
    %3 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %4 = tt.addptr %x, %2 : !tt.ptr<f32>, i32
    %5 = tt.splat %4 : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %6 = tt.addptr %5, %3 : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %7 = tt.load %6 : tensor<128x!tt.ptr<f32>>
    %8 = arith.addf %7, %7 : tensor<128xf32>
    tt.store %6, %8 : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
