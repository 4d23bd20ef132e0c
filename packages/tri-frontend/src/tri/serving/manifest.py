"""Manifests: versions of kernels and choices of tuners as lines of JSON, which processes append, ``cat`` merges and people edit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tri.serving.references import Reference
from tri_core.errors import OptionError
from tri_core.files import read_text, write
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel

__all__ = ["Choice", "LeftOut", "Manifest", "Version"]

#: what JSON keeps as it is
_PLAIN = (bool, int, float, str, type(None))
_DIGITS = 16


class _Line:
    """A line of a manifest: a JSON object whose first key says what the line is."""

    kind: ClassVar[str]
    name: str

    def to_json(self) -> dict[str, Any]:
        """The object of the line."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name"}  # type: ignore[arg-type]
        return {self.kind: self.name, **values}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        """The line of an object; KeyError and TypeError for one that is none."""
        given = {("name" if key == cls.kind else key): value for key, value in line.items()}
        unknown = given.keys() - {f.name for f in fields(cls)}  # type: ignore[arg-type]
        if unknown:
            raise KeyError(f"unknown: {', '.join(sorted(unknown))}")
        return cls(**given)

    def text(self) -> str:
        """The line."""
        return json.dumps(self.to_json())


@dataclass(frozen=True)
class Version(_Line):
    """A version of the kernel ``name`` (``module:qualname``) in ``file``.

    ``signature``: types by parameter, ``"constexpr"`` for ``constants``; ``attrs``: facts by run-time parameter
    (``{"tt.divisibility": 16}``); ``options`` of the launch; ``target``: ``"backend:arch"``; ``source``: a digest of all that
    the kernel's code depends on.
    """

    kind: ClassVar[str] = "kernel"
    name: str
    file: str
    signature: dict[str, str]
    constants: dict[str, Any]
    attrs: dict[str, dict[str, Any]]
    options: dict[str, Any]
    target: str
    source: str

    @classmethod
    def of(cls, source: ASTSource, target: str, options: Mapping[str, Any]) -> Self:
        """The line of compiling ``source``; OptionError where no text says it."""
        reference = Reference.of(source.fn)
        if source.trees:
            raise OptionError(f"an argument of {source.fn.__name__} is a tuple")
        return cls(
            reference.name,
            reference.file,
            source.texts(),
            {name: _written(name, value) for name, value in source.constants.items()},
            {name: dict(facts) for name, facts in source.attrs.items()},
            {name: _written(name, value) for name, value in options.items()},
            target,
            source.fn.cache_key[:_DIGITS],
        )

    @property
    def reference(self) -> Reference:
        """Reference to the kernel."""
        return Reference(self.name, self.file)

    def compiled_from(self, function: Kernel) -> ASTSource:
        """The source of this version of ``function``; CompilationError where it has no such version."""
        from tri.compiler.source import ASTSource

        constants = {name: _read(value) for name, value in self.constants.items()}
        attrs = {name: list(facts.items()) for name, facts in self.attrs.items()}
        return ASTSource(function, self.signature, constants, attrs)

    def read_options(self) -> dict[str, Any]:
        """The options as a launch gives them."""
        return {name: _read(value) for name, value in self.options.items()}


@dataclass(frozen=True)
class Choice(_Line):
    """Choice of the tuner of kernel ``name`` for ``key``: ``choice``, a configuration's text, with its times
    ``ms``.

    ``file``: that of the kernel; ``target``: ``"backend:arch"``; ``among``: a digest of the configurations that it had.
    """

    kind: ClassVar[str] = "tuned"
    name: str
    file: str
    target: str
    key: str
    among: str
    choice: str
    ms: list[float]

    @property
    def reference(self) -> Reference:
        """Reference to the kernel."""
        return Reference(self.name, self.file)


@dataclass(frozen=True)
class LeftOut(_Line):
    """A launch of kernel ``name`` for ``target`` (``"backend:arch"``) that no other process can compile, and ``why``."""

    kind: ClassVar[str] = "left_out"
    name: str
    target: str
    why: str


_KINDS: dict[str, type[_Line]] = {line.kind: line for line in (Version, Choice, LeftOut)}


@dataclass(frozen=True)
class Manifest:
    """The lines of a manifest, each once: ``versions`` of kernels, ``choices`` of tuners, launches ``left_out``."""

    versions: tuple[Version, ...] = ()
    choices: tuple[Choice, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @classmethod
    def read(cls, *paths: Path) -> Self:
        """The manifests in ``paths`` together; OptionError with file and line for what is no line of one."""
        return cls.of(line for path in paths for line in _lines(path))

    @classmethod
    def of(cls, lines: Iterable[_Line]) -> Self:
        """The manifest of ``lines``, equal ones once."""
        once = list({line.text(): line for line in lines}.values())
        return cls(
            tuple(line for line in once if isinstance(line, Version)),
            tuple(line for line in once if isinstance(line, Choice)),
            tuple(line for line in once if isinstance(line, LeftOut)),
        )

    def write(self, path: Path) -> None:
        """Write it to ``path``; OptionError when that fails."""
        lines = (*self.versions, *self.choices, *self.left_out)
        write(path, "".join(f"{line.text()}\n" for line in lines))


def _lines(path: Path) -> Iterable[_Line]:
    for number, text in enumerate(read_text(path, "name a file that `tri record` wrote").splitlines(), 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            yield _KINDS[next(iter(line))].from_json(line)
        except (ValueError, KeyError, TypeError, StopIteration) as error:
            raise OptionError(
                f"{path}:{number} is no line of a manifest ({type(error).__name__}: {error})",
                remedy=f"begin it with one of {', '.join(_KINDS)}, or leave it out",
            ) from error


def _written(name: str, value: Any) -> Any:
    """A constant or an option as JSON has it; OptionError for one that has no text."""
    from tri.kernel import Kernel
    from tri.language.constexpr import unwrap
    from tri.language.types import dtype

    value = unwrap(value)
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if isinstance(value, tuple) and type(value) is tuple:
        return {"tuple": [_written(name, item) for item in value]}
    if isinstance(value, Kernel):
        reference = Reference.of(value)
        return {"kernel": reference.name, "file": reference.file}
    raise OptionError(f"{name!r} is a {type(value).__name__}, which has no text")


def _read(written: Any) -> Any:
    from tri.language.types import dtype

    if not isinstance(written, dict):
        return written
    if "dtype" in written:
        return dtype(written["dtype"])
    if "tuple" in written:
        return tuple(map(_read, written["tuple"]))
    return Reference(written["kernel"], written["file"]).find()
