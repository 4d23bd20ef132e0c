"""Programs of which Inductor writes kernels of every kind: each a function of CPU tensors and the settings that it is compiled by.

They are small in code, and large enough in shape for looped as well as persistent reductions.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import torch
from torch.nn import functional as F

from tri_core.lazy_dataclasses import dataclass

__all__ = ["PROGRAMS", "TEMPLATES", "Program"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """``step`` of tensors of ``shapes``, float32 with gradients by default, compiled by ``settings``; ``dynamic``: for all sizes."""

    step: Callable[..., Any]
    shapes: tuple[Shape, ...]
    dtype: Any = torch.float32
    settings: Mapping[str, Any] = field(default_factory=dict)
    dynamic: bool = False
    trained: bool = True

    def inputs(self) -> tuple[Any, ...]:
        """Tensors of the program's shapes."""
        grads = self.trained and self.dtype.is_floating_point
        return tuple(torch.rand(s).to(self.dtype).requires_grad_(grads) for s in self.shapes)


PROGRAMS: dict[str, Program] = {}
#: those that Inductor writes by a template where it is to tune
TEMPLATES: dict[str, Program] = {}


def _add(name: str, step: Callable[..., Any], *shapes: Shape, **options: Any) -> None:
    PROGRAMS[name] = Program(step, shapes, **options)


_ROWS, _LONG, _SHORT = (64, 5000), (16, 70000), (300, 128)
_IMAGE = (2, 16, 24, 24)

for _name, _shape in (("short", _SHORT), ("rows", _ROWS), ("long", _LONG)):
    _add(f"softmax_{_name}", lambda x: torch.softmax(x, -1), _shape)
    _add(f"log_softmax_{_name}", lambda x: torch.log_softmax(x, -1), _shape)
    _add(f"layer_norm_{_name}", lambda x: F.layer_norm(x, x.shape[-1:]), _shape)
    _add(f"rms_norm_{_name}", lambda x: F.rms_norm(x, x.shape[-1:]), _shape, dtype=torch.bfloat16)
    _add(f"variance_{_name}", lambda x: torch.var_mean(x, -1), _shape)
    _add(f"extremes_{_name}", lambda x: (x.amax(-1), x.argmin(-1), x.amin(0)), _shape)
    _add(
        f"product_{_name}", lambda x: (x.prod(-1), (x > 0.5).any(-1), (x > 0.1).all(0)), _shape, trained=False
    )
    _add(f"norm_{_name}", lambda x: (torch.linalg.vector_norm(x, 2, -1), x.abs().sum(0)), _shape)
    _add(
        f"cooperative_{_name}",
        lambda x: (x.sum(), x.std(-1)),
        _shape,
        settings={"triton.cooperative_reductions": True},
    )
    _add(f"scan_{_name}", lambda x: (x.cumsum(-1), x.cumprod(-1)), _shape, trained=False)
    _add(f"logcumsumexp_{_name}", lambda x: torch.logcumsumexp(x, -1), _shape, trained=False)
    _add(f"columns_{_name}", lambda x: (x.sum(0), x.mean(0), x.var(0)), _shape)
    _add(f"whole_{_name}", lambda x: (x.sum(), x.max(), x.norm()), _shape)
    _add(f"int8_{_name}", lambda x: (x.amax(-1), (x * 127).to(torch.int8)), _shape, trained=False)

