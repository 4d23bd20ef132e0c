"""Names and versions of installed distributions, from the plain lines of their metadata.

``Distribution.metadata`` parses the whole file, a package's description included, as a message of electronic mail: 20 times
as long, for each distribution that a process asks.
"""

from __future__ import annotations

import importlib.metadata
import re

__all__ = ["canonical", "header", "name_of", "requirements_of", "version_of"]

_REQUIREMENT = re.compile(r"^Requires-Dist: *([A-Za-z0-9][\w.-]*)([^\n]*)", re.MULTILINE)
_FIELD = re.compile(r"^(Name|Version):[ \t]*(\S+)[ \t]*$", re.MULTILINE)


def canonical(name: str) -> str:
    """A distribution's or plugin's name, normalised as package indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def header(distribution: importlib.metadata.Distribution) -> str:
    """The lines before the description of ``distribution``; nothing where its metadata are of another kind."""
    return (distribution.read_text("METADATA") or "").partition("\n\n")[0]


def name_of(distribution: importlib.metadata.Distribution) -> str:
    """The name that ``distribution`` gives itself."""
    return dict(_FIELD.findall(header(distribution))).get("Name") or distribution.metadata["Name"]


def version_of(distribution: importlib.metadata.Distribution) -> str:
    """Its version; empty where its metadata, being broken, say none."""
    return dict(_FIELD.findall(header(distribution))).get("Version") or distribution.version or ""


def requirements_of(distribution: importlib.metadata.Distribution) -> list[tuple[str, str]]:
    """Requirements of a distribution, as written: names, and the rest (a range of versions, a marker)."""
    return _REQUIREMENT.findall(header(distribution))
