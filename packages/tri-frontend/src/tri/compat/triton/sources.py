"""``ASTSource`` with what Triton's has besides: TTIR before any compile, for code that reads in it what a kernel does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.compat.triton.targets import GPUTarget, tri_target
from tri.compiler.signature import parameter_types
from tri.compiler.source import ASTSource as _ASTSource
from tri.language.types import tensor_descriptor_type

if TYPE_CHECKING:
    from tri.compat.triton.walking import module
    from tri_core.options import CommonOptions

__all__ = ["ASTSource"]


class _IsSource(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _ASTSource)


class ASTSource(_ASTSource, metaclass=_IsSource):
    """:class:`tri.ASTSource`; sources of kernels that were launched are instances as well."""

    def make_ir(
        self, target: GPUTarget, options: CommonOptions, codegen_fns: Any, module_map: Any, context: Any
    ) -> module:
        """The TTIR for ``target``, to be walked: see :mod:`tri.compat.triton.walking`.  The last three are Triton's, and not asked.

        Raises CompilationError for a kernel that cannot be compiled.
        """
        from tri.compat.triton.walking import recorded
        from tri_core.ir.verifying import verify_module
        from tri_core.mlir import session
        from tri_core.text import to_text

        del codegen_fns, module_map, context
        chosen = tri_target(target)
        with session():
            made = self.build(chosen, options)
            verify_module(made, chosen)
            text = to_text(made.operation.get_asm(enable_debug_info=True))
            return recorded(made, self._missing_strides(), text)

    def _missing_strides(self) -> dict[int, int]:
        """Number of arguments that Triton's kernel has, and ours lacks, before each of ours: the last stride
        of each descriptor.
        """
        found: dict[int, int] = {}
        index = 0
        for name, type_ in self.types.items():
            index += len(parameter_types(name, type_))
            if isinstance(type_, tensor_descriptor_type):
                found[index] = 1
        return found
