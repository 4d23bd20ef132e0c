"""The assembly text of a relocatable object, from what LLVM's code generator noted in that object.

With the feature ``dumpcode`` LLVM's code emitter writes each instruction that it encodes, with its encoding, into a section of the
object, :data:`SECTION`.  That costs about one percent; a second run of the code generator, for the text, costs as much as the first.  So the
object that is launched and its listing come from one run, and the encodings are compared with the code here.  What the section lacks is taken from
the object: branch targets, padding, the descriptor and the metadata.  An LLVM of the same version assembles the text to the same code,
descriptor and metadata.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgpack
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, Section, Symbol, SymbolTableSection

from tri_core.lazy_dataclasses import dataclass

__all__ = ["FEATURE", "SECTION", "Unlisted", "list_object", "lists", "without_notes"]

#: the feature of a processor by which LLVM writes :data:`SECTION`
FEATURE = "+dumpcode"
SECTION = ".AMDGPU.disasm"

_LINE = re.compile(r"(\t.*?) *; ([0-9A-F ]+)")
_BLOCK = re.compile(r"(BB\d+_\d+):")
#: where LLVM prints a symbol without a name, as those of blocks are in an object
_NAMELESS = '""'
_BRANCH = re.compile(rf"\ts_c?branch\w* {_NAMELESS}")
_INSTRUCTION = re.compile(r"\t[a-z]\w*(?: |$)")
_SYMBOL = re.compile(r'""|\.L\w+')
_NO_OPERATION = 0xBF800000
_DESCRIPTOR_SIZE = 64
#: where a descriptor has its distance to the code, in 8 bytes
_ENTRY = 16
_EXCLUDE = 1 << 31
_ALLOCATED = 2
#: sections in memory that the text is made of
_LISTED = frozenset((".text", ".rodata", ".note"))
#: columns of a key of the metadata, as LLVM writes them
_KEY = 16
#: what YAML takes for a string, quoted or not
_PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|y|n|null|nil)$)[A-Za-z_.$][\w.$-]*", re.IGNORECASE)


class Unlisted(Exception):
    """The object has something that no text is made of here: constants, several functions, lines of the source, code other than was noted."""


def list_object(data: bytes, version: int) -> str:
    """The text that assembles to the relocatable object ``data``, a code object of ``version`` 5, say; :class:`Unlisted` where there is none."""
    try:
        return "".join(f"{line}\n" for line in _Object.of(ELFFile(io.BytesIO(data))).lines(version))
    except (ELFError, struct.error, KeyError, ValueError, IndexError, AttributeError) as error:
        raise Unlisted(f"{type(error).__name__}: {error}") from error


def lists(text: str, data: bytes) -> bool:
    """True if the assembly ``text``, of another run of LLVM, has the instructions noted in the object
    ``data``, but for symbols' names.
    """
    section = ELFFile(io.BytesIO(data)).get_section_by_name(SECTION)
    noted = (line for line in section.data().decode().splitlines() if not _BLOCK.fullmatch(line))
    return [_bare(_read(line)[0]) for line in noted] == [
        _bare(line) for line in text.splitlines() if _INSTRUCTION.match(line)
    ]


def _bare(line: str) -> str:
    return _SYMBOL.sub(_NAMELESS, line.rstrip())


def without_notes(data: bytes) -> bytes:
    """The object ``data`` with :data:`SECTION` marked as one that a linker leaves out."""
    elf = ELFFile(io.BytesIO(data))
    number = elf.get_section_index(SECTION)
    if number is None:
        return data
    place = elf["e_shoff"] + number * elf["e_shentsize"] + 8
    changed = bytearray(data)
    struct.pack_into("<Q", changed, place, elf.get_section(number)["sh_flags"] | _EXCLUDE)
    return bytes(changed)


@dataclass(frozen=True)
class _Object:
    """The parts of an object of one kernel: its ``code`` and its ``descriptor``, each with its symbol; ``constants`` are symbols that are numbers."""

    code: bytes
    function: Symbol
    descriptor: bytes
    described: Symbol
    noted: Sequence[str]
    constants: Mapping[str, int]
    metadata: Mapping[str, Any]

    @classmethod
    def of(cls, elf: ELFFile) -> _Object:
        """Of a relocatable object that has a section :data:`SECTION`."""
        sections = {section.name: section for section in elf.iter_sections()}
        _check(sections)
        table = sections[".symtab"]
        assert isinstance(table, SymbolTableSection)
        symbols = [symbol for symbol in table.iter_symbols() if symbol.name]
        return cls(
            code=sections[".text"].data(),
            function=_only(s for s in symbols if s["st_shndx"] == elf.get_section_index(".text")),
            descriptor=sections[".rodata"].data(),
            described=_only(s for s in symbols if s["st_shndx"] == elf.get_section_index(".rodata")),
            noted=sections[SECTION].data().decode().splitlines(),
            constants={s.name: s["st_value"] for s in symbols if s["st_shndx"] == "SHN_ABS"},
            metadata=_metadata(sections[".note"]),
        )

    def lines(self, version: int) -> Iterator[str]:
        """The text, line by line."""
        yield f'\t.amdgcn_target "{self.metadata["amdhsa.target"]}"'
        yield f"\t.amdhsa_code_object_version {version}"
        yield "\t.text"
        yield from _declared(self.function, "function", 8)
        yield from _instructions(self.function.name, self.code, self.noted, self.function["st_size"])
        yield '\t.section\t.rodata,"a",@progbits'
        yield from self._described()
        yield from (f"\t.set {name}, {value}" for name, value in self.constants.items())
        yield "\t.amdgpu_metadata\n---"
        yield from _yaml(self.metadata, "")
        yield "...\n\t.end_amdgpu_metadata"

    def _described(self) -> Iterator[str]:
        """The descriptor, word by word: directives for its fields differ from processor to processor."""
        name = self.described.name
        yield from _declared(self.described, "object", 6)
        yield from _words(self.descriptor[:_ENTRY])
        yield f"\t.quad\t{self.function.name}-{name}"
        yield from _words(self.descriptor[_ENTRY + 8 :])
        yield f"\t.size\t{name}, {_DESCRIPTOR_SIZE}"


def _check(sections: Mapping[str, Section]) -> None:
    """Unlisted where there is more than code and a descriptor."""
    for name, section in sections.items():
        if section["sh_flags"] & _ALLOCATED and section["sh_size"] and name not in _LISTED:
            raise Unlisted(f"section {name}")
    if ".debug_line" in sections:
        raise Unlisted("lines of the source")
    if ".rela.text" in sections:
        raise Unlisted("code with relocations")
    if sections[".rodata"]["sh_size"] != _DESCRIPTOR_SIZE:
        raise Unlisted("constants beside the descriptor")


def _only(symbols: Iterable[Symbol]) -> Symbol:
    found = list(symbols)
    if len(found) != 1 or found[0]["st_value"]:
        raise Unlisted(f"symbols {[symbol.name for symbol in found]} in one section")
    return found[0]


def _metadata(section: Section) -> Mapping[str, Any]:
    assert isinstance(section, NoteSection)
    (note,) = section.iter_notes()
    made: Mapping[str, Any] = msgpack.unpackb(note["n_descdata"])
    return made


def _declared(symbol: Symbol, kind: str, alignment: int) -> Iterator[str]:
    """Directives before a symbol of ``kind`` that is aligned to 2 to the power of ``alignment`` bytes."""
    visibility = symbol["st_other"]["visibility"]
    if visibility != "STV_DEFAULT":
        yield f"\t.{visibility.removeprefix('STV_').lower()}\t{symbol.name}"
    yield f"\t.globl\t{symbol.name}"
    yield f"\t.p2align\t{alignment}, 0x0" if kind == "object" else f"\t.p2align\t{alignment}"
    yield f"\t.type\t{symbol.name},@{kind}"
    yield f"{symbol.name}:"


def _instructions(name: str, code: bytes, noted: Sequence[str], size: int) -> Iterator[str]:
    """Labels and instructions of function ``name``, the first ``size`` bytes of ``code``, and what fills the rest."""
    placed = _placed(code, noted, size)
    labels = {line.target: "" for line in placed if line.target is not None}
    labels |= {
        line.address: f".L{line.block or f'A{line.address:x}'}" for line in placed if line.address in labels
    }
    if "" in labels.values():
        raise Unlisted("a branch out of the function, or between instructions")
    for line in placed:
        if line.address in labels:
            yield f"{labels[line.address]}:"
        yield line.text if line.target is None else line.text.replace(_NAMELESS, labels[line.target])
    yield f".Lfunc_end0:\n\t.size\t{name}, .Lfunc_end0-{name}"
    for word, same in groupby(struct.unpack_from(f"<{(len(code) - size) // 4}I", code, size)):
        yield f"\t.fill {len(list(same))}, 4, {word}"


@dataclass(frozen=True)
class _Line:
    """An instruction at ``address``, with the name of a ``block`` that begins there, and the ``target`` of a branch."""

    text: str
    address: int
    block: str = ""
    target: int | None = None


def _placed(code: bytes, noted: Sequence[str], size: int) -> Sequence[_Line]:
    """The instructions of the first ``size`` bytes of ``code``."""
    words = struct.unpack_from(f"<{size // 4}I", code)
    lines: list[_Line] = []
    at, block = 0, ""
    for line in noted:
        if named := _BLOCK.fullmatch(line):
            block = named[1]
            continue
        text, own = _read(line)
        branches = _BRANCH.fullmatch(text) is not None
        while not _same(own, words[at : at + len(own)], branches):
            if words[at] != _NO_OPERATION:
                raise Unlisted(f"{text.strip()} is not what stands at {4 * at:#x}")
            lines.append(_Line("\ts_nop 0", 4 * at))  # padding
            at += 1
        lines.append(_Line(text, 4 * at, block, _target(4 * at, words[at]) if branches else None))
        at, block = at + len(own), ""
    if at != len(words):
        raise Unlisted(f"{size} bytes of code, of which {4 * at} are noted")
    return lines


def _read(line: str) -> tuple[str, tuple[int, ...]]:
    """The instruction of a noted ``line``, and its encoding, in words."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise Unlisted(f"no encoding in {line!r}")
    return found[1], tuple(int(word, 16) for word in found[2].split())


