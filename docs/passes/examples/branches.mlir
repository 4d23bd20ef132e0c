module {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi sgt, %n, %c0 : i32
    cf.cond_br %0, ^bb1, ^bb2
  ^bb1:
    tt.store %p, %n : !tt.ptr<i32>
    tt.return
  ^bb2:
    tt.return
  }
}
