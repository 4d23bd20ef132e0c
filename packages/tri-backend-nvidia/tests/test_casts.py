from __future__ import annotations

import pytest

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
@pytest.mark.parametrize("other", ["f32", "f16", "f64"])
def test_from_fp8(fp8, other):
    ptx = kernel_ptx(casting(fp8, other), G)
    assert "cvt.rn.f16x2.e" in ptx
    assembled(ptx)


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
