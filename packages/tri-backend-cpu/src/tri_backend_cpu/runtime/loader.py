"""Objects into memory: LLVM's in-process linker."""

from __future__ import annotations

import functools
import itertools
import threading

import llvmlite.binding as llvm

__all__ = ["LoadedObject", "load_ir", "load_object"]

_count = itertools.count()
_lock = threading.Lock()


class LoadedObject:
    """Code in memory, freed with this object; ``address`` of the one entry point asked for."""

    def __init__(self, symbol: str, library: llvm.JITLibraryBuilder) -> None:
        with _lock:
            self._tracker = (
                library.add_current_process().export_symbol(symbol).link(_jit(), f"tri_{next(_count)}")
            )
        self.address: int = self._tracker[symbol]


def load_object(data: bytes, symbol: str) -> LoadedObject:
    """Link the object file ``data`` against the process's libraries."""
    return LoadedObject(symbol, llvm.JITLibraryBuilder().add_object_img(data))


def load_ir(text: str, symbol: str) -> LoadedObject:
    """Compile LLVM IR ``text`` of our own, known to be good, in this process."""
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    return load_object(machine.emit_object(module), symbol)


@functools.cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # the pool has an instruction of its own
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(opt=1, reloc="pic", codemodel="jitdefault", jit=True)


@functools.cache
def _jit() -> llvm.LLJIT:
    return llvm.create_lljit_compiler(_machine())