_add("sort", lambda x: torch.sort(x, -1), (32, 64), trained=False)
_add(
    "sort_stable",
    lambda x: torch.sort(x, stable=True, dim=-1, descending=True).values,
    (8, 200),
    trained=False,
)
_add("topk_mask", lambda x: torch.where(x > x.median(), x, 0.0), (64, 64), trained=False)
_add("scatter_add", lambda x: torch.zeros(50, 8).index_add(0, torch.arange(100) % 50, x), (100, 8))
_add("scatter", lambda x: torch.zeros(64, 40).scatter(1, (x * 39).long(), x), (64, 32), trained=False)
_add(
    "scatter_reduce",
    lambda x: torch.zeros(64).scatter_reduce(0, (x * 60).long(), x, "amax"),
    (500,),
    trained=False,
)
_add(
    "index_put",
    lambda x: x.clone().index_put((torch.arange(30) % 7,), x[:30] * 2, accumulate=True),
    (64, 16),
    trained=False,
)
_add("gather", lambda x: x.gather(1, torch.arange(40).expand(64, 40) % 32), (64, 32))
_add("index_select", lambda x: x[torch.arange(200) * 7 % 64, 3:], (64, 32), trained=False)
_add("masked_fill", lambda x: x.masked_fill(torch.ones(64, 64).tril() == 0, -1e9).softmax(-1), (64, 64))
_add("embedding", lambda w: F.embedding(torch.arange(300) % 77, w, padding_idx=3), (77, 64))
_add("embedding_bag", lambda w: F.embedding(torch.arange(300).view(30, 10) % 77, w).mean(1), (77, 64))
_add("one_hot", lambda x: F.one_hot((x * 10).long(), 11).sum(0), (400,), trained=False)
_add("bucketize", lambda x: torch.bucketize(x, torch.linspace(0, 1, 17)), (1000,), trained=False)
_add("searchsorted", lambda x, y: torch.searchsorted(x.cumsum(-1), y), (8, 64), (8, 20), trained=False)
_add(
    "foreach_adam",
    lambda *t: torch._foreach_div(
        torch._foreach_mul(t[:3], 0.9), torch._foreach_add(torch._foreach_sqrt(t[3:]), 1e-8)
    ),
    *((300,), (40, 50), (7,)) * 2,
    trained=False,
)
_add("combo", lambda a, b, c: (a.sin(), b.cos().sum(-1), c.tanh()), (100,), (30, 30), (8, 64),
     settings={"combo_kernels": True, "benchmark_combo_kernel": False})  # fmt: skip
