"""The target in use, as code for Triton expects it: PyTorch's accelerator where nothing else is said."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tri_core.target import Target

__all__ = ["TORCH_NAMES", "current_target", "torch_has"]

#: PyTorch's names of device modules, where they are not tri's kinds
TORCH_NAMES = {"hip": "cuda", "sycl": "xpu"}


def current_target() -> Target:
    """The target in use: of a ``tri.target`` block, of TRI_TARGET, else that of PyTorch's accelerator.

    Where PyTorch is imported and has no accelerator, kernels get its CPU tensors, so it is the CPU's; where
    it is not imported, that of the preferred live device.
    """
    from tri.context import chosen
    from tri_core import knobs
    from tri_core.target_selection import default, for_host, resolve

    choice = chosen()
    if choice is not None:
        return choice.target
    if knobs.get("TARGET") is not None or "torch" not in sys.modules:
        return default() if knobs.get("TARGET") is None else resolve(None)
    found = default()
    return found if torch_has(found.device_kind) else for_host()


def torch_has(kind: str) -> bool:
    """Whether PyTorch is imported and has an accelerator of tri's ``kind``."""
    module = getattr(sys.modules.get("torch"), TORCH_NAMES.get(kind, kind), None)
    available = getattr(module, "is_available", None)
    return bool(available is not None and available())
