"""Errors that docstrings of the language promise are raised: of each function, calls that it refuses, for each case that it names."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import pytest

import tri
import tri.language as tl
from tri_core import errors
from tri_core.errors import TriError

pytestmark = pytest.mark.usefixtures("cpu")

SIGNATURE = {"p": "*fp32", "q": "*i32", "c": "*kfp32", "n": "i32", "f": "fp32", "B": "constexpr"}
#: what the calls use: fp32, fp16, int1 and int32 blocks of 16 elements, an fp32 block of 4 x 4, one of two dimensions of 1
HEAD = """
import tri
import tri.language as tl

@tri.constexpr_function
def fails(v):
    return {}[v]

@tri.jit
def adds(a, b):
    return a + b

@tri.jit
def widens(a, b):
    return (a + b).to(tl.int64)

@tri.jit
def blocks(a):
    return a + tl.arange(0, 2)

@tl.must_use_result("it is all there is")
@tri.jit
def kept(a):
    return a

@tri.jit
def kernel(p, q, c: tl.const, n, f, B: tl.constexpr):
    i = tl.arange(0, 16)
    x = tl.load(p + i)
    h = x.to(tl.float16)
    m = i < n
    s = tl.reshape(x, [4, 4])
    short = tl.arange(0, 8)
    desc = tl.make_tensor_descriptor(p, [16, 16], [16, 1], [4, 16])
    place = tl.make_block_ptr(p, [16], [1], [0], [16], [0])
