"""Tiles of pointers become accesses through descriptors, where that is certainly the same."""

from __future__ import annotations

import pytest

from tri_core.testing import check_passes

#: a dot: rows start again past M, the depth is masked
_KERNEL = """// RUN: promote-pointer-tiles{extent=256 rank=5 alignment=16 row_alignment=128},remove-dead-iter-args,canonicalize,cse
CHECKS
module {
  tt.func public @k(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %M: i32, %N: i32, %K: i32, %sa: i32 {tt.divisibility = 16 : i32}, %sb: i32 {tt.divisibility = 16 : i32}, %sc: i32 {tt.divisibility = 16 : i32}) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %none = arith.constant dense<OTHER> : tensor<64x32xf16>
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
    %rows1 = tt.expand_dims %ROWS {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
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
    %cs = tt.splat %STORED : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %cp = tt.addptr %cs, %coff : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %Mc = tt.splat %M : i32 -> tensor<64x1xi32>
    %cm = arith.cmpi slt, %crow, %Mc : tensor<64x1xi32>
    %cmask = tt.broadcast %cm : tensor<64x1xi1> -> tensor<64x64xi1>
    tt.store %cp, %out, %cmask : tensor<64x64x!tt.ptr<f16>>
    tt.return
  }
}
"""


def kernel(checks: str, *, rows: str = "wrapped", other: str = "0.0", stored: str = "c") -> str:
    text = _KERNEL.replace("CHECKS", checks).replace("%ROWS", f"%{rows}")
    return text.replace("OTHER", other).replace("%STORED", f"%{stored}")


def test_a_matmul_goes_through_descriptors() -> None:
    """Sizes come from masks and wraps, origins from the loop's count; b is contiguous along its rows: transposed."""
    check_passes(
        kernel("""// CHECK-DAG: %c2147483647_i32 = arith.constant 2147483647 : i32
// CHECK-DAG: %[[A:.*]] = tt.make_tensor_descriptor %a, [%M, %K], [%{{.*}}, %{{.*}}] {{.*}}<64x32xf16>
// CHECK-DAG: %[[B:.*]] = tt.make_tensor_descriptor %b, [%c2147483647_i32, %c2147483647_i32], [%{{.*}}, %{{.*}}] {{.*}}<64x32xf16>
// CHECK-DAG: %[[C:.*]] = tt.make_tensor_descriptor %c, [%M, %c2147483647_i32], [%{{.*}}, %{{.*}}] {{.*}}<64x64xf16>
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (tensor<64x64xf32>)
// CHECK: %x_0 = arith.muli %[[I]], %{{.*}} : i32
// CHECK: tt.descriptor_load %[[A]]{{.}}%{{.*}}, %x_0]
// CHECK: %[[Y:.*]] = tt.descriptor_load %[[B]]{{.}}%{{.*}}, %x_0]
// CHECK: tt.trans %[[Y]] {order = array<i32: 1, 0>} : tensor<64x32xf16> -> tensor<32x64xf16>
// CHECK: tt.descriptor_store %[[C]]{{.}}%{{.*}}, %{{.*}}]
// CHECK-NOT: tt.load
// CHECK-NOT: tt.store""")
    )


def test_rows_without_a_wrap_have_no_bound() -> None:
    check_passes(kernel("// CHECK: tt.make_tensor_descriptor %a, [%{{.*}}2147483647{{.*}}, %K]", rows="rows"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"other": "1.0"}, "padding that is not zero"), ({"stored": "a"}, "an array that is written")],
    ids=["other", "written"],
)
def test_what_is_left_alone(changes: dict[str, str], why: str) -> None:
    del why
    check_passes(
        kernel("// CHECK: tt.load %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x32x!tt.ptr<f16>>", **changes)
    )


