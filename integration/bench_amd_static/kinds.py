"""Kernels of the kinds that people run beside a plain matmul, on each of three chips; judged against Triton's by ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from integration.bench_amd_static.case import Case

__all__ = ["KINDS"]

_CHIPS = ("gfx942", "gfx950", "gfx1201")
#: cases that every change compiles; the others are the nightly session's
_QUICK = frozenset(("rms_rope", "interleaved_rope", "local_sums", "gate", "mxfp4_weights_matmul"))


def _kind(
    module: str, kernel: str, label: str, types: Mapping[str, str], constants: Mapping[str, object]
) -> Sequence[Case]:
    """A case a chip; ``types`` says the parameters of each type."""
    text = "; ".join(f"{name}: {type_}" for type_, names in types.items() for name in names.split())
    return [
        Case(
            f"integration.kernels.{module}",
            kernel,
            label,
            text,
            constants,
            chip,
            nightly=kernel not in _QUICK,
        )
        for chip in _CHIPS
    ]


def _tile(m: int, n: int, k: int) -> Mapping[str, object]:
    return {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}


def _attention(width: int, capped: bool) -> Sequence[Case]:
    types = {
        "*fp16": "q_ptr k_ptr v_ptr out_ptr",
        "fp32": "scale cap",
        "i32": "length stride_q stride_k stride_head",
    }
    constants = {"GROUP": 4, "CAPPED": capped, "WIDTH": width, "BLOCK_M": 128, "BLOCK_N": 64}
    return _kind("inference", "grouped_attention", f"{'capped ' * capped}D{width}", types, constants)


KINDS: Sequence[Case] = (
    *_kind("inference", "experts_matmul", "64x128x64", {"*fp16": "a_ptr b_ptr c_ptr", "*i32": "rows_ptr experts_ptr", "*fp32": "weights_ptr", "i32": "count N K stride_a stride_expert stride_b stride_c"}, {"TOP": 2, **_tile(64, 128, 64)}),
    *_kind("inference", "mxfp4_weights_matmul", "64x64x128", {"*bf16": "a_ptr c_ptr", "*u8": "b_ptr scale_ptr", "i32": "K stride_a stride_b stride_scale stride_c"}, _tile(64, 64, 128)),
    *_kind("inference", "split_int8_matmul", "16x128x128", {"*fp16": "a_ptr", "*i8": "b_ptr", "*fp32": "scale_ptr c_ptr", "i32": "K stride_a stride_b stride_c"}, {"SPLIT": 4, **_tile(16, 128, 128)}),
    *_kind("convolution", "convolution", "3x3 64x64x32", {"*fp16": "x_ptr w_ptr out_ptr", "i32": "images height width out_height out_width"}, {"CHANNELS": 64, "FILTERS": 128, "TAPS_Y": 3, "TAPS_X": 3, "STRIDE": 1, "PADDING": 1, "DILATION": 1, **_tile(64, 64, 32)}),
    *_attention(64, False),
    *_attention(128, False),
    *_attention(128, True),
    *_kind("inference", "causal_gradients", "D64", {"*fp16": "q_ptr k_ptr v_ptr grad_ptr dk_ptr dv_ptr", "*fp32": "lse_ptr delta_ptr", "fp32": "scale", "i32": "length stride"}, {"WIDTH": 64, "BLOCK_M": 64, "BLOCK_N": 64}),
    *_kind("inference", "chunk_states", "64x64x64", {"*fp16": "x_ptr b_ptr", "*fp32": "dt_ptr sums_ptr out_ptr", "i32": "length stride_x stride_b stride_out"}, _tile(64, 64, 64)),
    *_kind("inference", "linear_attention", "D64", {"*fp16": "q_ptr k_ptr v_ptr out_ptr", "*fp32": "decay_ptr", "i32": "length stride"}, {"WIDTH": 64, "BLOCK": 64}),
    *_kind("rows", "rms_rope", "", {"*bf16": "x_ptr out_ptr", "*fp32": "w_ptr cos_ptr sin_ptr", "fp32": "eps", "i32": "stride stride_angle"}, {"HEADS": 32, "WIDTH": 128}),
    *_kind("rows", "interleaved_rope", "", {"*bf16": "x_ptr out_ptr", "*fp32": "angle_ptr", "i32": "stride stride_angle"}, {"HEADS": 32, "WIDTH": 128}),
    *_kind("rows", "recurrence", "64x64", {"*fp32": "decay_ptr x_ptr out_ptr", "i32": "length stride"}, {"BLOCK_T": 64, "BLOCK_D": 64}),
    *_kind("rows", "local_sums", "128x64", {"*fp32": "x_ptr out_ptr", "i32": "stride"}, {"BLOCK_T": 128, "HEADS": 64}),
    *_kind("rows", "gate", "", {"*bf16": "x_ptr out_ptr", "i32": "columns stride stride_out"}, {"BLOCK": 2048}),
    *_kind("rows", "quantize_groups", "", {"*bf16": "x_ptr", "*fp8e4nv": "out_ptr", "*fp32": "scale_ptr", "i32": "stride stride_scale"}, {"LARGEST": 448.0, "GROUPS": 32, "GROUP": 128}),
    *_kind("rows", "cross_entropy", "", {"*bf16": "x_ptr", "*i32": "target_ptr", "*fp32": "loss_ptr", "i32": "columns stride"}, {"BLOCK": 4096}),
)  # fmt: skip
