"""A trial: one call of an operator on a device, with what it should give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

from integration.published.cases import Check
from integration.published.operators import aten
from integration.published.operators.differentiated import first, fresh, leaves
from integration.published.operators.operator import checks_of
from integration.strangers.timed.widen import widened

__all__ = [
    "Result",
    "Trial",
    "differentiated",
    "error_of",
    "judged",
    "of_checks",
    "of_pytorch",
    "on",
    "tensors",
]

#: terms of size 1 cancel: errors that are allowed of small results
_ABSOLUTE = 1e-6
#: elements of results, at most
_MOST = 1 << 28
#: operators whose int64 are places
_INDEXED = ("gather", "index", "scatter", "take")


@dataclass(frozen=True)
class Result:
    """Results of a call, nested as returned, with the tolerated error."""

    name: str
    value: Any
    tolerance: float = 1e-4
    absolute: float = _ABSOLUTE


@dataclass(frozen=True)
class Trial:
    """``run`` calls an operator with fresh arguments; ``wanted`` gives what it should have made, or None where nothing says so.

    ``wide``: whether the arguments were made wide.
    """

    run: Callable[[], list[Result]]
    wanted: Callable[[], list[Result] | None]
    wide: bool = True


def on(device: str, value: Any) -> Any:
    """``value`` with its tensors on ``device``."""
    return tree_map(lambda t: t.to(device) if isinstance(t, torch.Tensor) else t, value)


def error_of(check: Check) -> float:
    """The error of a check as :attr:`Check.error` has it, taken where the tensors are."""
    want = check.want.detach()
    got = check.got.detach().to(want.device)
    if got.shape != want.shape:
        return float("inf")
    if not want.numel():
        return 0.0
    got, want = got.double(), want.double()
    if bool((got.isnan() != want.isnan()).any()):
        return float("inf")
    # where both are infinite alike there is no error
    apart = torch.where(got == want, 0.0, got - want).nan_to_num(0.0, torch.inf, torch.inf)
    finite = want[want.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    return float(apart.abs().max()) / max(scale, 1e-30)


def judged(got: Iterable[Result], wanted: Iterable[Result]) -> list[tuple[str, float, float]]:
    """(name, error, allowed error) of each tensor."""
    made = {r.name: r for r in got}
    found = []
    for want in wanted:
        if want.name not in made:
            # an operator without a backward is compared forward only
            if len(made) == 1:
                continue
            raise AssertionError(f"no {want.name}")
        for check in checks_of(
            want.name, made[want.name].value, want.value, made[want.name].tolerance, want.absolute
        ):
            found.append((check.name, error_of(check), check.tolerance))
    return found


def differentiated(
    device: str,
    function: Callable[..., Any],
    reference: Callable[..., Any],
    given: Mapping[str, Any],
    *,
    tolerance: float = 1e-3,
    constant: frozenset[str] = frozenset(),
    backward: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Trial:
    """Forward and backward of ``function(**given)``, and of ``reference`` in float64, on ``device``.

    The same as :func:`integration.published.operators.differentiated.beside`, and takes the same.
    """
    rounded = on(device, leaves(given, dtype, constant))

    def passed(called: Callable[..., Any], kind: torch.dtype) -> list[Result]:
        mine = leaves(rounded, kind, constant)
        out = first(called(**fresh(mine)))
        results = [Result("out", out, tolerance)]
        if not (backward and out.requires_grad):
            return results
        weight = torch.randn(out.numel(), generator=torch.Generator().manual_seed(1), device="cpu")
        try:
            out.backward(weight.to(out.device, out.dtype).reshape(out.shape))
        except NotImplementedError:
            return results
        for name, leaf in mine.items():
            if isinstance(leaf, torch.Tensor) and leaf.grad is not None:
                results.append(Result(f"d{name}", leaf.grad, tolerance, 1e-5))
        return results

    def wanted() -> list[Result]:
        # references make tensors of their own
        with torch.device(device):
            return passed(reference, torch.float64)

    return Trial(lambda: passed(function, dtype), wanted)


def of_pytorch(
    device: str,
    name: str,
    function: Callable[..., Any],
    call: aten.Call,
    reference: Callable[..., Any] | None,
    *,
    elements: int,
) -> Trial:
    """``function`` beside PyTorch's operator ``name`` in float64, with arguments of ``elements`` elements where that can be (0: as they are)."""
    operator = aten.overload(name)
    places = any(a.name == "device" for a in operator._schema.arguments)
    random = torch.Tag.nondeterministic_seeded in operator.tags
    plain = operator if reference is None else reference

    def prepared(large: bool) -> tuple[Any, list[Result]]:
        args, kwargs = on(device, call)
        if large:
            indexed = name.lstrip("_").startswith(_INDEXED)
            args, kwargs = widened((args, kwargs), elements, places=indexed)
            _small_enough(operator, args, kwargs)
        if places:
            kwargs = {**kwargs, "device": torch.device(device)}
        exact = aten.exact(operator, aten.copied((args, kwargs)))
        with torch.device(device):
            exact = on(device, tree_map(lambda v: torch.float64 if v is torch.float32 else v, exact))
            want = aten.asked(operator, exact) if reference is None else plain(*exact[0], **exact[1])
        results = [Result("out", want)]
        results += [Result(a.name, exact[0][p]) for p, a in _written(operator, exact[0])]
        for argument in operator._schema.arguments:
            if argument.is_out:
                made = exact[1][argument.name]
                kind = made.dtype if made.dtype != torch.float64 else torch.float32
                kwargs = {**kwargs, argument.name: torch.empty(made.shape, dtype=kind, device=device)}
        return (args, kwargs), results

    try:
        if not elements:
            raise ValueError(name)
        given, want = prepared(True)
        large = True
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, ValueError, IndexError, TypeError):
        given, want = prepared(False)
        large = False
    tolerance = aten.tolerance_of(given[0])

    def run() -> list[Result]:
        args, kwargs = aten.copied(given)
        out = function(*args, **kwargs)
        written = [Result(a.name, args[p], tolerance) for p, a in _written(operator, args)]
        return [Result("out", out, tolerance), *written]

    return Trial(run, lambda: None if random else want, large)


