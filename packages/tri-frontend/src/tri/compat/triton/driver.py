"""``triton.runtime.driver``: the device in use, asked the way that Triton's users ask."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tri.compat.triton.current import TORCH_NAMES, active_backend, current_target, prefer, torch_has
from tri.compat.triton.targets import GPUTarget, gpu_target, torch_kind
from tri_core.errors import LaunchError, Unsupported

if TYPE_CHECKING:
    from tri_core.runtime import Runtime
    from tri_core.target import Target

__all__ = [
    "ACTIVE",
    "CONFIG",
    "ActiveDriver",
    "DriverConfig",
    "current_target",
    "driver_class",
    "max_shared_mem",
    "reset_active",
    "set_active",
]


def _owner() -> Runtime:
    from tri_runtime import runtime

    return runtime(current_target().device_kind)


class ActiveDriver:
    """The driver of the target in use; every method asks anew, so that it follows ``tri.target`` blocks."""

    #: set by :func:`driver_class`: the backend that it stands for
    backend: str | None = None

    def __init__(self) -> None:
        self.utils = DeviceUtils()

    def __getattr__(self, name: str) -> Any:
        if name == "launcher_cls":
            raise Unsupported(
                "tri's launchers are made by its runtimes", remedy="launch through kernel[grid](...)"
            )
        raise AttributeError(f"the driver has no attribute {name!r}; see docs/compat.md for those there are")

    @classmethod
    def is_active(cls) -> bool:
        """True if the target in use belongs to this driver's backend; no driver is called if PyTorch can
        decide.
        """
        return cls.backend is None or active_backend() == cls.backend

    def get_current_target(self) -> GPUTarget:
        """The target in use, in Triton's words."""
        return gpu_target(current_target())

    def get_active_torch_device(self) -> Any:
        """PyTorch's device for the target in use."""
        import importlib

        torch = importlib.import_module("torch")
        kind = torch_kind(current_target())
        if kind == "cpu":
            return torch.device(kind)  # tensors say no index of it
        return torch.device(TORCH_NAMES.get(kind, kind), self.get_current_device())

    def get_current_device(self) -> int:
        """The index of the current device."""
        module = self._torch_module()
        return int(module.current_device() if module is not None else _owner().current_device().index)

    def set_current_device(self, index: int) -> None:
        """Make device ``index`` current."""
        module = self._torch_module()
        if module is not None:
            module.set_device(index)
        else:
            _owner().set_device(index)

    def get_current_stream(self, device: int | None = None) -> int:
        """The handle of the stream that launches use now; 0 where there are no streams."""
        owner = _owner()
        index = self.get_current_device() if device is None else int(device)
        found = next((d for d in owner.devices() if d.index == index), None)
        return 0 if found is None else owner.current_stream(found)

    def get_device_interface(self) -> Any:
        """PyTorch's module of the device (``current_device``, ``synchronize``, ``Event``), or one like it."""
        return self._torch_module() or HostInterface()

    @staticmethod
    def _torch_module() -> Any:
        kind = torch_kind(current_target())
        if kind == "cpu" or not torch_has(kind):
            return None
        return getattr(sys.modules["torch"], TORCH_NAMES.get(kind, kind))

    def get_benchmarker(self) -> Callable[..., Any]:
        """``triton.testing.do_bench``."""
        import importlib

        benchmark: Callable[..., Any] = importlib.import_module("tri.testing").do_bench
        return benchmark

    def get_empty_cache_for_benchmark(self) -> Any:
        """256 MiB on the device: writing them empties its caches."""
        import importlib

        torch = importlib.import_module("torch")
        return torch.empty(1 << 28, dtype=torch.int8, device=self.get_active_torch_device())

    def clear_cache(self, cache: Any) -> None:
        """Write ``cache``."""
        cache.zero_()


class DeviceUtils:
    """Stand-in for Triton's C helper module."""

    def get_device_properties(self, index: int | None = None) -> dict[str, int]:
        """Limits of device ``index``: Triton's keys, those that the target or its driver tells; KeyError says which those are."""
        target = current_target()
        limits = target.spec.limits
        warps = target.spec.threads_per_warp
        facts = {
            "max_shared_mem": limits.get("shared", 0),
            "max_num_regs": limits.get("registers", 0) * limits.get("threads", 0),
            "multiprocessor_count": _multiprocessors(target, index),
            "warpSize": warps[0] if warps else 1,
        }
        return _Properties(str(target.key), {name: value for name, value in facts.items() if value})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"tri's driver has no {name!r}: kernels are loaded and launched by its runtimes")


