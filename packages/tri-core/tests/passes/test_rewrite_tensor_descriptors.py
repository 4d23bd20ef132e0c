"""Descriptors become pointers and masks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_core.passes import RewriteTensorDescriptors
from tri_core.testing import filecheck

D = "!tt.tensordesc<tensor<16x32xf16>>"
MADE = f"""
%one = arith.constant 1 : i64
%d = "tt.make_tensor_descriptor"(%p, %m, %n, %s, %one) {{operandSegmentSizes = array<i32: 1, 2, 2>, padding = PADDING : i32}} : (ptr<f16>, i32, i32, i64, i64) -> {D}
"""
ARGUMENTS = "%p: ptr<f16>, %m: i32, %n: i32, %s: i64, %i: i32"


def body(rest: str, padding: int = 1) -> str:
    return MADE.replace("PADDING", str(padding)) + rest


def test_a_load(function: Callable[..., str], after: Callable[..., str]) -> None:
    load = f"""
%zero = arith.constant 0 : i32
%v = "tt.descriptor_load"(%d, %i, %zero) {{cache = 3 : i32}} : ({D}, i32, i32) -> tensor<16x32xf16>
"tt.print"(%v) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : (tensor<16x32xf16>) -> ()
"""
    filecheck(
        after(RewriteTensorDescriptors(), function(ARGUMENTS, body(load))),
        """CHECK-NOT: tensordesc
           CHECK: %[[M:.*]] = "arith.extsi"(%arg1)
           CHECK: %[[I:.*]] = "arith.extsi"(%arg4)
           CHECK: %[[STEP:.*]] = "arith.muli"(%[[I]], %arg3)
           CHECK: %[[BASE:.*]] = "tt.addptr"(%arg0, %[[STEP]])
           CHECK: %[[HIGH:.*]] = "arith.subi"(%[[M]], %[[I]])
           CHECK: %[[LOW:.*]] = "arith.subi"(%{{.*}}, %[[I]])
           CHECK: "tt.splat"(%[[HIGH]])
           CHECK: "arith.cmpi"
           CHECK: "tt.splat"(%[[LOW]])
           CHECK: "arith.cmpi"
           CHECK: "tt.splat"(%[[BASE]])
           CHECK: "arith.constant"() <{value = 0.000000e+00 : f16}>
           CHECK: "tt.load"(%{{.*}}, %{{.*}}, %{{.*}}) {cache = 3 : i32, operandSegmentSizes = array<i32: 1, 1, 1>}""",
    )


def test_padding_with_nan(function: Callable[..., str], after: Callable[..., str]) -> None:
    load = f"""
