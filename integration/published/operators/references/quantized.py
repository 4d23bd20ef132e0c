"""Quantisation in blocks and products of quantised matrices (conch-triton-kernels).

Levels of 4 bits: fp4 and nf4 of bitsandbytes (Dettmers et al., QLoRA, arXiv:2305.14314, appendix E, for nf4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from integration.published.cases import Check
from integration.published.operators import recipes
from integration.published.operators.operator import checks_of

__all__ = ["CASES", "LEVELS", "dequantized", "nearest"]

Case = Callable[[Callable[..., Any]], Iterator[Check]]
_BLOCK = 64
_ELEMENTS = 5 * _BLOCK + 32
#: two levels that are equally far away, in float32
_TIE = 1e-6
_MAGNITUDES = (0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 1 / 2, 1 / 6, 1 / 4)
LEVELS: Mapping[str, torch.Tensor] = {
    "fp4": torch.tensor([*_MAGNITUDES, *(-m for m in _MAGNITUDES)], dtype=torch.float64),
    "nf4": torch.tensor(
        [
            -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
            -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
            0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
            0.7229568362236023, 1.0,
        ],
        dtype=torch.float64,
    ),
    #: 256 levels, closer to each other near zero, as a code of 8 bits has them
    "fp8": torch.linspace(-1, 1, 256, dtype=torch.float64) ** 3,
}  # fmt: skip


def _blocks(flat: torch.Tensor) -> torch.Tensor:
    """``flat`` in rows of a block, the last filled with zeros."""
    return torch.nn.functional.pad(flat, (0, -flat.numel() % _BLOCK)).reshape(-1, _BLOCK)


def nearest(x: torch.Tensor, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The levels nearest to ``x`` over its block's largest magnitude, in ``x``'s place, and those magnitudes, in float64."""
    blocks = _blocks(x.double())
    largest = blocks.abs().amax(1)
    scaled = blocks / largest[:, None]
    places = (scaled[..., None] - LEVELS[kind]).abs().argmin(-1)
    return places.flatten()[: x.numel()], largest


def dequantized(places: torch.Tensor, largest: torch.Tensor, kind: str) -> torch.Tensor:
    """The numbers that places of levels stand for, in float64."""
    return (_blocks(LEVELS[kind][places.long()]) * largest.double()[:, None]).flatten()[: places.numel()]


def _packed(places: torch.Tensor, kind: str) -> torch.Tensor:
    """Two levels of 4 bits in a byte, the first in its upper half; a level of 8 bits as it is."""
    if kind == "fp8":
        return places.to(torch.uint8)
    pairs = places.reshape(-1, 2)
    return (pairs[:, :1] * 16 + pairs[:, 1:]).to(torch.uint8)


def _unpacked(packed: torch.Tensor, kind: str) -> torch.Tensor:
    if kind == "fp8":
        return packed.flatten()
    return torch.stack([packed.flatten() >> 4, packed.flatten() & 15], dim=1).flatten()


def _code(kind: str) -> dict[str, torch.Tensor]:
    return {"code": LEVELS[kind].float()} if kind == "fp8" else {}


def _quantizes(kinds: tuple[str, ...]) -> Case:
    def case(function: Callable[..., Any]) -> Iterator[Check]:
        x = recipes.normal(_ELEMENTS)
        for kind in kinds:
            packed, state = function(x, quant_type=kind, blocksize=_BLOCK, **_code(kind))
            places, largest = nearest(x, kind)
            yield from checks_of(f"{kind} largest", state.absmax, largest, 1e-7)
            # not the places: the codes of fp4 are not in the order of their levels, and a tie may go either way
            yield from checks_of(
                f"{kind} levels",
                LEVELS[kind][_unpacked(packed, kind).long()],
                LEVELS[kind][places],
                _TIE,
            )

    return case


