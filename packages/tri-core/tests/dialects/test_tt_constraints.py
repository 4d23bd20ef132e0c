"""What the ``tt`` ops refuse, op by op, and what they say about it."""

from __future__ import annotations

import re

import pytest

from tri_core import mlir
from tri_core.dialects import tt
from tri_core.dialects.tt.constraints import CONSTRAINTS
from tri_core.locations import source_location
from tri_core.mlir import ir

P = '!tt.ptr<f32, "global">'
PT = f"tensor<8x{P}>"
D = "!tt.tensordesc<tensor<4x8xf32>>"
D1 = "!tt.tensordesc<tensor<1x8xf32>>"


def seg(*sizes: int) -> str:
    return f"operandSegmentSizes = array<i32: {', '.join(map(str, sizes))}>"


# (op, message): the message follows "'op name' op "; %x stands for values of the types that the op names
REFUSED = [
    # programs and functions
    ('"tt.get_program_id"() {axis = 3 : i32} : () -> i32', "expects attribute axis from 0 to 2; got 3"),
    ('"tt.get_program_id"() {axis = 0 : i64} : () -> i32', "expects attribute axis to be an i32; got 0 : i64"),
    ('"tt.get_num_programs"() {axis = 0 : i32} : () -> i64', "expects result to be i32 or a tensor of such; got i64"),
    ('"tt.get_num_programs"() : () -> i32', "expects attribute axis; it has none"),
    ('"tt.call"() {callee = @nobody} : () -> ()', "expects @nobody to be a tt.func of the module; there is none"),
    ('"tt.call"(%x) {callee = @f} : (i64) -> ()', "expects operands (i32), as @f has; got (i64)"),
    ('"tt.call"(%x) {callee = @f} : (i32) -> (i32)', "expects results (), as @f has; got (i32)"),
    ('"tt.call"(%x) {callee = "f"} : (i32) -> ()', 'expects attribute callee to be a symbol; got "f"'),
    ('"tt.return"(%x) : (f32) -> ()', "expects operands (), the results of its function; got (f32)"),
    # casts
    ('"tt.int_to_ptr"(%x) : (i32) -> PTR', "expects src to be i64 or a tensor of such; got i32"),
    ('"tt.int_to_ptr"(%x) : (tensor<8xi64>) -> PTR', "expects result to have the shape and encoding of src"),
    ('"tt.ptr_to_int"(%x) : (f32) -> i64', "expects src to be pointer or a tensor of such; got f32"),
    ('"tt.ptr_to_int"(%x) : (PTR) -> i32', "expects result to be i64 or a tensor of such; got i32"),
    ('"tt.bitcast"(%x) : (f32) -> i64', "expects result to have the 32 bits of f32; got i64"),
    ('"tt.bitcast"(%x) : (PTR) -> i64', "expects two pointers or none; got"),
    ('"tt.bitcast"(%x) : (tensor<8xf32>) -> tensor<4xi32>', "expects result to have the shape and encoding of src"),
    ('"tt.fp_to_fp"(%x) : (f32) -> i32', "expects result to be float or a tensor of such; got i32"),
    ('"tt.fp_to_fp"(%x) : (f32) -> f8E5M2', "expects attribute rounding for a cast to fewer bits, f32 to f8E5M2"),
    ('"tt.fp_to_fp"(%x) {rounding = 2 : i32} : (f32) -> f16', "expects attribute rounding to be one of 0 (RTZ), 1 (RTNE); got 2"),
    # arithmetic
    ('"tt.precise_sqrt"(%x) : (i32) -> i32', "expects x to be float or a tensor of such; got i32"),
    ('"tt.precise_sqrt"(%x) : (f32) -> f64', "expects result to have the type of x, f32; got f64"),
    ('"tt.precise_divf"(%x, %x) : (f32, f64) -> f32', "expects y to have the type of x, f32; got f64"),
    ('"tt.approx_divf"(%x, %x) : (f64, f64) -> f64', "expects x to be f32 or a tensor of such; got f64"),
    ('"tt.mulhiui"(%x, %x) : (f32, f32) -> f32', "expects x to be integer or a tensor of such; got f32"),
    ('"tt.clampf"(%x, %x, %x) {propagateNan = 1 : i32} : (f32, f32, f32) -> f32', "expects attribute propagateNan to be one of 0 (NONE), 65535 (ALL); got 1"),
    ('"tt.clampf"(%x, %x, %x) {propagateNan = 0 : i32} : (f32, f16, f32) -> f32', "expects min to have the type of x, f32; got f16"),
    ('"tt.addptr"(%x, %x) : (i64, i32) -> i64', "expects ptr to be pointer or a tensor of such; got i64"),
    ('"tt.addptr"(%x, %x) : (PTR, f32) -> PTR', "expects offset to be integer or a tensor of such; got f32"),
    ('"tt.addptr"(%x, %x) : (PTR, i32) -> !tt.ptr<i8, "global">', "expects result to be PTR, the type of ptr"),
    ('"tt.addptr"(%x, %x) : (PTRS, tensor<4xi32>) -> PTRS', "expects offset to have the shape and encoding of ptr"),
    ('"tt.extern_elementwise"(%x) {libname = "", libpath = "", symbol = "f", pure = 1 : i32} : (f32) -> f32', "expects attribute pure to be true or false; got 1 : i32"),
    ('"tt.extern_elementwise"(%x) {libname = "", libpath = "", symbol = "f", pure = true} : (tensor<8xf32>) -> tensor<4xf32>', "expects tensors of the shape and encoding of tensor<4xf32>; got tensor<8xf32>"),
    ('"tt.elementwise_inline_asm"(%x) {asm_string = "", constraints = "", pure = true, packed_element = 1 : i32} : (i32) -> ()', "expects at least one result"),
    ('"tt.elementwise_inline_asm"(%x) {asm_string = "", constraints = "", pure = true, packed_element = 3 : i32} : (tensor<8xi32>) -> (tensor<8xi32>)', "expects attribute packed_element to divide 8 elements; got 3"),
    ('"tt.elementwise_inline_asm"(%x) {asm_string = "", constraints = "", pure = true, packed_element = 0 : i32} : (i32) -> i32', "expects attribute packed_element to be at least 1; got 0"),
    ('"tt.map_elementwise"(%x) ({\n^bb0(%a: f32):\n"tt.map_elementwise_return"(%a) : (f32) -> ()\n}) {pack = 2 : i32} : (tensor<8xf32>) -> tensor<8xf32>', "expects a region of arguments (f32, f32); got (f32)"),
    ('"tt.map_elementwise"(%x) ({\n^bb0(%a: f32):\n"tt.map_elementwise_return"() : () -> ()\n}) {pack = 1 : i32} : (tensor<8xf32>) -> tensor<8xf32>', "expects a region that returns (f32); it returns ()"),
    ('"tt.map_elementwise_return"(%x) : (f32) -> ()', "expects to end a region of tt.map_elementwise; it is in tt.func"),
    # memory
    (f'"tt.load"(%x) {{{seg(1, 0, 0)}}} : (f32) -> f32', "expects ptr to be pointer or a tensor of such; got f32"),
    (f'"tt.load"(%x) {{{seg(1, 0, 0)}}} : (PTR) -> i32', "expects result to be f32, what ptr points to; got i32"),
    (f'"tt.load"(%x) {{{seg(1, 0, 0)}}} : (PTRS) -> f32', "expects result to have the shape and encoding of ptr"),
    (f'"tt.load"(%x, %x) {{{seg(1, 1, 0)}}} : (PTRS, tensor<8xi32>) -> tensor<8xf32>', "expects mask to be i1 or a tensor of such"),
    (f'"tt.load"(%x, %x) {{{seg(1, 1, 0)}}} : (PTRS, i1) -> tensor<8xf32>', "expects mask to have the shape and encoding of ptr"),
    (f'"tt.load"(%x, %x) {{{seg(1, 0, 1)}}} : (PTR, f32) -> f32', "expects mask where other is given"),
    (f'"tt.load"(%x, %x, %x) {{{seg(1, 1, 1)}}} : (PTR, i1, f16) -> f32', "expects other to be f32, what ptr points to; got f16"),
    (f'"tt.load"(%x) {{{seg(1, 0, 0)}, cache = 9 : i32}} : (PTR) -> f32', "expects attribute cache to be one of 1 (NONE)"),
    (f'"tt.load"(%x) {{{seg(1, 0, 0)}, evict = "first"}} : (PTR) -> f32', 'expects attribute evict to be an i32; got "first"'),
    (f'"tt.load"(%x) {{{seg(1, 0, 0)}, isVolatile = 1 : i32}} : (PTR) -> f32', "expects attribute isVolatile to be true or false"),
    ('"tt.load"(%x) : (PTR) -> f32', "expects attribute operandSegmentSizes to share out 1 operands among ptr, mask, other"),
    ('"tt.store"(%x, %x) : (PTR, i32) -> ()', "expects value to be f32, what ptr points to; got i32"),
    ('"tt.store"(%x, %x, %x) : (PTRS, tensor<8xf32>, tensor<4xi1>) -> ()', "expects mask to have the shape and encoding of ptr"),
    ('"tt.atomic_rmw"(%x, %x) {atomic_rmw_op = 4 : i32, sem = 1 : i32, scope = 1 : i32} : (PTR, f32) -> f32', "expects val to be integer for ADD; got f32"),
    ('"tt.atomic_rmw"(%x, %x) {atomic_rmw_op = 11 : i32, sem = 1 : i32, scope = 1 : i32} : (PTR, f32) -> f32', "expects attribute atomic_rmw_op to be one of 1 (AND)"),
    ('"tt.atomic_rmw"(%x, %x) {atomic_rmw_op = 5 : i32, sem = 0 : i32, scope = 1 : i32} : (PTR, f32) -> f32', "expects attribute sem to be one of 1 (RELAXED)"),
    ('"tt.atomic_cas"(%x, %x, %x) {sem = 1 : i32, scope = 4 : i32} : (PTR, f32, f32) -> f32', "expects attribute scope to be one of 1 (GPU), 2 (CTA), 3 (SYSTEM); got 4"),
    ('"tt.atomic_cas"(%x, %x, %x) {sem = 1 : i32, scope = 1 : i32} : (PTR, f32, i32) -> f32', "expects val to be f32, what ptr points to; got i32"),
    ('"tt.atomic_load"(%x) {sem = 3 : i32, scope = 1 : i32} : (PTR) -> f32', "expects attribute sem to be one of 1 (RELAXED), 2 (ACQUIRE); got 3"),
    ('"tt.atomic_store"(%x, %x) {sem = 2 : i32, scope = 1 : i32} : (PTR, f32) -> ()', "expects attribute sem to be one of 1 (RELAXED), 3 (RELEASE); got 2"),
    ('"tt.atomic_poll"(%x, %x) {sem = 1 : i32, scope = 1 : i32} : (PTR, f32) -> i1', "expects expected to be integer or a tensor of such; got f32"),
    # shapes
    ('"tt.make_range"() {start = 0 : i32, end = 8 : i32} : () -> tensor<8xi64>', "expects result to be i32 or a tensor of such"),
    ('"tt.make_range"() {start = 0 : i32, end = 12 : i32} : () -> tensor<12xi32>', "expects the length of a range to be a power of two; got 12"),
    ('"tt.make_range"() {start = 8 : i32, end = 8 : i32} : () -> tensor<8xi32>', "expects attribute end to be more than start; got 8 and 8"),
    ('"tt.make_range"() {start = 0 : i32, end = 8 : i32} : () -> tensor<4xi32>', "expects result of shape [8]; got [4]"),
    ('"tt.make_range"() {start = 0 : i32, end = 8 : i32} : () -> tensor<2x4xi32>', "expects result to be a tensor of rank 1"),
    ('"tt.splat"(%x) : (tensor<8xf32>) -> tensor<8xf32>', "expects src to be a scalar; got tensor<8xf32>"),
    ('"tt.splat"(%x) : (f32) -> tensor<8xf16>', "expects result to have the element type of src, f32"),
    ('"tt.splat"(%x) : (f32) -> f32', "expects result to be a tensor; got f32"),
    ('"tt.unsplat"(%x) : (tensor<2xf32>) -> f32', "expects src to have one element; got 2"),
    ('"tt.expand_dims"(%x) {axis = 2 : i32} : (tensor<8xf32>) -> tensor<8x1xf32>', "expects attribute axis from 0 to 1; got 2"),
    ('"tt.expand_dims"(%x) {axis = 0 : i32} : (tensor<8xf32>) -> tensor<8x1xf32>', "expects result of shape [1, 8]; got [8, 1]"),
    ('"tt.broadcast"(%x) : (tensor<8xf32>) -> tensor<8x8xf32>', "expects result of rank 1, the rank of src; got [8, 8]"),
    ('"tt.broadcast"(%x) : (tensor<2x8xf32>) -> tensor<4x8xf32>', "expects to stretch dimensions of size 1 only; got [2, 8] to [4, 8]"),
    ('"tt.reshape"(%x) : (tensor<8xf32>) -> tensor<4xf32>', "expects result to have the 8 elements of src; got 4"),
    ('"tt.reshape"(%x) : (tensor<8xf32>) -> tensor<8xi32>', "expects result to have the element type of src"),
    ('"tt.trans"(%x) {order = array<i32: 0, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>', "expects attribute order to be a permutation of 0 to 1; got [0, 0]"),
    ('"tt.trans"(%x) {order = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>', "expects result of shape [8, 4]; got [4, 8]"),
    ('"tt.trans"(%x) {order = [1, 0]} : (tensor<4x8xf32>) -> tensor<8x4xf32>', "expects attribute order to be an array of i32"),
    ('"tt.cat"(%x, %x) : (tensor<8xf32>, tensor<4xf32>) -> tensor<16xf32>', "expects rhs to have the type of lhs"),
    ('"tt.cat"(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>', "expects result of shape [16]; got [8]"),
    ('"tt.join"(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>', "expects result of shape [8, 2]; got [2, 8]"),
    ('"tt.split"(%x) : (tensor<2x8xf32>) -> (tensor<8xf32>, tensor<8xf32>)', "expects src to have a last dimension of size 2; got [2, 8]"),
    ('"tt.split"(%x) : (tensor<8x2xf32>) -> (tensor<8xf32>, tensor<8xi32>)', "expects out_rhs to have the type of out_lhs"),
    ('"tt.gather"(%x, %x) {axis = 0 : i32} : (tensor<4x8xf32>, tensor<2x16xi32>) -> tensor<2x16xf32>', "expects indices within src but for axis 0; got [2, 16] for [4, 8]"),
    ('"tt.gather"(%x, %x) {axis = 2 : i32} : (tensor<4x8xf32>, tensor<2x8xi32>) -> tensor<2x8xf32>', "expects attribute axis from 0 to 1; got 2"),
    ('"tt.gather"(%x, %x) {axis = 0 : i32} : (tensor<4x8xf32>, tensor<8xi32>) -> tensor<8xf32>', "expects indices of rank 2, the rank of src"),
    ('"tt.gather"(%x, %x) {axis = 0 : i32} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>', "expects indices to be integer or a tensor of such"),
    # reductions, dots, counts
    ('"tt.reduce"() ({\n"tt.reduce_return"() : () -> ()\n}) {axis = 0 : i32} : () -> ()', "expects at least one operand"),
    ('"tt.reduce"(%x) (SUM) {axis = 1 : i32} : (tensor<8xf32>) -> f32', "expects attribute axis from 0 to 0; got 1"),
    ('"tt.reduce"(%x) (SUM) {axis = 0 : i32} : (tensor<4x8xf32>) -> tensor<4xf32>', "expects a result of shape [8] and element type f32; got tensor<4xf32>"),
    ('"tt.reduce"(%x) (SUM) {axis = 0 : i32} : (tensor<8xf32>) -> tensor<1xf32>', "expects a result of no shape and element type f32; got tensor<1xf32>"),
    ('"tt.reduce"(%x) (SUM) {axis = 0 : i32} : (tensor<8xf64>) -> f64', "expects a region of arguments (f64, f64); got (f32, f32)"),
    ('"tt.reduce"(%x) (SUM) {axis = 0 : i32} : (tensor<8xf32>) -> (f32, f32)', "expects 1 results, one for each operand; got 2"),
    ('"tt.reduce"(%x, %x) (SUM) {axis = 0 : i32} : (tensor<8xf32>, tensor<4xf32>) -> (f32, f32)', "expects srcs to have the shape and encoding of srcs, tensor<8xf32>; got tensor<4xf32>"),
    ('"tt.reduce"(%x) ({\n^bb0(%a: f32, %b: f32):\n"tt.reduce_return"(%a, %b) : (f32, f32) -> ()\n}) {axis = 0 : i32} : (tensor<8xf32>) -> f32', "expects a region that returns (f32); it returns (f32, f32)"),
    ('"tt.reduce"(%x) ({\n^bb0(%a: f32, %b: f32):\n"tt.return"() : () -> ()\n}) {axis = 0 : i32} : (tensor<8xf32>) -> f32', "expects a region that ends with tt.reduce_return; it ends with tt.return"),
    ('"tt.reduce_return"(%x) : (f32) -> ()', "expects to end a region of tt.reduce; it is in tt.func"),
    ('"tt.scan"(%x) (SCAN) {axis = 0 : i32, reverse = false} : (tensor<8xf32>) -> tensor<4xf32>', "expects a result of type tensor<8xf32>, its operand's; got tensor<4xf32>"),
    ('"tt.scan"(%x) (SCAN) {axis = 0 : i32, reverse = 0 : i32} : (tensor<8xf32>) -> tensor<8xf32>', "expects attribute reverse to be true or false"),
    ('"tt.scan_return"(%x) : (f32) -> ()', "expects to end a region of tt.scan; it is in tt.func"),
    ('"tt.dot"(%x, %x, %x) {inputPrecision = 0 : i32} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>', "expects a of [M, K] and b of [K, N], and equal batches; got [4, 8] and [4, 8]"),
    ('"tt.dot"(%x, %x, %x) {inputPrecision = 0 : i32} : (tensor<4x8xf32>, tensor<8x4xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>', "expects c of shape [4, 4]; got [8, 8]"),
    ('"tt.dot"(%x, %x, %x) {inputPrecision = 0 : i32} : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>', "expects a and b of rank 2, or of rank 3 with a batch"),
    ('"tt.dot"(%x, %x, %x) {inputPrecision = 5 : i32} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>', "expects attribute inputPrecision to be one of 0 (TF32)"),
    ('"tt.dot"(%x, %x, %x) {inputPrecision = 0 : i32} : (tensor<4x4xf32>, tensor<4x4xf16>, tensor<4x4xf32>) -> tensor<4x4xf32>', "expects a and b to be floats, or integers, of equal width; got f32 and f16"),
    ('"tt.dot"(%x, %x, %x) {inputPrecision = 0 : i32} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>) -> tensor<4x4xi32>', "expects c to be float, as a and b are"),
    ('"tt.dot"(%x, %x, %x) {inputPrecision = 0 : i32} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf16>', "expects result to have the type of c"),
    (f'"tt.dot_scaled"(%x, %x, %x) {{a_elem_type = 4 : i32, b_elem_type = 4 : i32, fastMath = false, {seg(1, 1, 1, 0, 0)}}} : (tensor<64x32xi8>, tensor<64x64xi8>, tensor<64x64xf32>) -> tensor<64x64xf32>', "expects a of [M, K] and b of [K, N], and equal batches; unpacked they are [64, 64] and [128, 64]"),
    (f'"tt.dot_scaled"(%x, %x, %x, %x) {{a_elem_type = 0 : i32, b_elem_type = 0 : i32, fastMath = false, {seg(1, 1, 1, 1, 0)}}} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<64x64xf32>, tensor<64x8xi8>) -> tensor<64x64xf32>', "expects a_scale of [64, 2] (blocks of 32) or [64, 4] (of 16); got [64, 8]"),
    (f'"tt.dot_scaled"(%x, %x, %x) {{a_elem_type = 7 : i32, b_elem_type = 0 : i32, fastMath = false, {seg(1, 1, 1, 0, 0)}}} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<64x64xf32>) -> tensor<64x64xf32>', "expects attribute a_elem_type to be one of 0 (E4M3)"),
    ('"tt.histogram"(%x) : (tensor<8xf32>) -> tensor<8xi32>', "expects src to be integer or a tensor of such"),
    ('"tt.histogram"(%x) : (tensor<8xi32>) -> tensor<2x8xi32>', "expects result to be a tensor of rank 1"),
    ('"tt.histogram"(%x, %x) : (tensor<8xi32>, tensor<4xi1>) -> tensor<8xi32>', "expects mask to have the shape and encoding of src"),
    # descriptors
    (f'"tt.make_tensor_descriptor"(%x, %x, %x) {{{seg(1, 1, 1)}}} : (PTR, i32, i64) -> DESC', "expects 2 values of shape and of strides, as the block has dimensions; got 1 and 1"),
    (f'"tt.make_tensor_descriptor"(%x, %x, %x, %x, %x) {{{seg(1, 2, 2)}}} : (PTR, i64, i64, i64, i64) -> DESC', "expects shape to be i32 or a tensor of such; got i64"),
    (f'"tt.make_tensor_descriptor"(%x, %x, %x, %x, %x) {{{seg(1, 2, 2)}}} : (!tt.ptr<f16, "global">, i32, i32, i64, i64) -> DESC', "expects a block of f16, what base points to; got f32"),
    (f'"tt.make_tensor_descriptor"(%x, %x, %x, %x, %x) {{padding = 3 : i32, {seg(1, 2, 2)}}} : (PTR, i32, i32, i64, i64) -> DESC', "expects attribute padding to be one of 1 (PAD_ZERO), 2 (PAD_NAN); got 3"),
    ('"tt.descriptor_load"(%x, %x) : (DESC, i32) -> tensor<4x8xf32>', "expects 2 indices, one for each dimension of the block; got 1"),
    ('"tt.descriptor_load"(%x, %x, %x) : (DESC, i32, i32) -> tensor<8x4xf32>', "expects result of shape [4, 8], the block's; got [8, 4]"),
    ('"tt.descriptor_load"(%x, %x, %x) : (DESC, i32, i32) -> tensor<8xf32>', "expects result of shape [4, 8], the block's; got [8]"),
    ('"tt.descriptor_load"(%x, %x, %x) : (DESC, i32, i32) -> tensor<4x8xf16>', "expects result of element type f32, the block's; got f16"),
    ('"tt.descriptor_store"(%x, %x, %x, %x) : (PTR, tensor<4x8xf32>, i32, i32) -> ()', "expects desc to be !tt.tensordesc; got PTR"),
    ('"tt.descriptor_store"(%x, %x, %x, %x) : (DESC, tensor<4x4xf32>, i32, i32) -> ()', "expects src of shape [4, 8], the block's; got [4, 4]"),
    ('"tt.descriptor_reduce"(%x, %x, %x, %x) {kind = 0 : i32} : (DESC, tensor<4x8xf32>, i32, i32) -> ()', "expects attribute kind to be one of 1 (ADD)"),
    ('"tt.descriptor_gather"(%x, %x, %x) : (DESC, tensor<8xi32>, i32) -> tensor<8x8xf32>', "expects a block of one row; got [4, 8]"),
    ('"tt.descriptor_gather"(%x, %x, %x) : (ROW, tensor<16xi32>, i32) -> tensor<8x8xf32>', "expects result of shape [16, 8]; got tensor<8x8xf32>"),
    ('"tt.descriptor_gather"(%x, %x, %x) : (ROW, tensor<16xi64>, i32) -> tensor<16x8xf32>', "expects x_offsets to be i16 or i32 or a tensor of such"),
    ('"tt.descriptor_scatter"(%x, %x, %x, %x) : (ROW, tensor<16xi32>, i64, tensor<16x8xf32>) -> ()', "expects y_offset to be i32 or a tensor of such; got i64"),
    # debugging
    ('"tt.print"(%x) {prefix = "", hex = false, isSigned = array<i32>} : (f32) -> ()', "expects attribute isSigned to have 1 values; got 0"),
    ('"tt.print"(%x) {prefix = "", hex = false, isSigned = [1]} : (f32) -> ()', "expects attribute isSigned to be an array of i32"),
    ('"tt.assert"(%x) {message = ""} : (i32) -> ()', "expects condition to be i1 or a tensor of such; got i32"),
]  # fmt: skip

