module {
  tt.func public @k(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %M: i32, %N: i32, %K: i32, %sa: i32 {tt.divisibility = 16 : i32}, %sb: i32 {tt.divisibility = 16 : i32}, %sc: i32 {tt.divisibility = 16 : i32}) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %none = arith.constant dense<0.0> : tensor<64x32xf16>
    %none2 = arith.constant dense<0.0> : tensor<32x64xf16>
    %inc = arith.constant dense<32> : tensor<64x32xi32>
    %pid = tt.get_program_id x : i32
    %row0 = arith.muli %pid, %c64 : i32
    %r64 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %r32 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %row0s = tt.splat %row0 : i32 -> tensor<64xi32>
    %rows = arith.addi %row0s, %r64 : tensor<64xi32>
    %Ms = tt.splat %M : i32 -> tensor<64xi32>
    %wrapped = arith.remsi %rows, %Ms : tensor<64xi32>
    %rows1 = tt.expand_dims %wrapped {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %sas = tt.splat %sa : i32 -> tensor<64x1xi32>
    %rowoff = arith.muli %rows1, %sas : tensor<64x1xi32>
    %k0 = tt.expand_dims %r32 {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
    %k1 = tt.expand_dims %r32 {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
    %ro = tt.broadcast %rowoff : tensor<64x1xi32> -> tensor<64x32xi32>
    %ko = tt.broadcast %k0 : tensor<1x32xi32> -> tensor<64x32xi32>
    %off = arith.addi %ro, %ko : tensor<64x32xi32>
    %as = tt.splat %a : !tt.ptr<f16> -> tensor<64x32x!tt.ptr<f16>>
    %ap = tt.addptr %as, %off : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
    %n0 = tt.expand_dims %r64 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %sbs = tt.splat %sb : i32 -> tensor<1x64xi32>
    %no = arith.muli %n0, %sbs : tensor<1x64xi32>
    %nb = tt.broadcast %no : tensor<1x64xi32> -> tensor<32x64xi32>
    %kb = tt.broadcast %k1 : tensor<32x1xi32> -> tensor<32x64xi32>
    %boff = arith.addi %nb, %kb : tensor<32x64xi32>
    %bs = tt.splat %b : !tt.ptr<f16> -> tensor<32x64x!tt.ptr<f16>>
    %bp0 = tt.addptr %bs, %boff : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
    %trips = arith.divsi %K, %c32 : i32
    %0:2 = scf.for %i = %c0 to %trips step %c1 iter_args(%acc = %zero, %p = %ap) -> (tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16>>)  : i32 {
      %done = arith.muli %i, %c32 : i32
      %left = arith.subi %K, %done : i32
      %lefts = tt.splat %left : i32 -> tensor<1x32xi32>
      %m = arith.cmpi slt, %k0, %lefts : tensor<1x32xi32>
      %mask = tt.broadcast %m : tensor<1x32xi1> -> tensor<64x32xi1>
      %x = tt.load %p, %mask, %none : tensor<64x32x!tt.ptr<f16>>
      %dones = tt.splat %done : i32 -> tensor<32x64xi32>
      %bp = tt.addptr %bp0, %dones : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi32>
      %y = tt.load %bp : tensor<32x64x!tt.ptr<f16>>
      %d = tt.dot %x, %y, %acc, inputPrecision = ieee : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
      %q = tt.addptr %p, %inc : tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi32>
      scf.yield %d, %q : tensor<64x64xf32>, tensor<64x32x!tt.ptr<f16>>
    }
    %out = arith.truncf %0#0 : tensor<64x64xf32> to tensor<64x64xf16>
    %crow = tt.expand_dims %rows {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %scs = tt.splat %sc : i32 -> tensor<64x1xi32>
    %crowoff = arith.muli %crow, %scs : tensor<64x1xi32>
    %cro = tt.broadcast %crowoff : tensor<64x1xi32> -> tensor<64x64xi32>
    %cno = tt.broadcast %n0 : tensor<1x64xi32> -> tensor<64x64xi32>
    %coff = arith.addi %cro, %cno : tensor<64x64xi32>
    %cs = tt.splat %c : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %cp = tt.addptr %cs, %coff : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %Mc = tt.splat %M : i32 -> tensor<64x1xi32>
    %cm = arith.cmpi slt, %crow, %Mc : tensor<64x1xi32>
    %cmask = tt.broadcast %cm : tensor<64x1xi1> -> tensor<64x64xi1>
    tt.store %cp, %out, %cmask : tensor<64x64x!tt.ptr<f16>>
    tt.return
  }
}