def _dequantizes(kinds: tuple[str, ...]) -> Case:
    def case(function: Callable[..., Any]) -> Iterator[Check]:
        largest = recipes.normal(-(-_ELEMENTS // _BLOCK)).abs()
        for kind in kinds:
            places = torch.arange(_ELEMENTS) * 7 % LEVELS[kind].numel()
            got = function(
                _packed(places, kind),
                absmax=largest,
                out=torch.empty(_ELEMENTS),
                blocksize=_BLOCK,
                quant_type=kind,
                **_code(kind),
            )
            # 4 bits: the package's levels of fp4 are written with six digits
            yield from checks_of(kind, got, dequantized(places, largest, kind), 2e-6)

    return case


def _largest_shape(function: Callable[..., Any]) -> Iterator[Check]:
    for size in (1, 64, 65, 1000):
        yield from checks_of(
            f"{size}", torch.tensor(function(size, 64)), torch.tensor([(size + 63) // 64]), 0
        )


def _quantized_shape(function: Callable[..., Any]) -> Iterator[Check]:
    for kind, storage, want in (
        ("fp8", torch.uint8, [640]),
        ("nf4", torch.uint8, [320, 1]),
        ("fp4", torch.bfloat16, [160, 1]),
    ):
        yield from checks_of(kind, torch.tensor(function(640, kind, storage)), torch.tensor(want), 0)


def _static_fp8(function: Callable[..., Any]) -> Iterator[Check]:
    x, scale = recipes.normal(20, 200), torch.tensor([0.05])
    out = torch.empty(x.shape, dtype=torch.float8_e4m3fn)
    function(out, x, scale)
    # the kernel multiplies by a reciprocal in float32
    yield from checks_of("out", out, (x * scale.reciprocal()).to(out.dtype), 0)


def _static_int8(function: Callable[..., Any]) -> Iterator[Check]:
    x, scale = recipes.normal(20, 200), torch.tensor([0.02])
    out = torch.empty(x.shape, dtype=torch.int8)
    function(out, x, scale)
    yield from checks_of("out", out, (x * scale.reciprocal()).clamp(-128, 127).to(torch.int8), 0)


_ROWS, _DEPTH, _COLUMNS, _GROUP, _BITS = 20, 128, 64, 64, 4


def _weights() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Levels of 4 bits (depth, columns), eight of them in an int32 along the depth, and scales (groups, columns)."""
    levels = (torch.arange(_DEPTH * _COLUMNS) * 5 % 16).reshape(_DEPTH, _COLUMNS)
    shifts = torch.arange(8)[None, :, None] * _BITS
    words = (levels.reshape(-1, 8, _COLUMNS) << shifts).sum(1)
    scales = recipes.normal(_DEPTH // _GROUP, _COLUMNS).abs() + 0.5
    return levels, torch.where(words >= 1 << 31, words - (1 << 32), words).to(torch.int32), scales


def _mixed_gemm(function: Callable[..., Any]) -> Iterator[Check]:
    levels, words, scales = _weights()
    x = recipes.normal(_ROWS, _DEPTH).half()
    zeros = (torch.arange(scales.numel()) % 5).reshape(scales.shape).half()
    for bias, shift in ((8, None), (0, zeros)):
        got = function(x, words, scales.half(), shift, _BITS, bias, _GROUP, strict=True)
        grouped = [t.double().repeat_interleave(_GROUP, 0) for t in (scales.half(), zeros)]
        weights = (levels - bias - (0 if shift is None else grouped[1])) * grouped[0]
        # the weights and the result are in float16
        yield from checks_of("out", got, x.double() @ weights, 2e-3)


def _mixed_metadata(function: Callable[..., Any]) -> Iterator[Check]:
    _, words, scales = _weights()
    made = function(
        recipes.normal(_ROWS, _DEPTH).half(), words, scales.half(), None, _BITS, 8, _GROUP, strict=True
    )
    numbers = [made.m_dim, made.k_dim, made.n_dim, made.elements_per_sample, made.unpack_mask]
    yield from checks_of("sizes", torch.tensor(numbers), torch.tensor([_ROWS, _DEPTH, _COLUMNS, 8, 15]), 0)


def _scaled_operands() -> tuple[torch.Tensor, ...]:
    a = (torch.arange(_ROWS * _DEPTH) * 37 % 255 - 127).reshape(_ROWS, _DEPTH).to(torch.int8)
    b = (torch.arange(_DEPTH * _COLUMNS) * 91 % 255 - 127).reshape(_DEPTH, _COLUMNS).to(torch.int8)
    return a, b, recipes.normal(_ROWS, 1).abs() / 64, recipes.normal(_COLUMNS, 1).abs() / 64


def _scaled_gemm(function: Callable[..., Any]) -> Iterator[Check]:
    a, b, rows, columns = _scaled_operands()
    bias = recipes.normal(_COLUMNS)
    for kind in (torch.int8, torch.float8_e4m3fn):
        left, right = (t.float().div(16).to(kind) if kind.is_floating_point else t for t in (a, b))
        got = function(left, right, rows, columns, torch.float32, bias=bias, strict=True)
        want = (left.double() @ right.double()) * rows.double() * columns.double().T + bias.double()
        yield from checks_of(str(kind), got, want, 1e-5)
    one = torch.tensor([0.25])
    yield from checks_of(
        "of one scale", function(a, b, one, one, torch.float32), a.double() @ b.double() / 16, 1e-5
    )


def _scaled_metadata(function: Callable[..., Any]) -> Iterator[Check]:
    made = function(*_scaled_operands(), torch.float32, strict=True)
    yield from checks_of(
        "sizes",
        torch.tensor([made.m_dim, made.k_dim, made.n_dim]),
        torch.tensor([_ROWS, _DEPTH, _COLUMNS]),
        0,
    )


_BITSANDBYTES = "quantization.bitsandbytes.functional."
CASES: Mapping[str, Case] = {
    f"{_BITSANDBYTES}get_absmax_shape": _largest_shape,
    f"{_BITSANDBYTES}get_quantized_output_shape": _quantized_shape,
    f"{_BITSANDBYTES}quantize_blockwise": _quantizes(("fp4", "nf4", "fp8")),
    f"{_BITSANDBYTES}quantize_4bit": _quantizes(("fp4", "nf4")),
    f"{_BITSANDBYTES}dequantize_blockwise": _dequantizes(("fp4", "nf4", "fp8")),
    f"{_BITSANDBYTES}dequantize_4bit": _dequantizes(("fp4", "nf4")),
    "quantization.fp8.static_scaled_fp8_quant": _static_fp8,
    "quantization.int8.static_scaled_int8_quant": _static_int8,
    "quantization.gemm.create_mixed_precision_metadata": _mixed_metadata,
    "quantization.gemm.mixed_precision_gemm": _mixed_gemm,
    "quantization.gemm.create_scaled_metadata": _scaled_metadata,
    "quantization.gemm.scaled_gemm": _scaled_gemm,
}
