"""Wrong kernel bodies, and what is said about each: message, remedy, the source from the caret on."""

from __future__ import annotations

from dataclasses import dataclass

from tri_core.errors import CompilationError, CompileTimeAssertionFailure, TriError, UnsupportedConstruct

__all__ = ["CASES", "HELPERS", "SIGNATURE", "Case"]

#: the parameters that the bodies use; B is 16
SIGNATURE = {
    "p": "*fp32",
    "h": "*fp16",
    "q": "*i32",
    "n": "i32",
    "u": "u32",
    "f": "fp32",
    "b": "*i1",
    "B": "constexpr",
}

#: functions that the bodies call
HELPERS = """
import collections
from math import sqrt
import numpy as np
glob = 3

def helper(x):
    return x

@tri.jit
def twice(x):
    return x * 2

@tri.jit
def bad(x):
    y = x.to(tl.float32)
    return y & 3

@tri.jit
def floaty(a, b):
    return (a + b) * 1.0

@tri.jit
def needs(k: tl.constexpr):
    return k

@tri.jit
def rec(a):
    return rec(a)

@tri.jit
def two_values(a):
    return a, a + 1

@tri.jit
def many(a, **more):
    return a

@tri.jit
def kind(a):
    if a > 3:
        return a
    return 1.5

@tri.constexpr_function
def square(a):
    return a * a

Pair = collections.namedtuple("Pair", "x y")

@tri.aggregate
class Counter:
    count: tl.tensor
    step: tl.constexpr

Fixed = tl.constexpr(3)

@tri.jit
def adds(x, more=None):
    return x + more
"""


@dataclass(frozen=True)
class Case:
    """A body, and the error that it gives; ``at`` starts where the caret stands."""

    body: str
    message: str
    remedy: str | None
    at: str
    error: type[TriError] = CompilationError


