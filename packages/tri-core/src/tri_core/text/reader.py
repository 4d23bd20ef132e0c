"""From the dialects' text to what MLIR's parser reads: our ops in generic form, all else as it was.

Lines stay lines, and what is copied stays where it was in its line, so that the places that MLIR reports are places
in the text; :meth:`Source.position` translates those within a rewritten op.
"""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Mapping
from dataclasses import field

from tri_core.errors import TriError
from tri_core.lazy_dataclasses import dataclass
from tri_core.text.depth import check_depth
from tri_core.text.functions import read_header
from tri_core.text.names import Reader, pattern
from tri_core.text.ops import SEGMENTS, Generic, Holes, functional, generic_of, read_functional, read_parts
from tri_core.text.partitions import label, renamed, renaming
from tri_core.text.scan import STRING, Cursor, dictionary, error_at, split_pairs
from tri_core.text.syntax import OpSyntax, Partitions, kinds, syntaxes

__all__ = ["Source", "from_text"]


_WORD = re.compile(r"[%@!#^]?[\w.$]+")


#: what a module has whose tensors have layouts
_LAYOUTS = '"ttg.num-warps"'


@dataclass
class Source:
    """Generic ``text`` made from ``original``.

    ``marks`` pairs offsets in both: where copying starts, where rewriting starts, and so on in turn.
    """

    text: str
    original: str
    marks: list[tuple[int, int]]

    def position(self, line: int, column: int) -> tuple[int, int]:
        """The place (both from 1) in the original of a place in the text."""
        lines = self.text.split("\n")
        if not 0 < line <= len(lines):
            return line, column
        at = self._offset(sum(len(part) + 1 for part in lines[: line - 1]) + column - 1)
        return self.original.count("\n", 0, at) + 1, at - self.original.rfind("\n", 0, at)

    def _offset(self, offset: int) -> int:
        index = max(bisect.bisect_right(self.marks, (offset, len(self.original))) - 1, 0)
        made, origin = self.marks[index]
        if index % 2 == 0:  # copied
            return origin + offset - made
        # rewritten: the same word, or else where the op starts
        word = _WORD.match(self.text, offset)
        end = self.marks[index + 1][1]
        found = self.original.find(word.group(), origin, end) if word else -1
        return found if found >= 0 else origin


