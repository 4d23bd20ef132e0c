"""Types in place of arrays, for a compile without a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tri.language.structure import remake
from tri.launch.dtype_names import dtype_names
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["DtypeArray", "has_mocks", "mocked", "num_mocked"]


@dataclass(frozen=True)
class DtypeArray:
    """No array, but the type of one, on the host and aligned: for compiling only."""

    dtype: str

    @classmethod
    def of(cls, value: Any) -> DtypeArray | None:
        """The stand-in for a dtype of the language, NumPy or PyTorch; None for anything else."""
        from tri.language.types import dtype

        if isinstance(value, dtype):
            return cls(value.mangle())
        if (
            type(value).__module__.partition(".")[0] in ("numpy", "torch")
            and "dtype" in type(value).__name__.lower()
        ):
            return cls(dtype_names[value])
        return None


def mocked(
    function: Kernel, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of ``function`` for a compile only: a dtype stands for an aligned array, but where a constexpr is one."""
    static = {p.name for p in function.params if p.is_constexpr}
    names = (*function.arg_names, *[""] * len(args))
    positional = (v if n in static else _mock(v) for n, v in zip(names, args, strict=False))
    return tuple(positional), {n: v if n in static else _mock(v) for n, v in kwargs.items()}


def _mock(value: Any) -> Any:
    if isinstance(value, tuple):
        return remake(value, map(_mock, value))
    return DtypeArray.of(value) or value


def num_mocked(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """Number of arguments that are :class:`DtypeArray` in place of arrays; items of tuples count."""
    return sum(map(_count, (*args, *kwargs.values())))


def has_mocks(function: Kernel, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """True if types replace arrays among the arguments of ``function``, as in a warm-up."""
    return bool(num_mocked(*mocked(function, args, kwargs)))


def _count(value: Any) -> int:
    return sum(map(_count, value)) if isinstance(value, tuple) else isinstance(value, DtypeArray)
