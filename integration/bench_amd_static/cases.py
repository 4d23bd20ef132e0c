"""The kernels and chips, as either compiler compiles them; nothing here imports a compiler."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from integration.bench_amd_static.case import Case
from integration.bench_amd_static.kinds import KINDS

__all__ = ["CASES", "Case", "kernel_of", "source_of"]

_OWN = "integration.kernels.by_pointers"
_SERVING = "integration.kernels.serving"


def _matmul(element: str, out: str, block: tuple[int, int, int], warps: int, chip: str = "gfx942") -> Case:
    types = f"a_ptr: *{element}; b_ptr: *{element}; c_ptr: *{out}; M: i32; N: i32; K: i32; stride_am: i32; stride_bk: i32; stride_cm: i32"
    sizes = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block, strict=True))
    ones = dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1)
    label = f"{element} {'x'.join(map(str, block))}"
    return Case(
        "integration.kernels.matmul", "matmul", label, types, {**sizes, **ones, "GROUP_M": 8}, chip, warps
    )


def _attention(width: int, chip: str = "gfx942") -> Case:
    types = "; ".join(f"{name}: *fp16" for name in ("q_ptr", "k_ptr", "v_ptr", "out_ptr"))
    constants = {"WIDTH": width, "BLOCK_M": 128, "BLOCK_N": 64}
    return Case(
        _OWN,
        "attention_by_pointers",
        f"D{width}",
        f"{types}; scale: fp32; length: i32; stride: i32",
        constants,
        chip,
    )


def _gradients(of: str, width: int) -> Case:
    halves = {"keys": ("q", "k", "v", "grad", "dk", "dv"), "queries": ("q", "k", "v", "grad", "dq")}[of]
    types = [f"{name}_ptr: *fp16" for name in halves] + ["lse_ptr: *fp32", "delta_ptr: *fp32"]
    constants = {"WIDTH": width, "BLOCK_M": 64, "BLOCK_N": 64}
    text = "; ".join([*types, "scale: fp32", "length: i32", "stride: i32"])
    return Case(_OWN, f"gradients_of_{of}", f"D{width}", text, constants)


def _scaled(format_: str, block: tuple[int, int, int]) -> Case:
    arrays = "; ".join(f"{name}_ptr: *u8" for name in ("a", "b", "a_scale", "b_scale"))
    sizes = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block, strict=True))
    constants = {"FORMAT": format_, "PACKED": 2 if format_ == "e2m1" else 1, **sizes}
    label = f"{format_} {'x'.join(map(str, block))}"
    types = f"{arrays}; c_ptr: *fp32; K: i32; stride: i32; stride_scale: i32; stride_c: i32"
    return Case(_OWN, "scaled_matmul", label, types, constants, "gfx950")


def _serving(
    kernel: str, label: str, types: str, constants: Mapping[str, object], chips: Sequence[str]
) -> Sequence[Case]:
    return [Case(_SERVING, kernel, label, types, constants, chip) for chip in chips]


_SMALL, _LARGE = ((128, 128, 64), 4), ((256, 256, 64), 8)
_ROWS = "; x_stride: i32; out_stride: i32; n_cols: i32"
_ELEMENTWISE = "out_ptr: *fp32; x_ptr: *fp32; y_ptr: *fp32; M: i32; N: i32; stride_out: i32; stride_x: i32; stride_y: i32"
_ROW_KERNELS = (
    Case("integration.kernels.softmax", "softmax", "", f"out_ptr: *fp32; x_ptr: *fp32{_ROWS}", {"BLOCK": 4096}),
    Case("integration.kernels.layernorm", "layernorm", "", "out_ptr: *fp32; x_ptr: *fp32; w_ptr: *fp32; b_ptr: *fp32; stride: i32; n_cols: i32; eps: fp32", {"BLOCK": 1024}),
    Case("integration.kernels.vector_add", "vector_add", "", "x_ptr: *fp32; y_ptr: *fp32; out_ptr: *fp32; n: i32", {"BLOCK": 1024}),
    Case(_OWN, "elementwise", "64x64", _ELEMENTWISE, {"BLOCK_M": 64, "BLOCK_N": 64}),
)  # fmt: skip
_CHIPS = ("gfx942", "gfx950", "gfx1201")
_ROWS_BESIDE = (
    *_serving("int4_matmul", "64x128x64", "a_ptr: *fp16; b_ptr: *i32; scale_ptr: *fp16; zero_ptr: *fp16; c_ptr: *fp16; K: i32; stride_a: i32; stride_b: i32; stride_scale: i32; stride_c: i32", {"GROUP": 128, "BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}, _CHIPS),
    *_serving("paged_decode", "16x64x128", "q_ptr: *fp16; k_ptr: *fp16; v_ptr: *fp16; pages_ptr: *i32; out_ptr: *fp16; scale: fp32; length: i32; stride_q: i32; stride_page: i32; stride_row: i32", {"PAGE": 16, "HEADS": 16, "WIDTH": 128, "BLOCK": 64}, _CHIPS),
    *_serving("chunk_scan", "128x64x64", "states_ptr: *fp16; x_ptr: *fp16; dt_ptr: *fp32; sums_ptr: *fp32; out_ptr: *fp16; length: i32; stride_states: i32; stride_x: i32", {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 64}, _CHIPS),
    *_serving("block_scaled_matmul", "128x128x128", "a_ptr: *fp8e4b8; b_ptr: *fp8e4b8; a_scale_ptr: *fp32; b_scale_ptr: *fp32; c_ptr: *fp16; K: i32; stride_a: i32; stride_b: i32; stride_scale: i32; stride_c: i32", {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128}, ("gfx942",)),
)  # fmt: skip
CASES: Sequence[Case] = (
    *(_matmul("fp16", "fp16", *size, chip) for chip in ("gfx942", "gfx90a", "gfx950") for size in (_SMALL, _LARGE)),
    *(_matmul("fp16", "fp16", *_SMALL, chip) for chip in ("gfx1100", "gfx1201", "gfx1250")),
    *(_matmul("bf16", "bf16", *size) for size in (_SMALL, _LARGE)),
    *(_matmul("i8", "i32", *size) for size in (_SMALL, _LARGE)),
    *(_matmul("fp8e4b8", "fp16", *size) for size in (_SMALL, _LARGE)),
    _matmul("fp8e4nv", "fp16", *_SMALL, "gfx950"),
    *(_scaled(format_, (side, side, 128)) for format_ in ("e2m1", "e4m3") for side in (64, 128)),
    _attention(64),
    *(_attention(128, chip) for chip in ("gfx942", "gfx90a", "gfx950")),
    *(_gradients(of, width) for of in ("keys", "queries") for width in (64, 128)),
    *_ROW_KERNELS,
    *(replace(case, chip="gfx1100") for case in _ROW_KERNELS),
    *_ROWS_BESIDE,
    Case(_OWN, "paged_gather", "D128", "out_ptr: *fp16; cache_ptr: *fp16; pages_ptr: *i32; length: i32; stride: i32", {"BLOCK": 64, "PAGE": 16, "WIDTH": 128}),
    *KINDS,
)  # fmt: skip


def kernel_of(case: Case) -> Any:
    """The function that is compiled."""
    return getattr(importlib.import_module(case.module), case.kernel)


def source_of(make: Any, kernel: Any, case: Case) -> Any:
    """Source of ``case`` by ``make`` (``ASTSource`` of either compiler)."""
    given = dict(part.split(": ") for part in case.types.split("; "))
    signature = {name: given.get(name, "constexpr") for name in kernel.arg_names}
    facts = {}
    for number, type_ in enumerate(signature.values()):
        if type_[0] == "*":
            facts[number,] = [["tt.divisibility", 16], ["tt.pointer_range", 32]]
        elif type_ == "i32":
            facts[number,] = [["tt.divisibility", 16]]
    return make(kernel, signature, dict(case.constants), facts)