class _Properties(dict[str, int]):
    """Properties of a device."""

    def __init__(self, device: str, facts: dict[str, int]) -> None:
        super().__init__(facts)
        self._device = device

    def __missing__(self, name: str) -> int:
        raise KeyError(f"{name}: {self._device} has no such limit; it has {', '.join(self)}")


def _multiprocessors(target: Target, index: int | None) -> int:
    if torch_kind(target) == "cpu":
        return os.cpu_count() or 1
    if torch_has(target.device_kind):
        module = getattr(sys.modules["torch"], TORCH_NAMES.get(target.device_kind, target.device_kind))
        properties = module.get_device_properties(index)
        names = ("multi_processor_count", "max_compute_units", "gpu_subslice_count")
        return int(next((n for name in names if (n := getattr(properties, name, None))), 0))
    return 0


class HostInterface:
    """The device interface of a target that PyTorch has no module for: synchronous, one device."""

    @staticmethod
    def is_available() -> bool:
        """True."""
        return True

    @staticmethod
    def device_count() -> int:
        """One."""
        return 1

    @staticmethod
    def current_device() -> int:
        """Device 0."""
        return 0

    @staticmethod
    def set_device(index: Any) -> None:
        """Accepts device 0; LaunchError for another."""
        number = getattr(index, "index", index)
        if number not in (0, None):
            raise LaunchError(f"device {index} was asked for; there is device 0")

    @staticmethod
    @contextmanager
    def device(index: Any) -> Iterator[None]:
        """A guard that has nothing to do."""
        HostInterface.set_device(index)
        yield

    @staticmethod
    def synchronize(device: Any = None) -> None:
        """Wait for the device's work."""
        del device
        _owner().synchronize()

    @staticmethod
    def current_stream(device: Any = None) -> Any:
        """The one stream."""
        del device
        return SimpleNamespace(cuda_stream=0, stream_id=0)

    class Event:
        """A point in time: launches have finished when they return, or are waited for."""

        def __init__(self, enable_timing: bool = False, **unused: Any) -> None:
            del enable_timing, unused
            self._seconds = 0.0

        def record(self, stream: Any = None) -> None:
            """Now, after all work."""
            HostInterface.synchronize()
            self._seconds = time.perf_counter()

        def synchronize(self) -> None:
            """Nothing is left to wait for."""

        def elapsed_time(self, end: HostInterface.Event) -> float:
            """Milliseconds until ``end``."""
            return (end._seconds - self._seconds) * 1e3


ACTIVE = ActiveDriver()


def driver_class(backend: str) -> type[ActiveDriver]:
    """The class of the driver of ``backend``, for ``isinstance(driver.active, ...)`` and ``is_active()``."""
    return type(f"{backend.title()}Driver", (_OfBackend,), {"backend": backend})


class _BackendMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, ActiveDriver):
            return False
        backend = getattr(cls, "backend", None)
        return (instance.backend or active_backend()) == backend


class _OfBackend(ActiveDriver, metaclass=_BackendMeta):
    """A driver of one backend."""


def set_active(driver: Any) -> None:
    """Have the backend of ``driver`` in use where neither ``tri.target`` nor TRI_TARGET chooses; arguments choose for themselves.

    Unsupported for a driver that is not tri's.
    """
    if not isinstance(driver, ActiveDriver):
        raise Unsupported(
            f"{driver!r} is no driver of tri's",
            remedy="use one of triton.backends.backends, or choose with tri.target(...) or TRI_TARGET",
        )
    if driver.backend is not None:
        prefer(driver.backend)


def reset_active() -> None:
    """Forget the driver that was made active: it follows PyTorch's accelerator."""
    prefer(None)


class DriverConfig:
    """``triton.runtime.driver``, the object: ``active`` and ``default`` are the driver in use."""

    active = ACTIVE
    default = ACTIVE
    set_active = staticmethod(set_active)
    reset_active = staticmethod(reset_active)


CONFIG = DriverConfig()


def max_shared_mem(device: int) -> int:
    """Bytes of shared memory that a program may use; 0 where there is no such memory."""
    del device
    return int(current_target().spec.limits.get("shared", 0))
