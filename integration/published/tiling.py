"""Helion: kernels of tiles, for which it writes Triton.

Its own examples are in no distribution of it, and each takes its device from Helion's test module, which knows no CPU.  So these
are kernels of the same things, written here (:mod:`integration.published.tiles`), each with configurations that its tuner would try.
Not on the CPU: persistent programs, for which Helion asks a GPU how many processors it has.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case

__all__ = ["CONFIGURATIONS"]

#: Helion's default, and others that its tuner tries: ways to reach memory, numbers of warps and stages, orders of programs
CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "block pointers": {"indexing": "block_ptr", "num_warps": 8, "num_stages": 3},
    "descriptors": {"indexing": "tensor_descriptor", "num_stages": 2},
    "persistent": {"pid_type": "persistent_blocked", "num_stages": 2},
    "interleaved": {"pid_type": "persistent_interleaved", "indexing": "block_ptr"},
}


@dataclass(frozen=True)
class Tiles:
    """Call of a kernel by a case: ``module`` of tiles, its name there, its arguments, and the expected
    results.
    """

    module: str
    kernel: str
    arguments: Callable[[Bench], Sequence[Any]]
    oracle: Callable[..., Any]
    tolerance: float = 2e-5


def _kernel(bench: Bench, tiles: Tiles, chosen: Mapping[str, Any]) -> Callable[..., Any]:
    helion = bench.load("helion", "helion")
    module = bench.load("helion", f"integration.published.tiles.{tiles.module}")
    function = getattr(module, tiles.kernel)
    made: Callable[..., Any] = helion.kernel(
        function, autotune_effort="none", static_shapes=True, **({"config": chosen} if chosen else {})
    )
    return made


def _configurations(
    bench: Bench, tiles: Tiles, arguments: Sequence[Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Configurations by name, each Helion's default for the arguments with other choices in it."""
    bound = _kernel(bench, tiles, {}).bind(tuple(arguments))  # type: ignore[attr-defined]
    default = dict(bound.config_spec.default_config())
    for name, other in CONFIGURATIONS.items():
        # Helion counts the processors of a GPU for programs that stay, and of nothing else
        if bench.device != "cpu" or "pid_type" not in other:
            yield name, {} if not other else {**default, **other}


