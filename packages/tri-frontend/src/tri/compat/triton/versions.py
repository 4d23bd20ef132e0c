"""``triton.__version__``: what programs see, by the manners in force."""

from __future__ import annotations

from tri.manners import version

__all__ = ["REPORTED", "Reported"]


class Reported:
    """The version of Triton that programs see."""

    @property
    def text(self) -> str:
        """``3.9.0``, or ``3.6.0`` where TRI_TRITON_VERSION says so."""
        return version()


REPORTED = Reported()
