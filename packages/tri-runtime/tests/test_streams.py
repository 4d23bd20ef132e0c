"""Streams that a launch names: handles in range, and of the launch's device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tri_core.api import DeviceInfo, LaunchError
from tri_runtime import Stream, check_stream_device, stream_handle_in_range

DEVICE, OTHER = (DeviceInfo("toy", index, "t1", "a device") for index in range(2))


def test_a_handle_is_an_address() -> None:
    assert stream_handle_in_range(77, object(), "pass another") == 77
    for wrong in (None, True, -1, 1 << 64, "77"):
        with pytest.raises(LaunchError, match="stream= is 'it', which is no stream") as caught:
            stream_handle_in_range(wrong, "it", "pass another")
        assert caught.value.remedy == "pass another"


@pytest.mark.parametrize(
    "stream", [Stream(OTHER, 7), SimpleNamespace(device_index=1), SimpleNamespace(device_id=1)]
)
def test_a_stream_of_another_device_is_refused(stream: Any) -> None:
    with pytest.raises(LaunchError, match="stream= is of toy:1, the arguments are on toy:0"):
        check_stream_device(stream, DEVICE)
    check_stream_device(stream, OTHER)
    check_stream_device(stream, None)


def test_a_stream_without_a_device_passes() -> None:
    check_stream_device(object(), DEVICE)
    check_stream_device(SimpleNamespace(device_index=-1), DEVICE)
