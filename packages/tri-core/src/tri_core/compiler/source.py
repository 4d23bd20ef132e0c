"""Inputs of the compiler driver: anything that can build TTIR, or the text of any stage."""

from __future__ import annotations

import hashlib
import re
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from tri_core.abi import KernelSignature
from tri_core.errors import OptionError
from tri_core.files import read_bytes
from tri_core.lazy_dataclasses import dataclass
from tri_core.options import CommonOptions
from tri_core.target import Target

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = ["IRSource", "Source"]


@runtime_checkable
class Source(Protocol):
    """A kernel before compilation."""

    @property
    def name(self) -> str:
        """The kernel's name, as messages and dumps say it."""
        ...

    def fingerprint(self) -> str:
        """A hash of everything in the source that determines the code; cheap, it is asked at every compile.

        The code of the package that defines the source's class is hashed by the driver.
        """
        ...

    def kernel_signature(self) -> KernelSignature:
        """Name and run-time parameters.  Called after :meth:`build`."""
        ...

    def build(self, target: Target, options: CommonOptions) -> ir.Module:
        """The kernel as TTIR, before any pass; inside an MLIR session.  CompilationError for a wrong program."""
        ...


@dataclass(frozen=True)
class IRSource:
    """The output of stage ``stage`` as text (or bytes): compilation starts with the stage after it.

    ``signature`` is read from the module where the stage gives one; further down it must be given for the
    kernel to be launched.  ``path`` is where the text came from, for messages.
    """

    stage: str
    content: str | bytes = field(repr=False)
    given: KernelSignature | None = None
    path: str = "<text>"

    @classmethod
    def from_file(cls, path: str | Path, signature: KernelSignature | None = None) -> Self:
        """Read ``k.ttir``, ``k.ttgir``, ``k.llir``, ...: the suffix names the stage.  OptionError for no such file."""
        path = Path(path)
        stage = path.suffix.removeprefix(".")
        if not stage:
            raise OptionError(
                f"{path} has no suffix; one that names the stage of its content is expected",
                remedy="name it kernel.ttir, say",
            )
        data = read_bytes(path, "give a file such as kernel.ttir")
        try:
            return cls(stage, data.decode(), signature, str(path))
        except UnicodeDecodeError:
            return cls(stage, data, signature, str(path))

    @property
    def name(self) -> str:
        """The kernel's name: that of the signature, else of the first public function in the text."""
        if self.given is not None:
            return self.given.name
        found = _first_function(self.content) if isinstance(self.content, str) else None
        return found or Path(self.path).stem.strip("<>")

    def fingerprint(self) -> str:
        """The hash of stage, content, signature and file name (which debug locations hold)."""
        content = self.content.encode() if isinstance(self.content, str) else self.content
        rest = repr((self.stage, self.given, self.path)).encode()
        return hashlib.sha256(rest + b"\0" + content).hexdigest()

    def kernel_signature(self) -> KernelSignature:
        """The signature given, else a name without parameters (the driver reads a module's itself)."""
        return self.given or KernelSignature(name=self.name, parameters=())


#: symbols in the generic and the pretty form of MLIR, definitions in LLVM IR
_FUNCTION = re.compile(
    r'sym_name = "([^"]+)"(?![^\n]*"private")|^\s*tt\.func (?!private)(?:public )?@"?([\w.$]+)|^define (?!internal|private)[^@\n]*@"?([\w.$]+)',
    re.M,
)


def _first_function(text: str) -> str | None:
    found = _FUNCTION.search(text)
    return (found[1] or found[2] or found[3]) if found else None
