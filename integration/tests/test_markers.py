"""The markers that passes leave for each other are registered, by passes that there are."""

from __future__ import annotations

import random

import pytest

import tri_backend_nvidia.pipeline  # noqa: F401  as the others: their markers
import tri_gpu_dialect.passes  # noqa: F401  as well
from integration.programs.code import code
from integration.programs.table import choices_of, sample
from tri_core.ir.markers import markers
from tri_core.mlir import registry
from tri_core.plugins import manager

#: parts that are no passes
_PARTS = {"analysis", "frontend", "lowering", "stage", "text"}


def test_who_writes_reads_and_removes_a_marker_exists() -> None:
    manager().register_ir(registry)
    known = {*registry.passes, *_PARTS}
    for marker in markers().values():
        unknown = {*marker.written, *marker.read, *marker.removed} - known
        assert not unknown, f"{marker.name}: {sorted(unknown)}"


@pytest.mark.parametrize("target", ["nvidia:sm_90a", "nvidia:sm_100a", "amd:gfx942", "intel:bmg"])
def test_programs_carry_no_others(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verified after each pass."""
    monkeypatch.setenv("TRI_VERIFY", "1")
    for choice in random.Random(5).sample(sample(choices_of(target)), 6):
        code(target, choice)
