module {
  tt.func public @count(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %0:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c1, %q = %p) -> (i32, !tt.ptr<i32>)  : i32 {
      %1 = arith.addi %x, %i : i32
      %2 = tt.addptr %q, %c1 : !tt.ptr<i32>, i32
      scf.yield %1, %2 : i32, !tt.ptr<i32>
    }
    tt.store %p, %0#0 : !tt.ptr<i32>
    tt.return
  }
}
