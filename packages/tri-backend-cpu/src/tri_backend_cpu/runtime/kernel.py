"""A kernel in this process's memory."""

from __future__ import annotations

import ctypes

from tri_backend_cpu.launch_abi import Facts, facts_symbol
from tri_core.api import KernelImage
from tri_runtime import argument_table, check_parameters
from tri_runtime.loader import LoadedObject

__all__ = ["CpuKernel"]


class CpuKernel:
    """A loaded kernel: its ``address`` and its ``facts``.

    LaunchError when the object takes other arguments than a launch passes.
    """

    def __init__(self, image: KernelImage) -> None:
        metadata = image.metadata
        self.name = metadata.name
        self.parameters = metadata.signature.parameters
        symbol = metadata.entry
        self._code = LoadedObject(image.data, (symbol, facts_symbol(symbol)))
        self.address, facts = self._code.addresses
        self.facts = Facts.from_text(ctypes.string_at(facts))
        check_parameters(image, self.facts.parameters, argument_table(self.parameters))

    @property
    def resources(self) -> dict[str, int]:
        """``arena``: bytes of scratch memory per thread."""
        return {"arena": self.facts.arena}
