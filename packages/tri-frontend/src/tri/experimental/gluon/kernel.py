"""``gluon.jit``: kernels of the explicit level, compiled by the same frontend with another builder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, overload

from tri.compiler.source import ASTSource
from tri.experimental.gluon.doors import require_layouts
from tri.jit import JITFunction
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["GluonASTSource", "GluonJITFunction", "jit"]


class GluonJITFunction(JITFunction):
    """A Gluon kernel, or a function that such kernels call; made by :func:`jit`."""

    level: ClassVar[str] = "gluon "

    def make_builder(self, target: Target, options: CommonOptions) -> Builder:
        """A builder whose values carry layouts; OptionError without ``tri-gpu-dialect``."""
        require_layouts()
        from tri.experimental.gluon.builder import GluonBuilder

        return GluonBuilder(target, options)

    def is_gluon(self) -> bool:
        """True."""
        return True

    def __repr__(self) -> str:
        return f"GluonJITFunction({self.__module__}:{self.__qualname__})"


class GluonASTSource(ASTSource):
    """A Gluon kernel with the types of its parameters, for :func:`tri.compile`; CompilationError for another kernel."""

    def __init__(self, fn: Any, signature: Any, constexprs: Any = None, attrs: Any = None) -> None:
        if not isinstance(fn, GluonJITFunction):
            raise CompilationError(
                f"{fn!r} is no Gluon kernel", remedy="decorate the function with @gluon.jit"
            )
        super().__init__(fn, signature, constexprs, attrs)


@overload
def jit(fn: Callable[..., Any]) -> GluonJITFunction: ...


@overload
def jit(
    *,
    version: str | None = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> Callable[[Callable[..., Any]], GluonJITFunction]: ...


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorate a function of the explicit level: ``@gluon.jit``; options are those of :func:`tri.jit`."""
    if fn is None:
        return lambda function: GluonJITFunction(function, **options)
    return GluonJITFunction(fn, **options)
