"""PTX text as instructions: a kernel's registers, labels and statements, with the line of each and the source line that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from tri_core.api import Unsupported
from tri_core.errors import SourceLocation
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Guard", "Instruction", "Kernel", "Parameter", "Variable", "bits_of", "read_kernel"]

_BITS = re.compile(r"(\d+)(?:x(\d))?$")
_NAME = r"[\w$%.]+"
_HEADER = re.compile(r"\.entry\s+([\w$.]+)\s*(?:\(([^)]*)\))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.MULTILINE)
_SHARED = re.compile(r"\.shared\b[^;\[]*?([\w$]+)\s*\[")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+\d+)\b.*?([\w$]+)\s*(?:\[(\d+)\])?\s*$", re.DOTALL
)
_VARIABLE = re.compile(
    r"\.(local|global|const)\s+(?:\.align\s+\d+\s+)?\.([a-z]\d+)\s+([\w$]+)\s*(?:\[(\d*)\])?\s*(?:=\s*\{?([^;{}]*)\}?)?\s*;"
)
_FUNCTION = re.compile(r"\.func\s*(?:\(([^)]*)\))?\s*([\w$]+)\s*\(([^)]*)\)[^;{]*([;{])")
_LOCAL_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]\d+)\s+([\w$]+)\s*(\[\d+\])?\s*;")
_PLACE = re.compile(r"\[([\w$@]+)(?:\+(\d+))?\]")
_TOKENS = re.compile(
    r"(?P<blank>\s+)|//\s*implicit-def:\s*(?P<implicit>%[\w$]+)[^\n]*|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|\.loc\s+(?P<file>\d+)\s+(?P<row>\d+)\s+(?P<column>\d+)[^\n]*"
    r"|\.reg\s+\.(?P<kind>\w+)\s+(?P<registers>[^;]*);"
    r"|(?P<targets>[\w$]+)\s*:\s*\.branchtargets\s+(?P<ways>[^;]*);"
    r"|(?P<label>[\w$]+)\s*:|(?P<open>\{)|(?P<close>\})|(?P<directive>\.[^;]*;)|(?P<code>[^;]*);",
    re.DOTALL,
)
_CODE = re.compile(r"(?:@(?P<not>!?)(?P<guard>[\w$%.]+)\s+)?(?P<name>[\w.:]+)\s*(?P<operands>.*)", re.DOTALL)


def bits_of(type_: str) -> int:
    """Bits of a PTX type: 1 for ``pred``, 32 for ``f16x2``."""
    if type_ == "pred":
        return 1
    found = _BITS.search(type_)
    if found is None:
        raise Unsupported(f"the text level has no PTX type {type_}")
    if type_.startswith(("e4m3", "e5m2")):
        return 8 * int(found[2] or 1)
    return int(found[1]) * int(found[2] or 1)


@dataclass(frozen=True)
class Guard:
    """The predicate of an instruction, and whether it is negated."""

    register: str
    negated: bool


@dataclass(frozen=True)
class Instruction:
    """``@guard name operands;`` at ``line`` of the text (from 1); ``parts``: the name at its dots.

    An operand is text: a register, a number, a symbol, ``[address]``, or ``{a, b}``.
    """

    name: str
    operands: tuple[str, ...]
    line: int
    guard: Guard | None = None
    location: SourceLocation | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The name at its dots; ``::`` binds."""
        return tuple(self.name.split("."))

    def __str__(self) -> str:
        guard = f"@{'!' * self.guard.negated}{self.guard.register} " if self.guard else ""
        return f"{guard}{self.name} {', '.join(self.operands)}".strip()


@dataclass(frozen=True)
class Parameter:
    """A parameter of the kernel: PTX ``type``, and bytes of an array of them passed by value (0: a scalar)."""

    name: str
    type: str
    nbytes: int = 0


@dataclass(frozen=True)
class Variable:
    """``nbytes`` of memory of each thread (``space`` ``local``) or of the module, with what they hold at first."""

    name: str
    space: str
    nbytes: int
    contents: bytes = b""


@dataclass
class Kernel:
    """A kernel's code; ``registers`` have their types, ``labels`` the numbers of the instructions behind them.

    ``undefined``: registers that LLVM says have no value of their own (``implicit-def``).
    """

    name: str
    parameters: tuple[Parameter, ...]
    symbols: frozenset[str]
    variables: dict[str, Variable] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    undefined: set[str] = field(default_factory=set)
    code: list[Instruction] = field(default_factory=list)


