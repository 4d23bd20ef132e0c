"""Conformance profiles as TOML files that backends ship beside their plug-in modules.

::

    levels = ["explicit"]                              # optional: claimed beyond what is asked of every backend
    arrays = "package.module:device_arrays"          # optional

    [[assembly]]                                       # optional: the complement of a 32-bit register
    targets = ["*:x86_64*"]
    text = "movl $1, $0; notl $0"
    constraints = "=r,r"

    [[gap]]
    test = "language/dot_scaled/*"
    targets = ["*:small*"]                             # globs of targets; optional: all
    reason = "the machine has no scaled dots"
    remedy = "use tl.dot on values converted beforehand"
    expires = "2027-06-30"

    [[known-failure]]
    test = "language/erf/fp64-*"
    reason = "the driver's erf is off by 20 ulp"
    expires = "2027-03-31"

    [[accuracy]]
    test = "language/exp/fp32-*"
    ulp = 16
    reason = "one multiplication and the hardware's power of two"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tri_core.errors import PluginError
from tri_core.plugin_records import Accuracy, Assembly, ConformanceProfile, Gap, KnownFailure
from tri_core.target import Target

__all__ = ["read_profile"]

_GAP = ("test", "reason", "remedy", "expires")
_FAILURE = ("test", "reason", "expires")
_ACCURACY = ("test", "ulp", "reason")
_ASSEMBLY = ("text", "constraints")


def read_profile(path: Path, target: Target) -> ConformanceProfile:
    """Conformance profile of ``target`` in the file ``path``; PluginError if an entry has missing or unknown
    fields.
    """
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    _check(path, table, ("levels", "arrays", "assembly", "gap", "known-failure", "accuracy"), ())
    key = str(target.key)
    gaps = [_fields(path, e, _GAP) for e in table.get("gap", ()) if _meant(e, key)]
    failures = [_fields(path, e, _FAILURE) for e in table.get("known-failure", ()) if _meant(e, key)]
    assembly = [_fields(path, e, _ASSEMBLY) for e in table.get("assembly", ()) if _meant(e, key)]
    accuracy = [_fields(path, e, _ACCURACY) for e in table.get("accuracy", ()) if _meant(e, key)]
    return ConformanceProfile(
        levels=tuple(table.get("levels", ())),
        gaps=tuple(Gap(**entry) for entry in gaps),
        known_failures=tuple(KnownFailure(**entry) for entry in failures),
        arrays=table.get("arrays", ""),
        assembly=Assembly(**assembly[0]) if assembly else None,
        accuracy=tuple(
            Accuracy(test=e["test"], ulp=_ulp(path, e["ulp"]), reason=e["reason"]) for e in accuracy
        ),
    )


def _ulp(path: Path, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PluginError(
            f"{path.name}: ulp is {text!r}", plugin=path.parent.name, remedy="give a number"
        ) from None


def _meant(entry: Mapping[str, Any], key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in entry.get("targets", ("*",)))


def _fields(path: Path, entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    _check(path, entry, (*names, "targets"), names)
    return {name: str(entry[name]) for name in names}


def _check(path: Path, entry: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...]) -> None:
    unknown, missing = set(entry) - set(known), set(needed) - set(entry)
    if unknown or missing:
        said = f"unknown {', '.join(sorted(unknown))}" if unknown else f"no {', '.join(sorted(missing))}"
        raise PluginError(
            f"{path.name}: {said}", plugin=path.parent.name, remedy=f"known: {', '.join(known)}"
        )
