"""Launches, written down as they happen; none of them runs unless they are asked to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import tri_core.compiler
from integration.strangers.record import Kernel
from integration.strangers.texts import NotPortable, texts_of
from tri.compiler.source import ASTSource
from tri.experimental.gluon import GluonJITFunction
from tri.launch.binder import make_binder
from tri.launch.dispatcher import Dispatcher
from tri.launch.specialize import specialize
from tri_core.errors import TriError

__all__ = ["Recorder"]

#: where integers are multiples of so many, kernels are specialized; 1 is folded
_DIVISOR = 16


class Recorder:
    """Recorder of launches and compiles while :meth:`listening`, by key; ``skipped`` counts those that cannot
    be recorded, by reason.

    ``heard`` is told of every new one.  While ``runs`` is false a launch does nothing but be recorded.
    """

    def __init__(
        self, package: str, version: str, *, heard: Callable[[Kernel], None], runs: bool = False
    ) -> None:
        self.package, self.version, self.operator = package, version, ""
        self.runs = runs
        self.heard = heard
        self.kernels: dict[str, Kernel] = {}
        self.skipped: Counter[str] = Counter()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record launches, and compiles that no launch asks for."""
        launch, compile_ = Dispatcher.launch, tri_core.compiler.compile

        def launched(dispatcher: Dispatcher, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            self._launched(dispatcher, grid, args, kwargs)
            return launch(dispatcher, grid, args, kwargs) if self.runs else mock.MagicMock()

        def compiled(source: Any, target: Any, options: Any = None, **more: Any) -> Any:
            if isinstance(source, ASTSource):
                self.enter(source, dict(options or {}), ())
            return compile_(source, target, options, **more)

        with (
            mock.patch.object(Dispatcher, "launch", launched),
            mock.patch.object(tri_core.compiler, "compile", compiled),
        ):
            yield

    def _launched(
        self, dispatcher: Dispatcher, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        function = dispatcher.function
        try:
            facts, _, options = make_binder(function, _DIVISOR, True)(*args, **kwargs)
            source = specialize(function, facts, _DIVISOR).source
            shape = dispatcher.shape(grid, args, kwargs)
        except (TriError, TypeError, ValueError) as error:
            self.skipped[f"{type(error).__name__}: {error}"[:100]] += 1
            return
        self.enter(source, options, shape)

    def enter(self, source: ASTSource, options: Mapping[str, Any], grid: tuple[int, ...]) -> None:
        """Record ``source``, as it would be compiled with ``options`` for a launch over ``grid`` (empty: not known)."""
        try:
            kernel = self._kernel(source, options, grid)
        except (NotPortable, OSError, SyntaxError, AttributeError) as error:
            self.skipped[f"{source.fn.__name__}: {type(error).__name__}: {error}"[:160]] += 1
            return
        if kernel.key not in self.kernels:
            self.kernels[kernel.key] = kernel
            self.heard(kernel)

    def _kernel(self, source: ASTSource, options: Mapping[str, Any], grid: tuple[int, ...]) -> Kernel:
        if isinstance(source.fn, GluonJITFunction):
            raise NotPortable("layouts said by hand leave nothing to compare")
        if source.trees:
            raise NotPortable("a tuple as an argument")
        functions, constants = texts_of(source.fn, source.constants)
        plain = (bool, int, float, str, type(None))
        return Kernel(
            self.package,
            self.version,
            self.operator,
            source.fn.__name__,
            functions,
            {n: "constexpr" if n in source.constants else t for n, t in source.texts().items()},
            constants,
            {n: [list(f) for f in facts] for n, facts in source.attrs.items() if "." not in n},
            {n: v for n, v in options.items() if type(v) in plain},
            grid,
        )
