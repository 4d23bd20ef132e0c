"""The code generator: walks a jit function's syntax tree and emits TTIR through a builder.

:class:`Generator` is one walk over one function body: its names, its source, its place.  What each kind of
syntax means is in the rules (:mod:`.expressions`, :mod:`.assignment`, :mod:`.branches`, :mod:`.loops`, :mod:`.calls`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tri.compiler.failures import Errors
from tri.compiler.rules import RULES
from tri.compiler.scope import lookup
from tri_core.errors import CompilationError, InternalError, TriError
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.kernel import Kernel
    from tri.language.tensor import tensor

__all__ = ["Exit", "Generator"]

#: syntax that kernels cannot use, and what to write instead
_REFUSED: dict[str, str] = {
    "Break": "put the condition into the loop, e.g. with while",
    "Continue": "put the rest of the body under an if",
    "Try": "kernels have no exceptions; use tl.device_assert",
    "Raise": "use tl.static_assert or tl.device_assert",
    "AsyncWith": "write its body without it",
    "FunctionDef": "define the function at module level and decorate it with @tri.jit",
    "Lambda": "define a function at module level and decorate it with @tri.jit",
    "ClassDef": "define the class outside of the kernel",
    "Global": "kernels cannot change globals",
    "Nonlocal": "kernels cannot change names of enclosing functions",
    "Import": "import at the top of the file",
    "ImportFrom": "import at the top of the file",
    "Delete": "names live to the end of the kernel",
    "GeneratorExp": "use a loop over tl.static_range",
    "DictComp": "use a loop over tl.static_range",
    "SetComp": "use a loop over tl.static_range",
    "Dict": "use a tuple",
    "Set": "use a tuple",
    "Match": "use if and elif",
    "Yield": "kernels are no generators",
    "Await": "kernels are not asynchronous",
}


@dataclass(frozen=True)
class Exit:
    """Exit of the function from a list of statements: with ``value``, always, or where ``flag`` is true."""

    value: Any
    flag: tensor | None = None


class Generator:
    """Generates one function body.  ``names`` binds local names to values of the language.

    ``caller`` is the location of the call that is being expanded, ``stack`` the calls that led here.
    """

    def __init__(
        self,
        builder: Builder,
        function: Kernel,
        names: dict[str, Any],
        *,
        caller: ir.Location | None = None,
        stack: tuple[object, ...] = (),
    ) -> None:
        self.b = builder
        self.function = function
        self.caller = caller
        self.stack = stack
        self.source = function.source
        self.names = names
        #: names that were bound and are not any more, with the reason
        self.lost: dict[str, str] = {}
        self.errors = Errors()
        #: names announced as constexpr by a bare annotation, until they are assigned
        self.promised: set[str] = set()
        #: the loop that the walk is inside of, innermost
        self.loop: ast.AST | None = None
        #: the variable that is being assigned, after which operations are named
        self.hint: str | None = None
        #: the expression that stands as a statement
        self.unused: ast.expr | None = None
        self._locations: dict[tuple[int, int, str | None], ir.Location] = {}

    def visit(self, node: ast.AST) -> Any:
        """Result of the rule of ``node``, with the location set; errors leave with a location."""
        kind = type(node)
        if kind is ast.Name:
            return lookup(self, node)  # type: ignore[arg-type]
        rule = RULES.get(kind)
        b = self.b
        saved = b.location
        try:
            if rule is None:
                raise _refused(node)
            if hasattr(node, "lineno"):
                b.location = self.ir_location(node)
            return rule(self, node)
        except TriError as error:
            if error.location is None:
                error.location = self.source.locate(node)
            raise
        except Exception as error:  # anything else is our bug: say where, keep the cause
            raise InternalError(
                f"{type(error).__name__} while compiling {kind.__name__}: {error}",
                remedy="please report it with the kernel",
                location=self.source.locate(node),
            ) from error
        finally:
            b.location = saved

    def ir_location(self, node: ast.AST) -> ir.Location:
        """The location of ``node`` for operations, named after the variable being assigned."""
        key = (node.lineno, node.col_offset, self.hint)  # type: ignore[attr-defined]
        found = self._locations.get(key)
        if found is None:
            found = ir.Location.file(self.source.file, key[0], key[1] + 1)
            if self.hint is not None:
                found = ir.Location.name(self.hint, found)
            if self.caller is not None:
                found = ir.Location.callsite(found, [self.caller])
            self._locations[key] = found
        return found


def _refused(node: ast.AST) -> CompilationError:
    kind = type(node).__name__
    return CompilationError(
        f"kernels cannot use this syntax ({kind})",
        remedy=_REFUSED.get(kind, "write it with the supported syntax"),
    )
