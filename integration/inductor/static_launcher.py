"""Share of Inductor's kernels that PyTorch launches without Python: its static launcher, for a GPU that is not here.

The sources of the cases are written for CPU tensors; said to be for a GPU they are compiled by the workers, which have no driver, and go
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

__all__ = ["WANTED", "Share", "recorded", "share"]

#: the least share
WANTED = 0.95
TARGET = "nvidia:sm_90a"
_DEVICE = re.compile(r"DeviceProperties\([^()]*\)")
_GPU = (
    "DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, "
    "max_threads_per_multi_processor=2048, warp_size=32)"
)
_SECONDS = 300
_NOT_TAKEN = "not taken"


@dataclass(frozen=True)
class Share:
    """Number of ``kernels``, of those ``taken`` by the launcher in every version to choose from, and ``reasons`` for the others."""

    kernels: int
    taken: int
    reasons: tuple[str, ...]

    @property
    def refused(self) -> tuple[str, ...]:
        """Reasons of those that did not compile."""
        return tuple(reason for reason in self.reasons if not reason.endswith(_NOT_TAKEN))

    @property
    def is_enough(self) -> bool:
        """Whether it is what is wanted."""
        return self.taken >= WANTED * self.kernels > 0

    def __str__(self) -> str:
        return f"static launcher: takes {self.taken} of {self.kernels} kernels for {TARGET}" + "".join(
            f"\n  {reason}" for reason in self.reasons
        )


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


def share(sources: dict[str, str]) -> Share:
    """Share of the kernels in ``sources``; the workers compile for the GPU from then on."""
    own = {
        source: name for source, name in sources.items() if "@triton_heuristics.user_autotune" not in source
    }
    reasons = []
    with tempfile.TemporaryDirectory() as folder:
        settings = {"TRI_TARGET": TARGET, "TRITON_CACHE_DIR": folder}
        jobs = [(name, _submitted(name, source, settings)) for source, name in own.items()]
        for name, job in jobs:
            try:
                kernel, _ = job.result(timeout=_SECONDS)
            except Exception as error:
                reasons.append(f"{name}: {str(error).strip().splitlines()[-1]}")
                continue
            if not _is_static(kernel.compile_results):
                reasons.append(f"{name}: {_NOT_TAKEN}")
    return Share(len(own), len(own) - len(reasons), tuple(reasons))


def _submitted(name: str, source: str, settings: dict[str, str]) -> Any:
    said = _DEVICE.sub(_GPU, source).replace("set_driver_to_cpu", "set_driver_to_gpu")
    load = partial(_load_triton_kernel_from_source, name, said)
    return AsyncCompile.process_pool().submit(_worker_compile_triton, load, settings, {})


def _is_static(results: Sequence[Any]) -> bool:
    return bool(results) and all(type(r).__name__ == "StaticTritonCompileResult" for r in results)
