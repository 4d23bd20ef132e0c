"""What a call says about a compile, as options of its target: the target's own, and those of others that it may ignore."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from tri_core.options import CommonOptions
from tri_core.plugins import manager
from tri_core.target import Target

__all__ = ["ignored_options", "parse_options"]

logger = logging.getLogger(__name__)

#: backends and names of which the log has been told
_noted: set[tuple[str, str]] = set()


def ignored_options(target: Target) -> frozenset[str]:
    """Names that kernels for ``target`` may be given to no effect: tuning options of other backends that are installed."""
    found = {name for info in manager().backends().values() for name in info.tuning_options}
    return frozenset(found) - target.options_type.__dataclass_fields__.keys()


def parse_options(target: Target, given: Mapping[str, Any] | None) -> CommonOptions:
    """``given`` as options of ``target``; what others tune by is left out, and the log says so once.

    OptionError for a name that no backend here has, with the near ones, and for a value of a wrong type.
    """
    named = given or {}
    unknown = named.keys() - target.options_type.__dataclass_fields__.keys()
    ignored: Collection[str] = ignored_options(target) if unknown else ()
    _note(target, unknown & set(ignored))
    return target.options_type.parse(named, ignored)


def _note(target: Target, names: Collection[str]) -> None:
    for name in sorted(names):
        entry = (target.key.backend, name)
        if entry not in _noted:
            _noted.add(entry)
            logger.warning("option %s has no effect on %s: other targets have it", name, target.key)
