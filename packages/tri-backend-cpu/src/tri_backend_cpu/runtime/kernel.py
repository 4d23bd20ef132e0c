"""A kernel in this process's memory."""

from __future__ import annotations

import ctypes

from tri_backend_cpu.launch_abi import Facts, facts_symbol, ordered_symbol
from tri_core.api import KernelImage
from tri_runtime import argument_table, check_parameters
from tri_runtime.loader import LoadedObject

__all__ = ["CpuKernel"]


class CpuKernel:
    """A loaded kernel: its ``versions``, the one for arrays that are disjoint first.

    LaunchError when the object takes other arguments than a launch passes.
    """

    def __init__(self, image: KernelImage) -> None:
        metadata = image.metadata
        self.name = metadata.name
        self.parameters = metadata.signature.parameters
        symbol = metadata.entry
        self._code = LoadedObject(
            image.data, (symbol, facts_symbol(symbol)), optional=(ordered_symbol(symbol),)
        )
        address, facts, *others = self._code.addresses
        self.facts = Facts.from_text(ctypes.string_at(facts))
        #: code and what is to be known of it
        self.versions = [(address, self.facts)]
        if self.facts.ordered is not None:
            self.versions.append((others[0], self.facts.ordered))
        check_parameters(image, self.facts.parameters, argument_table(self.parameters))

    @property
    def apart(self) -> tuple[tuple[int, int, bool], ...]:
        """Pairs of parameters that the first version takes for disjoint, and whether they may also be the same."""
        return tuple((first, second, bool(in_place)) for first, second, in_place in self.facts.apart)

    @property
    def resources(self) -> dict[str, int]:
        """``arena``: bytes of scratch memory per thread."""
        return {"arena": self.facts.arena}
