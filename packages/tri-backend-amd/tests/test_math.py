"""Math functions as AMD kernels compute them: in the simulator, within stated bounds, and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import amd_support
import tri
import tri.language as tl
import tri_gpu_dialect.dialect  # noqa: F401  registers ttg
from tri_backend_amd.lowering import make_primitives
from tri_backend_amd.options import AmdOptions
from tri_core.dialects.tt import TT
from tri_core.mlir import ir, registry, session
from tri_core.target import Target
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.lowering.functions import BOUNDS
from tri_gpu_dialect.testing import TensorSpec, kernel, place_in_memory
from tri_gpu_dialect.testing.math_oracle import arguments, exact, ulp_errors
from tri_runtime.simulator import simulate

Array = npt.NDArray[Any]
RNG = np.random.default_rng(21)
WARPS = 2
#: LLVM expands these, in f32; the simulator has NumPy's
LLVM = ("log", "log2", "log10")
#: a result that would be denormal may be zero
FLUSHED = ("exp", "exp2")

if "tt" not in registry.dialects:
    registry.add_dialect(TT)


def lowered(name: str, columns: list[Array], target: Target) -> tuple[ir.Module, str]:
    lanes = target.spec.threads_per_warp[0]
    options = AmdOptions(num_warps=WARPS)
    spec = TensorSpec(
        f"f{columns[0].itemsize * 8}", columns[0].shape, Blocked((1,), (lanes,), (WARPS,), (0,))
    )
    names = ", ".join(f"%in{i}" for i in range(len(columns)))
    body = f"%out0 = math.{name} {names} : {spec.type}"
    module = kernel([spec] * len(columns), [spec], body, warps=WARPS, lanes=lanes)
    place_in_memory(module)
    made = lower(module, target, options, make_primitives(target, options, lanes, WARPS), generic_table())
    return made.module, made.name


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("name", "width"), list(BOUNDS))
def test_bounds(arch: str, name: str, width: int) -> None:
    if width == 32 and name in LLVM:
        pytest.skip("LLVM's own")
    target = amd_support.target_of(arch)
    threads = target.spec.threads_per_warp[0] * WARPS
    count = 2 if name in ("powf", "atan2") else 1
    kinds = ("unit", "wide", "bits", "small")
    columns = [
        np.concatenate([arguments(RNG, name, width, kind, threads) for kind in kinds]) for _ in range(count)
    ]
    if name == "powf":
        columns = [np.abs(columns[0]), columns[1]]
    result = np.zeros_like(columns[0])
    with session():
        module, symbol = lowered(name, columns, target)
        lanes = target.spec.threads_per_warp[0]
        simulate(module, symbol, (1, 1, 1), [*columns, result], num_threads=threads, threads_per_warp=lanes)
    wanted = exact(name, *columns)
    if width == 32 and name in FLUSHED:
        least = np.finfo(np.float32).tiny * (1 + 1e-6)
        with np.errstate(over="ignore"):
            tiny = np.array([abs(float(w)) < least for w in wanted])
        assert (np.abs(result[tiny]) < least).all()
        columns, result = [c[~tiny] for c in columns], result[~tiny]
        wanted = [w for w, flushed in zip(wanted, tiny, strict=True) if not flushed]
    errors = ulp_errors(result, wanted)
    worst = int(errors.argmax())
    shown = [c[worst] for c in columns]
    assert errors[worst] <= BOUNDS[name, width], (
        f"{name}{shown} is {result[worst]!r}, {errors[worst]} ulp off"
    )


def test_rsqrt_is_one_instruction_of_the_hardware() -> None:
    @tri.jit
    def roots(x, n: tl.constexpr):
        i = tl.arange(0, n)
        tl.store(x + i, tl.rsqrt(tl.load(x + i)))

    with tri.target("amd:gfx942"):
        code = str(roots.warmup(tl.float32, 64, grid=(1,), num_warps=1).asm["amdgcn"])
    assert code.count("v_rsq_f32") == 1
    for other in ("v_sqrt_f32", "v_div_", "v_rcp_f32"):
        assert other not in code
