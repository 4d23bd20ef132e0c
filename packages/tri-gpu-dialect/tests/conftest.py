from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tri_gpu_dialect.dialect  # noqa: F401  registers ttg
from tri_core.api import CommonOptions, Pass, StageContext, Target, TargetKey, TargetSpec
from tri_core.dialects.tt import TT
from tri_core.mlir import ir, registry, session
from tri_gpu_dialect.passes import ConvertTritonToTritonGPU, VerifyLayouts


# a module at a time: whoever holds the session keeps other packages' threads from compiling
@pytest.fixture(scope="module", autouse=True)
def _dialects() -> Iterator[None]:
    registry.add_dialect(TT)
    with session():
        yield


@pytest.fixture(scope="session")
def kernel() -> Callable[[str], str]:
    """The TTIR of an example kernel, as the front end makes it."""

    def read(name: str) -> str:
        return (Path(__file__).parent / "kernels" / f"{name}.mlir").read_text()

    return read


TARGET = Target(
    key=TargetKey("made-up", "m1"), spec=TargetSpec(threads_per_warp=(32,), limits={"shared": 65536})
)


class NoCodegen:
    def compile(self, request: object) -> object:
        raise AssertionError("no pass generates code")


@pytest.fixture(scope="session")
def context() -> StageContext:
    return StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=NoCodegen())  # type: ignore[arg-type]


Run = Callable[..., ir.Module]


@pytest.fixture(scope="session")
def run(context: StageContext) -> Run:
    """Parses TTIR text, gives it layouts, applies passes (verifying after each) and returns the module."""

    # ops found by walking do not keep their module alive
    kept: list[ir.Module] = []

    def apply(text: str, *passes: Pass, num_warps: int = 4, lanes: int = 32) -> ir.Module:
        module = ir.Module.parse(text)
        kept.append(module)
        convert = ConvertTritonToTritonGPU(target="made-up:m1", num_warps=num_warps, threads_per_warp=lanes)
        for step in (convert, *passes):
            step.apply(module, context)
            VerifyLayouts().apply(module, context)
            assert module.operation.verify()
        return module

    return apply
