"""Launches of the repository's kernels on which exact passes must raise no alarm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from integration.kernels import layernorm, matmul, rows, softmax, suite, vector_add
from tri.verifying import Trial, trial_of

__all__ = ["OTHERS"]


def _given(trial: Trial, **constants: Any) -> Trial:
    """``trial`` with constexprs that a signature's text has no words for."""
    return replace(trial, constants={**trial.constants, **constants})


_F, _H, _B, _I = "*fp32:16", "*fp16:16", "*bf16:16", "*i32:16"
#: by name; those of one kernel differ in types or in what they compute
OTHERS: dict[str, Trial] = {
    "vector_add": trial_of(vector_add.vector_add, f"{_B}, {_B}, {_B}, i32, BLOCK=128", values={"n": 300}, grid=(3,)),
    "softmax": trial_of(
        softmax.softmax, f"{_F}, {_H}, i32, i32, i32, BLOCK=128",
        values={"x_stride": 100, "out_stride": 100, "n_cols": 100}, grid=(4,),
    ),
    "layernorm": trial_of(
        layernorm.layernorm, f"{_H}, {_H}, {_F}, {_F}, i32, i32, fp32, BLOCK=64",
        values={"stride": 100, "n_cols": 100, "eps": 1e-5}, grid=(3,),
    ),
    "matmul": trial_of(
        matmul.matmul, f"{_B}, {_B}, {_B}, i32, i32, i32, i32:16, 1, i32:16, 1, i32:16, 1, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP_M=2",
        values={"M": 50, "N": 64, "K": 48, "stride_am": 48, "stride_bk": 64, "stride_cm": 64}, grid=(4,),
    ),
    "reduce sum": _given(trial_of(suite.reduce_rows, f"{_H}, {_H}, M=32, N=32, KIND=0, AXIS=1"), KIND="sum"),
    "reduce max": _given(trial_of(suite.reduce_rows, f"{_B}, {_B}, M=32, N=32, KIND=0, AXIS=0"), KIND="max"),
    "reduce argmax": _given(trial_of(suite.reduce_rows, f"{_I}, {_F}, M=32, N=32, KIND=0, AXIS=1"), KIND="argmax"),
    "scan": trial_of(suite.scan, f"{_F}, {_F}, M=16, N=32, AXIS=0, REVERSE=True"),
    "dot": trial_of(suite.matmul, f"{_F}, {_F}, {_F}, M=32, N=32, K=32"),
    "transpose": trial_of(suite.transpose, f"{_H}, {_H}, M=32, N=64"),
    "shapes": trial_of(suite.shapes, f"{_F}, {_F}, N=256"),
    "masked_copy": trial_of(suite.masked_copy, f"{_H}, {_H}, i32, OTHER=1.5, BLOCK=128", values={"n": 200}, grid=(2,)),
    "add_atomically": trial_of(suite.add_atomically, f"{_F}, {_F}, i32, BINS=16, BLOCK=128", values={"n": 200}, grid=(2,)),
    "evaluate sin": _given(trial_of(suite.evaluate, f"{_F}, {_F}, NAME=0, BLOCK=128"), NAME="sin"),
    "evaluate erf": _given(trial_of(suite.evaluate, f"{_F}, {_F}, NAME=0, BLOCK=128"), NAME="erf"),
    "smaller_transposed": trial_of(suite.smaller_transposed, f"*i8:16, {_F}, {_F}, M=32, N=32"),
    "rms_rope": trial_of(
        rows.rms_rope, f"{_B}, {_B}, {_F}, {_F}, {_B}, fp32, i32:16, i32:16, HEADS=4, WIDTH=32",
        values={"eps": 1e-6, "stride": 128, "stride_angle": 16}, grid=(2,),
    ),
    "interleaved_rope": trial_of(
        rows.interleaved_rope, f"{_H}, {_F}, {_H}, i32:16, i32:16, HEADS=4, WIDTH=32",
        values={"stride": 128, "stride_angle": 32}, grid=(2,),
    ),
    "recurrence": trial_of(
        rows.recurrence, f"{_F}, {_F}, {_F}, i32:16, i32:16, BLOCK_T=16, BLOCK_D=16",
        values={"length": 32, "stride": 32}, grid=(2,),
    ),
    "local_sums": trial_of(rows.local_sums, f"{_F}, {_F}, i32:16, BLOCK_T=32, HEADS=16", values={"stride": 16}, grid=(2,)),
    "gate": trial_of(
        rows.gate, f"{_B}, {_B}, i32, i32, i32, BLOCK=64",
        values={"columns": 50, "stride": 100, "stride_out": 50}, grid=(2, 1),
    ),
    "cross_entropy": trial_of(
        rows.cross_entropy, f"{_F}, {_I}, {_F}, i32, i32, BLOCK=64", values={"columns": 100, "stride": 100}, grid=(3,)
    ),
}  # fmt: skip
