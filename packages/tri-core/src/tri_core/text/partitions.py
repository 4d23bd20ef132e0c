"""An op whose regions run on different warps: a default region, and partitions with arguments and warps of their own.

    %r = ttg.warp_specialize(%a) attributes {...}
    default {
      ttg.warp_yield %x : i32
    }
    partition0(%b: i32) num_warps(4) {
      ttg.warp_return
    } : (i32) -> i32

In generic form the partitions are blocks of one region of an op inside of the second region.  There they share
their names, which the text lets each use anew: see :func:`renaming`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tri_core.text.functions import named_location
from tri_core.text.ops import Generic, functional
from tri_core.text.scan import STRING, Cursor, dictionary
from tri_core.text.syntax import Partitions

__all__ = ["label", "renamed", "renaming", "write_partitions"]

_LABEL = re.compile(r"\s*\^\w+(?:\((.*)\))?:(?:\s*//.*)?")
_ARRAY = re.compile(r"array<i32(?:: ([-\d, ]*))?>")
_NAME = re.compile(r"%[\w.$-]+")
_BRACES = re.compile(rf"//[^\n]*|{STRING}|[{{}}]")


# --- writing ------------------------------------------------------------------------------------------------


def write_partitions(syntax: Partitions, name: str, indent: str, op: Generic, lines: list[str]) -> list[str]:
    """The text of the op that ``name`` starts; ``lines`` are what is between its outermost braces.

    ValueError where the partitions are not one block each.
    """
    middle = lines.index(f"{indent}}}, {{")
    inner, holder = indent + "  ", lines[middle + 1 : -1]
    if not holder or not lines[-1].startswith(f"{inner}}})"):
        raise ValueError("the op that holds the partitions is not alone")
    found = _ARRAY.fullmatch(op.attributes[syntax.counts])
    counts = [n.strip() for n in (found[1] or "").split(",") if n.strip()] if found else []
    blocks = _blocks(holder, inner)
    if len(blocks) != len(counts):
        raise ValueError("a partition has several blocks")
    others = {k: v for k, v in op.attributes.items() if k != syntax.counts and k != "operandSegmentSizes"}
    text = f" attributes {dictionary(others)}" if others else ""
    out = [f"{name}({', '.join(op.operands)}){text}", f"{indent}default {{", *lines[:middle], f"{indent}}}"]
    for i, (count, (arguments, body)) in enumerate(zip(counts, blocks, strict=True)):
        out += [f"{indent}partition{i}({arguments}) num_warps({count}) {{", *body, f"{indent}}}"]
    out[-1] += f" : {functional(op.operand_types, op.result_types)}"
    return out


def _blocks(lines: list[str], indent: str) -> list[tuple[str, list[str]]]:
    """Arguments and lines of each block of a region whose op stands at ``indent``; the lines two blanks to the left."""
    found: list[tuple[str, list[str]]] = []
    for line in lines[1:]:
        label_ = _LABEL.fullmatch(line) if line.startswith(f"{indent}^") else None
        if label_ is not None:
            found.append((label_[1] or "", []))
            continue
        if not found:  # a first block without arguments has no label
            found.append(("", []))
        found[-1][1].append(line[2:] if line.startswith("  ") else line)
    return found


# --- reading ------------------------------------------------------------------------------------------------


def label(cursor: Cursor, number: int) -> tuple[str, str] | None:
    """The block label of ``partition<number>(...) num_warps(n) {``, and n; None where something else comes next."""
    if not cursor.accept(f"partition{number}"):
        return None
    arguments: list[str] = []
    cursor.expect("(")
    while not cursor.accept(")"):
        if arguments:
            cursor.expect(",")
        name = cursor.value()
        cursor.expect(":")
        type_ = cursor.type()
        where = cursor.location() or named_location(name)
        arguments.append(f"{name}: {type_}{' ' if where else ''}{where}")
    cursor.expect("num_warps")
    cursor.expect("(")
    count = cursor.integer()
    cursor.expect(")")
    cursor.expect("{")
    head = f"({', '.join(arguments)})" if arguments else ""
    return f"^partition{number}{head}:", count


def renaming(text: str, start: int, made: set[str]) -> Mapping[str, str]:
    """New names of the values of the partition that starts at ``start``, up to the brace that closes it.

    Those that occur before it are taken: a partition sees nothing from outside.  ``made``: new names so far.
    """
    end, depth = len(text), 0
    for found in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        if depth == 0 and found.group() == "}":
            end = found.end()
            break
    taken = set(_NAME.findall(text, 0, start))
    own = set(_NAME.findall(text, start, end))
    return {name: _free(name, taken | own, made) for name in sorted(own & taken)}


def renamed(text: str, names: Mapping[str, str]) -> str:
    """``text`` with new names of values."""
    return _NAME.sub(lambda found: names.get(found.group(), found.group()), text)


def _free(name: str, taken: set[str], made: set[str]) -> str:
    number, stem = 0, f"%v{name[1:]}" if name[1:].isdigit() else name
    while (new := f"{stem}_p{number}") in taken or new in made:
        number += 1
    made.add(new)
    return new
