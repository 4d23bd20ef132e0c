"""The interpreter's builder: operations that compute at once, on NumPy arrays.

It stands where the compiler's :class:`tri.compiler.builder.Builder` stands, so the functions of the language
(promotion, broadcasting, messages) are the same; what an op computes is in the tables of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

import numpy as np

from tri.interpreter import descriptors, dots, effects, elementwise, integers, shapes
from tri.interpreter.arrays import Array, numpy_type, shape_of
from tri.interpreter.calls import Call, Rule
from tri.interpreter.errors import KernelError
from tri.interpreter.exact import EXACT_RULES
from tri.interpreter.exact import constant as exact_constant
from tri.interpreter.floats import from_f64
from tri.interpreter.location import here
from tri.interpreter.memory import Memory
from tri.interpreter.observing import observer
from tri.interpreter.program import E
from tri.interpreter.regions import REGIONS, Body
from tri.language import types as t
from tri.language.constexpr import unwrap
from tri.language.e4b15_bits import encode_e4b15
from tri.language.tensor import tensor
from tri_core.errors import CompilationError, InternalError, SourceLocation, Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.options import CommonOptions
from tri_core.target import Target

__all__ = ["RULES", "EagerBuilder", "Made"]


def _pure(function: Callable[..., Any]) -> Rule:
    return lambda call: Array(np.asarray(function(*(v.data for v in call.operands))))


def _decomposed(call: Call) -> list[Array]:
    # MLIR is not loaded for kernels whose ops all have rules
    from tri.interpreter.decomposition import evaluate

    return evaluate(call)


#: op -> what it computes; attributes are Python values
RULES: dict[str, Rule] = {
    **{name: _pure(function) for name, function in integers.INTEGERS.items()},
    **integers.RULES,
    **elementwise.RULES,
    **shapes.RULES,
    **effects.RULES,
    **dots.RULES,
    **descriptors.RULES,
}


@dataclass(frozen=True)
class Made:
    """Return value of :meth:`EagerBuilder.create`: the results of an operation, as handles."""

    results: list[Array]

    @property
    def result(self) -> Array:
        """The one result."""
        return self.results[0]


class EagerBuilder:
    """Computes the operations of one program after the other.

    ``program`` and ``grid`` are of x, y, z; ``expand`` calls a jit function on values; ``kernel`` names it.
    ``exact``: floats are integers modulo a power of two (:mod:`tri_core.ring`).
    """

    #: as of the compiler's builder: the language's own descriptors
    descriptor_class: ClassVar[None] = None

    def __init__(
        self, kernel: str, target: Target, options: CommonOptions, expand: Any, *, exact: bool = False
    ) -> None:
        self.kernel = kernel
        self.target = target
        self.options = options
        self.expand = expand
        self.exact = exact
        self._rules = {**RULES, **EXACT_RULES} if exact else RULES
        self._observer = observer()
        #: names of the ops that ran so far in the region of one that runs
        self._inside: list[str] | None = None
        self.memory = Memory(self, self._observer)
        self.grid: tuple[int, int, int] = (1, 1, 1)
        self.program: tuple[int, int, int] = (0, 0, 0)
        #: the code generator's place; the interpreter's is on Python's stack
        self.location: Any = None

    def enter(self, program: tuple[int, int, int]) -> None:
        """``program`` runs from now on."""
        self.program = program
        if self.memory.races is not None:
            self.memory.races.enter(program)

    # --- operations -----------------------------------------------------------------------------------

    def _run(
        self,
        name: str,
        results: Sequence[t.dtype],
        operands: Sequence[tensor],
        attributes: Mapping[str, Any] | None,
    ) -> list[Array]:
        rule = self._rules.get(name) or _decomposed
        values = [x.handle for x in operands]
        call = Call(self, name, results, values, [x.type for x in operands], attributes or {})
        made = rule(call) if self._observer is None else self._observed(rule, call)
        return [] if made is None else made if isinstance(made, list) else [made]

    def _observed(self, rule: Rule, call: Call) -> list[Array]:
        if self._inside is not None:
            self._inside.append(call.name)
        with self._within() if rule is _decomposed else nullcontext(()) as body:
            made = rule(call)
        listed = [] if made is None else made if isinstance(made, list) else [made]
        self._tell(call, listed, body)
        return listed

    def _tell(self, call: Call, results: Sequence[Array], body: Sequence[str]) -> None:
        if self._observer is not None and self._inside is None:
            self._observer.computed(self.program, call.name, call.operands, results, call.attributes, body)

    @contextmanager
    def _within(self) -> Iterator[list[str]]:
        """The names of the ops inside, of which one op consists and none of which waits for a program."""
        outer, self._inside = self._inside, []
        try:
            yield self._inside
        finally:
            self._inside = outer

    def create(
        self,
        name: str,
        results: Sequence[t.dtype] = (),
        operands: Sequence[tensor] = (),
        attributes: Mapping[str, Any] | None = None,
        regions: int = 0,
    ) -> Made:
        """Run operation ``name``."""
        if regions:
            raise InternalError(f"{name} has a region; its body has to be given as a function")
        return Made(self._run(name, results, operands, attributes))

    def value(
        self, name: str, result: t.dtype, *operands: tensor, attributes: Mapping[str, Any] | None = None
    ) -> tensor:
        """The one result of operation ``name``, of type ``result``."""
        (made,) = self._run(name, (result,), operands, attributes)
        if isinstance(result, t.block_type) and made.data.shape != result.shape:
            raise InternalError(f"{name} made the shape {made.data.shape} for {result}")
        return tensor(made, result)

    def several(
        self,
        name: str,
        results: Sequence[t.dtype],
        operands: Sequence[tensor],
        attributes: Mapping[str, Any] | None = None,
    ) -> list[tensor]:
        """All results of operation ``name``."""
        made = self._run(name, results, operands, attributes)
        return [tensor(value, type_) for value, type_ in zip(made, results, strict=True)]

    def region(
        self,
        name: str,
        results: Sequence[t.dtype] | Callable[[Sequence[tensor]], Sequence[t.dtype]],
        operands: Sequence[tensor],
        attributes: Mapping[str, Any] | None,
        arguments: Sequence[t.dtype],
        body: Body,
        terminator: str,
    ) -> list[tensor]:
        """The results of operation ``name``, whose region computes ``body``."""
        del terminator
        rule = REGIONS.get(name)
        if rule is None:
            raise Unsupported(f"the interpreter cannot run {name}", remedy="run the kernel compiled")
        values = [x.handle for x in operands]
        given: list[Sequence[tensor]] = []

        def observed(inputs: Sequence[tensor]) -> Sequence[tensor]:
            given[:] = [body(inputs)]
            return given[0]

        types = () if callable(results) else results
        call = Call(self, name, types, values, [x.type for x in operands], attributes or {})
        with self._within() as names:
            made = rule(call, arguments, observed)
        self._tell(call, made, names)
        types = results(given[0]) if callable(results) else results
        return [tensor(v, type_) for v, type_ in zip(made, types, strict=True)]

    def constant(self, value: bool | float, type_: t.dtype) -> tensor:
        """``value`` as a scalar, or in every place of a block."""
        scalar, dtype = type_.scalar, numpy_type(type_)
        if scalar.is_fp8e4b15():
            value, scalar = encode_e4b15(value), t.uint8
        if scalar.is_floating() and self.exact:
            element = exact_constant(float(value), scalar)
        elif scalar.is_floating():
            element = from_f64(float(value), scalar)
        elif scalar.is_bool():
            element = np.asarray(bool(int(value) & 1))
        else:
            bits = 8 * dtype.itemsize
            wrapped = int(value) & ((1 << bits) - 1)
            element = np.asarray(wrapped - (wrapped >> (bits - 1) << bits), dtype)
        return tensor(Array(np.broadcast_to(element, shape_of(type_))), type_)

    # --- attributes are Python values -------------------------------------------------------------------

    def i32(self, value: int) -> int:
        """``value``."""
        return int(value)

    i64 = i32

    def unit(self) -> bool:
        """True: the attribute is there."""
        return True

    def boolean(self, value: bool) -> bool:
        """``value``."""
        return bool(value)

    def string(self, value: str) -> str:
        """``value``."""
        return value

    def i32_array(self, values: Sequence[int]) -> tuple[int, ...]:
        """``values``."""
        return tuple(int(v) for v in values)

    i32_dense = i32_array

    def segments(self, *sizes: int) -> tuple[int, ...]:
        """``sizes``."""
        return tuple(int(n) for n in sizes)

    def annotate(self, value: tensor, name: str, attribute: object) -> None:
        """Hints change nothing here."""

    # --- language functions -----------------------------------------------------------------------------

    def call(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A language function on values, constexprs as plain Python values."""
        plain = {k: unwrap(v) for k, v in kwargs.items() if k != "_semantic"}
        try:
            return function(*map(unwrap, args), **plain, _semantic=self)
        except TypeError as error:
            raise CompilationError(f"tl.{function.__name__}: {error}", location=here()) from error

    def here(self) -> SourceLocation | None:
        """The line of the kernel that is running."""
        return here()

    def kernel_error(
        self,
        message: str,
        kind: Callable[..., E] = KernelError,  # type: ignore[assignment]  # E is that class then
        *,
        remedy: str | None = None,
        **fields: Any,
    ) -> E:
        """An error of the running program, with its place."""
        return kind(
            f"{self.kernel}, program {self.program}: {message}",
            remedy=remedy,
            location=here(),
            kernel=self.kernel,
            program=self.program,
            **fields,
        )
