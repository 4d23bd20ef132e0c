"""The TTIR of small kernels: the operations that must stand in it, in this order."""

from __future__ import annotations

import re

import pytest

from tri.compiler.source import ASTSource
from tri_core.mlir import session, verify
from tri_core.target_selection import resolve

SIGNATURE = {"p": "*fp32", "h": "*fp16", "q": "*i32", "n": "i32", "u": "u32", "f": "fp32", "b": "*i1"}

#: body -> patterns that match lines of the module in this order (runs of blanks match any blanks)
CASES = {
    # memory
    "tl.store(p, tl.load(p + n))": [
        r'"tt.addptr"\(%arg0, %arg3\)', r'"tt.load"\(.*\) \{operandSegmentSizes = array<i32: 1, 0, 0>\}', r'"tt.store"'],
    'tl.store(p, tl.load(p, volatile=True, cache_modifier=".cg", eviction_policy="evict_last"), cache_modifier=".wb")': [
        r'"tt.load"\(%arg0\) \{cache = 3 : i32, evict = 3 : i32, isVolatile = true', r'"tt.store".*cache = 4 : i32'],
    "i = tl.arange(0, 16)\ntl.store(b + i, tl.load(b + i, mask=i < n, other=True), mask=i < n)": [
        r'"tt.splat"\(%arg6\) : \(!tt.ptr<i8, "global">\)', r"dense<1> : tensor<16xi8>", r'"tt.load".*array<i32: 1, 1, 1>',
        "arith.cmpi ne", "arith.extui .* : tensor<16xi1> to tensor<16xi8>", r'"tt.store".*array<i32: 1, 1, 1>'],
    "tl.store(p + u, 1)": [r"arith.extui %arg4 : i32 to i64", r'"tt.addptr"\(%arg0, %\d+\)', "constant 1.0"],
    "tl.store(h, f)": ["arith.truncf %arg5 : f32 to f16"],
    "x = tl.arange(0, 4)[:, None] * n + tl.arange(0, 8)[None, :]\ntl.store(p + x, 0)": [
        r'"tt.expand_dims"\(.*\{axis = 1', r"arith.muli .* : tensor<4x1xi32>", r'"tt.expand_dims"\(.*\{axis = 0',
        r'"tt.broadcast"', r'"tt.broadcast"', r"arith.addi .* : tensor<4x8xi32>", "dense<0.0.*> : tensor<4x8xf32>"],
    # casts
    "x = tl.load(p).to(tl.float8e5)": [r'"tt.fp_to_fp"\(.*\) \{rounding = 1 : i32\} : \(f32\) -> f8E5M2'],
    'x = tl.load(p).to(tl.float16, fp_downcast_rounding="rtz")': [r'"tt.fp_to_fp"\(.*rounding = 0 : i32'],
    "x = tl.load(p).to(tl.int32, bitcast=True)": [r'"tt.bitcast"\(.*\) : \(f32\) -> i32'],
    "x = tl.load(h).to(tl.bfloat16)": ["arith.extf .* : f16 to f32", "arith.truncf .* : f32 to bf16"],
    "x = p.to(tl.int64)": [r'"tt.ptr_to_int"'],
    "x = tl.cast(n, tl.pointer_type(tl.float16))": ["arith.extsi", r'"tt.int_to_ptr"'],
    "x = f.to(tl.int1)": ["arith.cmpf une"],
    # operators
    "x = -f": ["arith.negf"],
    "x = n >> 2": ["arith.shrsi"],
    "x = u >> 2": ["arith.shrui"],
    "x = u // 3": ["arith.divui"],
    "x = n / 3": ["arith.sitofp", "arith.sitofp", "arith.divf"],
    "x = not n": ["arith.cmpi ne", "arith.xori"],
    "x = n > 3 and u == 2": ["arith.cmpi sgt", "arith.cmpi eq", "arith.andi"],
    "x = u > 3": ["arith.cmpi ugt"],
    "x = min(n, 3) + max(u, 4)": ["arith.minsi", "arith.maxui"],
    "x = tl.maximum(f, 1, propagate_nan=tl.PropagateNan.ALL)": ["arith.maximumf"],
    "x = tl.clamp(f, 0, 1)": [r'"tt.clampf"\(.*propagateNan = 0 : i32'],
    "x = tl.clamp(n, 0, 7)": ["arith.maxsi", "arith.minsi"],
    "x = tl.clamp(u, 1, n)": ["arith.maxui", "arith.minui"],
    "x = tl.clamp(tl.load(h), 0, 1.5)": [r'"tt.clampf"\(.*: \(f16, f16, f16\) -> f16'],
    "x = tl.fma(tl.load(h), 2, 0.5)": ["math.fma .* : f16"],
    "x = tl.fma(2, tl.load(h), f)": ["arith.extf .* : f16 to f32", "math.fma .* : f32"],
    "x = tl.where(n > 3, p, p + 1)": ['arith.select .* : !tt.ptr<f32, "global">'],
    # control flow
    "if n > 3:\n    return\ntl.store(q, 1)": [r"scf.if %\d+ \{", r"\} else \{", '"tt.store"', '"tt.return"'],
    "x = n\nif n > 3:\n    x = n * 2\ntl.store(q, x)": [r"scf.if .* -> \(i32\)", "arith.muli", "scf.yield", "scf.yield %arg3"],
    "x = 0\nfor i in range(n):\n    x += i": [r"scf.for %arg7 = .* to %arg3 .* iter_args\(%arg8 = .*\) -> \(i32\)", "scf.yield"],
    "for i in range(n, 0, -2):\n    tl.store(q, i)": ["constant 2 : i32", "scf.for", "arith.subi", "arith.subi"],
    "for i in tl.range(0, n, num_stages=3, loop_unroll_factor=2, flatten=True):\n    tl.store(q, i)": [
        r"\} \{tt.flatten, tt.loop_unroll_factor = 2 : i32, tt.num_stages = 3 : i32\}"],
    "x = n\nwhile x > 0:\n    x = x // 2\ntl.store(q, x)": ["scf.while", "scf.condition", "arith.divsi", "scf.yield"],
    "for i in tl.static_range(3):\n    tl.store(q + i, i)": [r'"tt.store"', r'"tt.store"', r'"tt.store"', '"tt.return"'],
    # reductions, products
    "x = tl.sum(tl.load(p + tl.arange(0, 16)), axis=0)": [
        r'"tt.reduce"', r"\^bb0\(%arg7: f32, %arg8: f32\)", "arith.addf", '"tt.reduce_return"', "axis = 0 : i32"],
    "x = tl.sum(tl.arange(0, 16).to(tl.int8))": ["arith.extsi .* to tensor<16xi32>", "-> i32"],
    "x = tl.max(tl.load(h + tl.arange(0, 16)), axis=0)": ["arith.extf", "arith.maxnumf %arg7, %arg8 : f32"],
    "x = tl.argmax(tl.load(p + tl.arange(0, 16)), axis=0)": [
        r'%\d+:2 = "tt.reduce"\(%\d+, %\d+\)', r"\(%arg7: f32, %arg8: i32, %arg9: f32, %arg10: i32\)", "arith.cmpf une", "arith.cmpf ole"],
    "x = tl.cumsum(tl.arange(0, 16), 0, reverse=True)": ['"tt.scan"', "reverse = true"],
    "a = tl.zeros([16, 16], tl.float16)\nx = tl.dot(a, a)": [
        r'"tt.dot"\(.*inputPrecision = 2 : i32\} : \(tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>\)'],
    "a = tl.zeros([16, 16], tl.int8)\nx = tl.dot(a, a)": [r"-> tensor<16x16xi32>"],
    'a = tl.zeros([16, 16], tl.float32)\nx = tl.dot(a, a, a, input_precision="tf32", max_num_imprecise_acc=8)': [
        "inputPrecision = 0 : i32, maxNumImpreciseAcc = 8 : i32"],
    # atomics
    "tl.atomic_add(p, f)": [r'"tt.atomic_rmw".*atomic_rmw_op = 5 .*scope = 1 .*sem = 4'],
    'tl.atomic_max(q, n, sem="relaxed", scope="cta")': [r"atomic_rmw_op = 6 .*scope = 2 .*sem = 1"],
    "tl.atomic_min(p, f)": ["arith.shrui", r"atomic_rmw_op = 7 ", r"atomic_rmw_op = 8 ", "arith.select"],
    "tl.atomic_cas(q, 0, n)": [r'"tt.atomic_cas"'],
    # hints and debugging
    "x = tl.multiple_of(tl.max_contiguous(n + tl.arange(0, 16), 16), 8)": [
        r"arith.addi .*tt.contiguity = dense<16> : tensor<1xi32>, tt.divisibility = dense<8>"],
    "tl.assume(n > 3)": ["llvm.intr.assume"],
    "tl.debug_barrier()": ['"tt.barrier"'],
    'tl.device_print("x", n, f)': [r'"tt.print"\(%arg3, %arg5\) \{hex = false, isSigned = array<i32: 1, 0>, prefix = " x: "\}'],
}  # fmt: skip


