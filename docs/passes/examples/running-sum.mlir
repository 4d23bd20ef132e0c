module {
  tt.func public @running(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %r = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32>
    %0 = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>>
    %1 = tt.addptr %0, %r : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
    %2 = tt.load %1 : tensor<512x!tt.ptr<f32>>
    %3 = "tt.scan"(%2) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tt.scan.return %s : f32
    }) : (tensor<512xf32>) -> tensor<512xf32>
    %4 = tt.splat %out : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>>
    %5 = tt.addptr %4, %r : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
    tt.store %5, %3 : tensor<512x!tt.ptr<f32>>
    tt.return
  }
}