ADD = '{\n^bb0(%a: f32, %b: f32):\n%c = arith.addf %a, %b : f32\n"tt.reduce_return"(%c) : (f32) -> ()\n}'
NAMES = {
    "PTRS": PT,
    "PTR": P,
    "DESC": D,
    "ROW": D1,
    "(SUM)": f"({ADD})",
    "(SCAN)": f"({ADD.replace('reduce', 'scan')})",
}


def named(text: str) -> str:
    for name, meaning in NAMES.items():
        text = text.replace(name, meaning)
    return text


def wrapped(op: str) -> str:
    """A module with ``op``, whose operands ``%x`` are arguments of the types that its signature names."""
    op = named(op)
    line = next(line for line in reversed(op.split("\n")) if " : (" in line)
    operands = op.split("(", 1)[1].split(")", 1)[0].count("%x")
    inputs = split_types(line.rsplit(" : ", 1)[1].split(" -> ")[0][1:-1])
    arguments = ", ".join(f"%x{i}: {type_}" for i, type_ in enumerate(inputs))
    for i in range(operands):
        op = op.replace("%x", f"%y{i}", 1)
    op = op.replace("%y", "%x")
    end = (
        ""
        if op.startswith(
            ('"tt.return"', '"tt.reduce_return"', '"tt.scan_return"', '"tt.map_elementwise_return"')
        )
        else '"tt.return"() : () -> ()'
    )
    return (
        f'"tt.func"() ({{\n^bb0({arguments}):\n{op} loc("k.py":5:9)\n{end}\n}}) {{function_type = ({", ".join(inputs)}) -> (), '
        'sym_name = "k", sym_visibility = "public"} : () -> ()\n'
        '"tt.func"() ({\n^bb0(%a: i32):\n"tt.return"() : () -> ()\n}) {function_type = (i32) -> (), sym_name = "f"} : () -> ()'
    )