_add("cat", lambda a, b: torch.cat((a.relu(), b.sigmoid()), 1), (32, 20), (32, 50))
_add("stack", lambda a, b: torch.stack((a, b * 2), -1).flatten(1), (32, 20), (32, 20))
_add("pad", lambda x: F.pad(x, (1, 2, 3, 4), "reflect"), _IMAGE)
_add("pad_constant", lambda x: F.pad(x, (1, 2), value=0.5), (64, 100))
_add("roll", lambda x: x.roll((2, 3), (-1, -2)).flip(-1), _IMAGE)
_add("transpose", lambda x: x.transpose(1, 3).contiguous() * 2, _IMAGE)
_add("permute_sum", lambda x: x.permute(0, 2, 3, 1).sum(-1), _IMAGE)
_add("tile2d", lambda a, b: a + b.t(), (600, 700), (700, 600))
_add("batch_norm", lambda x: F.batch_norm(x, None, None, training=True).relu(), (8, 16, 32, 32))
_add("group_norm", lambda x: F.silu(F.group_norm(x, 4)), _IMAGE)
_add("instance_norm", lambda x: F.instance_norm(x), _IMAGE)
_add("max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), _IMAGE)
_add("avg_pool", lambda x: F.avg_pool2d(x, 3, 2, 1), _IMAGE)
_add("adaptive_pool", lambda x: F.adaptive_avg_pool2d(x, 5), _IMAGE)
_add("interpolate", lambda x: F.interpolate(x, scale_factor=2.0), _IMAGE)
_add("bilinear", lambda x: F.interpolate(x, size=(37, 41), mode="bilinear"), _IMAGE)
_add("bicubic", lambda x: F.interpolate(x, size=(31, 29), mode="bicubic"), _IMAGE, trained=False)
_add(
    "grid_sample",
    lambda x: F.grid_sample(x, F.affine_grid(torch.eye(2, 3)[None], [1, 3, 16, 16]), align_corners=False),
    (1, 3, 16, 16),
    trained=False,
)
_add("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), _IMAGE)
_add("conv_epilogue", lambda x, w, b: F.gelu(F.conv2d(x, w, b, padding=1)) + x, _IMAGE, (16, 16, 3, 3), (16,))
_add("unfold", lambda x: F.unfold(x, 3).mean(1), _IMAGE)
_add("dropout", lambda x: F.dropout(x.relu(), 0.3), (200, 300))
_add("random", lambda x: (torch.rand_like(x) + torch.randn_like(x)) * x, (100, 50))
_add("random_integers", lambda x: torch.randint_like(x, 0, 10) + x, (100, 50), trained=False)
_add("gelu", lambda x: F.gelu(x) + F.gelu(x, approximate="tanh"), (77, 99), dtype=torch.bfloat16)
_add("swiglu", lambda a, b: F.silu(a) * b, (64, 256), (64, 256), dtype=torch.float16)
_add(
    "special",
    lambda x: torch.erf(x) + torch.lgamma(x + 1) + torch.digamma(x + 1) + torch.i0(x),
    (1000,),
    trained=False,
)
_add("trigonometry", lambda x: x.sin() + x.tan() + x.asin() + x.atan2(x + 1) + x.sinh() + x.acosh(), (1000,))
_add("exponential", lambda x: x.exp2() + x.expm1() + x.log1p() + x.log2() + x.rsqrt() + x.pow(1.7), (1000,))
_add(
    "rounding",
    lambda x: x.round() + x.floor() + x.trunc() + x.frac() + torch.fmod(x, 0.3) + x.remainder(0.7),
    (999,),
    trained=False,
)
_add("float64", lambda x: (x.exp().sum(-1), x.sqrt()), (50, 60), dtype=torch.float64)
_add(
    "integers",
    lambda x, y: ((x // (y + 1)) ^ (x << 2), x % (y + 3), (x & y) | 1),
    (500,),
    (500,),
    dtype=torch.int64,
)
_add("float8", lambda x: (x.to(torch.float8_e4m3fn), x.to(torch.float8_e5m2)), (64, 64), trained=False)
_add(
    "quantized",
    lambda x: (x / (x.abs().amax(-1, True) / 448)).to(torch.float8_e4m3fn),
    (64, 512),
    dtype=torch.bfloat16,
    trained=False,
)
_add("dynamic_norm", lambda x: F.layer_norm(x, x.shape[-1:]).softmax(-1), (37, 513), dynamic=True)
_add("dynamic_reduction", lambda x, y: (x * y[:, None]).sum((0, 1)) + x.mean(), (33, 50), (33,), dynamic=True)
_add("dynamic_cat", lambda a, b: torch.cat((a, b)).cumsum(0), (33, 5), (20, 5), dynamic=True, trained=False)
_add("cross_entropy", lambda x: F.cross_entropy(x, torch.arange(64) % 1000, label_smoothing=0.1), (64, 1000))
_add(
    "losses",
    lambda a, b: F.huber_loss(a, b) + F.kl_div(a.log(), b) + F.binary_cross_entropy(a, b),
    (99, 10),
    (99, 10),
)
_add(
    "rotary",
    lambda x, a: torch.cat((x[..., :16] * a.cos(), x[..., 16:] * a.sin()), -1),
    (2, 4, 32, 32),
    (32, 16),
    trained=False,
)
_add(
    "attention",
    lambda q, k, v: torch.softmax(q @ k.mT * 0.2, -1) @ v,
    *((2, 4, 64, 32),) * 3,
    dtype=torch.bfloat16,
)
_add("welford_split", lambda x: torch.var_mean(x), (1 << 20,))
_add("split_sum", lambda x: (x * x).sum(), (1 << 20,))
_add("outer_split", lambda x: x.sum(0), (1 << 14, 32))
_add("cdist", lambda a, b: (a[:, None] - b[None]).square().sum(-1).sqrt(), (50, 20), (60, 20))
_add(
    "complex_mask",
    lambda x: torch.where((x > 0.3) & (x < 0.6), x.exp(), torch.nan_to_num(x / (x - 0.5))),
    (1000,),
)
_add("triangular", lambda x: x.tril(2) + x.triu(-3) + torch.eye(80), (80, 80))
_add(
    "diagonal", lambda x: x.diagonal(0, 1, 2).sum(-1) + torch.einsum("bii->b", x), (9, 20, 20), trained=False
)
_add(
    "persistent_off",
    lambda x: torch.softmax(x, -1),
    (64, 500),
    settings={"triton.persistent_reductions": False},
)
_add(
    "multi_kernel_free",
    lambda x: x.softmax(-1) * x.sum(-1, True),
    (64, 1000),
    settings={"triton.multi_kernel": 0},
)
_add(
    "block_pointers",
    lambda x, y: (x + y).sum(-1),
    (64, 500),
    (64, 500),
    settings={"triton.use_block_ptr": True},
)
_add(
    "descriptors",
    lambda x, y: x * y + 1,
    (256, 512),
    (256, 512),
    settings={"triton.use_tensor_descriptor": True, "assume_aligned_inputs": True},
)

_TUNED = {
    "max_autotune_gemm": True,
    "max_autotune_gemm_backends": "TRITON",
    "max_autotune_conv_backends": "TRITON",
    "max_autotune": True,
}


def _template(name: str, step: Callable[..., Any], *shapes: Shape, **options: Any) -> None:
    settings = {**_TUNED, **options.pop("settings", {})}
    TEMPLATES[name] = Program(
        step, shapes, **{"dtype": torch.bfloat16, "trained": False, "settings": settings, **options}
    )


_template("mm", lambda a, b: a @ b, (256, 512), (512, 256))
_template("mm_float32", lambda a, b: a @ b, (256, 512), (512, 256), dtype=torch.float32)
_template("mm_uneven", lambda a, b: a @ b, (250, 500), (500, 120))
_template("mm_transposed", lambda a, b: a @ b.t(), (256, 512), (256, 512))
_template("mm_long", lambda a, b: a @ b, (32, 8192), (8192, 32))
_template("addmm_relu", lambda a, b, c: torch.relu(torch.addmm(c, a, b)), (256, 512), (512, 256), (256,))
_template(
    "mm_prologue", lambda a, b: (a * 2).relu() @ b, (256, 512), (512, 256), settings={"prologue_fusion": True}
)
_template("bmm", lambda a, b: torch.bmm(a, b).tanh(), (8, 128, 64), (8, 64, 128))
_template("baddbmm", lambda a, b, c: torch.baddbmm(c, a, b), (8, 128, 64), (8, 64, 128), (8, 128, 128))
_template("mm_plus_mm", lambda a, b, c, d: a @ b + c @ d, *((256, 256),) * 4)
_template("conv", lambda x, w: F.relu(F.conv2d(x, w, padding=1)), (2, 32, 28, 28), (64, 32, 3, 3))
_template("conv_1x1", lambda x, w: F.conv2d(x, w), (2, 32, 28, 28), (64, 32, 1, 1))
_template("conv_strided", lambda x, w: F.conv2d(x, w, stride=2, groups=1), (2, 32, 29, 29), (64, 32, 5, 5))
_template("conv_grouped", lambda x, w: F.conv2d(x, w, groups=4), (2, 32, 28, 28), (64, 8, 3, 3))
_template("conv3d", lambda x, w: F.conv3d(x, w), (1, 16, 8, 14, 14), (32, 16, 3, 3, 3))
_template(
    "persistent_tma",
    lambda a, b: a @ b,
    (512, 512),
    (512, 512),
    settings={"triton.enable_persistent_tma_matmul": True},
)
_template("persistent_tma_addmm", lambda a, b, c: torch.addmm(c, a, b).relu(), (512, 512), (512, 512), (512,),
          settings={"triton.enable_persistent_tma_matmul": True})  # fmt: skip
_template("int8_mm", lambda a, b: torch._int_mm(a, b), (256, 512), (512, 256), dtype=torch.int8)
_template("mm_dynamic", lambda a, b: a @ b, (250, 512), (512, 256), dynamic=True)
