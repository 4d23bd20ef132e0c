"""Policies are records whose fields are checked when they are made."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tri_core.errors import PluginError
from tri_gpu_dialect.policies.gpu import AsyncPolicy, DefaultPolicy, DotPolicy, PipelinePolicy, Specialization
from tri_gpu_dialect.testing.block_copies import BLOCK_COPY_POLICY
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy, ThroughRegisters


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        (AsyncPolicy, {"ping_pong": "yes"}),
        (AsyncPolicy, {"registers": True}),
        (AsyncPolicy, {"block_copies": object()}),
        (AsyncPolicy, {"producer": 1}),
        (PipelinePolicy, {"loads": "registers"}),
        (PipelinePolicy, {"loads": (32, 64)}),
        (AsyncCopy, {"bits": [32, 64]}),
        (AsyncCopy, {"bits": (32, "64")}),
        (ThroughRegisters, {"stages": 2.5}),
        (DotPolicy, {"instructions": (1,)}),
        (Specialization, {"registers": (240,)}),
        (DefaultPolicy, {"dots": PipelinePolicy()}),
    ],
    ids=lambda given: given.__name__ if isinstance(given, type) else "-".join(given),
)
def test_ill_typed_fields_are_refused(record: type[Any], fields: dict[str, Any]) -> None:
    (name,) = fields
    with pytest.raises(PluginError, match=rf"{record.__name__}\.{name} is .* is expected") as error:
        record(**fields)
    assert error.value.plugin == "tri_gpu_dialect"
    assert error.value.remedy
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_misspelt_fields_are_refused() -> None:
    with pytest.raises(PluginError, match="AsyncPolicy has no field 'pingpong'") as error:
        AsyncPolicy(pingpong=True)
    assert error.value.remedy == "did you mean ping_pong?"
    with pytest.raises(PluginError, match="has no field 'colour'") as error:
        DefaultPolicy(colour="blue")
    assert "dots" in str(error.value.remedy)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_families_are_checked_in_turn() -> None:
    assert DefaultPolicy(async_units=AsyncPolicy(registers=168, ping_pong=False)).async_units.registers == 168
    assert MATRIX_POLICY.dots.instructions
    assert BLOCK_COPY_POLICY.async_units.block_copies is not None
