"""One op between its two forms: holes of its format filled, and the operands and types of the generic form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass
from tri_core.text.inference import infer
from tri_core.text.notation import Attribute, Dictionary, Functional, Group, Literal, Operand, Part, Type
from tri_core.text.scan import Cursor, dictionary, split_pairs
from tri_core.text.syntax import Kind, OpSyntax

__all__ = [
    "SEGMENTS",
    "SHORT",
    "Generic",
    "Holes",
    "fill",
    "finish",
    "functional",
    "generic_of",
    "read_functional",
    "read_parts",
    "write_parts",
]

SEGMENTS = "operandSegmentSizes"
#: stands before a type whose name is left out, which must be there until the type is rewritten
SHORT = "\1"


@dataclass(slots=True)
class Generic:
    """An op without its results' names and regions, in generic form."""

    operands: Sequence[str]
    attributes: dict[str, str]
    operand_types: Sequence[str]
    result_types: Sequence[str]


@dataclass(slots=True)
class Holes:
    """Contents of the holes of a format."""

    kinds: dict[str, Kind]
    operands: dict[str, Sequence[str]] = field(default_factory=dict)
    types: dict[str, Sequence[str]] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    functional: tuple[Sequence[str], Sequence[str]] | None = None

    def is_filled(self, parts: Sequence[Part]) -> bool:
        """True if the first hole among ``parts`` is filled."""
        for part in parts:
            match part:
                case Operand() | Type():
                    return bool(self.operands.get(part.name))
                case Attribute():
                    return part.name in self.attributes
        return True


# --- from the generic form to the text --------------------------------------------------------------------


def fill(syntax: OpSyntax, op: Generic, kinds: dict[str, Kind]) -> Holes:
    """The holes of ``op``; ValueError when the format cannot say all of it."""
    holes = Holes(kinds, attributes=dict(op.attributes))
    sizes = holes.attributes.pop(SEGMENTS, None)
    position = 0
    for (name, _), size in zip(syntax.operands, _sizes(syntax, len(op.operands), sizes), strict=True):
        holes.operands[name] = op.operands[position : position + size]
        holes.types[name] = op.operand_types[position : position + size]
        position += size
    if syntax.is_functional:
        holes.functional = (op.operand_types, op.result_types)
    else:
        _name_results(syntax, holes, op.result_types)
    if syntax.fold is not None:
        holes.attributes = syntax.fold.write(holes.attributes)
    for name, value in syntax.defaults.items():
        if holes.attributes.get(name) == value:
            del holes.attributes[name]
        elif name not in holes.attributes:
            raise ValueError(f"attribute {name} is missing")
    _check_inferred(syntax, holes)
    return holes


def _sizes(syntax: OpSyntax, count: int, given: str | None) -> list[int]:
    """Number of operands of each name."""
    if given is not None and syntax.has_segments:
        sizes = [int(n) for n in given.partition(":")[2].rstrip("> ").split(",")]
        if len(sizes) == len(syntax.operands) and sum(sizes) == count:
            return sizes
        raise ValueError(f"{given} does not fit {count} operands")
    spare = count - sum(kind == "" for _, kind in syntax.operands)
    sizes = []
    for _, kind in syntax.operands:
        size = 1 if kind == "" else min(spare, 1) if kind == "?" else spare
        spare -= size if kind else 0
        sizes.append(size)
    if spare or sum(sizes) != count:
        raise ValueError(f"{count} operands are too many or too few")
    return sizes


def _name_results(syntax: OpSyntax, holes: Holes, types: Sequence[str]) -> None:
    position = 0
    for name, many in syntax.results:
        size = len(types) - position if many else 1
        holes.types[name] = types[position : position + size]
        position += size
    if position != len(types):
        raise ValueError(f"{len(types)} results are too many or too few")


def _check_inferred(syntax: OpSyntax, holes: Holes) -> None:
    """Check that what the text omits is what the reader will infer."""
    for name, rule, source in syntax.rules:
        expected = infer(rule, holes.types[source][0]) if source else rule
        if any(type_ != expected for type_ in holes.types.get(name, ())):
            raise ValueError(f"the type of {name} is not {expected}")


def write_parts(parts: Sequence[Part], holes: Holes, out: list[str]) -> None:
    """Append the text of ``parts``; takes the attributes that they write out of ``holes``."""
    for part in parts:
        match part:
            case Literal():
                out.append(part.text)
            case Operand():
                out.append(", ".join(holes.operands[part.name]))
            case Type():
                out.append(", ".join(_shorten(t, part.head) for t in holes.types[part.name]))
            case Group():
                if holes.is_filled(part.parts):
                    write_parts(part.parts, holes, out)
            case Attribute():
                out.append(_attribute(part, holes))
            case Dictionary():
                out.append(_DICTIONARY)
            case Functional():
                out.append(functional(*(holes.functional or ((), ()))))


