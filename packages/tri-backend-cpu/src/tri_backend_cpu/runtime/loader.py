"""Objects into memory: LLVM's in-process linker."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Sequence

import llvmlite.binding as llvm

from tri_core.api import DeviceError

__all__ = ["LoadedObject", "load_ir"]

_count = itertools.count()
_lock = threading.Lock()


class LoadedObject:
    """Code in memory, freed with this object; ``addresses`` of the symbols asked for."""

    def __init__(self, data: bytes, symbols: Sequence[str]) -> None:
        library = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
        for symbol in symbols:
            library = library.export_symbol(symbol)
        try:
            with _lock:
                # the code is its, and would go with it
                self._jit = _jit()
                self._tracker = library.link(self._jit, f"tri_{next(_count)}")
        except RuntimeError as error:
            raise DeviceError(
                f"the object cannot be linked into this process: {error}",
                remedy="functions of the C library must be in a library that the process has loaded",
            ) from error
        self.addresses: list[int] = [self._tracker[symbol] for symbol in symbols]


def load_ir(text: str, symbols: Sequence[str]) -> LoadedObject:
    """Compile LLVM IR ``text`` of our own, known to be good, in this process."""
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    return LoadedObject(machine.emit_object(module), symbols)


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
