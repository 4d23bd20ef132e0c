"""Share of Inductor's kernels that PyTorch launches without Python: its static launcher, for a GPU that is not here.

The sources of the cases are written for CPU tensors; said to be for a device they are compiled by the workers, which have no driver, and go
through the launcher's constructor there.  Kernels of users are left out: the launcher does not take them by default.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from torch._inductor.async_compile import AsyncCompile, _load_triton_kernel_from_source
from torch._inductor.runtime.compile_tasks import _worker_compile_triton

from tri_core.lazy_dataclasses import dataclass

__all__ = ["DEVICES", "H100", "WANTED", "Device", "Share", "recorded", "share"]

#: the least share
WANTED = 0.95
_DEVICE = re.compile(r"DeviceProperties\([^()]*\)")
_SECONDS = 300
_NOT_TAKEN = "not taken"


@dataclass(frozen=True)
class Device:
    """Device that kernels are compiled for: tri's ``target``, and its spelling by Inductor; ``is_launched``:
    PyTorch's static launcher takes images.
    """

    target: str
    type: str
    properties: str
    is_launched: bool = False

    def said_in(self, source: str) -> str:
        """``source`` for this device."""
        properties = f"DeviceProperties(type={self.type!r}, index=0, {self.properties})"
        drivers = ("set_driver_to_gpu", "set_driver_to_cpu")
        before, after = drivers if self.type == "cpu" else drivers[::-1]
        return _DEVICE.sub(properties, source).replace(before, after)


H100 = Device(
    "nvidia:sm_90a",
    "cuda",
    "multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32",
    is_launched=True,
)
#: by target
DEVICES = {
    device.target: device
    for device in (
        H100,
        Device(
            "amd:gfx942",
            "hip",
            "multi_processor_count=304, cc='gfx942', major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, "
            "warp_size=64",
            is_launched=True,
        ),
        Device("intel:pvc", "xpu", "multi_processor_count=448, cc='pvc', warp_size=32"),
        Device("cpu", "cpu", "multi_processor_count=2, cc=''"),
    )
}


@dataclass(frozen=True)
class Share:
    """Of ``device`` the number of ``kernels``, of those ``taken`` by the launcher in every version to choose from, and ``reasons`` for the others."""

    device: Device
    kernels: int
    taken: int
    reasons: tuple[str, ...]

    @property
    def refused(self) -> tuple[str, ...]:
        """Reasons of those that did not compile."""
        return tuple(reason for reason in self.reasons if not reason.endswith(_NOT_TAKEN))

    @property
    def is_enough(self) -> bool:
        """True if it reaches the goal."""
        return self.taken >= WANTED * self.kernels > 0

    def __str__(self) -> str:
        compiled = self.kernels - len(self.refused)
        said = f"{self.device.target}: {compiled} of {self.kernels} kernels compiled"
        if self.device.is_launched:
            said += f", {self.taken} taken by the static launcher"
        return said + "".join(f"\n  {reason}" for reason in self.reasons)


@contextmanager
def recorded() -> Iterator[dict[str, str]]:
    """Names of kernels by their source, of all that is compiled meanwhile."""
    sources: dict[str, str] = {}
    compiles = AsyncCompile.triton

    def noted(self: Any, name: str, source: str, *args: Any, **options: Any) -> Any:
        sources[source] = name
        return compiles(self, name, source, *args, **options)

    AsyncCompile.triton = noted
    try:
        yield sources
    finally:
        AsyncCompile.triton = compiles


def share(sources: dict[str, str], device: Device = H100) -> Share:
    """Share of the kernels in ``sources``; the workers compile for ``device`` from then on."""
    own = {
        source: name for source, name in sources.items() if "@triton_heuristics.user_autotune" not in source
    }
    reasons = []
    with tempfile.TemporaryDirectory() as folder:
        settings = {"TRI_TARGET": device.target, "TRITON_CACHE_DIR": folder}
        jobs = [(name, _submitted(name, device.said_in(source), settings)) for source, name in own.items()]
        for name, job in jobs:
            try:
                kernel, _ = job.result(timeout=_SECONDS)
            except Exception as error:
                reasons.append(f"{name}: {str(error).strip().splitlines()[-1]}")
                continue
            if device.is_launched and not _is_static(kernel.compile_results):
                reasons.append(f"{name}: {_NOT_TAKEN}")
    return Share(device, len(own), len(own) - len(reasons), tuple(reasons))


def _submitted(name: str, source: str, settings: dict[str, str]) -> Any:
    load = partial(_load_triton_kernel_from_source, name, source)
    return AsyncCompile.process_pool().submit(_worker_compile_triton, load, settings, {})


def _is_static(results: Sequence[Any]) -> bool:
    return bool(results) and all(type(r).__name__ == "StaticTritonCompileResult" for r in results)
