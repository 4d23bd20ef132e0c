from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest

from machine_op import simulated
from nvidia_simulation import CTA
from nvidia_support import kernel_ptx, llvm_text, primitives
from tri_backend_nvidia.libdevice import FUNCTIONS, libdevice, symbol

G = "!llvm.ptr<1>"


def apply(name, type_name, count=1):
    def body(b, hw, arguments):
        type_ = getattr(b, type_name)
        values = [b.load(b.gep(arguments[0], b.int_(i), type_), type_) for i in range(count)]
        made = hw.math(b, name, values)
        assert made is not None
        assert made.type == type_
        b.store(made, arguments[0])

    return body


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("exp", ["mul", "ex2.approx.f32"]),
        ("exp2", ["ex2.approx.ftz.f32"]),
        ("rsqrt", ["rsqrt.approx.f32"]),
        ("sqrt", ["sqrt.approx.f32"]),
        ("precise_sqrt", ["sqrt.rn.f32"]),
    ],
)
@pytest.mark.parametrize("type_name", ["f32", "f16", "bf16"])
def test_hardware_functions(name, words, type_name):
    ptx = kernel_ptx(apply(name, type_name), G)
    assert all(word in ptx for word in words)
    assert "__nv_" not in ptx


def test_division():
    assert "div.full.f32" in kernel_ptx(apply("div", "f32", 2), G)
    assert "div.rn.f32" in kernel_ptx(apply("precise_div", "f32", 2), G)


def test_double_precision_stays_llvms():
    def body(b, hw, arguments):
        value = b.load(arguments[0], b.f64)
        assert hw.math(b, "div", [value, value]) is None
        assert hw.math(b, "sqrt", [value]) is None

    llvm_text(body, G, primitives())


@pytest.mark.parametrize("name", ["floor", "ceil", "absf", "maximum"])
def test_what_llvm_says_best_is_left_to_it(name):
    def body(b, hw, arguments):
        assert hw.math(b, name, [b.load(arguments[0], b.f32)]) is None

    llvm_text(body, G, primitives())


@pytest.mark.parametrize("type_name", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "log", "erf", "tanh"])
def test_library_functions(name, type_name):
    text = llvm_text(apply(name, type_name), G, primitives())
    assert f"@__nv_{name}{'f' if type_name == 'f32' else ''}(" in text


def test_the_library_has_every_function():
    with llvm.parse_bitcode(libdevice().read_bytes()) as library:
        defined = {f.name for f in library.functions if not f.is_declaration}
    assert {symbol(name, bits) for name in FUNCTIONS for bits in (32, 64)} <= defined
    assert symbol("frobnicate", 32) is None


@pytest.mark.parametrize(
    ("instruction", "function"),
    [
        ("ex2.approx.f32", np.exp2),
        ("ex2.approx.ftz.f32", np.exp2),
        ("rsqrt.approx.f32", lambda x: x**-0.5),
        ("sqrt.rn.f32", np.sqrt),
    ],
)
def test_simulated_functions(instruction, function):
    value = np.random.default_rng(1).random(64, dtype=np.float32) + np.float32(0.5)
    (got,) = simulated(CTA(), "approximate", ["f32"], ["f32"], {"instruction": instruction}, [value])
    np.testing.assert_array_equal(got, function(value.astype(np.float64)).astype(np.float32))


def test_subnormal_numbers_are_zeros_where_the_instruction_flushes_them():
    value = np.array([-126, -126.5, -140, -200, 1e-40, np.nan, np.inf, -np.inf], np.float32)
    for instruction, smallest in (("ex2.approx.ftz.f32", 2.0**-126), ("ex2.approx.f32", 2.0**-149)):
        (got,) = simulated(CTA(), "approximate", ["f32"], ["f32"], {"instruction": instruction}, [value])
        expected = np.exp2(value.astype(np.float64))
        expected[expected < smallest] = 0
        np.testing.assert_array_equal(got, expected.astype(np.float32))


def test_simulated_division():
    a, b = np.random.default_rng(2).random((2, 64), dtype=np.float32) + np.float32(0.5)
    (got,) = simulated(CTA(), "divide_full", ["f32", "f32"], ["f32"], {}, [a, b])
    np.testing.assert_array_equal(got, (a.astype(np.float64) / b).astype(np.float32))