def kernel_text(body: str) -> str:
    return f"@tri.jit\ndef k({', '.join(SIGNATURE)}):\n" + "".join(
        f"    {line}\n" for line in body.split("\n")
    )


def in_order(text: str, patterns: list[str]) -> None:
    """Each pattern matches a line after the one that the pattern before it matched."""
    lines = iter(text.splitlines())
    for pattern in patterns:
        assert any(re.search(pattern, line) for line in lines), f"{pattern!r} is missing in:\n{text}"


def build(module, signature=None, constants=None, attrs=None, locations=False, **options) -> str:
    target = resolve("fake:one")
    with session():
        source = ASTSource(module.k, signature or SIGNATURE, constants, attrs)
        made = source.build(target, target.options_type.parse(options))
        verify(made)
        return made.operation.get_asm(enable_debug_info=locations, assume_verified=True)


@pytest.mark.parametrize("body", CASES, ids=lambda b: b.replace("\n", "; "))
def test_operations(kernel_file, body):
    in_order(build(kernel_file(kernel_text(body))), CASES[body])


def test_signature_and_attributes(kernel_file):
    module = kernel_file("@tri.jit\ndef k(x, n, BLOCK: tl.constexpr, m):\n    tl.store(x, n + m + BLOCK)\n")
    text = build(
        module,
        {"x": "*fp16", "n": "i64", "BLOCK": "constexpr", "m": "i32"},
        {"BLOCK": 4},
        {(0,): [["tt.divisibility", 16]]},
    )
    in_order(text, [
        r'\^bb0\(%arg0: !tt.ptr<f16, "global">, %arg1: i64, %arg2: i32\)',
        r'arg_attrs = \[\{tt.divisibility = 16 : i32\}, \{\}, \{\}\].*sym_name = "k", sym_visibility = "public"',
    ])  # fmt: skip
    positions = build(module, {0: "*fp16", 1: "i64", 3: "i32"}, {(2,): 4}, {0: [["tt.divisibility", 16]]})
    assert positions == text


