"""Units to time: operators of packages and published cases, each a few trials on one device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.utils._pytree import tree_flatten

from integration.published.cases import Bench, Case, Check
from integration.published.operators import aten, conch, fla, mlstm, recipes
from integration.published.operators.gems import required
from integration.published.operators.gems_arguments import OWN, REFERENCES
from integration.published.operators.operator import NoArguments, Operator
from integration.published.operators.references.others import CASES as OTHERS
from integration.published.projects import PROJECTS, load
from integration.strangers.timed.trials import Trial, differentiated, of_checks, of_pytorch, on
from integration.strangers.timed.widen import ELEMENTS, large_calls

__all__ = ["CALLS", "Unit", "gems_calls", "units"]

#: the file with arguments of flag-gems' operators, beside the packages: PyTorch's samples take a minute to find them
CALLS = "gems-calls.pt"
_GEMS = "flag-gems"
#: operators after which a GPU does nothing more in a process, as they should
_ENDS = frozenset({"_assert_async"})


@dataclass(frozen=True)
class Unit:
    """An operator; ``trials`` makes its arguments, smaller ones for a higher level (see :data:`widen.ELEMENTS`).

    ``heavy``: its reference takes gigabytes, or seconds.
    """

    name: str
    trials: Callable[[int], list[Trial]]
    heavy: bool = False


def units(folder: Path, device: str, *, wide: bool) -> Iterator[Unit]:
    """The units of packages in ``folder``, with tensors on ``device``; a package that cannot be had gives one that says so."""
    recipes.use(recipes.WIDE if wide else recipes.SMALL)
    sources: Mapping[str, Callable[[], Iterator[Unit]]] = {
        _GEMS: lambda: _gems(folder, device, wide=wide),
        "fla-core": lambda: _recipes(fla, folder, device, heavy=True),
        "mlstm-kernels": lambda: _recipes(mlstm, folder, device, heavy=True),
        "conch-triton-kernels": lambda: _recipes(conch, folder, device, heavy=False),
        "cases": lambda: _cases(folder, device),
    }
    for name, source in sources.items():
        try:
            yield from source()
        except ImportError as error:
            yield Unit(f"{name}/", partial(_missing, error))


def _missing(error: ImportError, level: int) -> list[Trial]:
    del level
    raise error


# --- flag-gems ------------------------------------------------------------------------------------------------


def gems_calls(package: Any) -> dict[str, list[aten.Call] | str]:
    """The arguments of each operator of ``flag_gems``; why there are none where there are none."""
    listed = {entry[0]: entry[1] for entry in package._FULL_CONFIG}
    wanted = {r for n in listed for r in (n, *aten.relatives(n))}
    recorded, infos = aten.record(wanted), aten.samples()
    found: dict[str, list[aten.Call] | str] = {}
    for name, function in listed.items():
        if name in OTHERS:
            continue
        try:
            own = OWN.get(name)
            calls = own() if own else aten.calls(name, recorded, required(function), infos)
            found[name] = [_portable(call) for call in calls]
        except NoArguments as error:
            found[name] = str(error)
    return found


def _portable(call: aten.Call) -> aten.Call:
    """``call`` without a memory format that is the default, which cannot be pickled."""
    args, kwargs = call
    return args, {n: v for n, v in kwargs.items() if v is not torch.preserve_format}


def _gems(folder: Path, device: str, *, wide: bool) -> Iterator[Unit]:
    package = load(_GEMS, "flag_gems", folder)
    file = folder / CALLS
    calls = torch.load(file, weights_only=False) if file.exists() else gems_calls(package)
    for entry in package._FULL_CONFIG:
        name, function = entry[0], entry[1]
        if name in OTHERS:
            trials = partial(_lifted, device, OTHERS[name], function)
        else:
            trials = partial(_called, device, name, function, calls.get(name), wide)
        if device == "cpu" or name not in _ENDS:
            yield Unit(f"{_GEMS}/{name}", trials)


def _called(
    device: str,
    name: str,
    function: Callable[..., Any],
    calls: list[aten.Call] | str | None,
    wide: bool,
    level: int,
) -> list[Trial]:
    if not isinstance(calls, list):
        raise NoArguments(calls or "no arguments are recorded")
    reference = REFERENCES.get(name)
    elements = ELEMENTS[level] if wide else 0
    large = large_calls(name) if elements else []
    if large:
        calls, elements = large, 0
    return [of_pytorch(device, name, function, call, reference, elements=elements) for call in calls]


def _lifted(
    device: str,
    case: Callable[[Callable[..., Any]], Iterator[Check]],
    function: Callable[..., Any],
    level: int = 0,
) -> list[Trial]:
    """A case that makes tensors of the host and calls ``function`` with them."""
    del level

    def moved(*args: Any, **kwargs: Any) -> Any:
        given = on(device, (args, kwargs))
        made = function(*given[0], **given[1])
        # what was written in place
        for host, there in zip(tree_flatten((args, kwargs))[0], tree_flatten(given)[0], strict=True):
            if isinstance(host, torch.Tensor) and host is not there and not host.requires_grad:
                host.copy_(there.detach())
        return on("cpu", made)

    def checks() -> Iterator[Check]:
        recipes.start()
        return case(moved)

    return [of_checks(checks)]


# --- packages whose arguments are recipes -----------------------------------------------------------------------


def _recipes(source: Any, folder: Path, device: str, *, heavy: bool) -> Iterator[Unit]:
    for operator in source.operators(folder):
        yield Unit(f"{operator.package}/{operator.name}", partial(_beside, source, operator, device), heavy)


def _beside(source: Any, operator: Operator, device: str, level: int) -> list[Trial]:
    """The trials that the checks of ``operator`` would compare; of what compares by itself, its checks."""
    del level
    made: list[Trial] = []

    def heard(*args: Any, **kwargs: Any) -> Iterator[Check]:
        made.append(differentiated(device, *args, **kwargs))
        return iter(())

    def lifted(case: Any) -> Any:
        def listed(function: Callable[..., Any]) -> Iterator[Check]:
            made.extend(_lifted(device, case, function))
            return iter(())

        return listed

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(source, "beside", heard))
        cases = getattr(source, "_CASES", {})
        stack.enter_context(mock.patch.dict(cases, {n: lifted(c) for n, c in cases.items()}))
        list(operator.checks())
    return made


# --- published cases --------------------------------------------------------------------------------------------


def _cases(folder: Path, device: str) -> Iterator[Unit]:
    from integration.published import suite

    for item in suite.select([]):
        if not PROJECTS[item.project].nightly:
            yield Unit(f"cases/{item.name}", partial(_case, item, Bench(device, folder)))


def _case(item: Case, bench: Bench, level: int) -> list[Trial]:
    from integration.published import cases

    del level

    def checks() -> Iterator[Check]:
        cases.begin()
        yield from item.body(bench)

    return [of_checks(checks)]
