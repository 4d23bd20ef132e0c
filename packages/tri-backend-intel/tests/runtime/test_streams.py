"""Streams that a launch names: what is read as one, and which can be the current one in a block."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tri_backend_intel.runtime import IntelRuntime, streams
from tri_core.api import DeviceInfo, LaunchError, Unsupported
from tri_runtime import Stream

DEVICE = DeviceInfo("sycl", 0, "pvc", "a GPU")


@pytest.mark.parametrize(
    "given",
    [
        77,
        SimpleNamespace(sycl_queue=77, device_index=0),
        SimpleNamespace(addressof_ref=lambda: 77),
        Stream(DEVICE, 77),
    ],
    ids=["handle", "PyTorch", "dpctl", "tri"],
)
def test_streams_of_libraries(given: Any) -> None:
    assert IntelRuntime().stream_handle(given, DEVICE) == 77
    assert streams.handle_of(0, None) == 0


@pytest.mark.parametrize("wrong", ["fast", True, -1, 1 << 64, object(), SimpleNamespace(sycl_queue="s")])
def test_what_is_no_stream(wrong: Any) -> None:
    with pytest.raises(LaunchError, match="which is no stream") as caught:
        streams.handle_of(wrong, DEVICE)
    assert "sycl::queue" in (caught.value.remedy or "")


def test_a_stream_of_another_device_is_refused() -> None:
    with pytest.raises(LaunchError, match="stream= is of sycl:1, the arguments are on sycl:0"):
        streams.handle_of(SimpleNamespace(sycl_queue=77, device_index=1), DEVICE)


def test_without_pytorch_only_the_devices_own_queue_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    for stream in (0, 5):
        with streams.current(stream, 5, 0):
            pass
    with pytest.raises(Unsupported, match="queue of the caller's cannot be made the current one"):
        streams.current(6, 5, 0)


@pytest.mark.parametrize("is_able", [True, False])
def test_pytorchs_own_is_made_current(is_able: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def entered(stream: Any) -> Any:
        made.append(stream)
        return nullcontext()

    xpu = SimpleNamespace(
        is_initialized=lambda: True,
        current_stream=lambda index: SimpleNamespace(sycl_queue=5),
        stream=entered,
    )
    if is_able:
        xpu.get_stream_from_external = lambda *given: given
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(xpu=xpu))
    with streams.current(5, 9, 0):
        assert not made
    if is_able:
        with streams.current(6, 9, 0):
            assert made == [(6, 0)]
    else:
        with pytest.raises(Unsupported):
            streams.current(6, 9, 0)