%v = "tt.descriptor_load"(%d, %i, %i) : ({D}, i32, i32) -> tensor<16x32xf16>
"tt.print"(%v) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : (tensor<16x32xf16>) -> ()
"""
    text = after(RewriteTensorDescriptors(), function(ARGUMENTS, body(load, padding=2)))
    filecheck(
        text, 'CHECK: %[[N:.*]] = "arith.constant"() <{value = 0x7E00 : f16}>\nCHECK: "tt.splat"(%[[N]])'
    )


def test_control_flow_carries_the_parts(function: Callable[..., str], after: Callable[..., str]) -> None:
    loop = f"""
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%r:2 = scf.for %k = %c0 to %i step %c1 iter_args(%a = %d, %b = %c0) -> ({D}, i32) : i32 {{
  %v = "tt.descriptor_load"(%a, %k, %b) : ({D}, i32, i32) -> tensor<16x32xf16>
  "tt.descriptor_store"(%d, %v, %k, %b) : ({D}, tensor<16x32xf16>, i32, i32) -> ()
  scf.yield %d, %b : {D}, i32
}}
"tt.descriptor_store"(%r#0, %w, %r#1, %c0) : ({D}, tensor<16x32xf16>, i32, i32) -> ()
"""
    text = after(RewriteTensorDescriptors(), function(ARGUMENTS + ", %w: tensor<16x32xf16>", body(loop)))
    filecheck(
        text,
        """CHECK: %[[R:.*]]:7 = "scf.for"(%{{.*}}, %arg4, %{{.*}}, %arg0, %{{.*}}, %{{.*}}, %arg3, %{{.*}}, %{{.*}}, %{{.*}})
           CHECK: ^bb0(%{{.*}}: i32, %[[P:.*]]: !tt.ptr<f16, "global">, %{{.*}}: i64,
           CHECK: "tt.addptr"(%[[P]],
           CHECK: "tt.load"
           CHECK: "tt.store"
           CHECK: "scf.yield"(%arg0,
           CHECK: "tt.addptr"(%[[R]]#0,
           CHECK: "tt.store\"""",
    )


def test_a_parameter_becomes_its_parts(function: Callable[..., str], after: Callable[..., str]) -> None:
    store = f'"tt.descriptor_store"(%d, %v, %i, %i) : ({D}, tensor<16x32xf16>, i32, i32) -> ()'
    text = after(RewriteTensorDescriptors(), function(f"%i: i32, %d: {D}, %v: tensor<16x32xf16>", store))
    filecheck(
        text,
        """CHECK: ^bb0(%arg0: i32, %arg1: !tt.ptr<f16, "global">, %arg2: i64, %arg3: i64, %arg4: i64, %arg5: i64, %arg6: i1, %arg7: tensor<16x32xf16>)
           CHECK: "tt.store\"""",
    )


def test_rows(function: Callable[..., str], after: Callable[..., str]) -> None:
    row = "!tt.tensordesc<tensor<1x32xf16>>"
    access = f"""
%v = "tt.descriptor_gather"(%d, %x, %i) : ({row}, tensor<8xi32>, i32) -> tensor<8x32xf16>
"tt.descriptor_scatter"(%d, %x, %i, %v) : ({row}, tensor<8xi32>, i32, tensor<8x32xf16>) -> ()
"""
    text = after(RewriteTensorDescriptors(), function(f"%d: {row}, %x: tensor<8xi32>, %i: i32", access))
    filecheck(text, 'CHECK: "tt.load"\nCHECK-SAME: tensor<8x32xf16>\nCHECK: "tt.store"')


@pytest.mark.parametrize(("element", "kind", "expected"), [
    ("si32", 3, 6), ("ui32", 3, 8), ("si32", 2, 7), ("ui32", 2, 9), ("ui32", 1, 4), ("si32", 6, 1), ("f32", 1, 5),
])  # fmt: skip
def test_reductions(
    function: Callable[..., str], after: Callable[..., str], element: str, kind: int, expected: int
) -> None:
    desc, plain = "!tt.tensordesc<tensor<8xELEMENT>>".replace("ELEMENT", element), element.lstrip("su")
    access = (
        f'"tt.descriptor_reduce"(%d, %v, %i) {{kind = {kind} : i32}} : ({desc}, tensor<8x{plain}>, i32) -> ()'
    )
    text = after(RewriteTensorDescriptors(), function(f"%d: {desc}, %v: tensor<8x{plain}>, %i: i32", access))
    filecheck(text, f'CHECK: "tt.atomic_rmw"\nCHECK-SAME: atomic_rmw_op = {expected} : i32')


def test_what_no_atomic_does(function: Callable[..., str], after: Callable[..., str]) -> None:
    desc = "!tt.tensordesc<tensor<8xf32>>"
    access = f'"tt.descriptor_reduce"(%d, %v, %i) {{kind = 3 : i32}} : ({desc}, tensor<8xf32>, i32) -> ()'
    with pytest.raises(Unsupported, match="max of f32"):
        after(RewriteTensorDescriptors(), function(f"%d: {desc}, %v: tensor<8xf32>, %i: i32", access))


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(("kind", "plain", "signed"), [(2, 7, 8), (3, 6, 9)], ids=["min", "max"])
def test_extremes_of_floats_of_16_bits_are_those_of_their_bits(
    function: Callable[..., str], after: Callable[..., str], element: str, kind: int, plain: int, signed: int
) -> None:
    desc = f"!tt.tensordesc<tensor<8x{element}>>"
    access = f'"tt.descriptor_reduce"(%d, %v, %i) {{kind = {kind} : i32}} : ({desc}, tensor<8x{element}>, i32) -> ()'
    text = after(
        RewriteTensorDescriptors(), function(f"%d: {desc}, %v: tensor<8x{element}>, %i: i32", access)
    )
    filecheck(
        text,
        f"""
        CHECK: "arith.cmpi"{{{{.*}}}}(tensor<8xi16>
        CHECK: "tt.atomic_rmw"
        CHECK-SAME: atomic_rmw_op = {plain} : i32
        CHECK-SAME: tensor<8xi16>
        CHECK: "arith.cmpi"{{{{.*}}}}(tensor<8xi16>
        CHECK: "tt.atomic_rmw"
        CHECK-SAME: atomic_rmw_op = {signed} : i32
        """,
    )


def _even(access: ir.Operation) -> ir.Value | None:
    """Loads need nothing; stores begin at an even row."""
    if access.name == "tt.descriptor_load":
        return None
    with ir.InsertionPoint(access), access.location:
        row = list(access.operands)[2]
        i1 = ir.IntegerType.get_signless(1)
        return ir.Operation.create("arith.trunci", results=[i1], operands=[row]).result


def test_what_a_running_kernel_is_asked(function: Callable[..., str], after: Callable[..., str]) -> None:
    accesses = f"""
%v = "tt.descriptor_load"(%d, %i, %i) : ({D}, i32, i32) -> tensor<16x32xf16>
"tt.descriptor_store"(%d, %v, %i, %i) : ({D}, tensor<16x32xf16>, i32, i32) -> ()
"""
    one = RewriteTensorDescriptors(refuses=lambda _: None, conditions=lambda ops: [_even] * len(ops))
    text = after(one, function(ARGUMENTS, body(accesses)))
    assert after(one, text).count("scf.if") == 1  # a second time nothing is asked again
    filecheck(
        text,
        """CHECK: %[[D:.*]] = "tt.make_tensor_descriptor"
           CHECK: %[[V:.*]] = "tt.descriptor_load"(%[[D]]
           CHECK: %[[C:.*]] = "arith.trunci"(%arg4)
           CHECK: "scf.if"(%[[C]])
           CHECK-NEXT: "tt.descriptor_store"(%[[D]], %[[V]], %arg4, %arg4)
           CHECK-NEXT: "scf.yield"()
           CHECK: "tt.store"(%{{.*}}, %[[V]], %{{.*}}) {{.*}}tt.seldom
           CHECK-NEXT: "scf.yield"()""",
    )


def test_stores_by_pointers(function: Callable[..., str], after: Callable[..., str]) -> None:
    """Of a whole block without a mask, where 0 <= i, i + 16 <= m and so on; else as any store. Loads stay, and nothing else is asked."""
    accesses = f"""
%v = "tt.descriptor_load"(%d, %i, %i) : ({D}, i32, i32) -> tensor<16x32xf16>
"tt.descriptor_store"(%d, %v, %i, %i) : ({D}, tensor<16x32xf16>, i32, i32) -> ()
"""
    one = RewriteTensorDescriptors(
        refuses=lambda _: None,
        conditions=lambda ops: [_even] * len(ops),
        by_pointers=lambda op: op.name == "tt.descriptor_store",
    )
    filecheck(
        after(one, function(ARGUMENTS, body(accesses))),
        """CHECK: %[[V:.*]] = "tt.descriptor_load"
           CHECK: %[[I:.*]] = "arith.extsi"(%arg4)
           CHECK: %[[END:.*]] = "arith.addi"(%[[I]], %{{.*}})
           CHECK: "arith.cmpi"(%{{.*}}, %[[I]]) <{predicate = 3 : i64}>
           CHECK: "arith.cmpi"(%[[END]], %{{.*}}) <{predicate = 3 : i64}>
           CHECK: "arith.cmpi"
           CHECK: "arith.cmpi"
           CHECK: %[[ALL:.*]] = "arith.andi"
           CHECK-NEXT: "scf.if"(%[[ALL]])
           CHECK-NOT: arith.cmpi
           CHECK: "tt.store"(%{{[^,]*}}, %[[V]]) {{.*}}tt.own_rows
           CHECK-NEXT: "scf.yield"()
           CHECK: arith.cmpi
           CHECK: "tt.store"(%{{[^,]*}}, %[[V]], %{{.*}}) {{.*}}tt.seldom""",
    )


def test_a_load_in_two_ways(function: Callable[..., str], after: Callable[..., str]) -> None:
    load = f"""
%v = "tt.descriptor_load"(%d, %i, %i) : ({D}, i32, i32) -> tensor<16x32xf16>
"tt.print"(%v) {{prefix = "", hex = false, isSigned = array<i32: 1>}} : (tensor<16x32xf16>) -> ()
"""

    def asked(access: ir.Operation) -> ir.Value:
        with ir.InsertionPoint(access), access.location:
            i1 = ir.IntegerType.get_signless(1)
            return ir.Operation.create("arith.trunci", results=[i1], operands=[access.operands[1]]).result

    one = RewriteTensorDescriptors(refuses=lambda _: None, conditions=lambda ops: [asked] * len(ops))
    filecheck(
        after(one, function(ARGUMENTS, body(load))),
        """CHECK: %[[R:.*]] = "scf.if"
           CHECK: %[[A:.*]] = "tt.descriptor_load"
           CHECK: "scf.yield"(%[[A]])
           CHECK: %[[B:.*]] = "tt.load"
           CHECK: "scf.yield"(%[[B]])
           CHECK: "tt.print"(%[[R]])""",
    )