def _double(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().double() if value.is_floating_point() else value.detach().cpu()
    return value


def _checks(bench: Bench, tiles: Tiles) -> Iterator[Check]:
    arguments = tiles.arguments(bench)
    wanted = tiles.oracle(*map(_double, arguments))
    for name, chosen in _configurations(bench, tiles, arguments):
        made = _kernel(bench, tiles, chosen)(*arguments)
        pairs = zip(_several(made), _several(wanted), strict=False)
        for number, (got, want) in enumerate(pairs):
            yield Check(f"{name} {number}", got, want, tiles.tolerance)


def _several(values: Any) -> tuple[torch.Tensor, ...]:
    return values if isinstance(values, tuple) else (values,)


def _enter(tiles: Tiles) -> None:
    case("helion", tiles.kernel)(lambda bench: _checks(bench, tiles))


def _rows(m: int = 61, n: int = 200) -> Callable[[Bench], Sequence[Any]]:
    return lambda b: [b.randn(m, n)]


def _two(m: int = 61, n: int = 200) -> Callable[[Bench], Sequence[Any]]:
    return lambda b: [b.randn(m, n), b.randn(m, n)]


def _ends(b: Bench, lengths: Sequence[int]) -> torch.Tensor:
    return torch.tensor([0, *lengths], device=b.device).cumsum(0)


def _ragged_mean(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    rows = [values[a:b] for a, b in itertools.pairwise(offsets)]
    return torch.stack([r.mean(0) if len(r) else torch.zeros_like(values[0]) for r in rows])


def _ragged_softmax(values: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return torch.cat([values[a:b].softmax(0) for a, b in itertools.pairwise(offsets)])


def _ragged_add(values: torch.Tensor, offsets: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    made = dense.clone()
    for row, (a, b) in enumerate(itertools.pairwise(offsets)):
        made[row, : b - a] += values[a:b]
    return made


def _groups(x: torch.Tensor, y: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[a:b] @ y for a, b in itertools.pairwise(offsets)])


def _norm_weights(
    dy: torch.Tensor, x: torch.Tensor, mean: torch.Tensor, scale: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return (dy * (x - mean[:, None]) * scale[:, None]).sum(0), dy.sum(0)


def _int4(x: torch.Tensor, packed: torch.Tensor) -> torch.Tensor:
    low, high = (packed << 4) >> 4, packed >> 4
    return x @ torch.stack([low, high], 1).reshape(-1, packed.shape[1]).double()


def _packed(b: Bench) -> Sequence[Any]:
    return [b.randn(40, 128), (b.randint(256, 64, 48) - 128).to(torch.int8)]


def _states(k: torch.Tensor, v: torch.Tensor, gate: torch.Tensor, chunk: int) -> torch.Tensor:
    state = torch.zeros(k.shape[0], k.shape[2], v.shape[2], dtype=torch.float64)
    made = []
    for start in range(0, k.shape[1], chunk):
        part = slice(start, min(start + chunk, k.shape[1]))
        made.append(state)
        last = gate[:, part][:, -1:]
        scaled = v[:, part] * torch.exp(last - gate[:, part])[:, :, None]
        state = state * torch.exp(last)[:, :, None] + k[:, part].transpose(1, 2) @ scaled
    return torch.stack(made, 1)


def _norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x, (x.shape[-1],), w, b)


def _root(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return F.rms_norm(x, (x.shape[-1],), w, 1e-5), torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)


def _vectors(b: Bench) -> Sequence[Any]:
    return [b.randn(61, 200), b.randn(200), b.randn(200)]


for _made in (
    Tiles("pointwise", "add", lambda b: [b.randn(61, 200), b.randn(200)], torch.add),
    Tiles("pointwise", "exp", _rows(), torch.exp),
    Tiles("pointwise", "geglu", _two(), lambda a, b: F.gelu(a, approximate="tanh") * b),
    Tiles("pointwise", "swiglu", _two(), lambda a, b: F.silu(a) * b),
    Tiles(
        "pointwise",
        "concatenate",
        lambda b: [b.randn(61, 40), b.randn(61, 90)],
        lambda x, y: torch.cat([x, y], 1),
    ),
    Tiles("pointwise", "embedding", lambda b: [b.randint(50, 7, 9), b.randn(50, 70)], F.embedding),
    Tiles("pointwise", "softmax", _rows(), lambda x: x.softmax(-1)),
    Tiles("pointwise", "softmax_two_pass", _rows(), lambda x: x.softmax(-1)),
    Tiles("pointwise", "row_sum", _rows(), lambda x: x.sum(-1)),
    Tiles("pointwise", "long_sum", _rows(7, 3000), lambda x: x.sum(-1)),
    Tiles("pointwise", "rms_norm", lambda b: [b.randn(61, 200), b.randn(200)], _root),
    Tiles("pointwise", "layer_norm", _vectors, _norm),
    Tiles(
        "pointwise",
        "layer_norm_weights",
        lambda b: [b.randn(61, 200), b.randn(61, 200), b.randn(61), b.randn(61).abs()],
        _norm_weights,
    ),
    Tiles("pointwise", "welford", _vectors, _norm, 1e-4),
    Tiles("pointwise", "cross_entropy", lambda b: [b.randn(61, 200), b.randint(200, 61)], F.cross_entropy),
    Tiles(
        "pointwise",
        "kl_div",
        lambda b: [b.randn(61, 200).log_softmax(-1), b.randn(61, 200).softmax(-1)],
        lambda x, y: F.kl_div(x, y, reduction="batchmean"),
    ),
    Tiles("pointwise", "cumulative", _rows(), lambda x: x.cumsum(-1)),
    Tiles(
        "pointwise",
        "histogram",
        lambda b: [b.randint(37, 500), 37],
        lambda x, n: torch.bincount(x, minlength=n).int(),
    ),
    Tiles("pointwise", "argmax", _rows(), lambda x: x.argmax(-1)),
    Tiles("matmuls", "bmm", lambda b: [b.randn(3, 70, 90), b.randn(3, 90, 50)], torch.bmm),
    Tiles("matmuls", "broadcast_matmul", lambda b: [b.randn(3, 70, 90), b.randn(90, 50)], torch.matmul),
    Tiles("matmuls", "split_k", lambda b: [b.randn(40, 300), b.randn(300, 50)], torch.matmul),
    Tiles(
        "matmuls",
        "matmul_layernorm",
        lambda b: [b.randn(70, 90), b.randn(90, 50), b.randn(50), b.randn(50)],
        lambda x, y, w, b: F.layer_norm(x @ y, (50,), w, b),
    ),
    Tiles(
        "matmuls",
        "grouped",
        lambda b: [b.randn(90, 70), b.randn(70, 50), _ends(b, [30, 0, 17, 43])],
        _groups,
    ),
    Tiles("matmuls", "int4_matmul", _packed, _int4),
    Tiles(
        "matmuls",
        "fp8_matmul",
        lambda b: [b.randn(64, 96).to(torch.float8_e4m3fn), b.randn(96, 32).to(torch.float8_e4m3fn)],
        torch.matmul,
    ),
    Tiles(
        "matmuls",
        "attention",
        lambda b: [b.randn(2, 3, 70, 64), b.randn(2, 3, 90, 64), b.randn(2, 3, 90, 64)],
        F.scaled_dot_product_attention,
    ),
    Tiles(
        "matmuls",
        "gather_gemv",
        lambda b: [b.randn(5, 60, 70), b.randint(5, 9), b.randn(70)],
        lambda w, i, x: w[i] @ x,
    ),
    Tiles(
        "matmuls",
        "squeeze_excite",
        lambda b: [b.randn(70, 48), b.randn(48, 40) / 7, b.randn(40, 48) / 7],
        lambda x, a, b: x * torch.sigmoid(torch.relu(x @ a) @ b),
    ),
    Tiles(
        "ragged",
        "jagged_dense_add",
        lambda b: [b.randn(60), _ends(b, [10, 0, 33, 17]), b.randn(4, 50)],
        _ragged_add,
    ),
    Tiles("ragged", "jagged_mean", lambda b: [b.randn(60, 40), _ends(b, [10, 0, 33, 17])], _ragged_mean),
    Tiles(
        "ragged", "jagged_softmax", lambda b: [b.randn(60, 40), _ends(b, [10, 0, 33, 17])], _ragged_softmax
    ),
    Tiles(
        "ragged",
        "segment_sum",
        lambda b: [b.randint(20, 150).sort().values, b.randn(150, 40), 20],
        lambda i, v, n: torch.zeros(n, v.shape[1], dtype=v.dtype).index_add(0, i, v),
    ),
    Tiles(
        "ragged",
        "delta_states",
        lambda b: [b.randn(2, 96, 32), b.randn(2, 96, 64), -b.randn(2, 96).abs().cumsum(1) / 50, 32],
        _states,
    ),
):
    _enter(_made)


@case("helion", "matmul")
def matmul(bench: Bench) -> Iterator[Check]:
    """A matmul whose epilogue a closure gives: a bias, then a rectifier."""
    bias = bench.randn(50)

    def epilogue(total: torch.Tensor, tile: tuple[Any, ...]) -> torch.Tensor:
        return torch.relu(total + bias[tile[1]])

    tiles = Tiles(
        "matmuls",
        "matmul",
        lambda b: [b.randn(70, 90), b.randn(90, 50), epilogue],
        lambda x, y, _: torch.relu(x @ y + bias.cpu().double()),
    )
    return _checks(bench, tiles)


@case("helion", "dropout")
def dropout(bench: Bench) -> Iterator[Check]:
    """As many elements are dropped as asked, the same for the same seed, others for another."""
    kernel = _kernel(bench, Tiles("pointwise", "dropout", _rows(), torch.exp), {})
    x = torch.ones(20000, device=bench.device)
    first, again, other = (kernel(0.25, x, seed) for seed in (3, 3, 4))
    yield Check("again", again, first.cpu().double(), 0)
    yield Check("kept", (first != 0).double().mean(), torch.tensor(0.75), 0.02)
    yield Check("values", first[first != 0], torch.full_like(first[first != 0], 1 / 0.75).cpu())
    yield Check("another seed", ((first != 0) == (other != 0)).double().mean(), torch.tensor(0.625), 0.05)
