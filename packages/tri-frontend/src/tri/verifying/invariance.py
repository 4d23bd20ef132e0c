"""A check that elements keep their bits, whatever the batch, the grid and the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tri.interpreter.observing import observed
from tri.verifying.causes import cause_of
from tri.verifying.judging import Report, levels_of
from tri.verifying.records import Arrays, Difference, Finding
from tri.verifying.running import INTERPRETER, ran
from tri.verifying.settings import Setting
from tri.verifying.writers import Writers
from tri_core.lazy_dataclasses import dataclass

__all__ = ["verify_invariance"]

_NOTHING_SHARED = (
    "no setting before this one stores an element that this one stores: there is nothing to compare"
)


def verify_invariance(
    settings: Sequence[Setting], targets: Sequence[str], seeds: Sequence[int] = (0,)
) -> Report:
    """Run ``settings`` at the first level of each of ``targets`` on the inputs of ``seeds``, and compare the elements that they store.

    Floats are of the normal distribution.  An element is known by its array and place, and compared with the first setting that stored it, to
    the last bit: a finding for each setting but the first, ``equal`` or ``differs``.  The interpreter says what is stored; where it finds a
    setting undefined, or cannot run it, the finding says so, and where several programs add floats to one element it is ``differs``,
    whatever the bits: their order is not fixed.
    """
    settings = [replace(each, trial=replace(each.trial, fractions=True)) for each in settings]
    findings: list[Finding] = []
    for seed in seeds:
        stores = [(each, _stores(each, seed)) for each in settings]
        findings += [each for _, each in stores if isinstance(each, Finding)]
        known = [(setting, each) for setting, each in stores if isinstance(each, Writers)]
        for target in targets:
            findings += _Comparison(levels_of(target)[0], seed).findings(known)
    return Report(tuple(findings))


def _stores(setting: Setting, seed: int) -> Writers | Finding:
    """The stores of each program; a finding where that is not known, or not the same each time."""
    writers = Writers()
    with observed(writers):
        made = ran(setting.trial, INTERPRETER, seed)
    if isinstance(made, Finding):
        return replace(made, setting=setting.name)
    if writers.added is not None:
        step = f"the atomic at {writers.added[2]}"
        reason = f"several programs add floats to {_element(made, writers.added)}: the order in which they do is not fixed"
        return Finding(INTERPRETER, seed, "differs", step=step, reason=reason, setting=setting.name)
    if writers.shared is not None:
        reason = (
            f"several programs store {_element(made, writers.shared)} in turn, here at {writers.shared[2]}: "
            "whether their order is fixed is not known"
        )
        return Finding(INTERPRETER, seed, "refused", reason=reason, setting=setting.name)
    return writers


def _element(arrays: Arrays, where: tuple[str, int, str]) -> str:
    name, offset, _ = where
    return f"{name}[{offset // arrays[name].itemsize}]"


@dataclass
class _Comparison:
    """Comparison of settings at one ``level``: of each array the elements so far, and the number of the setting that stored each (-1: none)."""

    level: str
    seed: int
    ran: list[tuple[Setting, Writers]] = field(default_factory=list)
    elements: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    stored_by: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    def findings(self, settings: Sequence[tuple[Setting, Writers]]) -> Iterator[Finding]:
        """One for each that is compared, or cannot be."""
        for setting, writers in settings:
            made = ran(setting.trial, self.level, self.seed)
            if isinstance(made, Finding):
                yield replace(made, setting=setting.name)
                continue
            self.ran.append((setting, writers))
            if len(self.ran) > 1:
                yield replace(self._compared(made), setting=setting.name)
            self._keep(made)

    def _compared(self, made: Arrays) -> Finding:
        shared = {name: self._shared(name, array) for name, array in made.items()}
        if not any(each.any() for each in shared.values()):
            return Finding(self.level, self.seed, "refused", reason=_NOTHING_SHARED)
        for name, both in shared.items():
            places = np.flatnonzero(both)
            left, right = (array[name][places] for array in (self.elements, made))
            apart = places[(_bytes(left) != _bytes(right)).any(1)]
            if apart.size:
                return self._different(name, int(apart[0]), made[name], int(apart.size))
        return Finding(self.level, self.seed, "equal")

    def _shared(self, name: str, array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        if name not in self.elements:
            return np.zeros(array.size, np.bool_)
        return self.ran[-1][1].written(name, array) & (self.stored_by[name] >= 0)

    def _different(self, name: str, index: int, array: npt.NDArray[Any], count: int) -> Finding:
        before, now = self.ran[self.stored_by[name][index]], self.ran[-1]
        difference = Difference(name, index, self.elements[name][index].item(), array[index].item(), count)
        offset = index * array.itemsize
        programs = before[1].of(name, offset), now[1].of(name, offset)
        cause = cause_of((before[0], now[0]), programs, self.level, self.seed, name, offset)
        reason = f"expected is what {before[0].name} gives, in program {programs[0]}; here it is program {programs[1]}"
        return Finding(self.level, self.seed, "differs", difference, cause.text, cause.change, reason)

    def _keep(self, made: Arrays) -> None:
        """Remember what this setting is the first to store."""
        for name, array in made.items():
            known = self.elements.setdefault(name, array.copy())
            by = self.stored_by.setdefault(name, np.full(array.size, -1))
            fresh = self.ran[-1][1].written(name, array) & (by < 0)
            known[fresh], by[fresh] = array[fresh], len(self.ran) - 1


def _bytes(elements: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(elements).view(np.uint8).reshape(elements.size, elements.itemsize)