def read_kernel(text: str, name: str) -> Kernel:
    """The kernel ``name`` of a PTX module; Unsupported where there is none, or where text is none that is known here."""
    header = next((h for h in _HEADER.finditer(text) if h[1] == name), None)
    if header is None:
        raise Unsupported(f"the PTX text has no kernel {name!r}")
    begin = text.index("{", header.end())
    end = _closing(text, begin)
    symbols = frozenset(_SHARED.findall(text[: header.start()] + text[begin:end]))
    variables = {v.name: v for v in _variables(re.sub(r"//[^\n]*", "", text))}
    kernel = Kernel(name, tuple(_parameters(header[2] or "")), symbols, variables)
    _Reader(kernel, text, _files(text)).read(begin + 1, end)
    return kernel


def _closing(text: str, begin: int) -> int:
    depth = 0
    for found in re.finditer(r"//[^\n]*|[{}]", text[begin:]):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return begin + found.start()
    raise Unsupported("the PTX text of a kernel has no end")


def _files(text: str) -> dict[int, str]:
    return {int(n): f"{first}/{second}" if second else first for n, first, second in _FILE.findall(text)}


def _parameters(text: str) -> Iterator[Parameter]:
    for part in re.sub(r"//[^\n]*", "", text).split(","):
        found = _PARAMETER.search(part)
        if found is not None:
            yield Parameter(found[2], found[1], int(found[3] or 0))
        elif part.strip():
            raise Unsupported(f"the text level does not know the parameter {part.strip()!r}")


def _variables(text: str) -> Iterator[Variable]:
    for space, type_, name, count, given in _VARIABLE.findall(text):
        size = bits_of(type_) // 8
        values = (
            [int(each, 0) for each in given.split(",") if re.fullmatch(r"\s*-?\w+\s*", each)] if given else []
        )
        contents = b"".join((v & (1 << 8 * size) - 1).to_bytes(size, "little") for v in values)
        yield Variable(name, space, size * int(count or len(values) or 1), contents)


