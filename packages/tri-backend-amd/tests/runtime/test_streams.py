"""Streams that a launch names: what is read as one, and which is the current one in a block."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tri_backend_amd.runtime import HipRuntime, streams
from tri_core.api import DeviceInfo, LaunchError
from tri_runtime import Stream

DEVICE = DeviceInfo("hip", 0, "gfx942", "a GPU")


@pytest.mark.parametrize(
    "given",
    [77, SimpleNamespace(cuda_stream=77, device_index=0), SimpleNamespace(ptr=77), Stream(DEVICE, 77)],
    ids=["handle", "PyTorch", "CuPy", "tri"],
)
def test_streams_of_libraries(given: Any) -> None:
    assert HipRuntime().stream_handle(given, DEVICE) == 77
    assert HipRuntime().stream_handle(0, None) == 0


@pytest.mark.parametrize("wrong", ["fast", True, -1, 1 << 64, object(), SimpleNamespace(cuda_stream="s")])
def test_what_is_no_stream(wrong: Any) -> None:
    with pytest.raises(LaunchError, match="which is no stream") as caught:
        streams.handle_of(wrong, DEVICE)
    assert "its handle" in (caught.value.remedy or "")


def test_a_stream_of_another_device_is_refused() -> None:
    with pytest.raises(LaunchError, match="stream= is of hip:1, the arguments are on hip:0"):
        streams.handle_of(SimpleNamespace(cuda_stream=77, device_index=1), DEVICE)


def test_the_current_one_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    runtime = HipRuntime()
    with runtime.on_stream(5, DEVICE):
        assert runtime.current_stream(DEVICE) == 5
        with runtime.on_stream(6, DEVICE):
            assert runtime.current_stream(DEVICE) == 6
        assert runtime.current_stream(DEVICE) == 5
    assert runtime.current_stream(DEVICE) == 0


def test_pytorchs_own_is_made_current_where_it_uses_hip(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def entered(stream: Any) -> Any:
        made.append(stream)
        return nullcontext()

    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        ExternalStream=lambda *given: given,
        default_stream=lambda index: ("default", index),
        stream=entered,
    )
    torch = SimpleNamespace(version=SimpleNamespace(hip="7.0"), cuda=cuda)
    monkeypatch.setitem(sys.modules, "torch", torch)
    for stream in (5, 0):
        with HipRuntime().on_stream(stream, DEVICE):
            pass
    assert made == [(5, 0), ("default", 0)]
