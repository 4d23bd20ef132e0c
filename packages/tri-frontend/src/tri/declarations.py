"""Declaration of a jit function: its parameters, and what remains when its Python function is dropped."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Declaration", "KernelParameter", "PlainName"]


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a jit function: ``num`` is its position, ``annotation`` its text (empty if none)."""

    num: int
    name: str
    annotation: str
    default: Any
    kind: Any
    do_not_specialize: bool = False
    do_not_specialize_on_alignment: bool = False

    @property
    def has_default(self) -> bool:
        """True if the parameter may be omitted."""
        return self.default is not inspect.Parameter.empty

    @property
    def is_constexpr(self) -> bool:
        """True if the parameter is annotated as ``tl.constexpr``."""
        return "constexpr" in self.annotation

    @property
    def is_const(self) -> bool:
        """True if the parameter points to memory that the kernel only reads (``tl.const``)."""
        return not self.is_constexpr and ("const" in self.annotation or self.annotation.startswith("*k"))


@dataclass(frozen=True)
class PlainName:
    """The ``repr`` of a jit function that was given none: its name, whatever the version."""

    name: str

    def __call__(self, specialization: Any) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True)
class Declaration:
    """A jit function without its Python function: what compiled versions of it are launched with, in any process.

    It pickles where ``repr``, ``launch_metadata``, the hooks and defaults do.  ``text`` is the source, None where it is
    not known, ``replacement`` what was put in its place; ``options`` are those of :func:`tri.jit` that code depends on.
    """

    module: str
    name: str
    qualname: str
    doc: str | None
    text: str | None
    replacement: str | None
    params: tuple[KernelParameter, ...]
    options: tuple[tuple[str, Any], ...]
    repr: Callable[[Any], str]
    launch_metadata: Callable[..., Any] | None
    pre_run_hooks: tuple[Callable[..., Any], ...]
    interpreted: bool

    @property
    def signature(self) -> inspect.Signature:
        """The parameters, without annotations."""
        return inspect.Signature([inspect.Parameter(p.name, p.kind, default=p.default) for p in self.params])