def _changed(old: str, new: str, checks: str) -> str:
    text = kernel(checks)
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # the rows past M are stored
        ("tt.store %cp, %out, %cmask :", "tt.store %cp, %out :"),
        # under a mask of something else
        ("%Mc = tt.splat %M :", "%Mc = tt.splat %N :"),
        # a stride of any number
        ("%sa: i32 {tt.divisibility = 16 : i32}", "%sa: i32"),
        ("%sa: i32 {tt.divisibility = 16 : i32}", "%sa: i32 {tt.divisibility = 4 : i32}"),
        # a base of any alignment
        ("%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}", "%a: !tt.ptr<f16>"),
        # columns two apart
        ("%ko = tt.broadcast %k0", "%k02 = arith.addi %k0, %k0 : tensor<1x32xi32>\n    %ko = tt.broadcast %k02"),
        # a mask of two depths
        ("%m = arith.cmpi slt, %k0, %lefts", "%m = arith.cmpi eq, %k0, %lefts"),
        # volatile
        ("%x = tt.load %p, %mask, %none :", "%x = tt.load %p, %mask, %none {isVolatile = true} :"),
    ],
    ids=["unmasked", "other mask", "stride", "stride of 4", "base", "columns", "equal", "volatile"],
)  # fmt: skip
def test_what_must_stay(old: str, new: str) -> None:
    """The loads of ``a`` stay; those of ``b`` need none of this."""
    check = "// CHECK: tt.load %{{.*}} : tensor<64x32x!tt.ptr<f16>>"
    check_passes(_changed(old, new, check))


@pytest.mark.parametrize(
    ("sum_", "is_promoted"),
    [
        ("%s = tt.atomic_rmw fadd, acq_rel, gpu, %cp, %out, %cmask :", True),
        # what was there before is stored, rows past M too
        ("%s = tt.atomic_rmw fadd, acq_rel, gpu, %cp, %out, %cmask :", False),
        # the rows past M are added
        ("%s = tt.atomic_rmw fadd, acq_rel, gpu, %cp, %out :", False),
    ],
    ids=["masked", "read", "unmasked"],
)
def test_rows_that_begin_again_may_be_added_under_a_mask(sum_: str, is_promoted: bool) -> None:
    """As split-k matmuls do."""
    masked = "%cmask" in sum_
    type_ = "tensor<64x64x!tt.ptr<f16>>, tensor<64x64xf16>" + (", tensor<64x64xi1>" if masked else "")
    added = f"{sum_} ({type_}) -> tensor<64x64xf16>"
    if masked and not is_promoted:
        added += "\n    tt.store %cp, %s : tensor<64x64x!tt.ptr<f16>>"
    store = "tt.store %cp, %out, %cmask : tensor<64x64x!tt.ptr<f16>>"
    load = "tt.load %{{.*}} : tensor<64x32x!tt.ptr<f16>>"
    check_passes(_changed(store, added, f"// CHECK-NOT: {load}" if is_promoted else f"// CHECK: {load}"))


def test_a_store_may_leave_out_more_than_the_rows_that_begin_again() -> None:
    """A mask one of whose conditions is read from memory, as of the padded rows of experts."""
    mask = "%cmask = tt.broadcast %cm : tensor<64x1xi1> -> tensor<64x64xi1>"
    more = (
        "%cmask0 = tt.broadcast %cm : tensor<64x1xi1> -> tensor<64x64xi1>\n"
        "    %read = tt.load %cp : tensor<64x64x!tt.ptr<f16>>\n"
        "    %known = arith.cmpf oeq, %read, %read : tensor<64x64xf16>\n"
        "    %cmask = arith.andi %known, %cmask0 : tensor<64x64xi1>"
    )
    check_passes(_changed(mask, more, "// CHECK-NOT: tt.load %{{.*}} : tensor<64x32x!tt.ptr<f16>>"))


#: rows that a number in memory ends, and the same number as an argument's
_READ = "%size = tt.load %sizes : !tt.ptr<i32>\n    %Ms = tt.splat %size :"


