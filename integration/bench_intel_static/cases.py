"""The kernels, and how each is compiled."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tri
from tri_core.compiler import CompiledKernel

__all__ = ["CASES", "DEVICES", "Case", "compiled"]

#: what the figures are of
DEVICES = ("pvc", "bmg", "lnl", "ptl", "dg2")


@dataclass(frozen=True)
class Case:
    """A kernel of ``integration.kernels``, the types of its parameters (those left out are constants) and its warps; for ``devices``."""

    name: str
    module: str
    kernel: str
    types: Mapping[str, str]
    constants: Mapping[str, Any]
    warps: int
    devices: Sequence[str] = DEVICES


def _of_keys(m: int, n: int, warps: int) -> Case:
    return _attention(
        "gradients_of_keys", "q_desc grad_desc", "k_desc v_desc dk_desc dv_desc", m, n, 64, warps
    )


def _of_queries(m: int, n: int, warps: int) -> Case:
    return _attention("gradients_of_queries", "q_desc grad_desc dq_desc", "k_desc v_desc", m, n, 64, warps)


def _forward(m: int, n: int, warps: int) -> Case:
    return _attention("attention", "q_desc out_desc", "k_desc v_desc", m, n, 64, warps)


def _matmul(
    element: str, block: tuple[int, int, int], warps: int, *, a_t: bool = False, b_t: bool = False
) -> Case:
    out = "i32" if element == "i8" else "fp32"
    numbers = ("M", "N", "K", "stride_a", "stride_b", "stride_c")
    order = {(0, 0): "", (1, 0): " A^T", (0, 1): " B^T", (1, 1): " A^T B^T"}[a_t, b_t]
    return Case(
        name=f"matmul {element}{order} {'x'.join(map(str, block))} w{warps}",
        module="blocks_matmul",
        kernel="blocks_matmul",
        types={"a_ptr": f"*{element}", "b_ptr": f"*{element}", "c_ptr": f"*{out}"} | dict.fromkeys(numbers, "i32"),
        constants=dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), block, strict=True)) | {"A_T": a_t, "B_T": b_t},
        warps=warps,
    )  # fmt: skip


def _attention(kernel: str, rows: str, columns: str, m: int, n: int, width: int, warps: int) -> Case:
    blocks = dict.fromkeys(rows.split(), m) | dict.fromkeys(columns.split(), n)
    vectors = ("lse_ptr",) if kernel == "attention" else ("lse_ptr", "delta_ptr")
    return Case(
        name=f"{kernel} D{width} {m}x{n} w{warps}",
        module="attention",
        kernel=kernel,
        types={name: f"tensordesc<fp16[{size}, {width}]>" for name, size in blocks.items()}
        | dict.fromkeys(vectors, "*fp32")
        | {"scale": "fp32", "length": "i32"},
        constants={"WIDTH": width, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": False},
        warps=warps,
    )


#: devices whose registers have 32 bytes, and who takes smaller blocks or more warps there
_SMALL = ("dg2",)
_SIZES = (((128, 128, 32), 8), ((128, 128, 32), 32), ((256, 256, 32), 32))
_FLOATS8 = ("fp8e5", "fp8e4nv")
_ROW = {"out_ptr": "*fp32", "x_ptr": "*fp32", "x_stride": "i32", "out_stride": "i32", "n_cols": "i32"}
_NORM = dict.fromkeys(("out_ptr", "x_ptr", "w_ptr", "b_ptr"), "*fp32")
_NORM |= {"stride": "i32", "n_cols": "i32", "eps": "fp32"}

_BLOCKS = ("BLOCK_M", "BLOCK_N", "BLOCK_K")


def _serving(kernel: str, types: str, block: tuple[int, int, int], warps: int, **constants: Any) -> Case:
    """A kernel whose operands are no plain blocks; ``types``: ``name: type`` for each parameter, by semicolons."""
    kinds = dict(item.split(": ") for item in types.split("; "))
    module = "convolution" if kernel == "convolution" else "serving"
    sizes = {} if kernel == "paged_decode" else dict(zip(_BLOCKS, block, strict=True))
    name = f"{kernel} {'x'.join(map(str, block))} w{warps}"
    return Case(name, module, kernel, kinds, sizes | constants, warps, _GATHERED)


#: where kernels are counted whose operands are no plain blocks
_GATHERED = ("pvc",)
_MATRICES = "a_ptr: *fp16; b_ptr: *fp16; c_ptr: *"
_STRIDES = "; stride_a: i32; stride_b: i32; stride_c: i32"
_W4A16 = (
    "a_ptr: *fp16; b_ptr: *i32; scale_ptr: *fp16; zero_ptr: *fp16; c_ptr: *fp16; K: i32; stride_scale: i32"
)
_MOE = "; rows_ptr: *i32; experts_ptr: *i32; count: i32; N: i32; K: i32; stride_expert: i32"
_PAGED = "q_ptr: *fp16; k_ptr: *fp16; v_ptr: *fp16; pages_ptr: *i32; out_ptr: *fp16; scale: fp32; length: i32; stride_q: i32; stride_page: i32; stride_row: i32"
_SCAN = "states_ptr: *fp16; x_ptr: *fp16; dt_ptr: *fp32; sums_ptr: *fp32; out_ptr: *fp16; length: i32; stride_states: i32; stride_x: i32"
_IMAGES = "x_ptr: *fp16; w_ptr: *fp16; out_ptr: *fp16; images: i32; height: i32; width: i32; out_height: i32; out_width: i32"
_TAPS = {"TAPS_Y": 3, "TAPS_X": 3, "STRIDE": 1, "PADDING": 1, "DILATION": 1}

CASES: Sequence[Case] = (
    *(_matmul(kind, block, warps) for kind in ("fp16", "bf16", "fp32", "i8", *_FLOATS8) for block, warps in _SIZES),
    *(_matmul(kind, block, warps, a_t=True) for kind in ("fp16", "bf16", "fp32", "i8") for block, warps in _SIZES),
    *(_matmul(kind, block, warps, b_t=True) for kind in ("fp16", "bf16", "fp32", "i8", *_FLOATS8) for block, warps in _SIZES),
    _matmul("fp16", (128, 128, 32), 32, a_t=True, b_t=True),
    _forward(128, 64, 16),
    _of_keys(64, 64, 16),
    _of_queries(64, 64, 16),
    *(
        replace(case, devices=_SMALL)
        for case in (
            *(_matmul(kind, block, n) for kind in ("fp16", "i8") for block, n in (((64, 64, 32), 8), ((128, 64, 32), 16))),
            *(_forward(64, 32, 16), _forward(128, 64, 32), _of_keys(32, 32, 16), _of_queries(64, 32, 32)),
        )
    ),
    _serving("experts_matmul", f"{_MATRICES}fp16{_MOE}{_STRIDES}", (64, 128, 32), 8, TOP=2),
    _serving("int4_matmul", _W4A16 + _STRIDES, (64, 128, 64), 8, GROUP=128),
    _serving("paged_decode", _PAGED, (16, 64, 128), 4, PAGE=16, HEADS=16, WIDTH=128, BLOCK=64),
    _serving("split_k_matmul", f"{_MATRICES}fp32; M: i32; N: i32; K: i32{_STRIDES}", (64, 128, 32), 8, SPLIT=4),
    _serving("convolution", _IMAGES, (64, 128, 32), 8, CHANNELS=128, FILTERS=256, **_TAPS),
    _serving("chunk_scan", _SCAN, (128, 64, 64), 8),
    Case("softmax 4096 w8", "softmax", "softmax", _ROW, {"BLOCK": 4096}, 8),
    Case("layernorm 4096 w8", "layernorm", "layernorm", _NORM, {"BLOCK": 4096}, 8),
)  # fmt: skip


def compiled(case: Case, device: str, path: str = "simt") -> CompiledKernel:
    """``case`` for ``device``, by ``path``; pointers, sizes and strides are multiples of 16."""
    kernel = getattr(importlib.import_module(f"integration.kernels.{case.module}"), case.kernel)
    signature = {n: "constexpr" if n in case.constants else case.types[n] for n in kernel.arg_names}
    whole = {
        (i,): [["tt.divisibility", 16]]
        for i, type_ in enumerate(signature.values())
        if type_ == "i32" or type_[0] == "*"
    }
    source = tri.ASTSource(kernel, signature, dict(case.constants), whole)
    return tri.compile(source, target=f"intel:{device}", options={"num_warps": case.warps, "path": path})
