"""``GPUTarget`` and its surroundings: Triton's way to name a target, translated to tri's."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tri_core import forks
from tri_core.errors import TargetError, Unsupported

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.extensions import BackendInfo
    from tri_core.target import Target

__all__ = [
    "BACKENDS",
    "Backend",
    "BaseBackend",
    "GPUTarget",
    "Language",
    "compile",
    "gpu_target",
    "make_backend",
    "torch_kind",
    "tri_target",
]

#: tri's kinds of device that Triton calls otherwise
_TRITON_NAMES = {"sycl": "xpu"}


class Language(enum.Enum):
    """What a source is written in."""

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
    """The architecture of ``info`` that ``arch`` means: a number (90, ``"sm90"``) is that with all its features."""
    if str(arch) in info.architectures:
        return str(arch)
    number = re.fullmatch(r"(?:sm_?)?(\d+)", str(arch))
    numbered = [a for a in info.architectures if number and re.fullmatch(rf"\D+{number[1]}[a-z]?", a)]
    # the plain one comes first, the one with all features of just this processor next
    return numbered[min(1, len(numbered) - 1)] if numbered else str(arch)


def tri_target(target: Any) -> Target:
    """The target of tri that ``target`` names (a :class:`GPUTarget`, or what ``tri.compile`` takes)."""
    from tri_core.plugins import manager
    from tri_core.target import TargetKey
    from tri_core.targets import resolve

    if target is None:
        from tri.compat.triton.driver import current_target

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
    from tri.compilation import compile as compile_source

    del _env_vars
    return compile_source(src, tri_target(target), dict(options) if options else None)


class BaseBackend:
    """A compiler for a :class:`GPUTarget`: the questions that code outside of the compiler asks."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    @forks.cached_property
    def _target(self) -> Target:
        return tri_target(self.target)

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether an installed backend compiles for ``target``."""
        try:
            tri_target(target)
        except TargetError:
            return False
        return True

    def parse_options(self, opts: Mapping[str, Any]) -> Any:
        """The options of the target, with its defaults; unknown names are left out, as Triton does."""
        known = self._target.options_type.__dataclass_fields__
        return self._target.options_type.parse({k: v for k, v in opts.items() if k in known})

    def hash(self) -> str:
        """A text that changes with the compiler."""
        from tri.compat.triton.cache import triton_key

        return f"{triton_key()}-{self._target.key}"

    def get_module_map(self) -> dict[str, Any]:
        """Empty: library functions are chosen by the backend while it compiles."""
        return {}

    def load_dialects(self, ctx: Any) -> None:
        """Refused: tri's IR lives in its own context."""
        raise Unsupported("tri does not share Triton's MLIR context", remedy="compile through triton.compile")


def make_backend(target: GPUTarget) -> BaseBackend:
    """The backend for ``target``; TargetError when none is installed."""
    tri_target(target)
    return BaseBackend(target)


@dataclass(frozen=True)
class Backend:
    """An entry of :data:`BACKENDS`: the classes of a backend's compiler and driver."""

    compiler: type[BaseBackend]
    driver: Any


class _Backends(Mapping[str, Backend]):
    """The installed backends, by name, looked up when asked for."""

    def _names(self) -> list[str]:
        from tri_core.plugins import manager

        return list(manager().backends())

    def __getitem__(self, name: str) -> Backend:
        if name not in self._names():
            raise KeyError(name)
        from tri.compat.triton.driver import driver_class

        return Backend(BaseBackend, driver_class(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


#: ``triton.backends.backends``
BACKENDS = _Backends()
