"""An object file as code in memory."""

from __future__ import annotations

import hashlib
import logging
import mmap
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata

from tri_core import forks
from tri_core.api import DeviceError
from tri_core.cache import default_store
from tri_runtime.loader import debugger
from tri_runtime.loader.elf import damaged, read_object
from tri_runtime.loader.linking import addresses_of, lay_out, link
from tri_runtime.loader.memory import CodeMemory
from tri_runtime.loader.symbols import process_symbol
from tri_runtime.loader.triples import loadable_triple

__all__ = ["LoadedObject", "compile_ir", "load_ir"]

logger = logging.getLogger(__name__)

#: the library has a lock of its own, which no child would get
_llvm = forks.RLock()


class LoadedObject:
    """Code in memory, freed with this object; ``addresses`` of the ``symbols`` asked for, in their order.

    Behind them are those of the ``optional`` symbols that it has.

    ``data`` is an ELF relocatable object for this machine; ``imports`` are addresses of functions that it calls, by
    name; others are looked up in the process.  DeviceError for an object that is damaged, asks for more than the
    loader does (:mod:`tri_runtime.loader.relocations`), or calls what nobody has.
    """

    def __init__(
        self,
        data: bytes,
        symbols: Sequence[str],
        imports: Mapping[str, int] | None = None,
        optional: Sequence[str] = (),
    ) -> None:
        made = read_object(data)
        layout = lay_out(made, mmap.PAGESIZE)
        self._memory = CodeMemory(max(layout.size, mmap.PAGESIZE))
        address = self._memory.address
        with self._memory.view as view:
            link(
                made,
                layout,
                data,
                view,
                address,
                lambda name: (imports.get(name) if imports is not None else None) or process_symbol(name),
            )
        if layout.fixed:
            self._memory.seal(layout.fixed)
        found = dict(addresses_of(made, layout, address, [*symbols, *optional]))
        missing = [name for name in symbols if name not in found]
        if missing:
            raise damaged(f"it does not define {', '.join(missing)}")
        self.addresses: list[int] = [found[name] for name in (*symbols, *(n for n in optional if n in found))]
        debugger.show(self._memory, data, {i: address + at for i, at in layout.sections.items()})


def load_ir(text: str, symbols: Sequence[str], opt_level: int = 1) -> LoadedObject:
    """Compile LLVM IR ``text`` of our own, known to be good, in this process, and load it.

    The object is kept in the store; it depends on the text and on the machine's architecture alone.
    """
    parts = (text, str(opt_level), sys.platform, platform.machine(), metadata.version("llvmlite"))
    key, store = hashlib.sha256("\0".join(parts).encode()).hexdigest(), default_store()
    kept = store.get(key)
    if kept is not None:
        try:
            return LoadedObject(kept, symbols)
        except DeviceError as error:
            logger.warning("cache entry %s cannot be loaded and is made anew: %s", key, error)
    data = compile_ir(text, opt_level)
    store.put(key, data)
    return LoadedObject(data, symbols)


def compile_ir(text: str, opt_level: int = 1) -> bytes:
    """The object of LLVM IR ``text`` for this machine: one thread at a time, and never while the process forks."""
    import llvmlite.binding as llvm

    with _llvm:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()  # for instructions in the text
        triple = loadable_triple(llvm.get_process_triple())
        target = llvm.Target.from_triple(triple)
        machine = target.create_target_machine(opt=opt_level, reloc="pic", codemodel="default")
        with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
            module.triple = triple
            module.data_layout = str(machine.target_data)
            return bytes(machine.emit_object(module))
