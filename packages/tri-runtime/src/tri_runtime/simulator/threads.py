"""Interface to the CTA whose threads run, for barriers, copies and race detection, without its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from tri_core.errors import SimulationError
from tri_runtime.simulator.clocks import Clocks
from tri_runtime.simulator.scene import Scene
from tri_runtime.simulator.trace import Trace

__all__ = ["ClusterMember", "ClusterState", "Threads"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class ClusterState(Protocol):
    """Shared state of all CTAs of a cluster: the clocks of all their threads, and their acts at barriers."""

    @property
    def clocks(self) -> Clocks:
        """The clocks of all threads of the cluster."""
        ...

    @property
    def trace(self) -> Trace:
        """Acts of the cluster's threads at barriers."""
        ...


class Threads(Protocol):
    """The threads of one CTA; masks have an element for each."""

    @property
    def num_threads(self) -> int:
        """Threads of the CTA."""
        ...

    @property
    def program_id(self) -> tuple[int, int, int]:
        """The program that the CTA runs."""
        ...

    @property
    def rank(self) -> int:
        """The CTA's number in its cluster."""
        ...

    @property
    def cluster(self) -> ClusterState:
        """The CTAs that run together."""
        ...

    @property
    def scene(self) -> Scene:
        """The op at work, which errors name."""
        ...

    @property
    def clocks(self) -> Clocks:
        """The clocks of the CTA's own threads."""
        ...

    @property
    def active(self) -> Mask:
        """Mask of the threads that execute the present op."""
        ...

    @property
    def whole(self) -> bool:
        """True if all threads are active."""
        ...

    def in_cluster(self, threads: Mask) -> Mask:
        """A mask of this CTA's threads as one of the cluster's."""
        ...

    def wait_until(self, ready: Callable[[], bool], what: Callable[[], str]) -> None:
        """The active threads do not go on, after the present op, before ``ready()``; ``what`` for the error."""
        ...


class ClusterMember(Threads, Protocol):
    """A CTA as its cluster runs it."""

    @property
    def is_blocked(self) -> bool:
        """True if all threads are waiting."""
        ...

    @property
    def is_done(self) -> bool:
        """True if all threads have left the kernel."""
        ...

    @property
    def steps(self) -> int:
        """Number of blocks that its threads have run."""
        ...

    def run(self, arguments: Sequence[Array]) -> Iterator[None]:
        """Run to the end; yields when another CTA may run."""
        ...

    def repeats(self, changes: int) -> bool:
        """True if the threads repeat an earlier state, as far as control depends on it, with memory unchanged
        since change ``changes``.
        """
        ...

    def deadlock(self, others: Sequence[Self] = ()) -> SimulationError:
        """Nobody can go on, nor can ``others`` of the cluster: who waits for what."""
        ...