def _same(own: tuple[int, ...], words: tuple[int, ...], branches: bool) -> bool:
    """True if ``words`` are the encoding noted as ``own``: of a branch without its distance, which was not
    known then.
    """
    return own == words or (branches and len(words) == 1 and own[0] == words[0] & 0xFFFF0000)


def _target(address: int, word: int) -> int:
    """Target of the branch at ``address``: its lower 16 bits count words from the next instruction."""
    distance = (word & 0xFFFF ^ 0x8000) - 0x8000
    return address + 4 + 4 * distance


def _words(data: bytes) -> Iterator[str]:
    for word in struct.unpack(f"<{len(data) // 4}I", data):
        yield f"\t.long\t{word:#010x}"


def _yaml(value: Any, indent: str) -> Iterator[str]:
    """The lines of a map of code object metadata, or of a list in one."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, Mapping | list) and item:
                yield f"{indent}{key}:"
                yield from _yaml(item, f"{indent}  ")
            else:
                yield f"{indent}{f'{key}:':<{_KEY}} {_scalar(item)}"
        return
    for item in value:
        first, *rest = (
            _yaml(item, f"{indent}  ")
            if isinstance(item, Mapping | list)
            else (f"{indent}  {_scalar(item)}",)
        )
        yield f"{indent}- {first[len(indent) + 2 :]}"
        yield from rest


def _scalar(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case str() if _PLAIN.fullmatch(value):
            return value
        case str():
            return "'" + value.replace("'", "''") + "'"
        case []:
            return "[]"
        case _:
            raise Unlisted(f"{value!r} in the metadata")
