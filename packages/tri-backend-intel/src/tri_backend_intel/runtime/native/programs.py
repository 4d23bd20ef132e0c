"""A kernel's program: the kept image where the driver takes it, else a new build, in the register mode that spills least."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from tri_backend_intel.runtime.found import FoundDevice
from tri_backend_intel.runtime.native.api import Below, NativeApi, NativeRefused
from tri_backend_intel.runtime.native.images import NativeImages, compilers_environment, processor
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Program", "Programs", "images_of"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Program:
    """Program that a driver's kernels come from, the driver's options that it was built with, and bytes
    spilled per thread, where known.
    """

    program: Any
    options: str
    spills: int | None = None


def images_of(device: FoundDevice, api: NativeApi) -> NativeImages:
    """The images of ``device``."""
    facts = device.facts
    words = [api.name, facts.vendor, device.info.name, facts.driver_version]
    words += [*facts.platform, compilers_environment()]
    if device.is_cpu:
        words.append(processor())
    return NativeImages("\n".join(words))


@dataclass(frozen=True)
class Programs:
    """Programs on one device, through ``interop``."""

    interop: Below
    images: NativeImages
    #: what was built and what was loaded, for tests and logs
    counts: dict[str, int] = field(default_factory=lambda: {"built": 0, "loaded": 0, "refused": 0})

    def kept(self, module: bytes, kernel: str, modes: Sequence[str]) -> Program | None:
        """The program of an image that an earlier build kept; None when there is none that the driver takes."""
        found = self.images.get(module, modes[0])
        if found is None:
            return None
        data, facts = found
        api, options = self.interop.api, str(facts["options"])
        try:
            program = api.from_image(data, options)
        except NativeRefused as error:
            self.counts["refused"] += 1
            _log.warning(
                "the driver refused the kept image of kernel %s, which is built again: %s", kernel, error
            )
            self.images.discard(module, modes[0])
            return None
        made = self.interop.adopt(program)
        if not self.interop.has_kernel(made, kernel):
            self.images.discard(module, modes[0])
            return None
        self.counts["loaded"] += 1
        return Program(made, options, facts["spills"])

    def build(self, module: bytes, kernel: str, modes: Sequence[str]) -> Program:
        """Build with each of ``modes``, the driver's options, until one spills nothing; that which spills least is kept.

        NativeRefused when the driver refuses the module, or it lacks ``kernel``.
        """
        handle, options, spills = self._least(module, kernel, modes)
        self.counts["built"] += 1
        try:
            data = self.interop.api.image(handle)
            self.images.put(module, modes[0], data, {"options": options, "spills": spills})
        except NativeRefused as error:
            _log.info("the driver gives no image of kernel %s: %s", kernel, error)
        return Program(self.interop.adopt(handle), options, spills)

    def _least(self, module: bytes, kernel: str, modes: Sequence[str]) -> tuple[int, str, int | None]:
        best = self._one(module, kernel, modes[0])
        for options in modes[1:]:
            if not best[2]:  # none, or not known, in which case other modes would tell no more
                break
            try:
                other = self._one(module, kernel, options)
            except NativeRefused as error:
                _log.info("kernel %s is not built with %s: %s", kernel, options, error)
                continue
            worse, best = (best, other) if (other[2] or 0) < best[2] else (other, best)
            self.interop.api.release(worse[0])
        return best

    def _one(self, module: bytes, kernel: str, options: str) -> tuple[int, str, int | None]:
        handle = self.interop.api.from_spirv(module, options)
        try:
            return handle, options, self.interop.api.spills(handle, kernel)
        except NativeRefused:
            self.interop.api.release(handle)
            raise