def _attribute(part: Attribute, holes: Holes) -> str:
    if part.name not in holes.attributes:
        raise ValueError(f"attribute {part.name} is missing")
    value = holes.attributes.pop(part.name)
    if part.kind != "!":
        return holes.kinds[part.kind].write(value)
    if value:
        raise ValueError(f"{part.name} is a unit attribute")
    return part.name


#: stands for the dictionary, whose contents are known when all attributes of the format are written
_DICTIONARY = "\0"


def finish(out: list[str], holes: Holes) -> str:
    """The text that :func:`write_parts` made, with what is left of the attributes."""
    text = "".join(out)
    rest = dictionary(holes.attributes)
    return text.replace(_DICTIONARY, f" {rest}" if rest else "", 1)


def functional(operands: Sequence[str], results: Sequence[str]) -> str:
    """``(T, U) -> V``."""
    right = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(operands)}) -> {right}"


def _shorten(type_: str, head: str) -> str:
    if not type_.startswith(head):
        raise ValueError(f"{type_} is no {head}")
    return SHORT + type_ if head else type_


# --- from the text to the generic form --------------------------------------------------------------------


def read_parts(parts: Sequence[Part], cursor: Cursor, holes: Holes) -> None:
    """Fill ``holes`` from the text; VerificationError where it is not as ``parts`` say."""
    for part in parts:
        match part:
            case Literal():
                if part.token:
                    cursor.expect(part.token)
            case Operand():
                holes.operands[part.name] = cursor.values() if part.many else [cursor.value()]
            case Type():
                holes.types[part.name] = _read_types(part, cursor)
            case Group():
                if _comes_next(part, cursor):
                    read_parts(part.parts, cursor, holes)
            case Attribute():
                _read_attribute(part, cursor, holes)
            case Dictionary():
                if cursor.sees("{"):
                    holes.attributes.update(split_pairs(cursor.braces()))
            case Functional():
                holes.functional = read_functional(cursor)


def read_functional(cursor: Cursor) -> tuple[list[str], list[str]]:
    """``(T, U) -> V``."""
    cursor.expect("(")
    operands = [] if cursor.sees(")") else cursor.types()
    cursor.expect(")")
    cursor.expect("->")
    return operands, cursor.type_list()


def _read_types(part: Type, cursor: Cursor) -> list[str]:
    if part.head:
        # the short form, or the whole type
        return [part.head + cursor.angled() if cursor.sees("<") else cursor.type()]
    return cursor.types() if part.many else [cursor.type()]


def _comes_next(group: Group, cursor: Cursor) -> bool:
    for part in group.parts:
        match part:
            case Literal():
                if part.token:
                    return cursor.sees(part.token)
            case Operand():
                return cursor.sees("%")
            case Attribute(name, "!"):
                return cursor.sees(name)
    return False


def _read_attribute(part: Attribute, cursor: Cursor, holes: Holes) -> None:
    if part.kind == "!":
        cursor.expect(part.name)
        holes.attributes[part.name] = ""
        return
    kind = holes.kinds[part.kind]
    start = cursor.blank()
    try:
        holes.attributes[part.name] = kind.read(_token(kind.token, cursor, part.name))
    except ValueError as error:
        cursor.position = start
        cursor.fail(str(error))


def _token(token: str, cursor: Cursor, name: str) -> str:
    match token:
        case "word":
            return cursor.word(f"a keyword for {name}")
        case "words":
            found = cursor.word(f"a keyword for {name}")
            while cursor.accept("|"):
                found += f"|{cursor.word()}"
            return found
        case "integer":
            return cursor.integer()
        case "string":
            return cursor.string()
        case "symbol":
            return cursor.symbol()
        case "integers":
            cursor.expect("[")
            numbers = [] if cursor.sees("]") else [cursor.integer()]
            while cursor.accept(","):
                numbers.append(cursor.integer())
            cursor.expect("]")
            return f"[{', '.join(numbers)}]"
    raise AssertionError(token)


def generic_of(syntax: OpSyntax, holes: Holes) -> Generic:
    """The generic form of an op that was read; ValueError when its types do not fit together."""
    operands = [v for name, _ in syntax.operands for v in holes.operands.get(name, ())]
    attributes = holes.attributes
    for name, value in syntax.defaults.items():
        attributes.setdefault(name, value)
    if syntax.fold is not None:
        attributes = syntax.fold.read(attributes)
    if syntax.has_segments:
        sizes = ", ".join(str(len(holes.operands.get(name, ()))) for name, _ in syntax.operands)
        attributes[SEGMENTS] = f"array<i32: {sizes}>"
    if holes.functional is not None:
        return Generic(operands, attributes, *holes.functional)
    for name, rule, source in syntax.rules:
        made = infer(rule, holes.types[source][0]) if source else rule
        holes.types[name] = [made] * len(holes.operands[name]) if name in holes.operands else [made]
    types = [t for name, _ in syntax.operands if name in holes.operands for t in holes.types[name]]
    if len(types) != len(operands):
        raise ValueError(f"as many types as operands ({len(operands)}) are expected, found {len(types)}")
    return Generic(operands, attributes, types, [t for name, _ in syntax.results for t in holes.types[name]])
