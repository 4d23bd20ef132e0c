"""The one door to the MLIR Python bindings: nothing else in tri imports them.

``torch-mlir`` carries current upstream bindings; where the wheel named ``mlir`` is installed, it is
preferred.  One MLIR context serves the whole process: dialects are loaded into it once (their dynamic
type ids are per context), and every use of IR holds :func:`ir_lock` through :func:`session`.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

_ROOT = "mlir" if importlib.util.find_spec("mlir") is not None else "torch_mlir"

if TYPE_CHECKING:
    from torch_mlir import ir, passmanager, rewrite
    from torch_mlir.dialects import arith, builtin, cf, ext, func, llvm, math, scf, ub
else:
    ir = importlib.import_module(f"{_ROOT}.ir")
    passmanager = importlib.import_module(f"{_ROOT}.passmanager")
    rewrite = importlib.import_module(f"{_ROOT}.rewrite")
    arith, builtin, cf, ext, func, llvm, math, scf, ub = (
        importlib.import_module(f"{_ROOT}.dialects.{name}")
        for name in ("arith", "builtin", "cf", "ext", "func", "llvm", "math", "scf", "ub")
    )

__all__ = [
    "IRRegistry",
    "arith",
    "builtin",
    "cf",
    "context",
    "ext",
    "func",
    "ir",
    "llvm",
    "math",
    "passmanager",
    "registry",
    "rewrite",
    "run_passes",
    "scf",
    "session",
    "ub",
]


class IRRegistry:
    """Dialects and named passes known to this process; plugins add theirs in ``tri_register_ir``."""

    def __init__(self) -> None:
        self.dialects: dict[str, type[ext.Dialect]] = {}
        self.passes: dict[str, Callable[..., Any]] = {}

    def add_dialect(self, dialect: type[ext.Dialect]) -> None:
        """Register ``dialect``; loaded at once when the context exists already."""
        name: str = dialect.DIALECT_NAMESPACE
        if self.dialects.setdefault(name, dialect) is not dialect:
            raise ValueError(f"dialect {name!r} is registered twice")
        if _context is not None:
            _load(dialect, _context)

    def add_pass(self, factory: type[Any]) -> None:
        """Register a pass class under its ``name`` for ``tri opt``."""
        if self.passes.setdefault(factory.name, factory) is not factory:
            raise ValueError(f"pass {factory.name!r} is registered twice")


registry = IRRegistry()
_lock = threading.RLock()
_context: ir.Context | None = None


def _load(dialect: type[ext.Dialect], into: ir.Context) -> None:
    with into, ir.Location.unknown():
        if not into.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
            dialect.load()


def context() -> ir.Context:
    """The process's MLIR context, with every registered dialect loaded."""
    global _context
    with _lock:
        if _context is None:
            made = ir.Context()
            made.enable_multithreading(False)
            for dialect in registry.dialects.values():
                _load(dialect, made)
            _context = made
        return _context


@contextmanager
def session() -> Iterator[ir.Context]:
    """Work with IR: holds the lock, enters the context and an unknown location."""
    with _lock, context() as entered, ir.Location.unknown():
        yield entered


def run_passes(module: ir.Module, passes: str | Sequence[str]) -> None:
    """Run upstream passes, named as in ``builtin.module(...)``, on ``module``."""
    text = passes if isinstance(passes, str) else ",".join(passes)
    passmanager.PassManager.parse(f"builtin.module({text})").run(module.operation)
