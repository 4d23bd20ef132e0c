"""Warnings of tri: shown once, with a category to filter by, and never able to stop a program."""

from __future__ import annotations

import logging
import warnings

__all__ = ["CacheWarning", "PluginWarning", "TriWarning", "WeakWaitWarning", "warn"]

logger = logging.getLogger("tri")


class TriWarning(UserWarning):
    """Root of the warnings that tri gives."""


class PluginWarning(TriWarning):
    """A plugin cannot be used; the others work."""


class CacheWarning(TriWarning):
    """The kernel cache cannot be used as configured; compiles work, but are not kept."""


class WeakWaitWarning(TriWarning):
    """A kernel's loop waits by a plain load, which a compiler may do once."""


def warn(message: str, category: type[TriWarning]) -> None:
    """Give the warning ``message``; where filters turn it into an error, log it instead.

    A full disk or a stranger's broken plugin must not stop a program that is to treat its own
    warnings as errors.
    """
    try:
        warnings.warn(message, category, stacklevel=3)
    except TriWarning:
        logger.warning("%s", message)