class _Reader:
    """State of reading a kernel's body: what was read, and the open scopes."""

    def __init__(self, kernel: Kernel, text: str, files: dict[int, str]) -> None:
        self.kernel, self.text, self.files = kernel, text, files
        self.scopes: list[tuple[int, set[str]]] = []
        self.count = 0
        self.location: SourceLocation | None = None
        #: the functions that are being read in place of their calls, with the label behind each
        self.calls: list[tuple[str, str]] = []
        #: arrays of parameters of calls: the bits of the parts that something is put into, by offset
        self.arrays: dict[str, dict[int, int]] = {}

    def read(self, place: int, end: int) -> None:
        """Read from ``place`` up to ``end``."""
        line = self.text.count("\n", 0, place) + 1
        while place < end:
            found = _TOKENS.match(self.text, place, end)
            if found is None:
                raise Unsupported(
                    f"PTX line {line}: {self.text[place:end].splitlines()[0]!r} is no statement known here"
                )
            self._take(found, line)
            line += self.text.count("\n", place, found.end())
            place = found.end()

    def _take(self, found: re.Match[str], line: int) -> None:
        kernel = self.kernel
        match found.lastgroup:
            case "implicit":
                kernel.undefined.add(found["implicit"])
            case "column":
                file = self.files.get(int(found["file"]), "")
                row = int(found["row"])
                self.location = (
                    SourceLocation(file, row, max(int(found["column"]) - 1, 0)) if row else self.location
                )
            case "registers":
                self._declare(found["kind"], found["registers"])
            case "ways":
                ways = tuple(each.strip() for each in found["ways"].split(","))
                kernel.targets[self._scoped(found["targets"])] = tuple(map(self._scoped, ways))
            case "label":
                kernel.labels[self._named(found["label"])] = len(kernel.code)
            case "open":
                self.count += 1
                self.scopes.append((self.count, self._labels(found.end())))
            case "close":
                self.scopes.pop()
            case "directive":
                declared = _LOCAL_PARAMETER.fullmatch(found["directive"])
                if declared is not None:
                    self._declare_parameter(declared[2], declared[1], is_array=bool(declared[3]))
            case "code":
                self._instruction(found["code"], line + self._skipped(found["code"]))

    @staticmethod
    def _skipped(code: str) -> int:
        return code[: len(code) - len(code.lstrip())].count("\n")

    def _labels(self, place: int) -> set[str]:
        """The labels of the scope that begins at ``place``: they are its own, before they are read."""
        depth, inside = 1, []
        for found in re.finditer(r"//[^\n]*|[{}]|([\w$]+)\s*:(?!:)", self.text[place:]):
            depth += {"{": 1, "}": -1}.get(found[0], 0)
            if depth == 0:
                break
            if found[1] and depth == 1:
                inside.append(found[1])
        return set(inside)

    def _named(self, name: str) -> str:
        if self.scopes:
            self.scopes[-1][1].add(name)
        return self._scoped(name)

    def _declare(self, kind: str, names: str) -> None:
        for name in (each.strip() for each in names.split(",")):
            counted = re.fullmatch(rf"({_NAME})<(\d+)>", name)
            every = [f"{counted[1]}{i}" for i in range(int(counted[2]))] if counted else [name]
            for each in every:
                self.kernel.registers[self._named(each)] = kind

    def _declare_parameter(self, name: str, kind: str, *, is_array: bool) -> None:
        if is_array:
            self.arrays[self._named(name)] = {}
        else:
            self._declare(kind, name)

    def _scoped(self, name: str) -> str:
        """``name`` as the innermost scope that has it calls it."""
        for number, names in reversed(self.scopes):
            if name in names:
                return f"{name}@{number}"
        return name

    def _instruction(self, text: str, line: int) -> None:
        found = _CODE.fullmatch(text.strip())
        if found is None:
            raise Unsupported(f"PTX line {line}: {text.strip()!r} is no instruction")
        guard = Guard(self._scoped(found["guard"]), found["not"] == "!") if found["guard"] else None
        operands = tuple(
            re.sub(r"[\w$%]+", lambda m: self._scoped(m[0]), each) for each in _split(found["operands"])
        )
        name = found["name"]
        if name.partition(".")[0] == "call":
            self._call(Instruction(name, operands, line, guard, self.location))
            return
        if name == "ret" and self.calls:
            name, operands = "bra.uni", (self.calls[-1][1],)
        if name.startswith(("st.param", "ld.param")) and self._part(name, operands, line):
            return
        self.kernel.code.append(Instruction(name, operands, line, guard, self.location))

    def _part(self, name: str, operands: tuple[str, ...], line: int) -> bool:
        """An access to an array of a call's parameters becomes moves of its parts; False for other places."""
        stores = name.startswith("st")
        place, values = operands if stores else operands[::-1]
        found = _PLACE.fullmatch(place)
        if found is None or found[1] not in self.arrays:
            return False
        parts, bits = self.arrays[found[1]], bits_of(name.rpartition(".")[2])
        for i, value in enumerate(values.strip("{} ").split(",")):
            offset = int(found[2] or 0) + i * bits // 8
            if parts.setdefault(offset, bits) != bits:
                raise Unsupported(
                    f"the text level knows no parts of parts of parameters (PTX line {line}: {name})"
                )
            part = f"{found[1]}+{offset}"
            self.kernel.registers[part] = f"b{bits}"
            pair = (part, value.strip()) if stores else (value.strip(), part)
            self.kernel.code.append(Instruction(f"mov.b{bits}", pair, line, None, self.location))
        return True

    def _call(self, call: Instruction) -> None:
        """The body of the function in place of its call; the call itself where the text has no body."""
        results, name, arguments = (
            [each.strip() for each in o.strip("()").split(",")] for o in ["", *call.operands][-3:]
        )
        function = next((f for f in _FUNCTION.finditer(self.text) if f[2] == name[0] and f[4] == "{"), None)
        if function is None:
            self.kernel.code.append(call)
            return
        if call.guard is not None or name[0] in (each for each, _ in self.calls):
            raise Unsupported(
                f"the text level knows no recursion, and no guarded call (PTX line {call.line}: {call})"
            )
        taken, given = (list(_parameters(text or "")) for text in (function[3], function[1]))
        kept, location = self.scopes, self.location
        self.count += 1
        end = f"{name[0]}@{self.count}"
        self.scopes = [(self.count, self._labels(function.end()))]
        for parameter in (*taken, *given):
            self._declare_parameter(parameter.name, parameter.type, is_array=parameter.nbytes > 0)
        inner = [[self._scoped(p.name) for p in each] for each in (taken, given)]
        self._move(zip(taken, inner[0], arguments, strict=True), call)
        self.calls.append((name[0], end))
        self.read(function.end(), _closing(self.text, function.end() - 1))
        self.calls.pop()
        self.kernel.labels[end] = len(self.kernel.code)
        self.scopes, self.location = kept, location
        self._move(zip(given, results, inner[1], strict=True), call)

    def _move(self, values: Iterable[tuple[Parameter, str, str]], call: Instruction) -> None:
        for parameter, target, source in values:
            if parameter.nbytes:
                self._move_parts(target, source, call)
                continue
            name = f"mov.b{bits_of(parameter.type)}"
            self.kernel.code.append(Instruction(name, (target, source), call.line, None, call.location))

    def _move_parts(self, target: str, source: str, call: Instruction) -> None:
        for offset, bits in self.arrays[source].items():
            self.arrays[target][offset] = bits
            pair = (f"{target}+{offset}", f"{source}+{offset}")
            self.kernel.registers[pair[0]] = f"b{bits}"
            self.kernel.code.append(Instruction(f"mov.b{bits}", pair, call.line, None, call.location))


def _split(text: str) -> Iterator[str]:
    """Operands at the commas outside of brackets."""
    depth, part = 0, ""
    for letter in re.sub(r"//[^\n]*", "", text):
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()
