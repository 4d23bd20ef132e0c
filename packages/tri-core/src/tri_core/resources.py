"""Resources of a compiled kernel, known before anything is loaded, and whether they fit the target.

The numbers are those of the image (:class:`tri_core.image.KernelMetadata`); nothing here asks a driver, so a kernel
for a device that is not there has them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tri_core.errors import OutOfResources
from tri_core.image import KernelMetadata
from tri_core.lazy_dataclasses import dataclass
from tri_core.occupancy import Occupancy, most_registers, occupancy, warps_of_registers
from tri_core.target import ComputeUnit, TargetSpec

__all__ = ["Resources", "Verdict", "refusal", "refusals", "resources"]

_REMEDY = {
    "shared": "smaller blocks or fewer num_stages need less shared memory",
    "threads": "fewer num_warps make a smaller CTA",
    "registers": "smaller blocks or more num_warps need fewer registers per thread",
    "tensor_memory": "smaller blocks or fewer num_stages need fewer columns of tensor memory",
    "cluster": "fewer num_ctas make a smaller cluster",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict on a kernel and its target: ``fits`` if it can run, ``text`` on how well its CTAs fill a unit."""

    fits: bool
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Resources of one kernel on ``target``; None for those that the image does not give.

    Per thread: ``registers`` (32 bits each), ``spills`` and ``stack`` (bytes).  Per CTA: ``threads``, ``shared``
    (bytes), ``tensor_memory`` (columns).  ``cluster`` counts CTAs that are launched together.  ``occupancy`` is None
    where CTAs share nothing; ``remarks`` say what the compiler did otherwise than it was asked to.  The CTAs of a
    ``cooperative`` grid wait for each other, so all of them must be resident at once.
    """

    target: str
    threads: int
    registers: int | None
    spills: int | None
    stack: int | None
    shared: int
    tensor_memory: int | None
    cluster: int
    occupancy: Occupancy | None
    remarks: tuple[str, ...] = ()
    refused: OutOfResources | None = None
    cooperative: bool = False

    def resident(self, units: int) -> int | None:
        """The CTAs that a device of ``units`` units holds at once: the largest cooperative grid; None where not known."""
        return None if self.occupancy is None or self.occupancy.unknown else self.occupancy.blocks * units

    @property
    def verdict(self) -> Verdict:
        """The judgement in one line: what does not fit; else CTAs per unit, what limits them, and spills."""
        if self.refused is not None:
            return Verdict(fits=False, text=str(self.refused))
        parts = [f"fits {self.target}"]
        if self.occupancy is not None:
            o = self.occupancy
            share = f"{o.warps} of {o.max_warps} warps, {100 * o.share:.1f} %"
            parts.append(f"{o.blocks} CTAs per unit ({share}), limited by {o.limit}")
            parts.extend(f"{name} not known" for name in o.unknown)
            if self.cooperative:
                parts.append(f"a cooperative grid has at most {o.blocks} CTAs for each unit of its device")
        if self.spills:
            parts.append(f"{self.spills} bytes per thread are spilled ({_REMEDY['registers']})")
        return Verdict(fits=True, text="; ".join(parts))


def resources(metadata: KernelMetadata, spec: TargetSpec) -> Resources:
    """Resources of the kernel of ``metadata`` on the target that ``spec`` describes."""
    reported = metadata.resources
    remarks = metadata.attrs.get("remarks", ())
    return Resources(
        target=str(metadata.target),
        threads=metadata.threads,
        registers=reported.get("registers"),
        spills=reported.get("spills"),
        stack=reported.get("stack"),
        shared=reported.get("shared", metadata.shared),
        tensor_memory=reported.get("tensor_memory"),
        cluster=metadata.num_ctas,
        occupancy=_occupancy(metadata, spec.unit),
        remarks=tuple(str(r) for r in remarks) if isinstance(remarks, list | tuple) else (),
        refused=next(refusals(metadata, spec.limits, spec.unit), None),
        cooperative=bool(metadata.options.get("launch_cooperative_grid")),
    )


def _warps(metadata: KernelMetadata) -> int:
    """All warps of a CTA."""
    return max(metadata.total_num_warps or metadata.num_warps, 1)


def _occupancy(metadata: KernelMetadata, unit: ComputeUnit | None) -> Occupancy | None:
    if unit is None:
        return None
    reported = metadata.resources
    return occupancy(
        unit,
        warps=_warps(metadata),
        registers=reported.get("registers"),
        shared=reported.get("shared", metadata.shared),
    )


# --- refusals ---------------------------------------------------------------------------------------------


def refusals(
    metadata: KernelMetadata, limits: Mapping[str, int], unit: ComputeUnit | None = None
) -> Iterator[OutOfResources]:
    """Resources of the kernel that exceed ``limits``, under equal names, or the registers of a ``unit``.

    ``shared`` bytes and ``threads`` per CTA are taken from the metadata where its resources do not name them.
    """
    needs = {"shared": metadata.shared, "threads": metadata.threads, **metadata.resources}
    for resource, need in needs.items():
        have = limits.get(resource)
        if have is not None and need > have:
            nearest = {"num_warps": _power_of_two(have // metadata.threads_per_warp)}
            yield refusal(metadata, resource, need, have, nearest if resource == "threads" else {})
    registers = metadata.resources.get("registers")
    if unit is not None and registers is not None and warps_of_registers(unit, registers) < _warps(metadata):
        yield _too_many_registers(metadata, unit, registers)


def refusal(
    metadata: KernelMetadata, resource: str, need: int, have: int, nearest: Mapping[str, int]
) -> OutOfResources:
    """The error for a kernel that needs ``need`` of ``resource`` where there are ``have``."""
    fitting = " or ".join(f"{name}={value}" for name, value in nearest.items())
    general = _REMEDY.get(resource)
    return OutOfResources(
        f"kernel {metadata.name!r} needs {need} of {resource!r}, {metadata.target} has {have}",
        remedy=f"{fitting} fits" + (f"; {general}" if general else "") if fitting else general,
        resource=resource,
        need=need,
        have=have,
        nearest=dict(nearest),
    )


def _too_many_registers(metadata: KernelMetadata, unit: ComputeUnit, registers: int) -> OutOfResources:
    """For a CTA whose warps have more registers than a unit: it would never start."""
    have = most_registers(unit, _warps(metadata))
    nearest = {"num_warps": _power_of_two(warps_of_registers(unit, registers))}
    if "maxnreg" in metadata.options and have:
        nearest["maxnreg"] = have
    return refusal(metadata, "registers", registers, have, {k: v for k, v in nearest.items() if v})


def _power_of_two(number: int) -> int:
    """The largest power of two up to ``number``; 0 for none."""
    return 1 << (number.bit_length() - 1) if number > 0 else 0
