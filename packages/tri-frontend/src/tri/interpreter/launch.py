"""Launching a kernel in the interpreter: arguments in, programs one after the other, results out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from typing import Any

import numpy as np

from tri.context import chosen
from tri.interpreter.arguments import Arguments
from tri.interpreter.builder import EagerBuilder
from tri.interpreter.location import raised_at
from tri.interpreter.paths import check_paths
from tri.interpreter.rewrite import as_python
from tri.interpreter.turns import Turns
from tri.interpreting import Request, forced, running
from tri.kernel import Kernel, KernelLauncher, KernelParameter
from tri.language.constexpr import unwrap
from tri.language.types import ALL_DTYPES
from tri.launch.checks import check_place, checked_options
from tri_core import knobs
from tri_core.errors import CompilationError, TriError
from tri_core.options import CommonOptions
from tri_core.progress import Progress
from tri_core.target import Target, TargetKey, TargetSpec
from tri_core.target_options import options_elsewhere

__all__ = ["NEUTRAL", "launch"]

#: what kernels are interpreted for when no target is chosen: it has everything
NEUTRAL = Target(
    key=TargetKey("interpreter"),
    spec=TargetSpec(
        dtypes=frozenset(dtype.name for dtype in ALL_DTYPES),
        dot_precisions=("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"),
        limits=dict.fromkeys(("grid_x", "grid_y", "grid_z"), 2**31 - 1),
    ),
)


def launch(
    function: Kernel,
    launcher: KernelLauncher,
    grid: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Run every program of ``grid``, x fastest, in this thread, and in others where programs wait; arrays are read and written in place."""
    choice = chosen()
    target = NEUTRAL if choice is None else choice.target
    arguments = Arguments(function, launcher, args, kwargs)
    if choice is not None:
        check_place(function, target, arguments.place)
    options = _options(function, target, arguments.options)
    check_paths(arguments.source, target, options)
    request = forced() or Request(())
    builder = EagerBuilder(function.__name__, target, options, _expand, exact=request.exact)
    shape = launcher.shape(grid, args, kwargs)
    if 0 in shape:
        return
    arguments.check(shape, target.spec.limits)
    with ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        values = arguments.values(builder, request.arrays, stack)
        if knobs.get("INTERPRET_RACES") if request.races is None else request.races:
            builder.memory.watch(math.prod(shape))
        stack.enter_context(running(builder))
        try:
            _run(builder, function, shape, values)
        except TriError as error:
            if error.location is None:
                error.location = raised_at(error)
            raise


def _options(function: Kernel, target: Target, given: Mapping[str, Any]) -> CommonOptions:
    """The options that mean something here: asserts are always checked, wrapped integers where they become addresses.

    Where no target is chosen, options of every target are taken, and most change nothing.
    """
    known = target.options_type.__dataclass_fields__
    others = frozenset(options_elsewhere()) if target is NEUTRAL and given.keys() - known else frozenset()
    plain = {
        name: value for name, value in given.items() if name != "stream"
    }  # programs run one after the other
    taken = checked_options(function, target, plain, others)
    own = {name: value for name, value in taken.items() if name in known}
    target.options_type.parse(own)  # what is overridden below is to be right, too
    return target.options_type.parse({"sanitize_overflow": False} | own | {"debug": True})


def _expand(function: Any, args: Sequence[Any]) -> Any:
    """A jit function on values: what combine functions are called through."""
    function = unwrap(function)
    if not isinstance(function, Kernel):
        raise CompilationError(f"the combine function is {function!r}", remedy="decorate it with @tri.jit")
    return as_python(function)(*args)


def _run(
    builder: EagerBuilder, function: Kernel, shape: tuple[int, int, int], values: dict[str, Any]
) -> None:
    kernel = as_python(function)
    positional = [
        item
        for p in function.params
        if p.kind in (p.kind.POSITIONAL_ONLY, p.kind.POSITIONAL_OR_KEYWORD, p.kind.VAR_POSITIONAL)
        for item in _items(p, values.pop(p.name))
    ]
    builder.grid = shape
    x, y, z = map(range, shape)
    with Progress(f"interpreting {function.__name__}", shape[0] * shape[1] * shape[2]) as progress:

        def run() -> None:
            kernel(*positional, **values)
            progress.step()

        places = ((i, j, k) for k, j, i in product(z, y, x))
        turns = builder.memory.turns = Turns(builder, places, run, builder.enter)
        turns.run_all()


def _items(parameter: KernelParameter, value: Any) -> Sequence[Any]:
    return tuple(value) if parameter.kind is parameter.kind.VAR_POSITIONAL else (value,)
