from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from machine_op import simulated
from nvidia_simulation import CTA
from nvidia_support import assembled, kernel_ptx, llvm_text, primitives

G = "!llvm.ptr<1>"
TYPES = {"f32": "f32", "f16": "f16", "bf16": "bf16", "f64": "f64", "f8E4M3FN": "i8", "f8E5M2": "i8"}


def casting(source, result, rounding="rtne", expect=True):
    def body(b, hw, arguments):
        value = b.load(arguments[0], getattr(b, TYPES[source]))
        made = hw.cast(b, value, source, result, rounding)
        assert (made is not None) is expect
        if made is not None:
            assert made.type == getattr(b, TYPES[result])
            b.store(made, arguments[0])

    return body


@pytest.mark.parametrize("fp8", ["f8E4M3FN", "f8E5M2"])
@pytest.mark.parametrize("other", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("arch", ["sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_to_fp8_is_one_instruction(fp8, other, arch):
    ptx = kernel_ptx(casting(other, fp8), G, arch)
    kind = {"f8E4M3FN": "e4m3x2", "f8E5M2": "e5m2x2"}[fp8]
    assert f"cvt.rn.satfinite.{kind}.f32" in ptx
    assembled(ptx, arch)


@pytest.mark.parametrize("fp8", ["f8E4M3FN", "f8E5M2"])
@pytest.mark.parametrize("other", ["f32", "f16", "bf16", "f64"])
def test_from_fp8(fp8, other):
    ptx = kernel_ptx(casting(fp8, other), G)
    assert "cvt.rn.f16x2.e" in ptx
    assembled(ptx)


def casting_all(source, result, count):
    def body(b, hw, arguments):
        type_ = b.vector_type(getattr(b, TYPES[source]), count)
        values = b.unpack(b.load(arguments[0], type_))
        b.store(b.pack(hw.casts(b, values, source, result, "rtne")), arguments[0])

    return body


@pytest.mark.parametrize("fp8", ["f8E4M3FN", "f8E5M2"])
@pytest.mark.parametrize("other", ["f32", "f16", "bf16"])
def test_neighbours_are_cast_by_one_instruction(fp8, other):
    to, back = (kernel_ptx(casting_all(*pair, 8), G) for pair in ((other, fp8), (fp8, other)))
    assert to.count("cvt.rn.satfinite") == 4
    assert back.count("cvt.rn.f16x2") == 4
    assembled(to)
    assembled(back)


def test_the_last_of_an_odd_number_is_cast_alone():
    assert kernel_ptx(casting_all("f8E4M3FN", "bf16", 3), G).count("cvt.rn.f16x2") == 2


@pytest.mark.parametrize("result", ["f16", "bf16"])
def test_toward_zero(result):
    ptx = kernel_ptx(casting("f32", result, "rtz"), G)
    assert f"cvt.rz.{result}.f32" in ptx
    assembled(ptx)


@pytest.mark.parametrize(
    ("source", "result", "rounding", "arch"),
    [
        ("f32", "f8E4M3FN", "rtne", "sm_80"),  # no instruction yet
        ("f8E5M2", "f32", "rtne", "sm_80"),
        ("f64", "f8E5M2", "rtne", "sm_90a"),  # would round twice
        ("f32", "f8E5M2", "rtz", "sm_90a"),  # the instruction only rounds to nearest
        ("f32", "bf16", "rtz", "sm_75"),
        ("f32", "f16", "rtne", "sm_90a"),  # LLVM's own
    ],
)
def test_what_is_left_to_the_generic_expansion(source, result, rounding, arch):
    llvm_text(casting(source, result, rounding, expect=False), G, primitives(arch))


# --- what they do ---------------------------------------------------------------------------------------

SAMPLES = np.concatenate(
    [
        np.random.default_rng(1).standard_normal(5000).astype(np.float32) * 100,
        np.ldexp(np.random.default_rng(2).random(3000), np.arange(3000) % 40 - 24).astype(np.float32),
        np.array(
            [0.0, -0.0, 448.0, 464.0, 465.0, 1e9, -1e9, np.inf, -np.inf, np.nan, 2**-9, 2**-10, 3 * 2**-11]
        ),
    ]
).astype(np.float32)
FP8 = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("name", FP8)
def test_simulated_encoding_saturates(name):
    instruction = {"instruction": f"cvt.rn.satfinite.{name}x2.f32"}
    arguments = [np.zeros_like(SAMPLES), SAMPLES]
    (pair,) = simulated(CTA(len(SAMPLES)), "convert", ["f32", "f32"], ["i16"], instruction, arguments)
    got = pair.view(np.uint16).astype(np.uint8).view(FP8[name]).astype(np.float32)
    largest = float(ml_dtypes.finfo(FP8[name]).max)
    expected = np.clip(SAMPLES, -largest, largest).astype(FP8[name]).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", FP8)
def test_simulated_decoding_of_every_pattern(name):
    pattern = np.arange(256, dtype=np.int16)
    instruction = {"instruction": f"cvt.rn.f16x2.{name}x2"}
    (pair,) = simulated(CTA(256), "convert", ["i16"], ["i32"], instruction, [pattern])
    got = pair.view(np.uint32).astype(np.uint16).view(np.float16)
    np.testing.assert_array_equal(got, pattern.astype(np.uint8).view(FP8[name]).astype(np.float16))


@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_simulated_rounding_toward_zero(name, dtype):
    values = SAMPLES[np.abs(SAMPLES) < 60000]
    instruction = {"instruction": f"cvt.rz.{name}.f32"}
    (bits,) = simulated(CTA(len(values)), "convert", ["f32"], ["i16"], instruction, [values])
    got = bits.view(dtype).astype(np.float64)
    assert (np.abs(got) <= np.abs(values)).all()
    above = np.abs((bits + 1).astype(np.int16).view(dtype).astype(np.float64))
    assert (above > np.abs(values)).all()
