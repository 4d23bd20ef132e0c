"""Rows of the matrix: one per backend of this repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["KIT", "LEVELS_OF_OLDEST", "ROWS", "Row"]

#: the distribution of the conformance kit
KIT = "tri-conformance"
#: what a part of the cases asks of the oldest core: the plug-in, hooks, driver, cache, launches, and whole kernels
LEVELS_OF_OLDEST = ("static", "pipeline", "runtime", "programs")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A backend: its distribution with ``extras``, and the ``targets`` that every machine can test.

    ``targets`` maps a target to the share of its cases that continuous integration runs: one in so many of each
    feature.  Devices that the backend finds are tested besides, with ``device_sample``; with ``owed`` it must find one.
    """

    package: str
    extras: tuple[str, ...] = ()
    targets: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    owed: bool = False
    device_sample: int = 16


ROWS = (
    Row(package="tri-backend-cpu", owed=True, device_sample=16),
    Row(
        package="tri-backend-intel",
        extras=("cpu",),
        targets={"sim:intel:pvc": 64},
        owed=True,
        device_sample=64,
    ),
    Row(package="tri-backend-nvidia", targets={"sim:nvidia:sm_80": 64, "sim:nvidia:sm_90a": 64}),
    Row(package="tri-backend-amd", extras=("lld",), targets={"sim:amd:gfx942": 64, "sim:amd:gfx1100": 64}),
)
