"""``gl.nvidia.hopper.cluster``: synchronisation of the CTAs of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tri.experimental.gluon.builtins import barrier as barrier_of_threads
from tri.language import builtin
from tri.language.builtin import of_builtin
from tri_backend_nvidia.language.gluon.checks import for_target

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["barrier", "builtin"]


@builtin
def barrier(relaxed: bool = False, *, _semantic: Builder) -> None:
    """All threads of the cluster wait for each other; a cluster of one CTA is its threads.

    ``relaxed`` allows less ordering of memory than is given.  Unsupported for several CTAs.
    """
    del relaxed
    own = for_target(_semantic, "hopper.cluster.barrier", "tma")
    of_builtin(barrier_of_threads)(cluster=True, _semantic=own)
