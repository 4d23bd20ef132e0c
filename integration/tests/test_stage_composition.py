"""Passes of the shared middle in the stages of each target: those for its hardware."""

from __future__ import annotations

import pytest

from tri_core.api import Pass
from tri_core.plugins import manager
from tri_core.target_options import parse_options
from tri_core.target_selection import resolve

#: the only one of these that needs no hardware of its own
_FOR_ANY = {"make-persistent"}


def _async_units(target: str) -> set[str]:
    """The passes of ``ttgir`` that are for units beside the threads."""
    known = resolve(target)
    found = manager().compose(known, parse_options(known, None)).pipeline
    steps = [
        step
        for stage in found.stages
        if stage.name == "ttgir"
        for step in (stage.passes.steps if stage.passes else ())
    ]
    assert steps
    return {s.name for s in steps if isinstance(s, Pass) and "async_units" in type(s).__module__}


@pytest.mark.parametrize("target", ["amd:gfx942", "amd:gfx1201", "intel:pvc", "intel:opencl-cpu"])
def test_none_where_threads_do_everything(target: str) -> None:
    assert not _async_units(target)


@pytest.mark.parametrize("target", ["nvidia:sm_80", "nvidia:sm_89"])
def test_gpus_before_block_copies(target: str) -> None:
    assert _async_units(target) == _FOR_ANY


@pytest.mark.parametrize("target", ["nvidia:sm_90a", "nvidia:sm_100a", "nvidia:sm_120a"])
def test_all_of_them_where_there_are_such_units(target: str) -> None:
    assert _async_units(target) > {
        "warp-specialize",
        "make-persistent",
        "lower-descriptors-to-tma",
        "create-tensormaps",
        "subtile-epilogue",
    }
