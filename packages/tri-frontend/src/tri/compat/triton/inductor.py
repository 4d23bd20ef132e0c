"""A backend's word in PyTorch's Inductor: numbers of its device and heuristics, of the hook ``tri_inductor``.

PyTorch asks an *interface* of each type of device, and its registries for configurations.  A vendor's extension of PyTorch calls
:func:`contribute` before the first graph is compiled; nothing is contributed otherwise, whatever is installed.  Names of templates:
:data:`tri.compat.triton.inductor_heuristics.TEMPLATES`.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tri.compat.triton.dtypes import canonicalize_dtype
from tri.compat.triton.inductor_choices import Contribution, choose
from tri.compat.triton.inductor_heuristics import heuristics, register_templates
from tri_core import forks
from tri_core.errors import TargetError, TriError, Unsupported

if TYPE_CHECKING:
    from tri_core.plugin_records import InductorInfo, InductorProperties
    from tri_core.target import DeviceInfo, Target

__all__ = ["contribute", "contributed", "device_interface"]

_lock = forks.RLock()
#: PyTorch's types of devices -> the names of targets that speak for them
_contributed: dict[str, str] = {}


def contributed() -> MappingProxyType[str, str]:
    """PyTorch's types of devices that a target spoke for in this process, with the target's name."""
    return MappingProxyType(_contributed)


def contribute(target: str | Target) -> InductorInfo:
    """Tell Inductor what the backend of ``target`` says of it; what it says.  Needs PyTorch, and asks no driver.

    The device's interface is registered where PyTorch and the program have none, configurations of templates and kernels with
    PyTorch's registries; a type of device with templates counts as a GPU.  Call it before the first graph is compiled: PyTorch
    keeps what it found then.  Once more for the same target does nothing.  Raises Unsupported where the backend has no hook
    ``tri_inductor`` or this PyTorch no place for what it says, PluginError for configurations that no template has, TriError if
    another target speaks for the type of device already.
    """
    resolved, info = _asked(target)
    with _lock:
        before = _contributed.get(info.device_type)
        if before == str(resolved):
            return info
        if before is not None:
            raise TriError(
                f"{before} speaks for PyTorch's devices {info.device_type!r} already",
                remedy="contribute one target in a process; its options choose what differs between devices",
            )
        _register(resolved, info)
        _contributed[info.device_type] = str(resolved)
    return info


def _asked(target: str | Target) -> tuple[Target, InductorInfo]:
    from tri_core.plugins import manager
    from tri_core.target_selection import resolve

    resolved = resolve(target)
    if resolved.key.features:
        raise Unsupported(
            f"{resolved.key} has modes or features, which PyTorch's Inductor cannot name",
            remedy=f"contribute {resolved.key.backend}:{resolved.key.arch}",
        )
    return resolved, manager().inductor(resolved)


def _register(target: Target, info: InductorInfo) -> None:
    made = heuristics(info)  # refuses before anything is registered
    if made is not None or info.configuration is not None:
        choose(Contribution(str(target), info, made))
    if made is not None:
        register_templates(info, made)
        gpus = importlib.import_module("torch._inductor.utils").GPU_TYPES
        if info.device_type not in gpus:
            gpus.append(info.device_type)
    interfaces = importlib.import_module("torch._dynamo.device_interface")
    if info.device_type not in dict(interfaces.get_registered_device_interfaces()):
        interfaces.register_interface_for_device(info.device_type, device_interface(target))


def device_interface(target: str | Target) -> type[Any]:
    """PyTorch's ``DeviceInterface`` for ``target``, as far as tri knows the answers; a vendor's class derives from it.

    Properties, capability and dtypes are the target's, also in processes without a driver; presence, streams and waiting are asked of
    the backend's runtime.  Events, ``Stream`` and the ``device`` guard are those of the vendor's extension of PyTorch.
    """
    resolved, info = _asked(target)
    base = importlib.import_module("torch._dynamo.device_interface").DeviceInterface
    return type("TriInterface", (_Interface, base), {"target": resolved, "Worker": _worker(info.properties)})


def _worker(properties: InductorProperties) -> type[Any]:
    """Answers of processes that compile, which must start no driver."""

    class Worker:
        current = 0

        @classmethod
        def set_device(cls, device: int) -> None:
            cls.current = device

        @classmethod
        def current_device(cls) -> int:
            return cls.current

        @staticmethod
        def get_device_properties(device: Any = None) -> InductorProperties:
            del device
            return properties

    return Worker


class _Interface:
    """Methods of PyTorch's ``DeviceInterface`` that a target answers."""

    target: Target

    @classmethod
    def get_compute_capability(cls, device: Any = None) -> str:
        """The architecture: Inductor hands it back as that of the target to compile for."""
        del device
        return cls.target.key.arch

    @classmethod
    def is_bf16_supported(cls, including_emulation: bool = False) -> bool:
        """True if kernels compute on bfloat16 by the hardware, or by code where that counts."""
        spec = cls.target.spec
        return "bf16" in spec.dtypes or (including_emulation and "bf16" in spec.emulated_dtypes)

    @classmethod
    def is_dtype_supported(cls, dtype: Any, including_emulation: bool = False) -> bool:
        """True if kernels compute on PyTorch's ``dtype``; one that no kernel has is not supported."""
        spec = cls.target.spec
        try:
            name = canonicalize_dtype(dtype)
        except KeyError:
            return False
        name = "i1" if name == "u1" else name
        return name in spec.dtypes or (including_emulation and name in spec.emulated_dtypes)

    @staticmethod
    def is_triton_capable(device: Any = None) -> bool:
        """True: kernels in Triton's language are what the target compiles."""
        del device
        return True

    @classmethod
    def raise_if_triton_unavailable(cls, device: Any = None) -> None:
        """Nothing: the backend is installed, or nobody had this class."""
        del device

    @classmethod
    def _devices(cls) -> list[DeviceInfo]:
        from tri_core.plugins import manager

        return [d for d in manager().probe(cls.target.key.backend) if d.kind == cls.target.device_kind]

    @classmethod
    def device_count(cls) -> int:
        """Number of devices that the backend finds."""
        return len(cls._devices())

    @classmethod
    def is_available(cls) -> bool:
        """True if the backend finds a device."""
        return cls.device_count() > 0

    @classmethod
    def current_device(cls) -> int:
        """Index that :meth:`set_device` chose, 0 at first."""
        worker: Any = cls.Worker  # type: ignore[attr-defined]
        index: int = worker.current_device()
        return index

    @classmethod
    def set_device(cls, device: int) -> None:
        """Choose the device for :meth:`current_device`."""
        worker: Any = cls.Worker  # type: ignore[attr-defined]
        worker.set_device(device)

    @classmethod
    def get_raw_stream(cls, device_idx: int) -> int:
        """Handle of the stream that the runtime launches on; TargetError where no such device is present."""
        from tri_core.plugins import manager

        for device in cls._devices():
            if device.index == device_idx:
                return manager().runtime(cls.target.device_kind).current_stream(device)
        raise TargetError(
            f"no device {cls.target.device_kind}:{device_idx} is present",
            remedy="`tri targets` lists those that are",
        )

    @classmethod
    def synchronize(cls, device: Any = None) -> None:
        """Wait for all work of the runtime; raises DeviceError for asynchronous failures."""
        from tri_core.plugins import manager

        del device
        manager().runtime(cls.target.device_kind).synchronize()