def _computed(checks: str) -> str:
    """M is read from memory, in rows that wrap and in the mask of the store."""
    text = kernel(checks).replace(
        "// RUN: promote-pointer-tiles{extent=256 rank=5 alignment=16 row_alignment=128},",
        "// RUN: promote-pointer-tiles{computed=true extent=256 rank=5 alignment=16 row_alignment=128},",
    )
    text = text.replace("(%a: ", "(%sizes: !tt.ptr<i32>, %a: ").replace("%Ms = tt.splat %M :", _READ)
    return text.replace("%Mc = tt.splat %M :", "%Mc = tt.splat %size :")


def test_computed_sizes() -> None:
    """The descriptor is made where the size is known; a store takes one without a bound, where its block is inside."""
    check_passes(
        _computed("""// CHECK: tt.make_tensor_descriptor %c, [%c2147483647_i32, %c2147483647_i32]
// CHECK: %[[SIZE:.*]] = tt.load %sizes
// CHECK: %[[A:.*]] = tt.make_tensor_descriptor %a, [%[[SIZE]], %K]
// CHECK: scf.for
// CHECK: tt.descriptor_load %[[A]]
// CHECK: %[[END:.*]] = arith.addi %row0, %c64
// CHECK: %[[INSIDE:.*]] = arith.cmpi sle, %{{.*}}, %[[SIZE]]
// CHECK: scf.if %[[INSIDE]]
// CHECK: tt.descriptor_store
// CHECK: else
// CHECK: tt.store %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x64x!tt.ptr<f16>>""")
    )


def test_computed_sizes_are_not_for_every_target() -> None:
    text = _computed("// CHECK: tt.load %{{.*}} : tensor<64x32x!tt.ptr<f16>>")
    check_passes(text.replace("computed=true ", ""))


@pytest.mark.parametrize("aligned", [True, False])
def test_an_array_that_begins_at_a_computed_place(aligned: bool) -> None:
    """Its rows' ends begin there too, so that the descriptor's base moves; by multiples of 16 bytes alone."""
    moved = """%far = arith.muli %pid, %sc : i32
    %here = tt.addptr %a, %far : !tt.ptr<f16>, i32
    %as = tt.splat %here :"""
    checks = """// CHECK: %pid = tt.get_program_id x
// CHECK: %[[FAR:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: %[[BASE:.*]] = tt.addptr %a, %[[FAR]] : !tt.ptr<f16>, i64
// CHECK: tt.make_tensor_descriptor %[[BASE]], [%M, %K]"""
    stays = "// CHECK: tt.load %{{.*}} : tensor<64x32x!tt.ptr<f16>>"
    text = _changed("%as = tt.splat %a :", moved, checks if aligned else stays)
    text = text.replace(
        "// RUN: promote-pointer-tiles{extent=256 rank=5 alignment=16 row_alignment=128},",
        "// RUN: promote-pointer-tiles{computed=true extent=256 rank=5 alignment=16 row_alignment=128},",
    )
    if not aligned:
        text = text.replace("%sc: i32 {tt.divisibility = 16 : i32}", "%sc: i32 {tt.divisibility = 4 : i32}")
    check_passes(text)


def test_an_origin_before_the_array_needs_a_bound() -> None:
    """A convolution's rows begin before the image: zero there only under a mask."""
    minus = "%row0 = arith.muli %pid, %c64 : i32"
    shifted = f"{minus}\n    %row0m = arith.subi %row0, %c1 : i32"
    text = _changed(minus, shifted, "// CHECK: tt.load %{{.*}} : tensor<64x32x!tt.ptr<f16>>")
    check_passes(text.replace("%row0s = tt.splat %row0 :", "%row0s = tt.splat %row0m :"))


