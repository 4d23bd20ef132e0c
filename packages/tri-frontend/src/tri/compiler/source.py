"""``ASTSource``: a kernel with its signature, as the compile driver takes it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.compile_reasons import gate
from tri.compiler.arguments import CONSTEXPR, Path, build_tree, paths
from tri.compiler.signature import parameter_types, signature_text
from tri.compiler.values_key import stable
from tri.kernel import Kernel
from tri.language.types import dtype, parse_type
from tri_core.abi import KernelSignature, Parameter
from tri_core.compiler import before_compile
from tri_core.errors import CompilationError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.mlir import ir
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["ASTSource", "Specialization"]

Key = str | int | tuple[Any, ...]

before_compile(gate)


@dataclass(frozen=True)
class Specialization:
    """A version of a kernel as its ``repr`` sees it: types of all parameters as signatures write them, and constants."""

    signature: Mapping[str, Any]
    constants: Mapping[str, Any]


class ASTSource:
    """A jit function ``fn`` with the types of its run-time parameters and the values of the others.

    ``signature`` maps every parameter, by name or position, to its type (``"*fp32"``, ``"i32"``), to
    ``"constexpr"``, or to a (named) tuple of these; ``constexprs`` gives the values, by name, position or path
    (``(position,)``, or ``(position, item)`` inside a tuple); ``attrs`` maps paths to facts such as
    ``[["tt.divisibility", 16]]``.

    ``types``, ``attrs``: of the run-time parameters of the compiled kernel, where an item of a tuple is called
    ``t.0``; ``trees``: what the kernel sees of tuples; ``constants``: values of whole parameters.
    """

    def __init__(
        self,
        fn: Kernel,
        signature: Mapping[Any, Any],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[Any, Sequence[Sequence[Any]]] | None = None,
    ) -> None:
        if not isinstance(fn, Kernel):
            raise CompilationError(f"{fn!r} is not a kernel", remedy="decorate the function with @tri.jit")
        self.fn = fn
        values = {self._path(k): v for k, v in (constexprs or {}).items()}
        facts = {self._fact_key(k): tuple((str(n), v) for n, v in f) for k, f in (attrs or {}).items()}
        texts = {self._path(k)[0]: v for k, v in signature.items()}
        self.constants: dict[str, Any] = {path[0]: v for path, v in values.items() if len(path) == 1}
        self.types: dict[str, dtype] = {}
        self.attrs = {key: found for key, found in facts.items() if isinstance(key, str)}
        self.trees: dict[str, Any] = {}
        self._texts: dict[str, str] = {}
        for p in fn.params:
            if p.name not in self.constants:
                self._add(p.name, texts.get(p.name, CONSTEXPR), values, facts)
        given = {p.name: texts.get(p.name, CONSTEXPR) for p in fn.params}
        self.name = self._called(fn.repr(Specialization(given, self.constants)))
        self._fingerprint: str | None = None

    def _called(self, name: object) -> str:
        """The ``name`` that the kernel's ``repr`` gives it."""
        if isinstance(name, str) and name.strip() and name.isprintable():
            return name
        raise CompilationError(
            f"the repr of kernel {self.fn.__name__} gives {name!r}; a name in one line is expected",
            remedy="give text that can be printed, e.g. repr=lambda s: f'add_{s.constants[\"BLOCK\"]}'",
        )

    def _add(
        self, parameter: str, signature: Any, values: Mapping[Path, Any], facts: Mapping[Any, Any]
    ) -> None:
        """Enter one parameter that is no constant as a whole."""
        named: dict[Path, str] = {}
        for path, name, text in paths(signature, (parameter,)):
            if text == CONSTEXPR or path in values:
                continue
            self.types[name], self._texts[name] = self._type(name, text), text
            if path in facts:
                self.attrs[name] = facts[path]
            named[path] = name
        if isinstance(signature, tuple):
            self.trees[parameter] = build_tree(signature, (parameter,), named, values)

    def _fact_key(self, key: Key) -> Path | str:
        """A name such as ``t.0`` or ``desc.shape.0`` as it is, anything else as a path."""
        if isinstance(key, str) and key.partition(".")[0] in self.fn.arg_names:
            return key
        return self._path(key)

    def _path(self, key: Key) -> Path:
        """``key`` with the parameter's name first."""
        first, *rest = key if isinstance(key, tuple) and key else (key,)
        if isinstance(first, int) and 0 <= first < len(self.fn.params):
            return (self.fn.params[first].name, *rest)
        if isinstance(first, str) and first in self.fn.arg_names:
            return (first, *rest)
        raise CompilationError(
            f"{key!r} names no parameter of {self.fn.__name__}",
            remedy=f"its parameters are {self.fn.signature_text}",
        )

    def _type(self, name: str, text: str) -> dtype:
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
            *(f"{name} is {stable(tree)}" for name, tree in sorted(self.trees.items())),
            *(f"{name} {facts}" for name, facts in sorted(self.attrs.items())),
        )
        self._fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self._fingerprint

    def texts(self) -> dict[str, str]:
        """The type of every parameter as signatures write it, ``constexpr`` for constants."""
        return {name: self._text(name) for name in self.fn.arg_names}

    def _text(self, parameter: str) -> str:
        if parameter in self.trees:
            items = (text for name, text in self._texts.items() if name.startswith(f"{parameter}."))
            return f"({', '.join(items)})"
        return self._texts.get(parameter, CONSTEXPR)

    def type_texts(self) -> dict[str, str]:
        """The type of every run-time value, items of tuples by names such as ``t.0``."""
        return dict(self._texts)

    def launch(self, kernel: CompiledKernel, grid: Any, args: Sequence[Any], stream: Any = None) -> None:
        """Launch ``kernel``, compiled from this source, over ``grid``; what ``kernel[grid](...)`` does."""
        self.fn.services.launch_compiled(self, kernel, grid, args, stream)

    def load(self, kernel: CompiledKernel) -> None:
        """Load ``kernel``, compiled from this source, on the current device."""
        self.fn.services.load_compiled(kernel)

    def caller(self, kernel: CompiledKernel) -> Callable[..., None] | None:
        """Native replacement of ``kernel.run(...)`` for a ``kernel`` that is loaded; None if there is none."""
        return self.fn.services.compiled_caller(kernel)

    def launch_facts(self, kernel: CompiledKernel, grid: Any, stream: Any, args: Sequence[Any]) -> Any:
        """Facts of a launch of ``kernel`` for hooks; None if there are none."""
        return self.fn.services.launch_facts(self, kernel, grid, args, stream)

    @property
    def signature(self) -> dict[str, str]:
        """The type of every parameter as signatures write it, ``constexpr`` for constants, as Triton's source has it."""
        return self.texts()

    def kernel_signature(self) -> KernelSignature:
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