def _small_enough(operator: Any, args: Any, kwargs: Any) -> None:
    """ValueError where results would be much larger than arguments."""
    given = on("meta", (args, {n: v for n, v in kwargs.items() if n != "device"}))
    try:
        made = operator(*given[0], **given[1])
    except Exception:  # operators whose results' sizes depend on values, or that have no such form
        return
    if sum(t.numel() for t in tree_flatten(made)[0] if isinstance(t, torch.Tensor)) > _MOST:
        raise ValueError("results would be too large")


def _written(operator: Any, args: Any) -> list[tuple[int, Any]]:
    """The arguments that an operator writes in place, with their places."""
    found = []
    for place, argument in enumerate(operator._schema.arguments):
        writes = argument.alias_info is not None and argument.alias_info.is_write
        if writes and not argument.is_out and place < len(args):
            found.append((place, argument))
    return found


def of_checks(checks: Callable[[], Iterable[Check]]) -> Trial:
    """A case that makes its arguments and its reference itself."""
    last: list[Result] = []

    def run() -> list[Result]:
        made = list(checks())
        last[:] = [Result(f"{n} {c.name}", c.want, c.tolerance, 0.0) for n, c in enumerate(made)]
        return [Result(f"{n} {c.name}", c.got, c.tolerance, 0.0) for n, c in enumerate(made)]

    return Trial(run, lambda: list(last), False)


def tensors(results: Iterable[Result]) -> list[torch.Tensor]:
    """All tensors of results."""
    return [t for r in results for t in tree_flatten(r.value)[0] if isinstance(t, torch.Tensor)]
