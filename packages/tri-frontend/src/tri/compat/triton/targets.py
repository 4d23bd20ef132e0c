"""``GPUTarget`` and its surroundings: Triton's way to name a target, translated to tri's."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tri_core.errors import TargetError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.plugin_records import BackendInfo
    from tri_core.target import Target

__all__ = [
    "GPUTarget",
    "Language",
    "compile",
    "gpu_target",
    "torch_kind",
    "tri_target",
]

#: tri's kinds of device that Triton calls otherwise
_TRITON_NAMES = {"sycl": "xpu"}


class Language(enum.Enum):
    """Language of a source."""

    TRITON = 0
    GLUON = 1


@dataclass(frozen=True)
class GPUTarget:
    """A target as Triton names it: a kind of device (``"cpu"``, ...), an architecture, threads per warp."""

    backend: str
    arch: int | str
    warp_size: int


def torch_kind(target: Target) -> str:
    """The kind of device whose memory ``target`` reads: that of a simulated one is the host's."""
    return "cpu" if target.key.simulated else target.device_kind


def gpu_target(target: Target) -> GPUTarget:
    """``target`` in Triton's words; an architecture that is a number behind letters is that number."""
    kind = torch_kind(target)
    number = re.fullmatch(r"sm_?(\d+)[a-z]?", target.key.arch)
    warps = target.spec.threads_per_warp
    return GPUTarget(
        _TRITON_NAMES.get(kind, kind),
        int(number[1]) if number else target.key.arch,
        warps[0] if warps else 1,
    )


def _named(info: BackendInfo, arch: int | str) -> str:
    """The architecture of ``info`` that ``arch`` means; ``sm`` before a number is Triton's word for any."""
    from tri_core.target_options import architecture_of

    number = str(arch).removeprefix("sm").removeprefix("_")
    return architecture_of(info, arch) or architecture_of(info, number) or str(arch)


def tri_target(target: Any) -> Target:
    """The target of tri that ``target`` names (a :class:`GPUTarget`, or what ``tri.compile`` takes)."""
    from tri_core.plugins import manager
    from tri_core.target import TargetKey
    from tri_core.target_selection import resolve

    if target is None:
        from tri.compat.triton.current import current_target

        return current_target()
    if not isinstance(target, GPUTarget):
        return resolve(target)
    kinds = {tris: theirs for theirs, tris in _TRITON_NAMES.items()}
    kind = kinds.get(target.backend, target.backend)
    found = [i for i in manager().backends().values() if kind in i.device_kinds]
    if not found:
        raise TargetError(
            f"no installed backend compiles for devices of kind {target.backend!r}",
            remedy="install the backend of that device; `tri targets` lists those that are there",
        )
    return resolve(TargetKey(found[0].name, _named(found[0], target.arch)))


def compile(  # noqa: A001  Triton's name
    src: Any,
    target: Any = None,
    options: Mapping[str, Any] | None = None,
    _env_vars: Mapping[str, str] | None = None,
) -> CompiledKernel:
    """``tri.compile`` for a :class:`GPUTarget`; options that tri's target does not have are refused."""
    from tri.compat.triton.graphs import in_graph
    from tri.compat.triton.images import keep_image
    from tri.compilation import compile as compile_source

    del _env_vars
    with in_graph(src):
        kernel = compile_source(src, tri_target(target), dict(options) if options else None)
    keep_image(src, kernel)
    return kernel
