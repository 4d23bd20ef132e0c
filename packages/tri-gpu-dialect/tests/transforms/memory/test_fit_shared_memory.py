"""What is done about dots whose buffers are too large; ``filecheck/fit_shared_memory.mlir`` shows one that is cut."""

from __future__ import annotations

import pytest

from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.passes import FitSharedMemory, RemoveLayoutConversions, StageDotOperands


def names(module) -> list[str]:  # type: ignore[no-untyped-def]
    return [op.name for op in all_ops(module.operation)]


@pytest.mark.parametrize(
    ("limit", "shortest", "dots"),
    # buffers of 64x32 and 32x64 f16: 5 and 5 KiB
    [(1 << 16, 16, ["ttg.local_dot"]), (6000, 16, ["ttg.local_dot"] * 2), (6000, 32, ["tt.dot"])],
)
def test_as_little_as_is_needed(run, kernel, context, limit: int, shortest: int, dots: list[str]) -> None:  # type: ignore[no-untyped-def]
    module = run(kernel("matmul"), StageDotOperands(unrolled=0), RemoveLayoutConversions())
    spec = type(context.target.spec)(threads_per_warp=(32,), limits={"shared": limit})
    target = type(context.target)(key=context.target.key, spec=spec)
    where = type(context)(target=target, options=context.options, kernel_name="f", codegen=context.codegen)
    FitSharedMemory(shortest=shortest).apply(module, where)
    assert [n for n in names(module) if n in ("tt.dot", "ttg.local_dot")] == dots
    assert module.operation.verify()
