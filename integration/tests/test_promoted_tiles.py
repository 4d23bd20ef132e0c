"""Kernels with tiles of pointers give the same through descriptors, on the CPU target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest

import tri
import tri.language as tl
from integration.kernels.grouped_matmul import grouped_matmul
from integration.kernels.matmul import matmul
from tri_core import plugins
from tri_core.api import Pass, Pipeline, StageContext, hookimpl
from tri_core.mlir import ir
from tri_core.passes import (
    CSE,
    Canonicalize,
    PromotePointerTiles,
    RemoveDeadIterArgs,
    RewriteTensorDescriptors,
)
from tri_core.plugins import PluginManager, candidate_of

#: what the last compile promoted, by the ops' names
seen: list[str] = []


@dataclass(frozen=True)
class Promoted(Pass):
    """Tiles through descriptors, and the descriptors as pointers again."""

    name = "promoted"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        for each in (
            PromotePointerTiles(computed=True, extent=256, rank=5, alignment=16, row_alignment=128),
            RemoveDeadIterArgs(),
            Canonicalize(),
            CSE(),
        ):
            each.apply(module, context)
        text = str(module)
        seen[:] = [n for n in ("descriptor_load", "descriptor_store") for _ in range(text.count(f"tt.{n}"))]
        RewriteTensorDescriptors().apply(module, context)


@contextmanager
def promoting() -> Iterator[None]:
    @hookimpl
    def tri_modify_pipeline(pipeline: Pipeline) -> None:
        passes = pipeline["ttir"].passes
        assert passes is not None
        passes.insert("ttir.end", Promoted())

    @hookimpl
    def tri_cache_key() -> dict[str, str]:
        return {"promoted": "yes"}

    change = ModuleType("promoting")
    change.__dict__.update(
        TRI_PLUGIN_API=(1, 0), tri_modify_pipeline=tri_modify_pipeline, tri_cache_key=tri_cache_key
    )
    cpu = import_module("tri_backend_cpu.plugin")
    with plugins.use(PluginManager([candidate_of(cpu), candidate_of(change, name="promoting")])):
        yield


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def close(got: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(got - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("size", [(64, 64, 64), (80, 48, 32), (16, 16, 16), (112, 96, 80)])
def test_matmuls_of_any_size(size: tuple[int, int, int], columns: bool) -> None:
    """Sizes that are multiples of 16 but not of the blocks: rows wrap, the depth is masked."""
    m, n, k = size
    a, b, c = values(m, k), values(k, n, seed=1), np.full((m, n), np.nan, np.float32)
    given = np.ascontiguousarray(b.T).T if columns else b
    strides = [s // 4 for x in (a, given, c) for s in x.strides]
    grid = (-(-m // 32) * -(-n // 32),)
    with promoting():
        matmul[grid](a, given, c, m, n, k, *strides, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP_M=2)
    assert seen == ["descriptor_load", "descriptor_load", "descriptor_store"]
    close(c, a.astype(float) @ b.astype(float))


@tri.jit
def stepping(
    a, b, c, stride_a, stride_b, stride_c, first, last, step, M,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A loop from ``first`` in steps, with offsets that it carries, and columns in two parts."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    depth = tl.arange(0, BK) + first
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(first, last, step):
        x = tl.load(a + rows[:, None] * stride_a + depth[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(b + (start + tl.arange(0, BK))[:, None] * stride_b + columns[None, :])
        acc += tl.dot(x, y)
        depth += step
    tl.store(c + rows[:, None] * stride_c + columns[None, :], acc, mask=rows[:, None] < M)


@pytest.mark.parametrize(("first", "last", "step"), [(0, 64, 16), (16, 64, 16), (32, 64, 32), (48, 48, 16)])
def test_loops_from_anywhere_in_any_steps(first: int, last: int, step: int) -> None:
    m, n, bk = 40, 16, 16
    a, b, c = values(m, 64), values(64, n, seed=1), np.full((m, n), np.nan, np.float32)
    with promoting():
        stepping[(3,)](a, b, c, 64, n, n, first, last, step, m, BM=16, BN=n, BK=bk)
    assert seen == ["descriptor_load", "descriptor_load", "descriptor_store"]
    taken = [k for start in range(first, last, step) for k in range(start, start + bk)]
    expected = a[:, taken].astype(float) @ b[taken].astype(float)
    assert np.abs(c - expected).max() <= 1e-5 * max(np.abs(expected).max(), 1)


@tri.jit
def seen_rows(a, b, c, M, stride, B: tl.constexpr):
    """The column sums see rows that wrap: they must stay."""
    rows = (tl.program_id(0) * B + tl.arange(0, B)) % M
    inner = tl.arange(0, B)
    x = tl.load(a + rows[:, None] * stride + inner[None, :])
    y = tl.load(b + inner[:, None] * stride + inner[None, :])
    tl.store(c + tl.program_id(0) * B + inner, tl.sum(tl.dot(x, y), 0))


def test_rows_that_are_seen_wrap() -> None:
    m, block = 20, 16
    a, b, c = values(m, block), values(block, block, seed=1), np.full(2 * block, np.nan, np.float32)
    with promoting():
        seen_rows[(2,)](a, b, c, m, block, B=block)
    assert seen == ["descriptor_load"]
    for p in range(2):
        rows = (p * block + np.arange(block)) % m
        close(c[p * block : (p + 1) * block], (a[rows].astype(float) @ b.astype(float)).sum(0))


@pytest.mark.parametrize("starts", [(0, 0, 20, 20, 21, 50), (0, 32), (0, 16, 48)])
def test_rows_of_groups_that_memory_tells(starts: tuple[int, ...]) -> None:
    """The rows end at a number that is read; what is stored is a descriptor's block where all of it is in the group."""
    groups, rows, n, k, block = len(starts) - 1, starts[-1], 48, 32, 16
    a, b, c = values(rows, k), values(groups, k, n, seed=1), np.full((rows, n), np.nan, np.float32)
    given = np.array(starts, np.int32)
    with promoting():
        grouped_matmul[(2,)](
            a,
            b,
            c,
            given,
            groups,
            n,
            k,
            k,
            k * n,
            n,
            n,
            PROGRAMS=2,
            BLOCK_M=block,
            BLOCK_N=block,
            BLOCK_K=block,
        )
    assert seen == ["descriptor_load", "descriptor_load", "descriptor_store"]
    close(c, np.concatenate([a[i:j].astype(float) @ b[g] for g, (i, j) in enumerate(pairwise(starts))]))
