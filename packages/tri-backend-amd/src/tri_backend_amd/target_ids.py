"""Target ids, as ROCm writes them: ``gfx942:sramecc+:xnack-``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tri_backend_amd.processors import FAMILIES, PROCESSORS
from tri_core.api import TargetError

__all__ = ["checked_modes", "llvm_features", "modes_in", "refused_modes"]

#: where the settings are in the ELF header's flags: bits, and what they are when off and on (code object versions 4 and 5)
_FLAGS = {"xnack": (0x300, 0x200, 0x300), "sramecc": (0xC00, 0x800, 0xC00)}


def checked_modes(what: str, processor: str, features: Iterable[str]) -> dict[str, bool]:
    """The modes that ``features`` (``"sramecc+"``) set, of target ``what``; TargetError for what ``processor`` has not, or what contradicts."""
    known = FAMILIES[PROCESSORS[processor].family].modes
    found: dict[str, bool] = {}
    for feature in features:
        name, sign = feature[:-1], feature[-1:]
        if sign not in ("+", "-"):
            raise TargetError(
                f"{what}: feature {feature!r} is neither on nor off",
                remedy=f"write {feature}+ or {feature}-, behind a colon: amd:{processor}:{feature}+",
            )
        if name not in known:
            raise TargetError(f"{what}: {processor} has no feature {name!r}", remedy=_known(processor, known))
        if found.setdefault(name, sign == "+") != (sign == "+"):
            raise TargetError(
                f"{what}: {name} is both on and off",
                remedy=f"write one of amd:{processor}:{name}+ and amd:{processor}:{name}-",
            )
    return found


def _known(processor: str, known: frozenset[str]) -> str:
    if not known:
        return f"write amd:{processor}"
    return f"it has {' and '.join(sorted(known))}: amd:{processor}:{min(known)}+, or amd:{processor} for any mode"


def llvm_features(modes: Mapping[str, bool]) -> str:
    """LLVM's subtarget features: a mode of which nothing is said is left open, and the code runs in both."""
    return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(modes.items()))


def modes_in(flags: int) -> dict[str, bool]:
    """The modes that an ELF header's ``flags`` set; those of any mode are left out."""
    return {name: flags & mask == on for name, (mask, off, on) in _FLAGS.items() if flags & mask in (off, on)}


def refused_modes(code: Mapping[str, bool], device: str) -> list[str]:
    """The modes of ``code`` that ``device`` (``"gfx942:sramecc+:xnack-"``) is not in, as target ids write them."""
    have = set(device.split(":")[1:])
    return [
        f"{name}{'+' if on else '-'}"
        for name, on in sorted(code.items())
        if f"{name}{'-' if on else '+'}" in have
    ]
