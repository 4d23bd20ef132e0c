"""One configuration for each tuned kernel, so that a run compiles and times no dozens of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tri.tuning.autotuner import Autotuner

__all__ = ["chosen", "untuned"]

#: kernels whose first configuration does not do: what the kept one has
_KEPT = {
    "_attn_fwd": {"BLOCK_N": 32},  # it asserts BLOCK_N <= HEAD_DIM
    "_attn_bwd": {"BLOCK_N1": 128, "BLOCK_M2": 128},  # a smaller BLOCK_M2 leaves rows of dq as they were
}


def chosen(name: str, configs: list[Any]) -> list[Any]:
    """The first of ``configs``, or the first with what the kernel ``name`` needs."""
    wanted = _KEPT.get(name, {}).items()
    return [c for c in configs if wanted <= c.kwargs.items()][:1] or configs[:1]


@contextmanager
def untuned() -> Iterator[None]:
    """Kernels that are made inside of the ``with`` block keep one of their configurations."""
    whole = Autotuner.__init__

    def init(self: Autotuner, fn: Any, arg_names: Any, configs: Any, *args: Any, **kwargs: Any) -> None:
        whole(self, fn, arg_names, chosen(getattr(fn, "__name__", ""), list(configs)), *args, **kwargs)

    with mock.patch.object(Autotuner, "__init__", init):
        yield
