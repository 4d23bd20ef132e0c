"""``ASTSource``: a kernel with its signature, as the compile driver takes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.compiler.signature import parameter_types, signature_text
from tri.compiler.values_key import stable
from tri.jit import JITFunction
from tri.language.types import dtype, parse_type
from tri_core.abi import KernelSignature, Parameter
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri_core.mlir import ir
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["ASTSource"]

Key = str | int | tuple[int, ...]


class ASTSource:
    """A jit function with the types of its run-time parameters and the values of the others.

    ``signature`` maps every parameter, by name or position, to its type (``"*fp32"``, ``"i32"``) or to
    ``"constexpr"``; ``constexprs`` gives the values, by name, position or ``(position,)``; ``attrs`` maps
    ``(position,)`` to facts such as ``[["tt.divisibility", 16]]``.
    """

    def __init__(
        self,
        fn: JITFunction,
        signature: Mapping[Any, str],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[Any, Sequence[Sequence[Any]]] | None = None,
    ) -> None:
        if not isinstance(fn, JITFunction):
            raise CompilationError(f"{fn!r} is not a kernel", remedy="decorate the function with @tri.jit")
        self.fn = fn
        types = {self._name(k): v for k, v in signature.items()}
        self.constants = {self._name(k): v for k, v in (constexprs or {}).items()}
        self.attrs = {
            self._name(k): tuple((str(n), v) for n, v in facts) for k, facts in (attrs or {}).items()
        }
        self.types = {p.name: t for p in fn.params if (t := self._type(p.name, types)) is not None}
        self._texts = types
        self.name = fn.__name__ if fn.repr is None else fn.repr(self)
        self._fingerprint: str | None = None

    def _name(self, key: Key) -> str:
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        if isinstance(key, int) and 0 <= key < len(self.fn.params):
            return self.fn.params[key].name
        if isinstance(key, str) and key.partition(".")[0] in self.fn.arg_names:
            return key  # of a descriptor's numbers too, such as "desc.shape.0"
        raise CompilationError(
            f"{key!r} names no parameter of {self.fn.__name__}",
            remedy=f"its parameters are {self.fn.signature_text}",
        )

    def _type(self, name: str, types: Mapping[str, str]) -> dtype | None:
        """The type of a run-time parameter; None for one that is a constant."""
        text = types.get(name, "constexpr")
        if text == "constexpr" or name in self.constants:
            return None
        try:
            return parse_type(text)
        except ValueError as error:
            raise CompilationError(
                f"parameter {name!r} of {self.fn.__name__}: {error}",
                remedy='e.g. "*fp32", "i32" or "constexpr"',
            ) from error

    def fingerprint(self) -> str:
        """A hash of everything that the TTIR depends on, except target and options."""
        if self._fingerprint is not None:
            return self._fingerprint
        parts = (
            self.fn.cache_key,
            self.name,
            *(f"{name}:{type_!r}" for name, type_ in self.types.items()),
            *(f"{name}={stable(value)}" for name, value in sorted(self.constants.items())),
            *(f"{name} {facts}" for name, facts in sorted(self.attrs.items())),
        )
        self._fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self._fingerprint

    def signature(self) -> KernelSignature:
        """The name and the run-time parameters."""
        parameters: list[Parameter] = []
        for name, type_ in self.types.items():
            parts = parameter_types(name, type_)
            texts = [self._texts[name]] if parts == {name: type_} else map(signature_text, parts.values())
            parameters.extend(map(Parameter, parts, texts))
        return KernelSignature(name=self.name, parameters=tuple(parameters))

    def build(self, target: Target, options: CommonOptions) -> ir.Module:
        """The TTIR of the kernel; the caller is inside :func:`tri_core.mlir.session`."""
        from tri.compiler.module import build_module

        return build_module(self, target, options)
