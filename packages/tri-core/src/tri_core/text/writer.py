"""From what MLIR prints (our ops in generic form, others in their own) to the dialects' text.

MLIR names the values, prints upstream ops and collects locations; here each generic op of a dialect with a
registered text becomes that text.  An op that its format cannot say stays in generic form, which any parser reads.
"""

from __future__ import annotations

import re

from tri_core.lazy_dataclasses import dataclass
from tri_core.text.functions import write_header
from tri_core.text.names import Writer
from tri_core.text.ops import SHORT, Generic, fill, finish, functional, read_functional, write_parts
from tri_core.text.partitions import write_partitions
from tri_core.text.scan import Cursor, dictionary, split_pairs
from tri_core.text.syntax import OpSyntax, kinds, syntaxes

__all__ = ["to_text"]

_REGION_END = re.compile(r"\s*\}\)")
_SHORT = re.compile(rf"{SHORT}[!\w.]+")
_NO_OPERANDS: list[str] = []


@dataclass(slots=True)
class _Open:
    """An op whose region is being read; ``line`` is where it starts in the output."""

    line: int
    indent: str
    results: str
    name: str
    operands: list[str]
    entry: str = ""


def to_text(printed: str) -> str:
    """The text of a module that MLIR printed with our ops in generic form; locations stay as they are."""
    return _Writer().run(printed)


class _Writer:
    def __init__(self) -> None:
        self.kinds = dict(kinds())
        here = {shown: name for d in syntaxes().values() for name, shown in d.names.items()}
        self.table = {here.get(n, n): (n, s) for d in syntaxes().values() for n, s in d.ops.items()}
        for dialect in syntaxes().values():
            self.table.update(dialect.elsewhere)
        names = "|".join(sorted(syntaxes()))
        self.line = re.compile(rf'(\s*)((?:%[^"=]* = )?)"((?:{names})\.\w+)"\(([^)]*)\)( \(\{{$)?')
        self.out: list[str | None] = []
        self.stack: list[_Open | None] = []

    def run(self, printed: str) -> str:
        names = Writer()
        for line in printed.split("\n"):
            self.take(line)
        # last, so that aliases are numbered as they appear
        text = names("\n".join(line for line in self.out if line is not None))
        text = _SHORT.sub("", text)
        return "".join(f"{line}\n" for line in names.definitions()) + text

    def take(self, line: str) -> None:
        found = self.line.match(line)
        if found is not None:
            self.op(line, found)
        elif line.endswith("({"):
            self.stack.append(None)
            self.out.append(line)
        elif self.stack and _REGION_END.match(line):
            self.close(line)
        elif self.is_entry(line):
            pass
        else:
            self.out.append(line)

    def op(self, line: str, found: re.Match[str]) -> None:
        indent, results, name, operands, region = found.groups()
        values = operands.split(", ") if operands else _NO_OPERANDS
        if region:
            self.stack.append(_Open(len(self.out), indent, results, name, values))
            self.out.append(None)
            return
        cursor = Cursor(line, found.end())
        attributes = dict(split_pairs(cursor.braces())) if cursor.sees("{") else {}
        cursor.expect(":")
        generic = Generic(values, attributes, *read_functional(cursor))
        self.out.append(f"{indent}{results}{self.text(name, generic)}{line[cursor.position :]}")

    def is_entry(self, line: str) -> bool:
        """True if ``line`` heads the first block of a function, whose arguments stand in its signature."""
        top = self.stack[-1] if self.stack else None
        if top is None or top.name != "tt.func" or len(self.out) != top.line + 1:
            return False
        if top.entry or not line.lstrip().startswith("^bb0"):
            return False
        top.entry = line.strip()
        return True

    def close(self, line: str) -> None:
        top = self.stack.pop()
        if top is None:
            self.out.append(line)
            return
        cursor = Cursor(line, line.index("})") + 2)
        attributes = dict(split_pairs(cursor.braces())) if cursor.sees("{") else {}
        cursor.expect(":")
        generic = Generic(top.operands, attributes, *read_functional(cursor))
        rest = line[cursor.position :]
        if self.partitioned(top, generic, rest):
            return
        if top.name == "tt.func":
            self.out[top.line] = f"{top.indent}{write_header(top.entry, attributes)} {{"
            self.out.append(f"{top.indent}}}{rest}")
            return
        head, tail = self.around(top.name, generic)
        self.out[top.line] = f"{top.indent}{top.results}{head} ({{"
        self.out.append(f"{top.indent}}}){tail}{rest}")

    def partitioned(self, top: _Open, op: Generic, rest: str) -> bool:
        """True if the op has partitions and was written; ``rest`` is the text after it."""
        shown, syntax = self.table.get(top.name, (top.name, OpSyntax(None)))
        if syntax.partitions is None:
            return False
        try:
            lines = [text for text in self.out[top.line + 1 :] if text is not None]
            head = f"{top.indent}{top.results}{shown}"
            made = write_partitions(syntax.partitions, head, top.indent, op, lines)
        except ValueError:
            return False  # the text cannot say this
        self.out[top.line :] = made
        self.out[-1] = f"{made[-1]}{rest}"
        return True

    def around(self, name: str, op: Generic) -> tuple[str, str]:
        """Text before and after the regions of an op."""
        shown, syntax = self.table.get(name, (name, OpSyntax(None)))
        op.attributes.pop("operandSegmentSizes", None)
        op.attributes.pop("resultSegmentSizes", None)
        inline = dictionary({k: v for k, v in op.attributes.items() if k in syntax.inline})
        others = dictionary({k: v for k, v in op.attributes.items() if k not in syntax.inline})
        head = f'"{shown}"({", ".join(op.operands)})' + (f" <{inline}>" if inline else "")
        return head, (f" {others}" if others else "") + f" : {functional(op.operand_types, op.result_types)}"

    def text(self, name: str, op: Generic) -> str:
        """An op without regions."""
        known = self.table.get(name)
        if known is not None and known[1].format is not None:
            shown, syntax = known
            try:
                return shown + _blank(syntax) + self.filled(syntax, op)
            except ValueError:
                pass  # the format cannot say this
        shown = known[0] if known is not None else name
        attributes = dictionary(op.attributes)
        types = functional(op.operand_types, op.result_types)
        return f'"{shown}"({", ".join(op.operands)}){" " + attributes if attributes else ""} : {types}'

    def filled(self, syntax: OpSyntax, op: Generic) -> str:
        holes = fill(syntax, op, self.kinds)
        out: list[str] = []
        write_parts(syntax.parts, holes, out)
        return finish(out, holes)


def _blank(syntax: OpSyntax) -> str:
    """Separator between the op's name and its format: groups and dictionaries bring their own blank."""
    return "" if not syntax.format or syntax.format.startswith(("{}", "(?", " ")) else " "