CASES = [
    Case(
        "for i in range(3):\n    n = n + 1\ntl.store(q, i)",
        "'i' has no value here: it is the variable of the loop of line 66, and ends with it",
        "give i a value on every path that leads here",
        "i)",
    ),
    Case(
        "x = n\nfor i in range(3):\n    tl.store(q, x)\n    if n > i:\n        x = None",
        "'x' has no value in the next iteration of the loop: the statement of line 69 binds it to a value on some paths only",
        "give x a value on every path through the loop",
        "for i in range(3):",
    ),
    Case(
        "a, b, *c = (n,)",
        "2 names and a starred one are assigned 1 values",
        "give at most as many names as there are values",
        "a, b, *c = (n,)",
    ),
    Case("x = tl.lod(p)", "tri.language has no attribute 'lod'", "did you mean load or log?", "tl.lod(p)"),
    Case(
        "x = tl.semantic.TritonSemantic(1)",
        "tri.language.semantic.TritonSemantic is not built in this version",
        "pass _semantic on to functions of tri.language instead of calling its methods",
        "tl.semantic.TritonSemantic(1)",
        UnsupportedConstruct,
    ),
    Case("x = undefinedd + 1", "'undefinedd' is not defined", None, "undefinedd + 1"),
    Case(
        "x = tl.arange(0, n)",
        "arange's end is a run-time value; a constexpr int is needed",
        "make it a constexpr: annotate the parameter, or the assignment (x: tl.constexpr = ...; before x, y = ... a line x: tl.constexpr), and mask what is too much",
        "tl.arange(0, n)",
    ),
    Case(
        "x = tl.arange(0, 12)",
        "arange's range must be a power of 2",
        "arange(0, 12) has 12 elements: use tl.arange(0, 16) and a mask",
        "tl.arange(0, 12)",
    ),
    Case(
        "x = tl.zeros([n], tl.float32)",
        "a dimension of [?] is a run-time value; a constexpr is needed",
        "make it a constexpr: annotate the parameter, or the assignment (x: tl.constexpr = ...; before x, y = ... a line x: tl.constexpr)",
        "tl.zeros([n], tl.float32)",
    ),
    Case(
        "x = tl.zeros([24], tl.float32)",
        "Shape element 0 must be a power of 2",
        "use 32 for 24 in [24], and mask what is too much",
        "tl.zeros([24], tl.float32)",
    ),
    Case(
        "x = tl.arange(0, 16) + tl.arange(0, 32)",
        "shapes [16] and [32] do not broadcast: dimensions must be equal or 1",
        "add a dimension with x[:, None], or reshape",
        "tl.arange(0, 16) + tl.arange(0, 32)",
    ),
    Case(
        "x = p + h",
        "invalid operands of type pointer<fp32> and pointer<fp16> to operator +",
        "a pointer takes + and - with an integer offset, in elements",
        "p + h",
    ),
    Case(
        "x = p * 2",
        "invalid operands of type pointer<fp32> and int32 to operator *",
        "a pointer takes + and - with an integer offset, in elements",
        "p * 2",
    ),
    Case(
        "x = f & 3", "invalid operands of type fp32 to operator &", "cast to an integer, or bitcast", "f & 3"
    ),
    Case("x = f // 2", "invalid operands of type fp32 to operator //", "use tl.floor(x / y)", "f // 2"),
    Case(
        "x = u / n",
        "Cannot use /, //, or % with uint32 and int32 because they have different signedness",
        "cast one of them, e.g. with .to(tl.uint32)",
        "u / n",
    ),
    Case(
        "x = u + -1",
        "-1 + a value of type uint32: a negative scalar has no unsigned meaning",
        "cast one of them explicitly",
        "u + -1",
    ),
    Case(
        "acc = 0.0\nfor i in range(n):\n    acc += tl.arange(0, 16)",
        "Loop-carried variable acc has initial type fp32 but is re-assigned to <[16], fp32> in loop",
        "start with a block, e.g. acc = tl.zeros([16], dtype=...)",
        "acc += tl.arange(0, 16)",
    ),
    Case(
        "acc = 0\nfor i in range(n):\n    acc = acc + f",
        "Loop-carried variable acc has initial type int32 but is re-assigned to fp32 in loop",
        "keep its type through the loop: cast with .to(...), or start with a value of the type it gets",
        "acc = acc + f",
    ),
    Case(
        "for i in range(n):\n    x = B\n    B = i",
        "Loop-carried variable B is the constexpr 16 before the loop but is re-assigned to int32 in loop",
        "use another name inside of the loop, or make B a run-time value before it",
        "B = i",
    ),
    Case(
        "if n > 3:\n    y = 1\ntl.store(q, y)",
        "'y' has no value here: the statement of line 66 binds it to a value on some paths only",
        "give y a value on every path that leads here",
        "y)",
    ),
    Case(
        "if n > 3:\n    y = 1\nelse:\n    y = 2.0",
        "Mismatched type for y between then block (int32) and else block (fp32) of a run-time condition",
        "give both sides one type, e.g. with .to(...) or tl.full",
        "if n > 3:",
    ),
    Case(
        "x = 1 if n > 3 else 2.0",
        "Ternary expression with dynamic condition has inconsistent types int32 and fp32",
        "give both sides one type, e.g. with .to(...) or tl.full",
        "1 if n > 3 else 2.0",
    ),
    Case(
        "if tl.arange(0, 16) > 3:\n    pass",
        "the condition of an if is a block (<[16], int1>), not a scalar",
        "choose element by element with tl.where, or reduce it, e.g. with tl.max",
        "if tl.arange(0, 16) > 3:",
    ),
    Case(
        "while tl.arange(0, 16) > 3:\n    pass",
        "the condition of a while is a block (<[16], int1>), not a scalar",
        "choose element by element with tl.where, or reduce it, e.g. with tl.max",
        "while tl.arange(0, 16) > 3:",
    ),
    Case(
        "for i in tl.static_range(n):\n    pass",
        "static_range needs constexpr ints, got int32",
        "use range for bounds known at run time only, or make it a constexpr: annotate the parameter, or the assignment (x: tl.constexpr = ...; before x, y = ... a line x: tl.constexpr)",
        "for i in tl.static_range(n):",
    ),
    Case(
        'for i in [n]:\n    for j in "abc":\n        pass',
        "a kernel cannot loop over the constexpr 'abc'",
        "use range, tl.range, tl.static_range or a tuple",
        'for j in "abc":',
    ),
    Case(
        "x = 0 < n < tl.arange(0, 16) < f < p",
        "invalid operands of type fp32 and pointer<fp32> to operator <",
        "a pointer takes + and - with an integer offset, in elements",
        "0 < n < tl.arange(0, 16) < f < p",
    ),
    Case(
        "for i in range(n):\n    break",
        "kernels cannot use this syntax (Break)",
        "put the condition into the loop, e.g. with while",
        "break",
    ),
    Case(
        "for i in range(n):\n    if n > 2:\n        return",
        "Cannot have `return` statements inside `while` or `for` statements in triton",
        "leave the loop by its condition, and return after it",
        "return",
    ),
    Case(
        'tl.static_assert(B == 3, f"B is {B}")',
        "static_assert failed: B is 16",
        None,
        'tl.static_assert(B == 3, f"B is {B}")',
        error=CompileTimeAssertionFailure,
    ),
    Case(
        "tl.static_assert(n == 3)",
        "static_assert needs a constexpr condition, got a run-time value",
        "use tl.device_assert for run-time values, or make it a constexpr: annotate the parameter, or the assignment (x: tl.constexpr = ...; before x, y = ... a line x: tl.constexpr)",
        "tl.static_assert(n == 3)",
    ),
    Case(
        "tl.load(n)",
        "load needs a pointer or a block of pointers, got int32",
        "add an offset to a pointer parameter, e.g. tl.load(x_ptr + offsets)",
        "tl.load(n)",
    ),
    Case(
        "tl.load(p, other=0)",
        "load has other= but no mask=",
        "give the mask that other= is for",
        "tl.load(p, other=0)",
    ),
    Case(
        "tl.load(p, mask=tl.arange(0, 4) < 2)",
        "the mask is a block (<[4], int1>) but the pointer is a scalar",
        "give a block of pointers, e.g. ptr + tl.arange(0, N)",
        "tl.load(p, mask=tl.arange(0, 4) < 2)",
    ),
    Case(
        "tl.store(p)",
        "tl.store: missing a required argument: 'value'",
        "its parameters are (pointer, value, mask=None, boundary_check=(), padding_option='', cache_modifier='', eviction_policy='', modifiers=())",
        "tl.store(p)",
    ),
    Case(
        "tl.store(p, 1, maskk=2)",
        "tl.store: got an unexpected keyword argument 'maskk'",
        "its parameters are (pointer, value, mask=None, boundary_check=(), padding_option='', cache_modifier='', eviction_policy='', modifiers=())",
        "tl.store(p, 1, maskk=2)",
    ),
    Case(
        'tl.load(p, cache_modifier=".xx")',
        "cache_modifier '.xx' is unknown",
        "use one of '.ca', '.cg', '.cs', '.cv'",
        'tl.load(p, cache_modifier=".xx")',
    ),
    Case(
        "tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([16, 16], tl.float32))",
        "dot's operands have one dtype, got fp16 and fp32",
        "cast one of them, e.g. with .to(tl.float16)",
        "tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([16, 16], tl.float32))",
    ),
    Case(
        "tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([32, 16], tl.float16))",
        "dot's inner dimensions differ: [16, 16] and [32, 16] (16 and 32)",
        "the last dimension of the first equals the second-last of the second; transpose with tl.trans",
        "tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([32, 16], tl.float16))",
    ),
    Case(
        "tl.dot(tl.zeros([16, 8], tl.float16), tl.zeros([8, 16], tl.float16))",
        "dot of M=16, N=16, K=8 is too small for fake:one",
        "use M >= 1, N >= 1, K >= 16, padding with zeros",
        "tl.dot(tl.zeros([16, 8], tl.float16), tl.zeros([8, 16], tl.float16))",
    ),
    Case(
        'tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([16, 16], tl.float16), input_precision="tf33")',
        "input_precision 'tf33' is unknown",
        "use one of ieee, tf32",
        'tl.dot(tl.zeros([16, 16], tl.float16), tl.zeros([16, 16], tl.float16), input_precision="tf33")',
    ),
    Case(
        "tl.exp(tl.load(h))",
        "exp takes fp32 or fp64, got fp16",
        "cast it: tl.exp(x.to(tl.float32))",
        "tl.exp(tl.load(h))",
    ),
    Case("tl.exp(n)", "exp takes fp32 or fp64, got int32", "cast it: tl.exp(x.to(tl.float32))", "tl.exp(n)"),
    Case(
        "x = tl.arange(0, 16)[3]",
        "unsupported tensor index: a block is indexed with None and : only, not 3",
        "reshape, tl.split, tl.gather or a masked tl.sum picks elements",
        "tl.arange(0, 16)[3]",
    ),
    Case(
        "x = tl.arange(0, 16)[n]",
        "unsupported tensor index: a block is indexed with None and : only, not a run-time value",
        "reshape, tl.split, tl.gather or a masked tl.sum picks elements",
        "tl.arange(0, 16)[n]",
    ),
    Case(
        "x = tl.arange(0, 16)[n:]",
        "unsupported tensor index: a block is indexed with None and : only, not a run-time value::",
        "reshape, tl.split, tl.gather or a masked tl.sum picks elements",
        "tl.arange(0, 16)[n:]",
    ),
    *(
        Case(
            f"x = {pointer}[{index}]",
            f"unsupported tensor index: {kind} has no items, the memory that it points to is loaded",
            "tl.load(pointer + offsets) reads it, tl.store(pointer + offsets, value) writes it",
            f"{pointer}[{index}]",
        )
        for pointer, kind in (
            ("p", "pointer<fp32>"),
            ("(p + tl.arange(0, 16))", "<[16], pointer<fp32>>"),
        )
        for index in ("tl.arange(0, 16)", "0", "n", "n:")
    ),
    Case("x = tl.sum(n)", "cannot reduce a scalar (int32)", "reduce a block", "tl.sum(n)"),
    Case(
        "x = tl.sum(tl.arange(0, 16), axis=1)",
        "invalid axis 1 for a value of rank 1",
        "use -1 to 0",
        "tl.sum(tl.arange(0, 16), axis=1)",
    ),
    Case(
        "x = tl.reshape(tl.arange(0, 16), [4, 8])",
        "cannot reshape [16] (16 elements) to [4, 8] (32)",
        None,
        "tl.reshape(tl.arange(0, 16), [4, 8])",
    ),
    Case(
        "x = (tl.arange(0, 16)).too(tl.float32)",
        "a tensor has no attribute 'too'",
        "did you mean to?",
        "(tl.arange(0, 16)).too(tl.float32)",
    ),
    Case(
        "x, y = 1, 2, 3",
        "too many values to unpack (expected 2, got 3)",
        "give as many names as there are values, or star one that takes the others",
        "x, y = 1, 2, 3",
    ),
    Case(
        "p[0] = 1",
        "a kernel assigns to names only, not to items",
        "use tl.store for memory, tl.where to change elements, and build a new tuple",
        "p[0] = 1",
    ),
    Case(
        "x = lambda: 3",
        "kernels cannot use this syntax (Lambda)",
        "define a function at module level and decorate it with @tri.jit",
        "lambda: 3",
    ),
    Case(
        "tl.program_id(3)",
        "program_id axis must be 0, 1, or 2 but got 3",
        "a grid has the axes 0, 1 and 2",
        "tl.program_id(3)",
    ),
    Case("x = n @ n", "operator @ is not defined in kernels", "use tl.dot", "n @ n"),
    Case(
        "x = n ** 2",
        "operator ** is for constexprs only, got int32 and the constexpr 2",
        "multiply, or use tl.exp2 and tl.log2",
        "n ** 2",
    ),
    Case(
        "x = int(n)",
        "int() takes constexprs only, got int32",
        "convert run-time values with .to(tl.float32) or .to(tl.int32)",
        "int(n)",
    ),
    Case(
        "import math",
        "kernels cannot use this syntax (Import)",
        "import at the top of the file",
        "import math",
    ),
    Case(
        "try:\n    pass\nexcept Exception:\n    pass",
        "kernels cannot use this syntax (Try)",
        "kernels have no exceptions; use tl.device_assert",
        "try:",
    ),
    Case(
        "return 3", "kernel k returns the constexpr 3", "a kernel gives results through tl.store", "return 3"
    ),
    Case(
        "tl.atomic_add(b, 1)",
        "atomic_add does not work on int8",
        "use 32- or 64-bit elements, or fp16 and bf16",
        "tl.atomic_add(b, 1)",
    ),
    Case(
        "x = tl.where(n > 1, p, 1.0)",
        "where is not defined for pointer<fp32> and fp32",
        "give both operands one type",
        "tl.where(n > 1, p, 1.0)",
    ),
    Case(
        'x = f"{n}"',
        "an f-string in a kernel formats constexprs only",
        "use tl.device_print for run-time values",
        'f"{n}"',
    ),
    Case(
        'x = tl.full([16], 1.0, "float32")',
        "'float32' is not a dtype",
        "pass one, e.g. tl.float32",
        'tl.full([16], 1.0, "float32")',
    ),
    Case(
        "x = helper(n)",
        "helper is a Python function: it cannot take run-time values",
        "decorate helper with @tri.jit, or use a function of tri.language",
        "helper(n)",
    ),
    Case(
        "x = glob + 1",
        "Cannot access global variable glob, of type int: kernels read globals only when they are constexpr",
        "write glob = tl.constexpr(...) at module level, or pass it as an argument",
        "glob + 1",
    ),
    Case("x = twice(n, 3)", "twice: too many positional arguments", "its parameters are (x)", "twice(n, 3)"),
    Case(
        "x = bad(n)", "invalid operands of type fp32 to operator &", "cast to an integer, or bitcast", "y & 3"
    ),
    Case(
        "x = n.to(tl.float32, bitcast=True).to(tl.float16, bitcast=True)",
        "cannot bitcast fp32 (32 bits) to fp16 (16 bits)",
        "bitcast needs equal widths; leave bitcast=True out to convert the value",
        "n.to(tl.float32, bitcast=True).to(tl.float16, bitcast=True)",
    ),
    Case(
        "x = tl.cdiv(n)",
        "cdiv: missing a required argument: 'div'",
        "its parameters are (x, div)",
        "tl.cdiv(n)",
    ),
    Case("x = tl.max(p)", "cannot reduce a scalar (pointer<fp32>)", "reduce a block", "tl.max(p)"),
    Case(
        "x = tl.reduce(tl.arange(0, 16), 0, floaty)",
        "the combine function gives (fp32) for elements (int32)",
        "it must return as many values as it combines, of the same types",
        "tl.reduce(tl.arange(0, 16), 0, floaty)",
    ),
    Case(
        "x = tl.static_range(3)\ny = n()",
        "int32 cannot be called",
        "call jit functions, functions of tri.language and Python's few builtins",
        "n()",
    ),
    Case("x = rec(n)", "rec calls itself", "kernels cannot recurse; use a loop", "rec(a)"),
    Case(
        "x = tl.load(p).dtpe",
        "a tensor has no attribute 'dtpe'",
        "did you mean dtype or type?",
        "tl.load(p).dtpe",
    ),
]
