module {
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %0 = tt.call @twice(%n) : (i32) -> i32
    tt.store %p, %0 : !tt.ptr<i32>
    tt.return
  }
  tt.func private @twice(%x: i32) -> i32 {
    %0 = arith.addi %x, %x : i32
    tt.return %0 : i32
  }
  tt.func private @unused(%x: i32) -> i32 {
    tt.return %x : i32
  }
}