@dataclass(slots=True)
class _Open:
    """Text to write at the closing brace of an open one."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    operands: list[str] = field(default_factory=list)
    is_function: bool = False
    partitions: Partitions | None = None
    #: warps of the partitions that have been read
    counts: list[str] = field(default_factory=list)
    #: what values are called outside
    renames: Mapping[str, str] = field(default_factory=dict)


def from_text(text: str, path: str = "-", *, apart: bool = False) -> Source:
    """``text`` for MLIR's parser; VerificationError, located in ``path``, for what is no text of our dialects.

    ``apart``: values of partitions get new names where others are called the same, which MLIR minds.
    """
    check_depth(text, path)
    return _Reader(text, path, apart).run()


class _Reader:
    def __init__(self, text: str, path: str, apart: bool) -> None:
        self.text, self.path, self.apart = text, path, apart
        self.renames: Mapping[str, str] = {}
        self.made: set[str] = set()
        self.kinds = dict(kinds())
        self.table = {name: s for d in syntaxes().values() for name, s in d.ops.items()}
        self.here = {shown: here for d in syntaxes().values() for here, shown in d.names.items()}
        spaces = {*syntaxes(), *(shown.partition(".")[0] for shown in self.here)}
        # the names here are read as well
        for shown, name in self.here.items():
            if shown in self.table:
                self.table.setdefault(name, self.table[shown])
        if _LAYOUTS not in text:
            for dialect in syntaxes().values():
                for name, (shown, syntax) in dialect.elsewhere.items():
                    self.table[shown], self.here[shown] = syntax, name
                    spaces.add(shown.partition(".")[0])
        self.names = Reader()
        self.cursor = Cursor(text, 0, path)
        self.stack: list[_Open | None] = []
        self.out: list[str] = []
        self.length = 0
        self.marks: list[tuple[int, int]] = [(0, 0)]
        namespaces = "|".join(sorted(spaces))
        self.search = re.compile(
            rf'//[^\n]*|"(?P<generic>(?:{namespaces})\.[\w.]+)"\(|{STRING}|(?P<brace>[{{}}])|(?P<name>{pattern()})'
            rf"|(?<![\w.$%@!#^-])(?P<op>(?:{namespaces})\.\w[\w.]*)"
        )

    def run(self) -> Source:
        position = 0
        while (found := self.search.search(self.text, position)) is not None:
            kind = found.lastgroup
            if kind is None:
                self.copy(position, found.end())
                position = found.end()
                continue
            self.copy(position, found.start())
            self.cursor.position = found.end()
            made = self.take(kind, found)
            position = self.cursor.position
            self.emit(made, found.start(), position)
        self.copy(position, len(self.text))
        if self.stack:
            raise error_at(self.text, len(self.text), "`}` is expected, found the end of the text", self.path)
        return Source("".join(self.out), self.text, self.marks)

    def copy(self, start: int, end: int) -> None:
        made = self.text[start:end]
        if self.renames:
            made = renamed(made, self.renames)
        self.out.append(made)
        self.length += len(made)

    def emit(self, made: str, start: int, end: int) -> None:
        """Write ``made`` in place of what was read, with as many lines."""
        lines = self.text.count("\n", start, end) - made.count("\n")
        made += "\n" * lines
        if self.renames:
            made = renamed(made, self.renames)
        self.out.append(made)
        self.marks.append((self.length, start))
        self.length += len(made)
        self.marks.append((self.length, end))

    def take(self, kind: str, found: re.Match[str]) -> str:
        try:
            match kind:
                case "brace":
                    return self.brace(found.group())
                case "name":
                    return self.names(found.group())
                case "generic":
                    return self.generic(found["generic"])
                case _:
                    return self.op(found)
        except TriError:
            raise
        except ValueError as error:
            raise error_at(self.text, found.start(), str(error), self.path) from error

    # --- braces -------------------------------------------------------------------------------------------

    def brace(self, brace: str) -> str:
        if brace == "{":
            self.stack.append(None)
            return brace
        if not self.stack:
            raise error_at(self.text, self.cursor.position - 1, "`}` closes nothing", self.path)
        top = self.stack.pop()
        if top is None:
            return brace
        if top.is_function:
            return f"}}) {self.dictionary(top.attributes)} : () -> ()"
        return self.after_region(top) if top.partitions is None else self.after_partition(top, top.partitions)

    def after_region(self, top: _Open) -> str:
        """The end of a region of an op in generic form; another one may follow."""
        if self.cursor.accept(","):
            self.cursor.expect("{")
            self.stack.append(top)
            return "}, {"
        self.cursor.expect(")")
        return "})" + self.tail(top)

    # --- partitions ---------------------------------------------------------------------------------------

    def partitioned(self, name: str, partitions: Partitions) -> str:
        """The start of an op with a default region and partitions."""
        cursor = self.cursor
        cursor.expect("(")
        operands = cursor.values()
        cursor.expect(")")
        attributes = dict(split_pairs(cursor.braces())) if cursor.accept("attributes") else {}
        cursor.expect("default")
        cursor.expect("{")
        self.stack.append(_Open(name, attributes, operands, partitions=partitions))
        return f'"{name}"({", ".join(operands)}) ({{'

    def after_partition(self, top: _Open, partitions: Partitions) -> str:
        """The end of the default region or of a partition; another partition, or the types, may follow."""
        start, first, self.renames = self.cursor.position, not top.counts, {}
        found = label(self.cursor, len(top.counts))
        if found is not None:
            head, count = found
            top.counts.append(count)
            self.stack.append(top)
            made = f'}}, {{ "{partitions.holder}"() ({{ {head}' if first else f" {head}"
            if self.apart:
                self.renames = renaming(self.text, start, self.made)
            return self.names(made)
        if first:
            self.cursor.fail("`partition0(...) num_warps(n) {`")
        self.cursor.expect(":")
        types = self.names(functional(*read_functional(self.cursor)))
        top.attributes[partitions.counts] = f"array<i32: {', '.join(top.counts)}>"
        return f"}}) : () -> () loc(unknown) }}) {self.dictionary(top.attributes)} : {types}"

    # --- ops ----------------------------------------------------------------------------------------------

    def op(self, found: re.Match[str]) -> str:
        name = found["op"]
        syntax = self.table.get(name)
        if syntax is not None and syntax.partitions is not None and self.is_statement(found.start()):
            return self.partitioned(self.here.get(name, name), syntax.partitions)
        if name != "tt.func" and (syntax is None or syntax.format is None):
            return self.no_op(name, found.start(), syntax)
        if self.cursor.sees("=") or not self.is_statement(found.start()):
            return name  # an attribute
        if syntax is None or name == "tt.func":
            return self.function()
        holes = Holes(self.kinds)
        read_parts(syntax.parts, self.cursor, holes)
        return self.written(self.here.get(name, name), generic_of(syntax, holes))

    def is_statement(self, start: int) -> bool:
        """True if an op may start at ``start``: not within a dictionary, whose entries look alike."""
        before = self.text[max(start - 200, 0) : start]
        last = before.rstrip()[-1:]
        if last != "{":
            return last not in (",", "[", "(")
        # in a region an op has a line of its own, or else something after it
        return "\n" in before[before.rindex("{") :] or not (self.cursor.sees("}") or self.cursor.sees(","))

    def no_op(self, name: str, start: int, syntax: OpSyntax | None) -> str:
        line = self.text.rfind("\n", 0, start) + 1
        before = self.text[line:start].strip()
        if (before and not before.endswith("=")) or self.cursor.sees("=") or not self.is_statement(start):
            return name
        if syntax is not None:
            raise error_at(self.text, start, f'{name} is written in generic form: "{name}"(...)', self.path)
        namespace = name.partition(".")[0]
        names = sorted(n for n in self.table if n.startswith(f"{namespace}."))
        known = ", ".join(difflib.get_close_matches(name, names) or names)
        message = f"the {namespace} dialect has no op {name}"
        raise error_at(self.text, start, message, self.path, f"known: {known}")

    def function(self) -> str:
        block, attributes = read_header(self.cursor)
        if not self.cursor.accept("{"):
            self.cursor.fail("a body `{`")
        self.stack.append(_Open("tt.func", attributes, is_function=True))
        return f'"tt.func"() ({{ ^bb0({self.names(block)}):' if block else '"tt.func"() ({'

    def written(self, name: str, op: Generic) -> str:
        types = self.names(functional(op.operand_types, op.result_types))
        attributes = f" {self.dictionary(op.attributes)}" if op.attributes else ""
        return f'"{name}"({", ".join(op.operands)}){attributes} : {types}'

    def dictionary(self, attributes: dict[str, str]) -> str:
        text = dictionary(attributes)
        return self.names(text) if "#" in text or "!" in text else text

    # --- generic form -------------------------------------------------------------------------------------

    def generic(self, name: str) -> str:
        cursor = self.cursor
        operands = cursor.values()
        cursor.expect(")")
        attributes: dict[str, str] = {}
        if cursor.sees("<"):
            cursor.expect("<")
            attributes.update(split_pairs(cursor.braces()))
            cursor.expect(">")
        top = _Open(self.here.get(name, name), attributes, operands)
        head = f'"{top.name}"({", ".join(operands)})'
        if not cursor.accept("("):
            return head + self.tail(top, self.table.get(name))
        cursor.expect("{")
        self.stack.append(top)
        return head + " ({"

    def tail(self, top: _Open, syntax: OpSyntax | None = None) -> str:
        """Attributes and types after the regions of an op in generic form."""
        cursor = self.cursor
        attributes = dict(top.attributes)
        if cursor.sees("{"):
            attributes.update(split_pairs(cursor.braces()))
        cursor.expect(":")
        types = self.names(functional(*read_functional(cursor)))
        if syntax is not None:
            attributes = _completed(syntax, attributes, len(top.operands))
        text = f" {self.dictionary(attributes)}" if attributes else ""
        return f"{text} : {types}"


def _completed(syntax: OpSyntax, attributes: dict[str, str], count: int) -> dict[str, str]:
    """Attributes of our generic form that the original's lacks."""
    if syntax.fold is not None:
        attributes = syntax.fold.read(attributes)
    optional = sum(kind == "?" for _, kind in syntax.operands)
    if syntax.format is not None and syntax.has_segments and SEGMENTS not in attributes and optional == 1:
        missing = len(syntax.operands) - count
        sizes = ["0" if kind == "?" and missing else "1" for _, kind in syntax.operands]
        attributes = {**attributes, SEGMENTS: f"array<i32: {', '.join(sizes)}>"}
    return attributes
