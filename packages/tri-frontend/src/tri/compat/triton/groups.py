"""The groups of ``triton.knobs`` that are in force, and what they say."""

from __future__ import annotations

from typing import Any

from tri.compat.triton.settings import base_knobs

__all__ = ["group", "in_force", "is_in_force", "keeps_files", "said"]

#: by name: :mod:`tri.compat.triton.knobs` puts them here, and programs may replace them
in_force: dict[str, base_knobs] = {}


def group(name: str) -> Any:
    """The group ``name`` that is in force."""
    return in_force[name]


def is_in_force(owner: base_knobs) -> bool:
    """True if ``owner`` is one of the groups in force, and no copy of one."""
    return any(owner is group for group in in_force.values())


def said(where: str, text: str | None) -> Any:
    """Setting of ``group.name``: an assignment, or the environment unless tri's own variable has a ``text``."""
    name, _, knob = where.partition(".")
    owner = group(name)
    if text is not None and knob not in vars(owner):
        return None
    return owner.knob_descriptors[knob].said(owner)


def keeps_files(text: str | None = None) -> bool:
    """True if Triton's cache folder was chosen; ``text``: the value of tri's own variable for its folder."""
    return any(said(f"cache.{name}", text) is not None for name in ("dir", "home_dir"))
