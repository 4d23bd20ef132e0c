"""``gl``: the language of Gluon kernels, which the package ``tri-gpu-dialect`` brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.doors import part

if not TYPE_CHECKING:
    _language = part("language")
    __all__ = list(_language.__all__)
    __later__ = _language.__later__
    globals().update({name: getattr(_language, name) for name in __all__})


def __getattr__(name: str) -> Any:
    """A vendor's namespace, or a name of his."""
    return getattr(part("language"), name)
