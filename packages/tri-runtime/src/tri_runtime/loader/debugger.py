"""Loaded objects for debuggers: GDB's interface for compilers that work in memory.

Source: "Debugging with GDB", chapter "JIT Compilation Interface".  A debugger watches two symbols by name; LLVM's
library brings them, among the symbols that it does not export, so they are looked up in the file.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import mmap
import os
import struct
import sys
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tri_core import forks
from tri_core.cache import default_store
from tri_core.lazy_dataclasses import dataclass

__all__ = ["show"]

logger = logging.getLogger(__name__)

_DESCRIPTOR, _FUNCTION = "__jit_debug_descriptor", "__jit_debug_register_code"
_REGISTER, _UNREGISTER = 1, 2
_HEADERS_AT, _COUNT_AT, _ADDRESS_IN_HEADER, _HEADER_SIZE = 40, 60, 16, 64
_SYMBOLS = np.dtype(
    [
        ("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8"),
    ]
)  # fmt: skip

_VALUES = struct.Struct("<2Q")

_lock = forks.Lock()
#: objects whose owners are gone, and that debuggers still see
_hidden: deque[tuple[_Interface, _Entry, Any]] = deque()


class _Entry(ctypes.Structure):
    """``jit_code_entry``."""

    _fields_ = (
        ("next", ctypes.c_void_p),
        ("previous", ctypes.c_void_p),
        ("file", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
    )


class _Descriptor(ctypes.Structure):
    """``jit_descriptor``."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.c_void_p),
        ("first", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class _Interface:
    descriptor: _Descriptor
    tell: Callable[[], None]

    def add(self, entry: _Entry) -> None:
        """Put ``entry`` first."""
        address, first = ctypes.addressof(entry), self.descriptor.first
        entry.next = first
        if first:
            _Entry.from_address(first).previous = address
        self.descriptor.first = address
        self._act(_REGISTER, address)

    def remove(self, entry: _Entry) -> None:
        """Take ``entry`` out of the list."""
        if entry.previous:
            _Entry.from_address(entry.previous).next = entry.next
        else:
            self.descriptor.first = entry.next
        if entry.next:
            _Entry.from_address(entry.next).previous = entry.previous
        self._act(_UNREGISTER, ctypes.addressof(entry))

    def _act(self, action: int, address: int) -> None:
        self.descriptor.relevant, self.descriptor.action = address, action
        self.tell()
        self.descriptor.relevant, self.descriptor.action = None, 0


def show(owner: object, data: bytes, sections: Mapping[int, int]) -> None:
    """Let debuggers see the object ``data`` as long as ``owner`` lives; ``sections``: addresses by index."""
    with _lock:
        interface = _interface()
    if interface is None:
        return
    file = ctypes.create_string_buffer(data, len(data))
    (headers,) = struct.unpack_from("<Q", data, _HEADERS_AT)
    for index, address in sections.items():
        struct.pack_into("<Q", file, headers + index * _HEADER_SIZE + _ADDRESS_IN_HEADER, address)
    entry = _Entry(None, None, ctypes.addressof(file), len(data))
    with _lock:
        interface.add(entry)
    # objects in use are never taken out: a debugger reads them from a process that ends, too
    for kept in (entry, file):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    weakref.finalize(owner, _hide, interface, entry, file).atexit = False
    _take_out()


def _hide(interface: _Interface, entry: _Entry, file: Any) -> None:
    """Of a finalizer, which may run in a thread that has the lock: whoever lets it go takes the object out."""
    _hidden.append((interface, entry, file))
    _take_out()


def _take_out() -> None:
    while _hidden and _lock.acquire(blocking=False):
        try:
            while _hidden:
                interface, entry, file = _hidden.popleft()
                interface.remove(entry)
                for kept in (entry, file):
                    ctypes.pythonapi.Py_DecRef(ctypes.py_object(kept))
        finally:
            _lock.release()


@functools.cache
def _interface() -> _Interface | None:
    """The symbols that debuggers watch; None where nothing brings them."""
    if "llvmlite.binding" not in sys.modules:
        return None
    try:
        found = _library("libllvmlite.so")
        if found is None:
            return None
        base, path = found
        values = _remembered_symbols(path)
    except (OSError, ValueError, struct.error) as error:
        logger.debug("debuggers do not see loaded kernels: %s", error)
        return None
    if values is None:
        return None
    descriptor, function = (base + value for value in values)
    return _Interface(_Descriptor.from_address(descriptor), ctypes.CFUNCTYPE(None)(function))


def _library(name: str) -> tuple[int, str] | None:
    """Load address of the library called ``name``, and its file.

    That is where code of it follows: whoever reads the file, as this module does, may have mapped it as well.
    """
    begin = None
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            if len(fields) < 6 or os.path.basename(fields[5].strip()) != name:
                continue
            if int(fields[2], 16) == 0:
                begin = int(fields[0].partition("-")[0], 16)
            if begin is not None and "x" in fields[1]:
                return begin, fields[5].strip()
    return None


def _remembered_symbols(path: str) -> tuple[int, int] | None:
    """Values of the two symbols in the file, kept in the store: the table is tens of megabytes."""
    status = os.stat(path)
    facts = (path, status.st_size, status.st_mtime_ns, status.st_ino)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()
    kept = default_store().get(key)
    if kept is not None and len(kept) == _VALUES.size:
        return _VALUES.unpack(kept)
    values = _local_symbols(path, (_DESCRIPTOR, _FUNCTION))
    if len(values) < 2:
        return None
    made = values[_DESCRIPTOR], values[_FUNCTION]
    default_store().put(key, _VALUES.pack(*made))
    return made


def _local_symbols(path: str, names: tuple[str, ...]) -> dict[str, int]:
    """Values of symbols in the file's full symbol table, as far as it has one and they are there."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        (headers,) = struct.unpack_from("<Q", content, _HEADERS_AT)
        (count,) = struct.unpack_from("<H", content, _COUNT_AT)
        sections = [
            struct.unpack_from("<2I4Q2I2Q", content, headers + i * _HEADER_SIZE) for i in range(count)
        ]
        table = next((s for s in sections if s[1] == 2), None)
        if table is None:
            return {}
        begin, size = sections[table[6]][4:6]
        found = {}
        for name in names:
            at = content.find(f"\0{name}\0".encode(), begin, begin + size)
            value = None if at < 0 else _value_of(content[table[4] : table[4] + table[5]], at + 1 - begin)
            if value is not None:
                found[name] = value
        return found


def _value_of(table: bytes, name: int) -> int | None:
    symbols = np.frombuffer(table, _SYMBOLS)
    (found,) = np.nonzero(symbols["name"] == name)
    return int(symbols["value"][found[0]]) if found.size else None
