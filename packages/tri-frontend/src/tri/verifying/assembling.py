"""A trial on what assemblers make of a kernel, against the text that they were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from typing import Any

import numpy as np

from tri.verifying.inputs import Trial
from tri.verifying.records import Arrays, Finding, first_difference
from tri.verifying.running import ran
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_core.plugins import manager
from tri_core.target_selection import resolve
from tri_runtime.simulator.allocation import Access
from tri_runtime.simulator.scene import Scene

__all__ = ["assembled_levels", "judge_assemblers"]

#: of inputs on which nothing is compared: a kernel's own places are small
_SMALL = "only on small whole numbers: with others the kernel means nothing"


def assembled_levels(target: str) -> tuple[str, list[str]]:
    """The level of the text that assemblers are given, and those of what each makes of it; Unsupported where there are none."""
    key = resolve(target).key.real
    simulation = manager().simulation(resolve(str(key)))
    text, made = "".join([*simulation.levels][-1:]), [*simulation.assemblers()]
    if not text or not made:
        raise Unsupported(
            f"{key} has no assembler here that is judged",
            remedy="name targets whose assembler is installed, or leave --assemblers out",
        )
    return f"sim:{key}:level={text}", [f"sim:{key}:level={each}" for each in made]


def judge_assemblers(trial: Trial, target: str, seeds: Sequence[int]) -> Iterator[Finding]:
    """Findings of each assembler at each of its levels of optimisation, on the inputs of ``seeds``: all bits are compared.

    Integers are of their whole range, with its ends, unless the kernel means nothing then: arrays of places hold small ones.
    """
    text, levels = assembled_levels(target)
    for seed in seeds:
        chosen, note = replace(trial, extremes=True), ""
        expected = ran(chosen, text, seed)
        if isinstance(expected, Finding) and expected.verdict == "undefined":
            chosen, expected, note = trial, ran(trial, text, seed), _SMALL
        if isinstance(expected, Finding):
            yield expected
            continue
        for level in levels:
            yield _judged(chosen, level, seed, expected, note)


def _judged(trial: Trial, level: str, seed: int, expected: Arrays, note: str) -> Finding:
    writers = _Writers()
    found = ran(trial, level, seed, writers)
    if isinstance(found, Finding):
        # what the text level ran without a fault has none
        return replace(found, verdict="wrong") if found.verdict == "undefined" else found
    difference = first_difference(expected, found, exact=True)
    if difference is None:
        return Finding(level, seed, "equal", reason=note)
    array = found[difference.name]
    by = writers.of(array.ctypes.data + difference.index * array.itemsize)
    return Finding(level, seed, "wrong", difference, step=f"the store {by}" if by else "", reason=note)


@dataclass
class _Writers:
    """Recorder of the instruction that wrote each byte of global memory last."""

    sites: dict[int, int] = field(default_factory=dict)
    scenes: list[Scene] = field(default_factory=list)

    def launch(self, kernel: Any, scene: Scene) -> AbstractContextManager[Callable[[Access], None]]:
        """A listener for one launch."""
        del kernel
        self.scenes.append(scene)
        return self._listening()

    @contextmanager
    def _listening(self) -> Iterator[Callable[[Access], None]]:
        yield self._note

    def _note(self, access: Access) -> None:
        if access.kind == "store" and access.memory == "global":
            places = (np.asarray(access.addresses)[:, None] + np.arange(access.nbytes)).reshape(-1)
            self.sites.update(dict.fromkeys(places.tolist(), access.site))

    def of(self, address: int) -> str:
        """The instruction that wrote the byte at ``address`` last, and its note; empty where none did."""
        site = self.sites.get(address)
        if site is None or not self.scenes:
            return ""
        return self.scenes[-1].sites[site].op
