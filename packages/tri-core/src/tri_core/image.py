"""Compiled kernels as values: the image that a runtime loads, and its record of resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tri_core.abi import HiddenParameters, KernelSignature
from tri_core.lazy_dataclasses import dataclass
from tri_core.target import TargetKey

__all__ = ["KernelImage", "KernelMetadata"]


@dataclass(frozen=True, kw_only=True)
class KernelMetadata:
    """Metadata of a compiled kernel, available before loading.

    ``resources`` counts things that a target limits, under the names of ``TargetSpec.limits`` (``shared``
    bytes per CTA, ``threads`` per CTA) and of the backend's own (``registers``, ``spills``).  ``attrs``
    holds JSON-able facts from stages.  ``plugins`` names every distribution that touched the compile.
    ``total_num_warps`` counts all warps of a CTA where some run partitions of their own beside the ``num_warps``
    that the options ask for, or that text in place of a source has (0: there are no others).
    """

    name: str
    target: TargetKey
    signature: KernelSignature
    options: Mapping[str, object]
    num_warps: int = 4
    total_num_warps: int = 0
    threads_per_warp: int = 1
    shared: int = 0
    entry_points: tuple[str, ...] = ()
    resources: Mapping[str, int] = field(default_factory=dict)
    attrs: Mapping[str, object] = field(default_factory=dict)
    plugins: Mapping[str, str] = field(default_factory=dict)
    hash: str = ""

    @property
    def entry(self) -> str:
        """The kernel's symbol in the image: ``name`` is for people, and need not be one."""
        return self.entry_points[0] if self.entry_points else self.name

    @property
    def threads(self) -> int:
        """Threads of a CTA: what a launch starts."""
        return (self.total_num_warps or self.num_warps) * self.threads_per_warp

    @property
    def num_ctas(self) -> int:
        """CTAs of a cluster: of the module that was compiled, else as the options ask."""
        return int(str(self.attrs.get("num_ctas", self.options.get("num_ctas", 1))))

    @property
    def num_stages(self) -> int:
        """Number of iterations of a loop in flight at once, as the options requested."""
        return int(str(self.options.get("num_stages", 1)))

    @property
    def warp_size(self) -> int:
        """Threads of a warp."""
        return self.threads_per_warp

    @property
    def cluster_dims(self) -> tuple[int, int, int]:
        """CTAs of a cluster along x, y and z."""
        return (self.num_ctas, 1, 1)

    @property
    def is_launched_by_signature(self) -> bool:
        """True if grid, ``num_warps``, ``shared`` and the signature's parameters in order are all that a
        launch passes.

        Not so for kernels with parameters that a launch makes, with further warps or CTAs, or with attributes of launches.
        """
        special = ("launch_cooperative_grid", "launch_pdl")
        return (
            HiddenParameters.from_attrs(self.attrs) == HiddenParameters()
            and self.num_ctas == 1
            and self.total_num_warps in (0, self.num_warps)
            and not any(self.options.get(name) for name in special)
        )

    def __getattr__(self, name: str) -> Any:
        """An option by its name, as in ``metadata.debug``; AttributeError where the compile had no such option."""
        options = vars(self).get("options", {})
        if name in options:
            return options[name]
        raise AttributeError(
            f"the metadata of a kernel has no {name!r}; options of this one: {', '.join(sorted(options))}",
            name=name,
            obj=self,
        )


@dataclass(frozen=True, kw_only=True)
class KernelImage:
    """The final artifact of a pipeline: what :meth:`tri_core.runtime.Runtime.load` takes."""

    kind: str
    data: bytes
    metadata: KernelMetadata
