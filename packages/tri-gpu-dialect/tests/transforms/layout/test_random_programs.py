"""Random tensor programs compute the same after all passes, in TTGIR and lowered in the simulator."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.api import CommonOptions
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.passes import AllocateSharedMemory, Coalesce, InsertBarriers, RemoveLayoutConversions
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.testing.evaluator import evaluate
from tri_gpu_dialect.testing.programs import INPUT, OUTPUT, programs
from tri_runtime.simulator import simulate

PASSES = (Coalesce(), RemoveLayoutConversions(), AllocateSharedMemory(), InsertBarriers())

Floats = npt.NDArray[np.float32]


def arrays() -> tuple[Floats, Floats]:
    source = np.random.default_rng(7).integers(-3, 4, INPUT).astype(np.float32)
    return source, np.full(OUTPUT, np.nan, np.float32)


def evaluated(module: ir.Module, condition: bool) -> Floats:
    source, made = arrays()
    evaluate(module.body.operations[0].operation, [source, made, 3, condition])
    return made


def simulated(module: ir.Module, condition: bool, warps: int, lanes: int) -> Floats:
    """What the lowered module computes; a race in shared memory is an error."""
    target, options = make_target(lanes), CommonOptions(num_warps=warps)
    words = ReferencePrimitives(target, options, threads_per_warp=lanes, num_warps=warps)
    lowered = lower(module, target, options, words, generic_table())
    source, made = arrays()
    simulate(
        lowered.module,
        lowered.name,
        (1, 1, 1),
        [source, made, 3, condition],
        num_threads=warps * lanes,
        threads_per_warp=lanes,
        shared_bytes=lowered.shared_bytes,
    )
    return made


def assert_same_numbers(made: np.ndarray, expected: np.ndarray) -> None:
    """Equal, but for the order of additions where dots of dots leave the integers that f32 holds."""
    largest = np.nanmax(np.abs(expected[np.isfinite(expected)]), initial=0.0)
    if largest < 2**24:
        np.testing.assert_array_equal(made, expected)
    else:
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-6 * largest)


@settings(max_examples=50)
@given(programs(), st.booleans(), st.sampled_from([1, 2, 4, 8]), st.sampled_from([16, 32, 64]))
def test_passes_keep_results(run, text: str, condition: bool, warps: int, lanes: int) -> None:  # type: ignore[no-untyped-def]
    expected = evaluated(ir.Module.parse(text), condition)
    assert np.isfinite(expected).any()
    np.testing.assert_array_equal(
        evaluated(run(text, *PASSES, num_warps=warps, lanes=lanes), condition), expected
    )


@settings(max_examples=8)
@given(programs(), st.booleans(), st.sampled_from([1, 4]), st.sampled_from([16, 32, 64]))
def test_threads_compute_the_same_without_races(  # type: ignore[no-untyped-def]
    run, text: str, condition: bool, warps: int, lanes: int
) -> None:
    expected = evaluated(ir.Module.parse(text), condition)
    module = run(text, *PASSES, num_warps=warps, lanes=lanes)
    assert_same_numbers(simulated(module, condition, warps, lanes), expected)
