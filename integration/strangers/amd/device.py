"""A stand-in for AMD's GPU: what packages ask about the architecture is answered, and nothing runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from unittest import mock

import torch

import tri
from integration.published.guards import guarded

__all__ = ["standing_in"]

#: compute units of the GPU that an architecture is best known by
_UNITS = {"gfx942": 304, "gfx950": 256, "gfx1201": 32}


@contextmanager
def standing_in(architecture: str) -> Iterator[None]:
    """Answer with ``architecture`` where Triton's driver, PyTorch, or aiter's own query is asked; tensors are in host memory."""
    units = _UNITS[architecture]
    properties = SimpleNamespace(
        gcnArchName=f"{architecture}:sramecc+:xnack-", multi_processor_count=units, major=9, minor=4,
        total_memory=1 << 37, name=architecture, warp_size=64,
    )  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(guarded("cpu"))
        answers = {
            "get_device_properties": lambda device=None: properties,
            "get_device_capability": lambda device=None: (9, 4),
            "is_available": lambda: True,
        }
        for name, value in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, value))
        stack.enter_context(mock.patch.object(torch.version, "hip", "7.0"))
        # aiter's own query reads these before it asks for a driver
        stack.enter_context(mock.patch.dict(os.environ, {"GPU_ARCHS": architecture, "CU_NUM": str(units)}))
        stack.enter_context(tri.target(f"amd:{architecture}"))
        yield