"""

_UNARY = ("cos", "erf", "exp", "exp2", "log", "log2", "rsqrt", "sigmoid", "sin", "sqrt", "floor", "ceil")
_RANDOM = ("rand", "rand4x", "randint", "randint4x", "randn", "randn4x")
_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce_or")
_ATOMICS = ("add", "and", "max", "min", "or", "xchg", "xor")

#: calls that are refused, by function
REFUSED: dict[str, tuple[str, ...]] = {
    **{name: (f"tl.{name}(h)", f"tl.{name}(i)") for name in _UNARY},
    **{name: (f"tl.{name}(1.5, i)",) for name in _RANDOM},
    **{name: (f"tl.{name}(n, 0)", f"tl.{name}(i, 1)") for name in _REDUCTIONS},
    **{
        f"atomic_{name}": (
            f"tl.atomic_{name}(p.to(tl.pointer_type(tl.int8)) + i, i)",
            f"tl.atomic_{name}(c + i, x)",
            f"tl.atomic_{name}(q + i, short)",
            f"tl.atomic_{name}(q + i, i, sem='strong')",
            f"tl.atomic_{name}(q + i, i, scope='world')",
        )
        for name in _ATOMICS
    },
    "abs": ("tl.abs(p)",),
    "add": ("tl.add(p, p)", "tl.add(p, f)", "tl.add(i, short)"),
    "advance": ("tl.advance(p, [1])", "tl.advance(place, [1, 2])"),
    "aggregate_replace": ("tl.aggregate_replace(x, a=1)",),
    "arange": ("tl.arange(0, n)", "tl.arange(4, 4)", "tl.arange(2**31 - 8, 2**31 + 8)", "tl.arange(0, 3)"),
    "associative_scan": (
        "tl.associative_scan(n, 0, adds)",
        "tl.associative_scan((i, short), 0, adds)",
        "tl.associative_scan(i, 1, adds)",
        "tl.associative_scan(i, 0, widens)",
    ),
    "assume": ("tl.assume(m)",),
    "atomic_cas": (
        "tl.atomic_cas(p.to(tl.pointer_type(tl.int8)) + i, i, i)",
        "tl.atomic_cas(c + i, x, x)",
        "tl.atomic_cas(q + i, i, short)",
    ),
    "atomic_load": (
        "tl.atomic_load(p.to(tl.pointer_type(tl.pointer_type(tl.int32))))",
        "tl.atomic_load(q, sem='release')",
        "tl.atomic_load(q, scope='world')",
    ),
    "atomic_store": (
        "tl.atomic_store(p.to(tl.pointer_type(tl.pointer_type(tl.int32))), p)",
        "tl.atomic_store(c, f)",
        "tl.atomic_store(q, n, sem='acquire')",
        "tl.atomic_store(q, n, scope='world')",
    ),
    "atomic_poll": (
        "tl.atomic_poll(p, f)",
        "tl.atomic_poll(q, n, timeout_ns=-1)",
        "tl.atomic_poll(q, n, sem='release')",
        "tl.atomic_poll(q, n, scope='world')",
    ),
    "bitonic_merge": ("tl.bitonic_merge(s, 0)",),
    "broadcast": ("tl.broadcast(i, short)",),
    "broadcast_to": ("tl.broadcast_to(i, 8)",),
    "cast": (
        "tl.cast(i, tl.int8, fp_downcast_rounding='rtz')",
        "tl.cast(i, tl.int8, bitcast=True)",
        "tl.cast(p, tl.float32)",
    ),
    "cat": ("tl.cat(i, short)", "tl.cat(i, x)"),
    "cdiv": ("tl.cdiv(x, 2)",),
    "clamp": ("tl.clamp(p, 1, 2)", "tl.clamp(x, short, 2.0)"),
    "constexpr_function": ("fails(1)",),
    "cumprod": ("tl.cumprod(i, 1)",),
    "cumsum": ("tl.cumsum(i, 1)",),
    "device_print": ("tl.device_print('\\u00e9', i)", "tl.device_print(n)"),
    "div_rn": ("tl.div_rn(i, i)", "tl.div_rn(h, h)"),
    "dot": (
        "tl.dot(s, s.to(tl.float16))",
        "tl.dot(tl.reshape(x, [2, 2, 4]), tl.reshape(x, [4, 2, 2]))",
        "tl.dot(s, tl.reshape(x, [2, 8]))",
        "tl.dot(s, s, acc=tl.zeros([4, 4], tl.float64))",
    ),
    "dot_scaled": (
        "tl.dot_scaled(s, None, 'e9m9', s, None, 'fp16')",
        "tl.dot_scaled(s, None, 'fp16', s, None, 'fp16')",
        "tl.dot_scaled(s.to(tl.float16), None, 'fp16', tl.reshape(h, [2, 8]), None, 'fp16')",
    ),
    "expand_dims": ("tl.expand_dims(i, 3)", "tl.expand_dims(i, (0, 0))"),
    "fdiv": (
        "tl.fdiv(i, i)",
        "tl.fdiv(x.to(tl.float64), 2.0, approx=True)",
        "tl.fdiv(x, x, ieee_rounding=True, approx=True)",
    ),
    "flip": ("tl.flip(i, 1)", "tl.flip(s, -3)"),
    "fma": ("tl.fma(i, i, i)", "tl.fma(x, short.to(tl.float32), x)"),
    "full": ("tl.full([4], i, tl.int32)", "tl.full([4], 1, None)", "tl.full([3], 1, tl.int32)"),
    "gather": ("tl.gather(x, x, 0)", "tl.gather(s, i, 0)", "tl.gather(s, tl.reshape(i, [8, 2]), 0)"),
    "histogram": (
        "tl.histogram(x, 4)",
        "tl.histogram(tl.reshape(i, [4, 4]), 4)",
        "tl.histogram(i, 4, mask=short < 3)",
    ),
    "inline_asm_elementwise": (
        "tl.inline_asm_elementwise(3, '=r,r', [i], tl.int32, True, 1)",
        "tl.inline_asm_elementwise('', '=r,r', [i], tl.int32, True, 3)",
    ),
    "interleave": ("tl.interleave(i, short)",),
    "join": ("tl.join(i, short)",),
    "load": (
        "tl.load(i)",
        "tl.load(p + i, mask=i)",
        "tl.load(p + i, mask=short < 3)",
        "tl.load(p + i, other=0.0)",
        "tl.load(p, cache_modifier='.xx')",
        "tl.load(p, eviction_policy='soon')",
    ),
    "load_tensor_descriptor": (
        "tl.load_tensor_descriptor(p, [0, 0])",
        "tl.load_tensor_descriptor(desc, [0])",
        "tl.load_tensor_descriptor(desc, [n.to(tl.int64), 0])",
    ),
    "make_block_ptr": (
        "tl.make_block_ptr(p + i, [16], [1], [0], [16], [0])",
        "tl.make_block_ptr(p, [16, 16], [1], [0], [16], [0])",
    ),
    "make_tensor_descriptor": (
        "tl.make_tensor_descriptor(p, [8] * 6, [1] * 6, [8] * 6)",
        "tl.make_tensor_descriptor(p, [16, 16], [16, 2], [4, 16])",
        "tl.make_tensor_descriptor(p, [16, 16], [3, 1], [4, 16])",
        "tl.make_tensor_descriptor(p, [16, 16], [16, 1], [4, 2])",
        "tl.make_tensor_descriptor(q, [16, 16], [16, 1], [4, 16], padding_option='nan')",
    ),
    "map_elementwise": (
        "tl.map_elementwise(blocks, i)",
        "tl.map_elementwise(adds, i, i, pack=3)",
    ),
    "max_constancy": ("tl.max_constancy(i, n)", "tl.max_constancy(i, [1, 2])"),
    "max_contiguous": ("tl.max_contiguous(i, n)", "tl.max_contiguous(i, [1, 2])"),
    "maximum": ("tl.maximum(p, p)", "tl.maximum(i, short)"),
    "minimum": ("tl.minimum(p, p)", "tl.minimum(i, short)"),
    "mul": ("tl.mul(p, 2)", "tl.mul(i, short)"),
    "multiple_of": ("tl.multiple_of(i, n)", "tl.multiple_of(i, [1, 2])"),
    "must_use_result": ("kept(i)",),
    "num_programs": ("tl.num_programs(3)",),
    "pair_uniform_to_normal": ("tl.pair_uniform_to_normal(h, h)",),
    "permute": ("tl.permute(s, 0, 0)",),
    "philox": ("tl.philox(1, *[i.to(tl.int16)] * 4)", "tl.philox(1.5, i, i, i, i)"),
    "philox_impl": ("tl.philox_impl(x, x, x, x, x, x)",),
    "program_id": ("tl.program_id(3)",),
    "ravel": ("tl.ravel(3.0)",),
    "reduce": (
        "tl.reduce(n, 0, adds)",
        "tl.reduce((i, short), 0, adds)",
        "tl.reduce(i, 1, adds)",
        "tl.reduce(i, 0, widens)",
    ),
    "reshape": ("tl.reshape(i, 8)",),
    "softmax": ("tl.softmax(i)", "tl.softmax(x, 1)"),
    "sort": ("tl.sort(s, 0)",),
    "split": ("tl.split(i)",),
    "sqrt_rn": ("tl.sqrt_rn(h)", "tl.sqrt_rn(x.to(tl.float64))"),
    "squeeze": ("tl.squeeze(i, 0)",),
    "static_assert": ("tl.static_assert(B > 16)", "tl.static_assert(n > 1)"),
    "store": (
        "tl.store(i, x)",
        "tl.store(c, f)",
        "tl.store(p + i, x, mask=i)",
        "tl.store(p + i, short)",
    ),
    "store_tensor_descriptor": (
        "tl.store_tensor_descriptor(p, [0, 0], x)",
        "tl.store_tensor_descriptor(desc, [0, 0], x)",
    ),
    "sub": ("tl.sub(p, p)", "tl.sub(p, f)", "tl.sub(i, short)"),
    "swizzle2d": ("tl.swizzle2d(f, n, n, n, n)",),
    "to_tensor": ("tl.to_tensor('a')",),
    "topk": ("tl.topk(s, 2, 0)", "tl.topk(i, 3)", "tl.topk(i, 32)"),
    "trans": ("tl.trans(i)", "tl.trans(s, 0, 0)"),
    "uint_to_uniform_float": ("tl.uint_to_uniform_float(i.to(tl.int16))",),
    "umulhi": ("tl.umulhi(i.to(tl.int8), 3)", "tl.umulhi(x, x)"),
    "unsqueeze": ("tl.unsqueeze(i, 3)",),
    "view": ("tl.view(i, 8)",),
    "where": ("tl.where(m, p, 3)", "tl.where(m, i, short)"),
    "zeros": ("tl.zeros([3], tl.int32)",),
    "zeros_like": ("tl.zeros_like(3.0)",),
}
#: errors of the front end, which docstrings name
_RAISED = re.compile(r"CompilationError|CompileTimeAssertionFailure")


def promised() -> dict[str, set[str]]:
    """By function of the language, the errors of a compile that its docstring names."""
    texts = {n: getattr(tl, n).__doc__ or "" for n in tl.__all__ if callable(getattr(tl, n))}
    return {
        name: set(_RAISED.findall(text))
        for name, text in texts.items()
        if not isinstance(getattr(tl, name), (type, ModuleType)) and _RAISED.search(text)
    }


def refused(module: ModuleType) -> TriError | None:
    """The error that the kernel of ``module`` ends in; None if it compiles."""
    try:
        tri.compile(tri.ASTSource(module.kernel, SIGNATURE, {"B": 16}), target="cpu")
    except TriError as error:
        return error
    return None


def test_every_promise_has_a_call() -> None:
    assert set(promised()) == set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
def test_calls_are_refused_as_documented(kernel_file: Any, name: str) -> None:
    kinds = {getattr(errors, kind) for kind in promised()[name]}
    raised = set()
    for call in REFUSED[name]:
        module = kernel_file(f"{HEAD}    {call}\n")
        error = refused(module)
        assert type(error) in kinds, call
        assert error is not None
        assert error.location is not None
        assert error.location.file == module.__file__
        raised.add(type(error))
    assert raised == kinds


def test_the_kernel_without_a_call_compiles(kernel_file: Any) -> None:
    assert refused(kernel_file(f"{HEAD}    tl.store(p + i, x)\n")) is None
