"""The parameters through which a compiled kernel may write, as data: its TTIR is followed from stores back.

The analysis is a union over all paths: a pointer that may come from a parameter counts as that parameter.  What it
does not know (kernels without TTIR, inline assembly that takes addresses) counts as a write.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_core.compiler.kernel import Artifacts
    from tri_core.image import KernelMetadata
    from tri_core.mlir import ir

__all__ = ["written_parameters"]

#: types beside pointers through which a kernel may write
_ADDRESSES = ("tensordesc", "i64", "u64")


def written_parameters(metadata: KernelMetadata, asm: Artifacts) -> tuple[str, ...]:
    """The names, in the signature's order, of the pointers and descriptors that a kernel may write through."""
    parameters = metadata.signature.parameters
    if "ttir" not in asm:
        return tuple(p.name for p in parameters if p.is_pointer or p.type.startswith(_ADDRESSES))
    written = _written(metadata.hash, str(asm["ttir"]), str(metadata.target))
    return tuple(p.name for i, p in enumerate(parameters) if i in written)


@functools.lru_cache(maxsize=256)
def _written(digest: str, text: str, target: str) -> frozenset[int]:
    from tri_core import mlir
    from tri_core.dialects import tt
    from tri_core.plugins import manager
    from tri_core.target_selection import resolve
    from tri_core.text import parse_module

    del digest
    mlir.registry.add_dialect(tt.TT)
    manager().register_ir(mlir.registry, resolve(target))
    with mlir.session():
        return _Pointers(parse_module(text)).written()


class _Pointers:
    """Of each value, the kernel's parameters whose memory it may reach."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module  # its operations live as long as it does
        functions = [view.operation for view in module.body if view.operation.name == "tt.func"]
        self.functions = {str(f.attributes["sym_name"]).strip('"'): f for f in functions}
        self.of: dict[Any, frozenset[int]] = {}
        self.found: frozenset[int] = frozenset()
        self.changed = True
        for function in functions:
            visible = "sym_visibility" not in function.attributes or "public" in str(
                function.attributes["sym_visibility"]
            )
            for i, argument in enumerate(function.regions[0].blocks[0].arguments if visible else ()):
                if _is_address(argument):
                    self.of[argument] = frozenset({i})

    def written(self) -> frozenset[int]:
        """The parameters that anything is written through."""
        while self.changed:
            self.changed = False
            for function in self.functions.values():
                for op in _ops(function):
                    self.visit(op)
        return self.found

    def visit(self, op: ir.Operation) -> None:
        """Follow the operands of ``op``."""
        name = op.name
        operands = list(op.operands)
        kinds = _kinds(op)
        if name == "tt.call":
            self.call(op, operands)
        elif kinds is None:
            self.write(self.reached(operands))
            self.compute(op, operands)
        elif "write" in kinds:
            self.write(self.reached(operands[:1]))
        elif "read" in kinds:
            return
        elif name == "scf.for":
            self.link(operands[3:], op.regions[0].blocks[0].arguments[1:])
            self.link(operands[3:], op.results)
        elif name == "scf.while":
            self.link(operands, op.regions[0].blocks[0].arguments)
        elif name == "scf.condition":
            self.link(operands[1:], op.parent.regions[1].blocks[0].arguments)
            self.link(operands[1:], op.parent.results)
        elif name in ("scf.yield", "tt.return"):
            self.leave(op, operands)
        else:
            self.compute(op, operands)

    def leave(self, op: ir.Operation, operands: list[Any]) -> None:
        """Forward what a region yields: to the results, and to the next iteration."""
        owner = op.parent
        if owner.name == "tt.func":
            name = str(owner.attributes["sym_name"]).strip('"')
            for call in (c for f in self.functions.values() for c in _ops(f) if _callee(c) == name):
                self.link(operands, call.results)
            return
        arguments = owner.regions[0].blocks[0].arguments
        if owner.name == "scf.for":
            self.link(operands, arguments[1:])
        if owner.name == "scf.while":
            self.link(operands, arguments)
        else:
            self.link(operands, owner.results)

    def call(self, op: ir.Operation, operands: list[Any]) -> None:
        """Hand arguments to the function that is called."""
        function = self.functions.get(_callee(op))
        if function is None:
            self.write(self.reached(operands))
        else:
            self.link(operands, function.regions[0].blocks[0].arguments)

    def compute(self, op: ir.Operation, operands: list[Any]) -> None:
        """An op that computes: its results may be made of all that it takes."""
        reached = self.reached(operands)
        for result in op.results:
            self.add(result, reached)

    def link(self, values: Iterable[Any], targets: Iterable[Any]) -> None:
        """Each of ``targets`` may be the value in its place."""
        for value, target in zip(values, targets, strict=False):
            self.add(target, self.reached([value]))

    def reached(self, values: Iterable[Any]) -> frozenset[int]:
        """The parameters that ``values`` may reach."""
        return frozenset().union(*(self.of.get(value, frozenset()) for value in values))

    def add(self, value: Any, reached: frozenset[int]) -> None:
        """``value`` may reach these, too."""
        before = self.of.get(value, frozenset())
        if _is_address(value) and not reached <= before:
            self.of[value] = before | reached
            self.changed = True

    def write(self, reached: frozenset[int]) -> None:
        """These are written."""
        self.found |= reached


def _kinds(op: ir.Operation) -> frozenset[str] | None:
    """Kinds of accesses of global memory by ``op``, through pointers or descriptors; None: any."""
    from tri_core.ir.effects import effects_of  # which needs MLIR: only where a kernel was compiled

    effects = effects_of(op)
    if effects is None:
        return None
    return frozenset(kind for kind, resource in effects if resource in ("global", "described"))


def _is_address(value: Any) -> bool:
    """True if ``value`` can hold an address: a pointer, a descriptor, a 64-bit integer, a block of them."""
    text = str(value.type)
    return "ptr" in text or "tensordesc" in text or text.endswith(("i64", "i64>"))


def _callee(op: ir.Operation) -> str:
    return str(op.attributes["callee"]).lstrip("@") if op.name == "tt.call" else ""


def _ops(function: ir.Operation) -> Iterator[ir.Operation]:
    for region in function.regions:
        for block in region.blocks:
            for view in block:
                yield view.operation
                yield from _ops(view.operation)
