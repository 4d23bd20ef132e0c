"""``triton.backends``: the installed backends, each with the classes that Triton's code asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tri.compat.triton.cache import triton_key
from tri.compat.triton.driver import driver_class
from tri.compat.triton.targets import GPUTarget, tri_target
from tri_core import forks
from tri_core.errors import TargetError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.target import Target

__all__ = ["BACKENDS", "Backend", "BaseBackend", "make_backend"]


class BaseBackend:
    """A compiler for a :class:`GPUTarget`: the questions that code outside of the compiler asks."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    @forks.cached_property
    def _target(self) -> Target:
        return tri_target(self.target)

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """True if an installed backend compiles for ``target``."""
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
        return f"{triton_key()}-{self._target.key}"

    def get_module_map(self) -> dict[str, Any]:
        """Empty: library functions are chosen by the backend while it compiles."""
        return {}

    def get_codegen_implementation(self, options: Any) -> dict[str, Any]:
        """Empty: what depends on the target, the frontend asks the target."""
        del options
        return {}

    @staticmethod
    def parse_attr(desc: str) -> list[list[Any]]:
        """The attributes that a specialization of ``native_specialize_impl`` stands for."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    def load_dialects(self, ctx: Any) -> None:
        """Nothing: tri's IR has a context of its own, with all dialects."""
        del ctx


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
        return Backend(BaseBackend, driver_class(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())


#: ``triton.backends.backends``
BACKENDS = _Backends()
