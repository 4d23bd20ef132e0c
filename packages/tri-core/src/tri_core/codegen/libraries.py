"""Bitcode libraries: only what a module needs of them is linked, and is internal afterwards.

LLVM's linker takes whole modules here, and a device library holds hundreds of functions.  So a library is
first cut down to the symbols asked for, and the cut is kept for the next job that asks for the same.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence

import llvmlite.binding as llvm

from tri_core.codegen.jobs import JobError

__all__ = ["link"]


def link(module: llvm.ModuleRef, paths: Sequence[str], context: llvm.ContextRef) -> None:
    """Link into ``module`` what it needs of the bitcode files ``paths``, which may need each other."""
    open_libraries = [_Library(path) for path in paths]
    linked = True
    while linked:  # each round defines symbols that were not, so this ends
        linked = any(library.link_into(module, context) for library in open_libraries)


class _Library:
    """A bitcode file, identified by its path, time and size."""

    def __init__(self, path: str) -> None:
        try:
            status = os.stat(path)
        except OSError as error:
            raise JobError("link", f"bitcode library {path!r} cannot be read: {error.strerror}") from None
        self.identity = (path, status.st_mtime_ns, status.st_size)

    def link_into(self, module: llvm.ModuleRef, context: llvm.ContextRef) -> bool:
        """Link what ``module`` lacks and this library has; whether there was anything."""
        needed = frozenset(_undefined(module)) & _defined(*self.identity)
        if not needed:
            return False
        part = llvm.parse_bitcode(_cut(*self.identity, needed), context=context)
        # the library's generic triple and layout are subsumed by the kernel's
        part.triple, part.data_layout = module.triple, module.data_layout
        try:
            llvm.link_modules(module, part)
        except RuntimeError as error:
            raise JobError("link", f"{os.path.basename(self.identity[0])}: {error}") from None
        for value in _symbols(module):
            if value.name in needed:
                value.linkage = llvm.Linkage.internal
        return True


def _symbols(module: llvm.ModuleRef) -> Iterator[llvm.ValueRef]:
    yield from module.functions
    yield from module.global_variables


def _undefined(module: llvm.ModuleRef) -> Iterator[str]:
    return (v.name for v in _symbols(module) if v.is_declaration and not v.name.startswith("llvm."))


@functools.lru_cache(maxsize=32)
def _content(path: str, mtime: int, size: int) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _parse(identity: tuple[str, int, int], context: llvm.ContextRef) -> llvm.ModuleRef:
    try:
        return llvm.parse_bitcode(_content(*identity), context=context)
    except RuntimeError as error:
        raise JobError("link", f"{os.path.basename(identity[0])} is not a bitcode library: {error}") from None


@functools.lru_cache(maxsize=32)
def _defined(path: str, mtime: int, size: int) -> frozenset[str]:
    """The symbols that a library defines for others."""
    with llvm.create_context() as context, _parse((path, mtime, size), context) as module:
        return frozenset(v.name for v in _symbols(module) if not v.is_declaration and not _is_local(v))


@functools.lru_cache(maxsize=256)
def _cut(path: str, mtime: int, size: int, needed: frozenset[str]) -> bytes:
    """The library as bitcode with only ``needed`` and what that uses."""
    with llvm.create_context() as context, _parse((path, mtime, size), context) as module:
        for value in _symbols(module):
            if not (value.is_declaration or value.name in needed or value.name.startswith("llvm.")):
                value.linkage = llvm.Linkage.internal
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        machine = llvm.Target.from_default_triple().create_target_machine()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
        return module.as_bitcode()


def _is_local(value: llvm.ValueRef) -> bool:
    return value.linkage in (llvm.Linkage.internal, llvm.Linkage.private)
