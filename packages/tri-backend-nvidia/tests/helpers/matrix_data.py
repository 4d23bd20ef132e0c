"""Random operands and poisoned results for kernels of dots, in the simulator and on a GPU, and how they are judged."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from matrix_kernels import matmul, tiles

torch = pytest.importorskip("torch")

__all__ = [
    "RESULTS",
    "ROWS",
    "TYPES",
    "close",
    "close_to_halves",
    "multiplied",
    "poisoned",
    "rounded_by_copies",
    "values",
]

ROWS = (False, False)
RESULTS = {
    tl.float16: torch.float16,
    tl.float32: torch.float32,
    tl.float64: torch.float64,
    tl.int32: torch.int32,
}
#: (type, type of the result, relative error of an accumulator, which has 13 bits for 8-bit floats)
TYPES = [
    (torch.float16, tl.float32, 1e-6),
    (torch.bfloat16, tl.float32, 1e-6),
    (torch.float16, tl.float16, 1e-3),
    (torch.float32, tl.float32, 2e-3),
    (torch.int8, tl.int32, 0.0),
    (torch.float8_e4m3fn, tl.float32, 1e-3),
    (torch.float8_e5m2, tl.float32, 1e-3),
]


def values(*shape, dtype=torch.float16, seed=0, device="cpu"):
    """Normal numbers, or any bytes."""
    generator = torch.Generator(device).manual_seed(seed + sum(shape))
    if dtype == torch.int8:
        return torch.randint(-128, 128, shape, generator=generator, device=device).to(dtype)
    return torch.randn(shape, generator=generator, device=device, dtype=torch.float64).to(dtype)


def poisoned(*shape, dtype=torch.float32, device="cpu"):
    """NaN everywhere, or a number that is no result by chance."""
    return torch.full(shape, float("nan") if dtype.is_floating_point else 113, dtype=dtype, device=device)


def close(got, expected, bound=2e-3):
    """Whether errors are at most ``bound`` of the largest number."""
    error = float((got.double() - expected).abs().max())
    assert error <= bound * float(expected.abs().max()), error


def multiplied(shape, dtype, out=tl.float32, *, where, columns=ROWS, warps=4):
    """A kernel of one dot on the target ``where``, what it gives, and what it should."""
    m, n, k = shape
    a, b = values(m, k, dtype=dtype), values(k, n, dtype=dtype, seed=1)
    c = poisoned(m, n, dtype=RESULTS[out])
    given = [x.t().contiguous() if transposed else x for x, transposed in zip((a, b), columns, strict=True)]
    with tri.target(where):
        kernel = matmul[(1,)](*given, c, m, n, k, *columns, out, "tf32", num_warps=warps)
    return kernel, c, a.double() @ b.double()


def rounded_by_copies(bits, *, device="cpu"):
    """The words that a dot of tf32 with the identity makes of those of f32, ``(64, n)``, brought by copies, and its recipes."""
    n = bits.shape[1]
    b = torch.from_numpy(bits.view(np.float32).copy()).to(device)
    a, c = torch.eye(64, device=device), poisoned(64, n, device=device)
    strides = (*a.stride(), *b.stride())
    kernel = tiles[(1, n // 64)](
        a, b, c, 64, n, 64, *strides, 64, 64, 64, tl.float32, 2, num_warps=4, warp_specialize=True
    )
    return c.cpu().numpy().view(np.uint32), kernel.metadata.attrs["descriptors"]


def close_to_halves():
    """Words of f32, ``(64, 256)``: numbers half way between two of tf32, next to these, and any, none near overflow."""
    random = np.random.default_rng(5)
    high = random.integers(0, 1 << 19, (64, 256), dtype=np.uint32) << 13
    exponent = random.integers(40, 200, (64, 256), dtype=np.uint32) << 23
    low = np.resize(np.array([0x1000, 0x0FFF, 0x1001, 0, 0x1FFF, 1], np.uint32), (64, 256))
    return (high & 0x807FE000) | exponent | low
