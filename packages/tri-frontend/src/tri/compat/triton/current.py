"""The target in use, as code for Triton expects it: PyTorch's accelerator where nothing else is said."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_core.target import Target

__all__ = ["TORCH_NAMES", "active_backend", "current_target", "prefer", "torch_has"]

#: PyTorch's names of device modules, where they are not tri's kinds
TORCH_NAMES = {"hip": "cuda", "sycl": "xpu"}
#: and of what it was built for, in ``torch.version``
_BUILT_FOR = {"sycl": "xpu"}

#: the backend whose driver a program made active: of the whole process, as in Triton
_preferred: str | None = None


def prefer(backend: str | None) -> None:
    """Have ``backend`` in use wherever neither a ``tri.target`` block nor TRI_TARGET chooses; None: nobody chose."""
    global _preferred
    _preferred = backend


def current_target() -> Target:
    """The target in use: of a ``tri.target`` block, of TRI_TARGET, of the driver made active, else that of PyTorch's accelerator.

    Where PyTorch is imported and has no accelerator, kernels get its CPU tensors, so it is the CPU's; where
    it is not imported, that of the preferred live device.
    """
    from tri.context import chosen
    from tri_core import knobs
    from tri_core.target_selection import default, for_host, resolve

    choice = chosen()
    if choice is not None:
        return choice.target
    if knobs.get("TARGET") is not None:
        return resolve(None)
    if _preferred is not None:
        return resolve(_preferred)
    found = default()
    return found if "torch" not in sys.modules or torch_has(found.device_kind) else for_host()


def active_backend() -> str:
    """The backend of the target in use, without a call of a driver where PyTorch says what it was built for.

    Processes that only compile ask this (PyTorch's Inductor, in workers which must start no driver).
    """
    from tri.context import chosen
    from tri_core import knobs
    from tri_core.target import TargetKey

    choice = chosen()
    if choice is not None:
        return choice.target.key.backend
    named = knobs.get("TARGET")
    if named is not None:
        return TargetKey.parse(named).backend
    return _preferred or _torch_backend() or current_target().key.backend


def _torch_backend() -> str | None:
    """The backend of what PyTorch was built for or extended by; None where it is not imported or no backend is for that."""
    from tri_core.plugins import manager

    torch: Any = sys.modules.get("torch")
    version = getattr(torch, "version", None)
    extension = _extension(torch)
    for info in manager().backends().values():
        built_for = any(getattr(version, _BUILT_FOR.get(kind, kind), None) for kind in info.device_kinds)
        if built_for or extension in info.device_kinds:
            return info.name
    return None


def _extension(torch: Any) -> str | None:
    """The type of device that an extension of PyTorch brought (a renamed ``privateuseone``); None without one."""
    name = getattr(getattr(torch, "_C", None), "_get_privateuse1_backend_name", None)
    return None if name is None else str(name())


def torch_has(kind: str) -> bool:
    """True if PyTorch is imported and has an accelerator of tri's ``kind``."""
    module = getattr(sys.modules.get("torch"), TORCH_NAMES.get(kind, kind), None)
    available = getattr(module, "is_available", None)
    return bool(available is not None and available())
