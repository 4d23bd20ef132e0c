"""One configuration for each tuned kernel, so that a run compiles and times no dozens of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

__all__ = ["Kept", "chosen", "untuned"]

#: kernels whose first configuration does not do: what the kept one has
_KEPT = {
    "_attn_fwd": {"BLOCK_N": 32},  # it asserts BLOCK_N <= HEAD_DIM
    "_attn_bwd": {"BLOCK_N1": 128, "BLOCK_M2": 128},  # a smaller BLOCK_M2 leaves rows of dq as they were
}


def chosen(name: str, configs: list[Any], number: int = 0) -> list[Any]:
    """Configuration ``number`` (counted round) of those of ``configs`` with what the kernel ``name`` needs; of all, where none has it."""
    wanted = _KEPT.get(name, {}).items()
    found = [c for c in configs if wanted <= c.kwargs.items()] or configs
    return found[number % len(found) :][:1] if found else []


class Kept:
    """Configuration of the tuned kernels; the first, until :meth:`use` sets another."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, list[Any]]] = []

    def add(self, tuner: Any, name: str, configs: list[Any]) -> None:
        """Remember a tuner with all of its configurations."""
        self._made.append((tuner, name, configs))

    def use(self, number: int) -> None:
        """Have each tuner use its configuration ``number``, counted round."""
        for tuner, name, configs in self._made:
            if len(configs) > 1:
                tuner.configs = chosen(name, configs, number)


def _tuner() -> Any:
    """Triton's class of tuners, where it is imported under that name; else tri's, which is the same where tri stands in for it."""
    name = "triton.runtime.autotuner" if "triton" in sys.modules else "tri.tuning.autotuner"
    return importlib.import_module(name).Autotuner


@contextmanager
def untuned() -> Iterator[Kept]:
    """Kernels that are made inside of the ``with`` block keep one of their configurations.

    Of whichever ``triton`` is imported: tri, where it stands in for that, or Triton itself.
    """
    tuner = _tuner()
    whole = tuner.__init__
    kept = Kept()

    def init(self: Any, fn: Any, arg_names: Any, configs: Any, *args: Any, **kwargs: Any) -> None:
        name, listed = getattr(fn, "__name__", ""), list(configs or ())
        whole(self, fn, arg_names, chosen(name, listed), *args, **kwargs)
        kept.add(self, name, listed)

    with mock.patch.object(tuner, "__init__", init):
        yield kept
