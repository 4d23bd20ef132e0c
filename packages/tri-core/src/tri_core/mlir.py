"""The one door to the MLIR Python bindings: nothing else in tri imports them.

``torch-mlir`` carries current upstream bindings; where the wheel named ``mlir`` is installed, it is
preferred.  One MLIR context serves the whole process: dialects are loaded into it once (their dynamic
type ids are per context), and every use of IR holds :func:`ir_lock` through :func:`session`.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tri_core import forks
from tri_core.bindings import (
    arith,
    bufferization,
    builtin,
    cf,
    ext,
    func,
    ir,
    linalg,
    llvm,
    math,
    memref,
    passmanager,
    rewrite,
    scf,
    tensor,
    ub,
)
from tri_core.dialect_loading import LoadedDialects
from tri_core.errors import Unsupported
from tri_core.interrupts import deferred

__all__ = [
    "IRRegistry",
    "arith",
    "bufferization",
    "builtin",
    "cf",
    "context",
    "ext",
    "func",
    "ir",
    "linalg",
    "llvm",
    "math",
    "memref",
    "parse",
    "passmanager",
    "registry",
    "rewrite",
    "run_passes",
    "scf",
    "session",
    "tensor",
    "ub",
    "verify",
]


class IRRegistry:
    """Dialects and named passes known to this process; plugins add theirs in ``tri_register_ir``."""

    def __init__(self) -> None:
        self.dialects: dict[str, type[ext.Dialect]] = {}
        self._passes: dict[str, type[Any]] = {}
        #: modules with pass classes, and their names there
        self._pass_modules: list[tuple[str, tuple[str, ...]]] = []
        #: namespace of a dialect and the module that registers its text (see :mod:`tri_core.text`)
        self.texts: dict[str, str] = {}
        #: checks of modules, as ``module:function``
        self.checks: list[str] = []

    def add_dialect(self, dialect: type[ext.Dialect]) -> None:
        """Register ``dialect``.

        It is loaded at once, unless another thread works with IR: then when this one begins to.  Waiting for that
        thread would be a deadlock: modules register dialects while they are imported, and it may import them, too.
        What is defined of a dialect later is loaded when it is registered again, text is parsed, or work with IR begins.
        """
        name: str = dialect.DIALECT_NAMESPACE
        known = self.dialects.get(name) is dialect
        if self.dialects.setdefault(name, dialect) is not dialect:
            raise ValueError(f"dialect {name!r} is registered twice")
        if not known:
            _unloaded.append(dialect)
        if _lock.acquire(blocking=False):
            try:
                if _context is not None:
                    _load_all(_context)
            finally:
                _lock.release()

    def add_text(self, namespace: str, module: str) -> None:
        """Have ``module`` imported when text is read or written: it calls :func:`tri_core.text.add_syntax`."""
        self.texts[namespace] = module

    def add_check(self, place: str) -> None:
        """Have ``place``, as ``module:function``, called with modules and targets (or None) where modules are verified: see
        :mod:`tri_core.ir.verifying`; it raises VerificationError, and leaves modules alone that are none of its dialect's."""
        if place not in self.checks:
            self.checks.append(place)

    @property
    def passes(self) -> Mapping[str, type[Any]]:
        """The registered pass classes by name; those of :meth:`add_passes` are imported."""
        while self._pass_modules:
            module, names = self._pass_modules[-1]
            found = importlib.import_module(module)
            for name in names or found.__all__:
                self.add_pass(getattr(found, name))
            self._pass_modules.remove((module, names))
        return self._passes

    def add_pass(self, factory: type[Any]) -> None:
        """Register a pass class under its ``name`` for ``tri opt``."""
        if self._passes.setdefault(factory.name, factory) is not factory:
            raise ValueError(f"pass {factory.name!r} is registered twice")

    def add_passes(self, module: str, *names: str) -> None:
        """Register the pass classes that ``module`` calls ``names`` (without: those in its ``__all__``).

        It is imported when a pass is asked for by name; a compile imports the passes that its stages have.
        """
        self._pass_modules.append((module, names))


