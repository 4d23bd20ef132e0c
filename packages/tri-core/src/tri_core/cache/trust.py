"""Ownership of a cache: entries become machine code that runs as the user, so no other user may have written
them.

A folder or entry is trusted when the user or root owns it and nobody else can write it; a group that has no member but the
user is nobody else.  Where the system has no user ids (Windows), folders of a profile are guarded by its own lists.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["objection", "objection_to"]

_ROOT = 0


def _user() -> int | None:
    """The effective user's id; None where there is no such thing."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def objection(directory: Path) -> str | None:
    """Reason that the cache in ``directory`` is not to be trusted; None if it is.  OSError when there is no
    such folder.
    """
    status = os.stat(directory)
    if not stat.S_ISDIR(status.st_mode):
        return "is not a folder"
    return objection_to(status)


def objection_to(status: os.stat_result) -> str | None:
    """Reason that the file or folder of ``status`` is not to be trusted; None if it is."""
    user = _user()
    if user is None:
        return None
    if status.st_uid not in (user, _ROOT):
        return f"belongs to user {_name(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH:
        return "can be written by everybody"
    if status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid, status.st_uid):
        return f"can be written by group {status.st_gid}"
    return None


def _name(user: int) -> str:
    import pwd

    try:
        return f"{pwd.getpwuid(user).pw_name} ({user})"
    except KeyError:
        return str(user)


def _is_private(group: int, user: int) -> bool:
    """True if ``user`` is the only member of ``group``, as with groups that are named after their user."""
    import grp
    import pwd

    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    private = owner.pw_gid == group and members.gr_name == owner.pw_name
    return private and set(members.gr_mem) <= {owner.pw_name}
