"""Classes and attributes of kernels that code outside of Triton subclasses, checks for or reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = [
    "ConstexprFunction",
    "InterpretedFunction",
    "KernelInterface",
    "MockTensor",
    "get_full_name",
    "mangle_type",
    "native_specialize_impl",
]

T = TypeVar("T")


class _IsKernel(type):
    def __instancecheck__(cls, instance: object) -> bool:
        from tri.jit import JITFunction
        from tri.tuning.wrapper import Wrapper

        own = cls.__name__ == "KernelInterface" and isinstance(instance, (JITFunction, Wrapper))
        return own or super().__instancecheck__(instance)


class KernelInterface(Generic[T], metaclass=_IsKernel):
    """A base for what is launched as ``kernel[grid](...)``: a subclass defines ``run``."""

    run: Callable[..., Any]

    def warmup(self, /, *args: Any, grid: Any, **kwargs: Any) -> Any:
        """Compile only."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The kernel over ``grid``."""
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


class _IsConstexprFunction(type):
    def __instancecheck__(cls, instance: object) -> bool:
        from tri.language.builtin import is_constexpr_function

        return is_constexpr_function(instance)


class ConstexprFunction(metaclass=_IsConstexprFunction):
    """``isinstance(f, ConstexprFunction)``: whether ``f`` was made by ``constexpr_function``."""


class InterpretedFunction:
    """Kernels of Triton's interpreter; tri's run under ``TRI_INTERPRET=1`` and are jit functions."""


class MockTensor:
    """A dtype (with a shape) in place of a tensor, for ``warmup``."""

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        self.dtype = dtype
        self.shape = [1] if shape is None else shape

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        """A mock tensor for a dtype, anything else unchanged."""
        is_dtype = type(arg).__name__ == "dtype" and type(arg).__module__.partition(".")[0] == "torch"
        return MockTensor(arg) if is_dtype else arg

    @staticmethod
    def data_ptr() -> int:
        """Aligned."""
        return 0


def mangle_type(arg: Any, specialize: bool = False) -> Any:
    """The type of ``arg`` as signatures write it: ``*fp32``, ``i32``, ``tensordesc<fp16[64, 64]>``, ``constexpr``, or a tuple of such."""
    return _reported(_fact(arg, specialize, specialize), False)[0]


def native_specialize_impl(
    backend: Any, arg: Any, is_const: bool, specialize_value: bool, align: bool
) -> tuple[Any, Any]:
    """The type of ``arg``, and what a kernel is specialized on: a constant, ``"D"`` for divisible, or None; of a tuple, tuples of these."""
    del backend
    return _reported(_fact(arg, specialize_value, align), is_const)


def _fact(arg: Any, values: bool, alignment: bool) -> Any:
    """Specialisation of ``arg`` at launch: see :mod:`tri.launch.readers`."""
    from tri.launch.readers import Rules, readers

    return readers(Rules(values=values, alignment=alignment))[type(arg)](arg)[1]


def _reported(fact: Any, is_const: bool) -> tuple[Any, Any]:
    from tri.launch.readers import DIVISIBLE, ONE, Constant, DescriptorFact, Items

    if isinstance(fact, Items):
        types, known = (
            zip(*(_reported(item, is_const) for item in fact.facts), strict=True) if fact.facts else ((), ())
        )
        return types, known
    if isinstance(fact, Constant):
        return "constexpr", fact.value
    if isinstance(fact, DescriptorFact):
        return fact.text, None
    if isinstance(fact, tuple):
        return f"*{'k' if is_const else ''}{fact[0]}", "D" if fact[1] else None
    if fact == ONE:
        return "constexpr", 1
    return fact.removesuffix(DIVISIBLE), "D" if fact.endswith(DIVISIBLE) else None


def get_full_name(fn: Any) -> str:
    """``module.name`` of a function."""
    return f"{fn.__module__}.{fn.__qualname__}"
