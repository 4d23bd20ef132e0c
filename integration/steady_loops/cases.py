"""The kernels, as either compiler compiles them; nothing here imports a compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CASES", "Case", "source_of"]


@dataclass(frozen=True)
class Case:
    """A kernel, the types of its parameters (those left out are constexprs), and how it is compiled.

    ``schedule`` are options that tri alone has.
    """

    module: str
    kernel: str
    label: str
    types: str
    constants: Mapping[str, object]
    warps: int
    stages: int
    schedule: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.label}"


def _tiles(m: int, n: int, k: int) -> dict[str, int]:
    return {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}


def _matmul(
    element: str, out: str, block: tuple[int, int, int], *, columns: bool = False, remark: str = ""
) -> Case:
    """Pointers; with ``columns`` b is stored by columns; ``remark`` is the end of the case's label."""
    strides = {"stride_am": "i32", "stride_ak": "1", "stride_cm": "i32", "stride_cn": "1"}
    strides |= {"stride_bk": "1", "stride_bn": "i32"} if columns else {"stride_bk": "i32", "stride_bn": "1"}
    types = {
        "a_ptr": f"*{element}",
        "b_ptr": f"*{element}",
        "c_ptr": f"*{out}",
        "M": "i32",
        "N": "i32",
        "K": "i32",
    }
    text = "; ".join(f"{name}: {type_}" for name, type_ in (types | strides).items())
    return Case(
        "matmul", "matmul", f"{element} {'x'.join(map(str, block))}{remark}", text, _tiles(*block) | {"GROUP_M": 8}, 8, 4, _ROLES
    )  # fmt: skip


def _attention(
    kernel: str, label: str, rows: str, columns: str, m: int, n: int, width: int, causal: bool
) -> Case:
    """Descriptors of f16; ``rows`` and ``columns`` name those with blocks of BLOCK_M and BLOCK_N rows."""
    blocks = dict.fromkeys(rows.split(), m) | dict.fromkeys(columns.split(), n)
    types = {name: f"tensordesc<fp16[{size}, {width}]>" for name, size in blocks.items()}
    vectors = ("lse_ptr",) if kernel == "attention" else ("lse_ptr", "delta_ptr")
    types |= dict.fromkeys(vectors, "*fp32") | {"scale": "fp32", "length": "i32"}
    text = "; ".join(f"{name}: {type_}" for name, type_ in types.items())
    constants = {"WIDTH": width, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": causal}
    stages = 2 if kernel == "attention" else 4
    return Case("attention", kernel, label, text, constants, 8, stages, {**_ROLES, "persistent": True})


_ROLES = {"warp_specialize": True}
_DESCRIBED = "a: tensordesc<fp16[128, 64]>; b: tensordesc<fp16[64, 256]>; c: tensordesc<fp16[128, 256]>; M: i32; N: i32; K: i32"
_GROUPED = (
    "a_ptr: *fp16; b_ptr: *fp16; c_ptr: *fp16; starts_ptr: *i32; groups: i32; N: i32; K: i32; "
    "stride_a: i32; stride_bg: i32; stride_b: i32; stride_c: i32"
)
_FORWARD = "q_desc out_desc", "k_desc v_desc"
CASES: Sequence[Case] = (
    _matmul("fp16", "fp16", (128, 256, 64)),
    _matmul("bf16", "bf16", (128, 256, 64)),
    _matmul("fp8e4nv", "bf16", (128, 256, 128), columns=True),
    _matmul("fp32", "fp32", (128, 256, 32)),
    _matmul("i8", "i32", (128, 256, 128), columns=True),
    _matmul("fp8e4nv", "bf16", (128, 256, 128), remark=", rows of b"),
    _matmul("i8", "i32", (128, 256, 128), remark=", rows of b"),
    Case("matmul_descriptor", "matmul_descriptor", "fp16 128x256x64", _DESCRIBED, _tiles(128, 256, 64) | {"GROUP_M": 8}, 8, 4, _ROLES),
    Case("grouped_matmul", "grouped_matmul", "fp16 128x256x64", _GROUPED, _tiles(128, 256, 64) | {"PROGRAMS": 132}, 8, 4, _ROLES),
    _attention("attention", "D128", *_FORWARD, 128, 128, 128, False),
    _attention("attention", "D128 causal", *_FORWARD, 128, 128, 128, True),
    _attention("attention", "D64 causal", *_FORWARD, 128, 128, 64, True),
    _attention("gradients_of_keys", "D128 causal", "q_desc grad_desc", "k_desc v_desc dk_desc dv_desc", 64, 128, 128, True),
    _attention("gradients_of_queries", "D128 causal", "q_desc grad_desc dq_desc", "k_desc v_desc", 128, 64, 128, True),
)  # fmt: skip


def _aligned(name: str, type_: str) -> bool:
    return type_[0] == "*" or "stride" in name or name in ("M", "N", "K", "length")


def source_of(make: Any, kernel: Any, case: Case) -> Any:
    """Source of ``case`` by ``make`` (``ASTSource`` of either compiler); pointers, strides and sizes are
    multiples of 16.
    """
    given = dict(part.split(": ") for part in case.types.split("; "))
    constants = {**case.constants, **{name: 1 for name, type_ in given.items() if type_ == "1"}}
    signature = {name: "constexpr" if name in constants else given[name] for name in kernel.arg_names}
    attributes = {
        (i,): [["tt.divisibility", 16]]
        for i, (name, type_) in enumerate(signature.items())
        if name not in constants and _aligned(name, type_)
    }
    return make(kernel, signature, constants, attributes)
