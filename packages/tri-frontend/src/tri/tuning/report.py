"""Saying what was chosen, and what was left out and why."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tri.launch.hooks import HookChain
from tri.tuning.config import Config
from tri_core import knobs
from tri_core.errors import AutotuneError, TriError
from tri_core.notebooks import html_table

__all__ = ["LISTENERS", "as_html", "none_works", "tell_choice", "tell_skipped"]

logger = logging.getLogger("tri.autotune")

#: called with keywords after every tuning: ``fn``, ``key``, ``best_config``, ``timings`` (ms), ``seconds``,
#: ``cached`` and ``failures``
LISTENERS = HookChain()


def tell_choice(name: str, facts: Mapping[str, Any]) -> None:
    """Log the choice and tell the listeners."""
    LISTENERS(**facts)
    timings: Mapping[Config, Sequence[float]] = facts["timings"]
    best: Config = facts["best_config"]
    how = "read from the cache" if facts["cached"] else f"{len(timings)} timed in {facts['seconds']:.2f} s"
    time = f" ({timings[best][0]:.4g} ms)" if best in timings else ""
    text = f"{name} for key {facts['key']}: {best}{time}; {how}"
    logger.info(text)
    if knobs.get("AUTOTUNE_PRINT"):
        sys.stderr.write(f"autotuning {text}\n")


def tell_skipped(name: str, failures: Mapping[Config, TriError], count: int) -> None:
    """Warn of the configurations of ``count`` that cannot be used."""
    if failures:
        lines = "\n".join(f"  {config}: {_short(error)}" for config, error in failures.items())
        logger.warning("%s: %d of %d configurations are skipped\n%s", name, len(failures), count, lines)


def _short(error: TriError) -> str:
    return f"{type(error).__name__}: {error.message.splitlines()[0]}"


def as_html(name: str, timings: Mapping[Config, Sequence[float]], failures: Mapping[Config, TriError]) -> str:
    """A table of the times (ms: median, 20 % and 80 % quantile) of a tuning of kernel ``name``, fastest first, then of its failures."""
    by_time = sorted(timings.items(), key=lambda pair: pair[1][0])
    rows = [(config, *(f"{time:.4g}" for time in times)) for config, times in by_time]
    rows += [(config, _short(error)) for config, error in failures.items()]
    return html_table(("configuration", "ms", "20 %", "80 %"), rows, f"tuning of {name}")


def none_works(name: str, failures: Mapping[Config, TriError]) -> AutotuneError:
    """The error of a kernel without a usable configuration."""
    lines = "\n".join(f"  {config}: {_short(error)}" for config, error in failures.items())
    first = next(iter(failures.values()), None)
    return AutotuneError(
        f"none of the {len(failures)} configurations of {name} works\n{lines}",
        remedy=(first.remedy if first is not None and first.remedy else "add a configuration that fits"),
        location=first.location if first is not None else None,
        reasons={str(config): str(error) for config, error in failures.items()},
    )