def test_operations_are_named_after_variables(kernel_file):
    module = kernel_file(kernel_text("total = n * 2\ntotal += n\ntl.store(q, total)"))
    text = build(module, locations=True)
    aliases = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.M))
    multiply = re.search(r"arith.muli .* loc\((#loc\d*)\)", text)[1]
    name, place = re.fullmatch(r'"(\w+)"\((#loc\d*)\)', aliases[multiply]).groups()
    assert name == "total"
    assert aliases[place] == f'"{module.__file__}":5:13'
    add = re.search(r"arith.addi .* loc\((#loc\d*)\)", text)[1]
    assert aliases[add].startswith('"total"(')


def test_calls_keep_the_place_of_the_call(kernel_file):
    module = kernel_file(
        "@tri.jit\ndef inner(x):\n    return x * 2\n\n\n" + kernel_text("y = inner(n)\ntl.store(q, y)")
    )
    text = build(module, locations=True)
    aliases = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.M))
    multiply = re.search(r"arith.muli .* loc\((#loc\d*)\)", text)[1]
    callee, caller = re.fullmatch(r"callsite\((#loc\d*) at (#loc\d*)\)", aliases[multiply]).groups()
    assert aliases[callee] == f'"{module.__file__}":5:12'
    assert aliases[caller].startswith('"y"(')


def test_calls_are_expanded_also_with_noinline(kernel_file):
    module = kernel_file(
        "@tri.jit(noinline=True)\ndef inner(x, K: tl.constexpr = 3):\n    return x * K, K\n\n\n"
        + kernel_text("a, b = inner(n)\ntl.store(q + tl.arange(0, 4), a + b)")
    )
    text = build(module)
    assert "tt.call" not in text
    assert text.count('"tt.func"') == 1
    in_order(text, ["constant 3", "arith.muli"])


def test_device_asserts_need_debug(kernel_file):
    module = kernel_file(kernel_text('tl.device_assert(n > 3, "small", mask=f > 0)'))
    assert "tt.assert" not in build(module)
    in_order(
        build(module, debug=True), ["arith.cmpf ogt", "arith.xori", "arith.ori", r'"tt.assert".*"small"']
    )


def test_overflow_is_checked_on_request(kernel_file):
    module = kernel_file(kernel_text("x = n + 1\ny = tl.mul(n, n, sanitize_overflow=False)\nz = u - 1"))
    assert "tt.assert" not in build(module, sanitize_overflow=True)
    assert "tt.assert" not in build(module, debug=True, sanitize_overflow=False)
    text = build(module, debug=True)
    assert text.count("tt.assert") == 2
    in_order(text, ["arith.addi .* : i64", "2147483647", "arith.cmpi sle", "-2147483648", "arith.cmpi sge",
                    '"tt.assert".*int32 overflow in operator [+]', "arith.addi .* : i32"])  # fmt: skip


def test_static_print_goes_to_standard_output(kernel_file, capsys):
    build(kernel_file(kernel_text('tl.static_print("n is", n, 3, sep="|")')))
    assert capsys.readouterr().out == "n is|int32[]|3\n"