_ROW = """%y = tt.load %bp : tensor<32x64x!tt.ptr<f16>>
      %w0 = tt.splat %ROW : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
      %w1 = tt.splat %done : i32 -> tensor<32xi32>
      %w2 = arith.addi %w1, %r32 : tensor<32xi32>
      %w3 = tt.addptr %w0, %w2 : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
      %w = tt.load %w3 : tensor<32x!tt.ptr<f32>>
      %wh = arith.truncf %w : tensor<32xf32> to tensor<32xf16>
      %w4 = tt.expand_dims %wh {axis = 0 : i32} : tensor<32xf16> -> tensor<1x32xf16>
      %w5 = tt.broadcast %w4 : tensor<1x32xf16> -> tensor<64x32xf16>
      %xw = arith.mulf %x, %w5 : tensor<64x32xf16>"""


def _with_row(checks: str, *, row: str = "w32", used: str = "xw", rows: str = "f32") -> str:
    text = _changed("%y = tt.load %bp : tensor<32x64x!tt.ptr<f16>>", _ROW.replace("%ROW", f"%{row}"), checks)
    if rows == "f16":  # 64 bytes
        text = text.replace("%wh = arith.truncf %w : tensor<32xf32> to", "%wh = arith.addf %w, %w :")
        text = text.replace("!tt.ptr<f32>", "!tt.ptr<f16>")
    text = text.replace("%M: i32", f"%w32: !tt.ptr<{rows}> {{tt.divisibility = 16 : i32}}, %M: i32")
    text = text.replace(
        "scf.yield %d, %q", f"tt.store %o, %w : tensor<32x!tt.ptr<{rows}>>\n      scf.yield %d, %q"
    )
    text = text.replace("%M: i32", f"%o32: !tt.ptr<{rows}>, %M: i32")
    made = f"%o = tt.splat %o32 : !tt.ptr<{rows}> -> tensor<32x!tt.ptr<{rows}>>"
    return text.replace("%trips =", f"{made}\n    %trips =").replace("tt.dot %x, %y", f"tt.dot %{used}, %y")


def test_a_row_from_which_a_factor_is_computed_goes_through_a_descriptor() -> None:
    check_passes(
        _with_row("""// CHECK: %[[W:.*]] = tt.make_tensor_descriptor %w32, [%c2147483647_i32], [%{{.*}}] {{.*}}<32xf32>
// CHECK: scf.for %[[I:.*]] =
// CHECK: tt.descriptor_load %[[W]]{{.}}%{{.*}}] {{.*}}tensor<32xf32>""")
    )


@pytest.mark.parametrize(
    "changes", [{"row": "o32"}, {"used": "x"}, {"rows": "f16"}], ids=["written", "of no factor", "64 bytes"]
)
def test_other_rows_stay(changes: dict[str, str]) -> None:
    check_passes(_with_row("// CHECK: tt.load %{{.*}} : tensor<32x!tt.ptr<", **changes))


#: of copies of another make: 2D blocks of 32 elements at most, with rows of any alignment that their elements have
_SMALL = "extent=32 rank=2 alignment=4 row_alignment=4"
_LIMITS = "extent=256 rank=5 alignment=16 row_alignment=128"


@pytest.mark.parametrize(
    ("limits", "check"),
    [
        (_LIMITS, "// CHECK: tt.descriptor_load"),
        (_LIMITS.replace("256", "64"), "// CHECK: tt.descriptor_load"),
        (_SMALL, "// CHECK-NOT: tt.descriptor_load"),
        (_SMALL.replace("32", "64"), "// CHECK: tt.descriptor_load"),
        (_LIMITS.replace("rank=5", "rank=1"), "// CHECK-NOT: tt.descriptor_load"),
        (_LIMITS.replace("=16", "=32"), "// CHECK-NOT: tt.descriptor_load"),
    ],
    ids=["boxes", "small enough", "too long", "long enough", "too many dimensions", "not aligned"],
)
def test_blocks_are_those_that_the_targets_copies_take(limits: str, check: str) -> None:
    check_passes(kernel(check).replace(_LIMITS, limits))