registry = IRRegistry()
_lock = forks.RLock()
_context: ir.Context | None = None
#: registered dialects that the context lacks
_unloaded: deque[type[ext.Dialect]] = deque()
_loaded = LoadedDialects()


def _load_all(into: ir.Context) -> None:
    """Load what is registered, and what was defined of it since; the caller holds the lock."""
    if _unloaded or _loaded.grown():
        with deferred(), into, ir.Location.unknown():
            while _unloaded:
                _loaded.load(_unloaded.popleft(), into)
            for dialect in _loaded.grown():
                _loaded.extend(dialect)


def context() -> ir.Context:
    """The process's MLIR context, with every registered dialect loaded."""
    global _context
    with _lock:
        if _context is None:
            made = ir.Context()
            made.enable_multithreading(False)
            _context = made
        _load_all(_context)
        return _context


@contextmanager
def session() -> Iterator[ir.Context]:
    """Work with IR: holds the lock, enters the context and an unknown location.

    Unsupported in a process that was forked while another thread worked with IR for long: the context is half changed.
    """
    if _lock.lost:
        raise Unsupported(
            f"this process was forked from {os.getppid()} while another thread compiled, and the fork could not wait for it",
            remedy="fork when no kernel compiles, or start the process by multiprocessing's spawn",
        )
    with _lock, context() as entered, ir.Location.unknown():
        yield entered


#: upstream's patterns that change results: they round once where the program rounds twice
UNSOUND = ("TruncFSIToFPToSIToFP", "TruncFUIToFPToUIToFP")
#: how compilers name what has no name, within patterns' names
_SCOPES = ("{anonymous}", "(anonymous namespace)")
_CANONICALIZE = re.compile(r"(?<![-\w])canonicalize(?![-\w{])")


def run_passes(module: ir.Module, passes: str | Sequence[str], *, verify: bool = False) -> None:
    """Run upstream passes, named as in ``builtin.module(...)``, on ``module``.

    The module is not verified after each of them unless ``verify``: rules written in Python cost 15 us per op,
    and :func:`verify` is the one that knows all ops.  ``canonicalize`` goes without the patterns of :data:`UNSOUND`.
    """
    text = passes if isinstance(passes, str) else ",".join(passes)
    _pass_manager(text, verify).run(module.operation)


@functools.lru_cache(maxsize=64)
def _pass_manager(text: str, verify: bool) -> passmanager.PassManager:
    """Kept, because a pass collects its patterns when it first runs: milliseconds for canonicalization."""
    names = ",".join(f"{scope}::{name}" for name in UNSOUND for scope in _SCOPES)
    sound = _CANONICALIZE.sub(f"canonicalize{{disable-patterns={{{names}}}}}", text)
    manager = passmanager.PassManager.parse(f"builtin.module({sound})", context())
    manager.enable_verifier(verify)
    return manager


def parse(text: str) -> ir.Module:
    """The verified module of ``text``, in generic or custom form; raises MLIRError.

    VerificationError for text that nests deeper than MLIR's parser can descend.
    Unlike ``ir.Module.parse`` it reads variadic ops of several types (see :mod:`tri_core.variadics`).
    """
    from tri_core.text.depth import check_depth

    check_depth(text)
    context()  # has what was defined meanwhile
    try:
        return ir.Module.parse(text)
    except ir.MLIRError as error:
        from tri_core.variadics import is_type_clash, parse_with_twins

        if not is_type_clash(error):
            raise
        return parse_with_twins(text, registry.dialects.values())


def verify(module: ir.Module) -> None:
    """Check ``module`` against the rules of all dialects; raises MLIRError.

    Unlike ``module.operation.verify`` it accepts variadic ops of several types.
    """
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        from tri_core.variadics import is_type_clash, verify_with_twins

        if not is_type_clash(error):
            raise
        verify_with_twins(module.operation, registry.dialects.values())
