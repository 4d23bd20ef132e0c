"""Ends of tiles on a real GPU: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/schedule/test_gpu_epilogue.py``."""

from __future__ import annotations

import pytest

from special_kernels import finished_tile, finished_tiles

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

#: (type of the operands, of the result, error relative to the largest)
TYPES = [
    (torch.float16, torch.float16, 1e-3),
    (torch.bfloat16, torch.bfloat16, 8e-3),
    (torch.float16, torch.float32, 1e-4),
    (torch.int8, torch.int8, 0.0),
]


@pytest.fixture(autouse=True)
def _hopper() -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("block copies and dots of warp groups need Hopper")


@pytest.mark.parametrize("kernel", [finished_tile, finished_tiles], ids=lambda k: k.__name__)
@pytest.mark.parametrize(("rows", "warps"), [(64, 4), (128, 8)])
@pytest.mark.parametrize(("dtype", "out", "bound"), TYPES, ids=str)
def test_bias_activation_and_ragged_tiles(dtype, out, bound, rows, warps, kernel) -> None:
    """Tiles in the rings' memory, and those of a loop in pieces beside them."""
    m, n, k = 1000, 1552, 512
    generator = torch.Generator("cuda").manual_seed(rows)
    if dtype == torch.int8:
        a, b = (torch.randint(-2, 3, (x, k), generator=generator, device="cuda").to(dtype) for x in (m, n))
    else:
        a, b = (torch.randn(x, k, generator=generator, device="cuda").to(dtype) for x in (m, n))
    bias = torch.randint(-4, 5, (n,), generator=generator, device="cuda").float()
    c = torch.full((m, n), 77.0, device="cuda").to(out)
    block = (rows, 256, 128 if dtype == torch.int8 else 64)
    tiles = (-(-m // rows), -(-n // 256))
    grid = (40,) if kernel is finished_tiles else tiles
    options = {"num_warps": warps, "num_stages": 4, "warp_specialize": True, "barrier_polls": 50_000_000}
    made = kernel[grid](a, b, c, bias, m, n, k, 0.125, *block, **options)
    assert "ttg.warp_specialize(" in made.asm["ttgir"]
    assert made.metadata.resources["spills"] == 0
    expected = (a.double() @ b.double().t() * 0.125 + bias.double()).clamp(min=0)
    if out == torch.int8:
        expected = expected.trunc()
    assert float((c.double() - expected).abs().max()) <= bound * float(expected.abs().max())