def split_types(text: str) -> list[str]:
    """The types in ``text``; commas within angle brackets separate nothing."""
    depth, types = 0, [""]
    for character in text:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            types.append("")
        else:
            types[-1] += character
    return [type_.strip() for type_ in types if type_.strip()]


@pytest.mark.parametrize(("op", "message"), REFUSED)
def test_refused(op: str, message: str) -> None:
    with mlir.session(), pytest.raises(ir.MLIRError) as caught:
        mlir.parse(wrapped(op))
    reported = caught.value.error_diagnostics[0]
    name = op.split('"')[1]
    assert reported.message.startswith(f"'{name}' op {named(message)}")
    place = source_location(reported.location)
    assert place is not None
    assert (place.file, place.line) == ("k.py", 5)


def test_every_op_with_constraints_refuses_something() -> None:
    refused = {op.split('"')[1] for op, _ in REFUSED}
    assert set(CONSTRAINTS) - refused == {"tt.func"}


def test_every_op_that_has_operands_or_attributes_has_constraints() -> None:
    ops = {op.OPERATION_NAME for op in tt.TT.operations if op._fields}
    assert ops - set(CONSTRAINTS) == set()


FUNCTION = '"tt.func"() ({\n^bb0(%a: i32):\n"tt.return"() : () -> ()\n}) {function_type = (i32) -> (), sym_name = "k"} : () -> ()'


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("(i32) -> ()", "(i64) -> ()", "expects a body with arguments (i64); got (i32)"),
        ("(i32) -> ()", "i64", "expects attribute function_type to be a function type; got i64"),
        ('"k"', '"k", arg_attrs = []', "expects attribute arg_attrs to have 1 dictionaries; got 0"),
        ('"k"', '"k", res_attrs = [{}]', "expects attribute res_attrs to have 0 dictionaries; got 1"),
        (
            '"k"',
            '"k", sym_visibility = "hidden"',
            "expects attribute sym_visibility to be one of public, private, nested",
        ),
        ('"k"', '"k", noinline = "no"', "expects attribute noinline to be true or false"),
    ],
)
def test_refused_functions(before: str, after: str, message: str) -> None:
    with mlir.session(), pytest.raises(ir.MLIRError, match=re.escape(f"'tt.func' op {message}")):
        mlir.parse(FUNCTION.replace(before, after))


def test_an_op_of_several_types_is_refused_in_the_same_words() -> None:
    text = wrapped(
        '"tt.print"(%x, %x) {prefix = "", hex = false, isSigned = array<i32: 1>} : (f32, i32) -> ()'
    )
    with mlir.session(), pytest.raises(ir.MLIRError) as caught:
        mlir.parse(text)
    (reported,) = caught.value.error_diagnostics
    assert reported.message == "'tt.print' op expects attribute isSigned to have 2 values; got 1"
