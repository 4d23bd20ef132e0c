"""PTX text as instructions: a kernel's registers, labels and statements, with the line of each and the source line that it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from tri_core.api import Unsupported
from tri_core.errors import SourceLocation
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Guard", "Instruction", "Kernel", "Parameter", "bits_of", "read_kernel"]

_BITS = re.compile(r"(\d+)(?:x(\d))?$")
_NAME = r"[\w$%.]+"
_HEADER = re.compile(r"\.entry\s+([\w$.]+)\s*(?:\(([^)]*)\))?")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?', re.MULTILINE)
_SHARED = re.compile(r"\.shared\b[^;\[]*?([\w$]+)\s*\[")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]+\d+)\b.*?([\w$]+)\s*(?:\[(\d+)\])?\s*$", re.DOTALL
)
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


@dataclass
class Kernel:
    """A kernel's code; ``registers`` have their types, ``labels`` the numbers of the instructions behind them.

    ``undefined``: registers that LLVM says have no value of their own (``implicit-def``).
    """

    name: str
    parameters: tuple[Parameter, ...]
    symbols: frozenset[str]
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
    kernel = Kernel(name, tuple(_parameters(header[2] or "")), symbols)
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


class _Reader:
    """What is read of a kernel's body, with the scopes that are open."""

    def __init__(self, kernel: Kernel, text: str, files: dict[int, str]) -> None:
        self.kernel, self.text, self.files = kernel, text, files
        self.scopes: list[tuple[int, set[str]]] = []
        self.count = 0
        self.location: SourceLocation | None = None

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
        self.kernel.code.append(Instruction(found["name"], operands, line, guard, self.location))


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
