"""Settings of a trial: each combination of the arguments, configurations and options that vary."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any

from tri.jit import JITFunction
from tri.tuning.autotuner import Autotuner
from tri.tuning.computed import Heuristics
from tri.tuning.config import Config
from tri.verifying.grids import grid_of
from tri.verifying.inputs import Trial
from tri_core.errors import OptionError, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Setting", "Tuning", "settings_of", "tuning_of", "varied"]


@dataclass(frozen=True)
class Setting:
    """A trial, and the values that tell it from others: ``M=7, num_warps=8``."""

    name: str
    trial: Trial


@dataclass(frozen=True)
class Tuning:
    """Wrappers around a kernel: the configurations of its tuner, and rules for constexprs, innermost last."""

    configs: tuple[Config, ...] = ()
    rules: tuple[Heuristics, ...] = field(default=())

    def signature(self, kernel: JITFunction, text: str) -> str:
        """``text`` with an entry for each parameter that is given by configurations and rules."""
        names = {name for each in self.configs for name in each.kwargs}
        names |= {name for each in self.rules for name in each.values}
        return ", ".join([text, *(f"{name}=None" for name in kernel.arg_names if name in names)])


def tuning_of(kernel: Any) -> Tuning:
    """The wrappers around the jit function in ``kernel``."""
    configs: tuple[Config, ...] = ()
    rules: list[Heuristics] = []
    while not isinstance(kernel, JITFunction) and hasattr(kernel, "fn"):
        if isinstance(kernel, Autotuner):
            configs = tuple(kernel.configs)
        elif isinstance(kernel, Heuristics):
            rules.append(kernel)
        kernel = kernel.fn
    return Tuning(configs, tuple(rules))


def varied(pairs: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """``["M=1,7,16"]`` as the values of each name; OptionError where there are fewer than two."""
    made: dict[str, tuple[Any, ...]] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name = name.strip()
        try:
            values = ast.literal_eval(f"({text},)") if equals and text.strip() else ()
        except (ValueError, SyntaxError):
            values = ()
        if len(set(map(repr, values))) < 2 or name in made:
            raise OptionError(
                f"{pair!r} gives {'no' if not values else 'one'} value of {name!r}; two are needed to compare"
                if name not in made
                else f"{name!r} is varied twice",
                remedy="write the name once, with two values or more: --vary M=1,7,16,33",
            )
        made[name] = values
    return made


def settings_of(
    trial: Trial,
    grid: str = "1",
    vary: Mapping[str, Sequence[Any]] | None = None,
    tuning: Tuning | None = None,
) -> list[Setting]:
    """Each configuration of ``tuning`` with each combination of the values that ``vary`` has of arguments, and of options given as several.

    ``grid`` is a text that may name parameters (:func:`~tri.verifying.grids.grid_of`).  OptionError where ``vary`` names no integer
    parameter or constexpr, and where nothing varies.
    """
    tuning = tuning or Tuning()
    for name in vary or {}:
        if name not in trial.constants and trial.types.get(name, "*").startswith("*"):
            raise OptionError(
                f"{trial.kernel.__name__} has no scalar parameter or constexpr {name!r} to vary",
                remedy=f"name parameters of {trial.kernel.signature_text}",
            )
    several = {name: value for name, value in trial.options.items() if _is_several(value)}
    axes = [[{name: value} for value in values] for name, values in {**several, **(vary or {})}.items()]
    configs = [_keywords(each) for each in tuning.configs] or [{}]
    made = list(_settings(trial, grid, tuning, [configs, *axes]))
    if len(made) < 2:
        raise OptionError(
            f"nothing varies for {trial.kernel.__name__}: there is one setting, and nothing to compare it with",
            remedy="give values of an argument (--vary M=1,7,16), of an option (-O num_warps=4,8), or an autotuned kernel",
        )
    return made


def _is_several(value: Any) -> bool:
    """True of ``4, 8``; an option that is a tuple is given several times as ``(1, 1, 1), (2, 1, 1)``."""
    return isinstance(value, tuple) and len(value) > 1


def _keywords(config: Config) -> dict[str, Any]:
    if config.pre_hook is not None or config.ir_override is not None:
        raise Unsupported(
            f"a configuration with a hook or with IR of its own is not verified: {config}",
            remedy="name the kernel below the tuner, and give configurations by --vary and -O",
        )
    return config.all_kwargs()


def _settings(
    trial: Trial, grid: str, tuning: Tuning, axes: Sequence[Sequence[Mapping[str, Any]]]
) -> Iterator[Setting]:
    choices = [{k: v for each in chosen for k, v in each.items()} for chosen in product(*axes)]
    fixed = {k for k, v in choices[0].items() if all(k in each and each[k] == v for each in choices)}
    for choice in choices:
        name = ", ".join(f"{k}={v}" for k, v in choice.items() if k not in fixed)
        yield Setting(name, _with(trial, choice, grid, tuning.rules))


def _with(trial: Trial, choice: Mapping[str, Any], grid: str, rules: Sequence[Heuristics]) -> Trial:
    trial = _given(trial, choice)
    for each in rules:
        known = {**trial.arguments(0), **trial.constants, **trial.options}
        trial = _given(trial, {name: each.computed((), known)[name] for name in each.values})
    return replace(trial, grid=grid_of(grid, trial.numbers()))


def _given(trial: Trial, choice: Mapping[str, Any]) -> Trial:
    values, constants, options = dict(trial.values), dict(trial.constants), dict(trial.options)
    for name, value in choice.items():
        target = values if name in trial.types else constants if name in constants else options
        target[name] = value
    return replace(trial, values=values, constants=constants, options=options)
