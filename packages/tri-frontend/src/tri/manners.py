"""Version of Triton whose behaviour a program expects: where versions differ in a kernel's meaning,
``TRI_TRITON_VERSION`` chooses.

Under 3.6 ``sum``, ``cumsum`` and ``cumprod`` of bfloat16 give float32, under 3.9 bfloat16 (its sums are added in float32
as well, and rounded once).  The setting is a part of every compiled kernel's key.
"""

from __future__ import annotations

from tri_core import knobs
from tri_core.errors import OptionError

__all__ = ["version", "widens_bfloat16"]


def version() -> str:
    """The version whose manners are in force, ``3.9.0`` or ``3.6.0``; OptionError for another one."""
    given = str(knobs.get("TRITON_VERSION"))
    try:
        return knobs.parse_triton_version(given)
    except ValueError as error:
        raise OptionError(f"TRITON_VERSION={given!r} cannot be read: {error}") from error


def widens_bfloat16() -> bool:
    """True if sums and products of bfloat16 are float32."""
    return version() == "3.6.0"
