"""Reads a linked code object: its processor, its kernels' descriptors and their metadata.

The formats are those of LLVM's "User Guide for AMDGPU Backend": the ELF header's flags, the 64-byte kernel
descriptor in ``.rodata`` and the MessagePack note ``NT_AMDGPU_METADATA``.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import msgpack
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from tri_backend_amd.architectures import ARCHITECTURES
from tri_backend_amd.target_ids import modes_in
from tri_core.api import ToolchainError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CodeObject", "KernelDescriptor", "KernelRecord", "read_code_object"]

_NT_AMDGPU_METADATA = 32
_MACHINE_MASK = 0xFF
#: group, private and kernarg bytes, code entry, three resource words, code properties
_DESCRIPTOR = struct.Struct("<III4xq20xIIIHH4x")
_WAVE32 = 1 << 10


@dataclass(frozen=True)
class KernelDescriptor:
    """Kernel descriptor that the command processor reads before it starts a kernel; sizes are in bytes.

    ``entry`` is the distance from the descriptor to the code, ``resources`` the three register words.
    """

    group_segment: int
    private_segment: int
    kernarg: int
    entry: int
    resources: tuple[int, int, int]
    wavefront: int

    @classmethod
    def unpack(cls, data: bytes) -> KernelDescriptor:
        """Read the 64 bytes of a descriptor."""
        group, private, kernarg, entry, third, first, second, properties, _ = _DESCRIPTOR.unpack(data)
        wavefront = 32 if properties & _WAVE32 else 64
        return cls(group, private, kernarg, entry, (first, second, third), wavefront)


@dataclass(frozen=True)
class KernelRecord:
    """One kernel: its descriptor, its metadata, and the bytes of its code."""

    name: str
    descriptor: KernelDescriptor
    metadata: Mapping[str, Any]
    code: bytes

    @property
    def parameter_sizes(self) -> list[int] | None:
        """Bytes of each parameter that a launch passes; None where the metadata has no list of them."""
        arguments = self.metadata.get(".args")
        if arguments is None:
            return None
        return [int(a[".size"]) for a in arguments if not str(a[".value_kind"]).startswith("hidden_")]


@dataclass(frozen=True)
class CodeObject:
    """A linked code object for ``processor`` (``"gfx942"``) in ``modes`` (``{"xnack": False}``); ``target_id`` as the metadata says it."""

    processor: str
    target_id: str
    abi_version: int
    kernels: Mapping[str, KernelRecord]
    modes: Mapping[str, bool] = field(default_factory=dict)


def _damaged(why: str) -> ToolchainError:
    return ToolchainError(
        f"this is not a whole AMD code object: {why}",
        remedy="compile the kernel again; TRI_ALWAYS_COMPILE=1 ignores what is cached",
        tool="hsaco",
        returncode=None,
        log="",
    )


def read_code_object(data: bytes) -> CodeObject:
    """Read ``data``; ToolchainError when it is damaged, not linked, or for no processor known here."""
    try:
        return _read(ELFFile(io.BytesIO(data)))
    except (ELFError, struct.error, KeyError, ValueError, AttributeError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from error


def _read(elf: ELFFile) -> CodeObject:
    if elf["e_machine"] != "EM_AMDGPU" or elf["e_type"] != "ET_DYN":
        raise _damaged(f"it is {elf['e_machine']}, {elf['e_type']}")
    metadata = _metadata(elf)
    kernels = {m[".name"]: _kernel(elf, m) for m in metadata["amdhsa.kernels"]}
    return CodeObject(
        processor=_processor(elf["e_flags"] & _MACHINE_MASK),
        target_id=metadata["amdhsa.target"],
        abi_version=elf["e_ident"]["EI_ABIVERSION"],
        kernels=kernels,
        modes=modes_in(elf["e_flags"]),
    )


def _processor(machine: int) -> str:
    for row in ARCHITECTURES.values():
        if row.machine == machine:
            return row.name
    raise _damaged(f"its processor number {machine:#x} is unknown")


def _metadata(elf: ELFFile) -> dict[str, Any]:
    for section in elf.iter_sections():
        if isinstance(section, NoteSection):
            for note in section.iter_notes():
                if note["n_name"] == "AMDGPU" and int(note["n_type"]) == _NT_AMDGPU_METADATA:
                    found: dict[str, Any] = msgpack.unpackb(note["n_descdata"])
                    return found
    raise _damaged("it has no metadata note")


def _kernel(elf: ELFFile, metadata: Mapping[str, Any]) -> KernelRecord:
    name = metadata[".name"]
    at, raw = _symbol(elf, metadata[".symbol"])
    code_at, code = _symbol(elf, name)
    descriptor = KernelDescriptor.unpack(raw)
    if at + descriptor.entry != code_at:
        raise _damaged(f"the descriptor of {name} does not point at its code")
    return KernelRecord(name=name, descriptor=descriptor, metadata=metadata, code=code)


def _symbol(elf: ELFFile, name: str) -> tuple[int, bytes]:
    """The address of symbol ``name`` of the dynamic symbol table, and the bytes that it covers."""
    table = elf.get_section_by_name(".dynsym")
    found = table.get_symbol_by_name(name) if isinstance(table, SymbolTableSection) else None
    if not found:
        raise _damaged(f"it has no symbol {name}")
    symbol = found[0]
    section = elf.get_section(symbol["st_shndx"])
    start = symbol["st_value"] - section["sh_addr"]
    data: bytes = section.data()[start : start + symbol["st_size"]]
    if len(data) != symbol["st_size"]:
        raise _damaged(f"symbol {name} reaches beyond its section")
    return symbol["st_value"], data
