"""Every pass has a file ``filecheck/<pass>.mlir``: what goes in, and beside it what must come out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from intel_support import target_of
from tri_backend_intel import transforms
from tri_backend_intel.dialect import TTIG
from tri_backend_intel.options import IntelOptions
from tri_backend_intel.pipeline import policy
from tri_core.api import CommonOptions, StageContext, Target, TargetKey, TargetSpec
from tri_core.dialects.tt import TT
from tri_core.mlir import ir, registry, session
from tri_core.testing import filecheck
from tri_gpu_dialect.dialect import TTG
from tri_gpu_dialect.passes import VerifyLayouts

FILES = Path(__file__).parent / "filecheck"
PASSES = {getattr(transforms, name).name: getattr(transforms, name) for name in transforms.__all__}
TARGET = Target(key=TargetKey("intel", "pvc"), spec=TargetSpec(threads_per_warp=(16,)))
CONTEXT = StageContext(target=TARGET, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
#: what a pass is made with
GIVEN = {"load-down-columns": {"policy": policy(target_of("pvc"), IntelOptions())}}


@pytest.fixture(scope="module", autouse=True)
def _dialects() -> Iterator[None]:
    for dialect in (TT, TTG, TTIG):
        registry.add_dialect(dialect)
    with session():
        yield


@pytest.mark.parametrize("path", sorted(FILES.glob("*.mlir")), ids=lambda p: p.stem)
def test_file(path: Path) -> None:
    text = path.read_text()
    run = next(line.removeprefix("// RUN: ") for line in text.splitlines() if line.startswith("// RUN: "))
    module = ir.Module.parse(text)
    for name in run.split(", "):
        PASSES[name](**GIVEN.get(name, {})).apply(module, CONTEXT)
        VerifyLayouts().apply(module, CONTEXT)
    filecheck(str(module), text)


def test_every_pass_has_a_file() -> None:
    assert {name.replace("-", "_") for name in PASSES} == {p.name.split(".")[0] for p in FILES.glob("*.mlir")}
