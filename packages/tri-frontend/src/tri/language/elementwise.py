"""Functions of the user, or of the target's assembler, applied element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tri.language import types as t
from tri.language.arithmetic import BINARY, compare, logical_not
from tri.language.builtin import builtin
from tri.language.casts import value_of
from tri.language.debug import device_assert
from tri.language.shapes import common_shape, stretch
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["expect_zero", "inline_asm_elementwise", "map_elementwise", "must_use_result"]

F = TypeVar("F", bound=Callable[..., Any])


def _at_one_shape(b: Builder, args: Sequence[Any]) -> tuple[list[tensor], tuple[int, ...]]:
    values = [value_of(b, a) for a in args]
    shape: tuple[int, ...] = ()
    for value in values:
        shape = common_shape(shape, dimensions(value))
    return [stretch(b, v, shape) for v in values], shape


def _check_pack(name: str, pack: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(pack, int) or pack < 1:
        raise CompilationError(f"{name}: pack is {pack!r}", remedy="give a constexpr int of at least 1")
    count = t.block_type(t.int32, shape).numel if shape else pack
    if count % pack:
        raise CompilationError(f"{name}: {count} elements do not come in packs of {pack}")


def _typed(shape: tuple[int, ...], scalar: t.dtype) -> t.dtype:
    return t.block_type(scalar, shape) if shape else scalar


@builtin
def inline_asm_elementwise(
    asm: str, constraints: str, args: Any, dtype: Any, is_pure: bool, pack: int, *, _semantic: Builder
) -> Any:
    """Assembly of the target, run for ``pack`` elements of ``args`` at a time.

    ``args``: values, broadcast to one shape; ``dtype``: the element type of the result, or a tuple of them for a
    tuple of results; ``constraints``: as LLVM writes them, results first.  Elements narrower than 32 bits come in
    32-bit registers, as many as fit and ``pack`` allows.  ``is_pure=False`` keeps code whose results are unused.
    CompilationError for assembly that is no constexpr string, and for a number of elements that ``pack`` does not divide.
    """
    b = _semantic
    several = isinstance(dtype, (tuple, list))
    dtypes = list(dtype) if several else [dtype]
    if not dtypes or not all(isinstance(d, t.dtype) for d in dtypes):
        raise CompilationError(
            f"inline_asm_elementwise gives {dtype!r}", remedy="give one dtype, or a tuple of at least one"
        )
    if not isinstance(asm, str) or not isinstance(constraints, str):
        raise CompilationError("inline_asm_elementwise takes assembly and constraints as constexpr strings")
    values, shape = _at_one_shape(b, args if isinstance(args, (tuple, list)) else [args])
    _check_pack("inline_asm_elementwise", pack, shape)
    types = [_typed(shape, d) for d in dtypes]
    attributes = {
        "asm_string": b.string(asm),
        "constraints": b.string(constraints),
        "pure": b.boolean(bool(is_pure)),
        "packed_element": b.i32(pack),
    }
    results = tuple(b.several("tt.elementwise_inline_asm", types, values, attributes))
    return results if several else results[0]


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: int = 1, _semantic: Builder) -> Any:
    """``scalar_fn``, a jit function of scalars that may branch, applied to the elements of ``args``.

    ``args`` are broadcast to one shape, each keeps its dtype.  With ``pack`` the function takes that many elements of each
    argument after each other (x0, x1, y0, y1), and returns as many of each result.  The result is a tuple of blocks when
    the function returns a tuple, which it does for every pack but 1.  CompilationError for a function that returns blocks
    or, within a pack, several dtypes, and for a number of elements that ``pack`` does not divide.
    """
    b = _semantic
    if not args:
        raise CompilationError("map_elementwise needs a block to map over")
    values, shape = _at_one_shape(b, args)
    _check_pack("map_elementwise", pack, shape)
    if not shape:
        made = b.expand(scalar_fn, [v for v in values for _ in range(pack)])
        return made[::pack] if isinstance(made, tuple) else made
    several = False

    def body(scalars: Sequence[tensor]) -> list[tensor]:
        nonlocal several
        results = b.expand(scalar_fn, scalars)
        several = isinstance(results, tuple)
        return [value_of(b, r) for r in (results if isinstance(results, tuple) else (results,))]

    mapped = b.region(
        "tt.map_elementwise",
        lambda made: _result_types(made, shape, pack),
        values,
        {"pack": b.i32(pack)},
        [v.dtype for v in values for _ in range(pack)],
        body,
        "tt.map_elementwise_return",
    )
    return tuple(mapped) if several else mapped[0]


def _result_types(made: Sequence[tensor], shape: tuple[int, ...], pack: int) -> list[t.dtype]:
    if not made or any(dimensions(m) for m in made):
        raise CompilationError("map_elementwise's function returns scalars, one at least")
    groups = [made[i : i + pack] for i in range(0, len(made), pack)]
    if len(made) % pack or any(m.type is not g[0].type for g in groups for m in g):
        got = ", ".join(str(m.type) for m in made)
        raise CompilationError(
            f"map_elementwise's function returns ({got}) for packs of {pack}",
            remedy=f"return {pack} values of one type for every result",
        )
    return [t.block_type(g[0].dtype, shape) for g in groups]


@builtin
def expect_zero(x: Any, mask: Any, *, _semantic: Builder) -> Any:
    """``x`` (any shape and dtype), said to be zero where ``mask`` (int1, broadcast to it) is true.

    With ``debug=True`` that is asserted: KernelFault where it does not hold.
    """
    b = _semantic
    if b.options.debug:
        holds = BINARY["|"](b, compare(b, "==", value_of(b, x), 0), logical_not(b, value_of(b, mask)))
        device_assert(holds, "expect_zero expected x == 0 where mask is true", _semantic=b)
    return x


def must_use_result(x: Any, s: Any = True) -> Any:
    """Decorate a function whose result must not be dropped: a call as a statement is a CompilationError, with ``s`` as its remedy.

    ``@must_use_result``, or ``@must_use_result("why")``.
    """
    if isinstance(x, str):
        return lambda function: must_use_result(function, x)
    x.__tri_must_use_result__ = s
    return x
