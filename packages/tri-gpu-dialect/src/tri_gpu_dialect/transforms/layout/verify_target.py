"""The check that a TTGIR module is compiled for the target that it was made for, or for one that has all of that one's features.

A module says in ``ttg.target`` what it was made for: ``backend:arch``, or in Triton's words ``kind:arch`` with a kind of device of the
backend's.  Its layouts, ops and barriers are what that target's instructions ask for: another backend's code generator has other meanings
for them, or fails late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tri_core.api import TargetError, VerificationError
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.plugins import manager
from tri_core.target import TargetKey
from tri_core.target_options import architecture_of
from tri_core.target_selection import resolve

if TYPE_CHECKING:
    from tri_core.target import Target

__all__ = ["verify_target"]

_ATTRIBUTE = "ttg.target"


def verify_target(module: ir.Module, target: Target | None = None) -> None:
    """Check what ``module`` was made for, where it says so, against ``target``, where one is known; VerificationError at the module.

    Right is the same architecture, simulated or not, and another one of the same backend all of whose features, sizes of warps and matrix
    instructions ``target`` has.
    """
    attribute = module.operation.attributes.get(_ATTRIBUTE, None)
    if attribute is None:
        return
    made_for = _key(attribute)
    complaint = "a text backend:arch is expected" if made_for is None else None
    if made_for is not None and target is not None:
        complaint = _complaint(made_for, target)
    if complaint is not None:
        raise VerificationError(
            f"the module's {_ATTRIBUTE} is {attribute}; {complaint}",
            location=source_location(module.operation.location),
            remedy="compile it for the target that it was made for, or start from TTIR",
        )


def _key(attribute: ir.Attribute) -> TargetKey | None:
    plain = attribute.maybe_downcast()
    try:
        return TargetKey.parse(plain.value) if isinstance(plain, ir.StringAttr) else None
    except TargetError:
        return None


def _complaint(made_for: TargetKey, target: Target) -> str | None:
    info = manager().backends().get(target.key.backend)
    names = {target.key.backend} if info is None else {info.name, *info.device_kinds, *info.triton_names}
    if made_for.backend not in names:
        return f"{target} is another backend's target"
    if info is None or made_for.arch in ("", target.key.arch):
        return None
    arch = architecture_of(info, made_for.arch)
    if arch == target.key.arch:
        return None
    try:
        other = resolve(TargetKey(info.name, arch or made_for.arch, made_for.features))
    except TargetError:
        return f"backend {info.name!r} knows no architecture {made_for.arch!r}"
    return _lack(other, target)


def _lack(other: Target, target: Target) -> str | None:
    """Feature of ``other`` that ``target`` lacks; None if there is none."""
    pairs = (
        (other.spec.features, target.spec.features),
        (map(str, other.spec.threads_per_warp), map(str, target.spec.threads_per_warp)),
        ((each.name for each in other.spec.dot), (each.name for each in target.spec.dot)),
    )
    for what, (wanted, there) in zip(("", "warps of threads: ", "dots: "), pairs, strict=True):
        if missing := sorted(set(wanted) - set(there)):
            return f"{target} does not have {what}{', '.join(missing[:4])}{', ...' if missing[4:] else ''}"
    return None
