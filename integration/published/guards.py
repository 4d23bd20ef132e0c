"""Device guards of PyTorch that kernels' launchers use, for tensors in host memory.

Launchers written for one vendor's GPUs ask ``torch.cuda`` for the current device and enter ``torch.cuda.device``
around a launch.  With tensors on the CPU there is nothing to guard; these stand in while the cases run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch

__all__ = ["guarded", "taken_for_a_gpus"]


def _no_guard(*unused: Any, **unused_too: Any) -> Any:
    return nullcontext()


class _Philox:
    """A generator as PyTorch has for a GPU: its state is a seed and an offset."""

    def __init__(self) -> None:
        self._state = torch.tensor([0x1234567, 0]).view(torch.uint8)

    def get_state(self) -> torch.Tensor:
        """Seed and offset, 16 bytes."""
        return self._state.clone()

    def set_state(self, state: torch.Tensor) -> None:
        """As :meth:`get_state` gave it."""
        self._state = state.clone()


_ON_HOST = {
    "device": _no_guard,
    "device_of": _no_guard,
    "current_device": lambda: 0,
    "device_count": lambda: 1,
    "default_generators": (_Philox(),),
    "get_device_name": lambda device=None: "host",
    "get_device_capability": lambda device=None: (8, 0),
    "get_device_properties": lambda device=None: SimpleNamespace(
        multi_processor_count=os.cpu_count(), major=8, minor=0, total_memory=1 << 34
    ),
    "synchronize": lambda device=None: None,
    "is_current_stream_capturing": lambda: False,
}


@contextmanager
def guarded(device: str) -> Iterator[None]:
    """For tensors on the CPU, ``torch.cuda``'s guards do nothing; for others they stay as they are."""
    with ExitStack() as stack:
        if device == "cpu":
            for name, value in _ON_HOST.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, value))
        yield


@contextmanager
def taken_for_a_gpus() -> Iterator[None]:
    """``is_cuda`` holds for all tensors: launchers that look at nothing else go on."""
    with mock.patch.object(torch.Tensor, "is_cuda", True):
        yield
