"""Files that a user names: read and written so that whatever is wrong with them is an OptionError that says so."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tri_core.errors import OptionError

__all__ = ["decode", "make_folder", "read_bytes", "read_text", "write"]

_KINDS = (
    (stat.S_ISDIR, "is a directory"),
    (stat.S_ISFIFO, "is a pipe"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)
#: a pipe without another end must not make anybody wait
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


def read_bytes(path: str | Path, remedy: str | None = None) -> bytes:
    """The content of the regular file ``path``; OptionError, with ``remedy``, when it cannot be read."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as file:
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode):
                return file.read()
    except FileNotFoundError as error:
        dangling = " (a link leads there)" if os.path.islink(path) else ""
        raise OptionError(f"there is no file {path}{dangling}", remedy=remedy) from error
    except OSError as error:
        raise _failed(f"{path} cannot be read", error, remedy) from error
    what = next((name for test, name in _KINDS if test(mode)), "is no file")
    raise OptionError(f"{path} {what}; a file is expected", remedy=remedy)


def read_text(path: str | Path, remedy: str | None = None) -> str:
    """The content of the UTF-8 file ``path``; OptionError, with ``remedy``, when it cannot be read."""
    return decode(read_bytes(path, remedy), path, remedy)


def decode(data: bytes, path: str | Path, remedy: str | None = None) -> str:
    """``data``, the content of ``path``, as text; OptionError when it is not UTF-8 or has null bytes."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise OptionError(
            f"{path} is not UTF-8 text: byte 0x{data[error.start]:02x} at offset {error.start}", remedy=remedy
        ) from error
    if "\0" in text:
        raise OptionError(
            f"{path} is not text: it has a null byte at offset {text.index(chr(0))}", remedy=remedy
        )
    return text


def write(path: str | Path, content: str | bytes) -> None:
    """Write a file, or to a device or a pipe that is read; OptionError when that fails."""
    data = content.encode() if isinstance(content, str) else content
    try:
        with open(path, "wb", opener=_open_to_write) as file:
            file.write(data)
    except OSError as error:
        raise _failed(
            f"{path} cannot be written", error, "name a file in a folder that you may write"
        ) from error


def replace(source: str | Path, path: str | Path) -> None:
    """Move the file ``source`` to ``path``, in place of what is there; OptionError when that fails."""
    try:
        os.replace(source, path)
    except OSError as error:
        raise _failed(
            f"{path} cannot be written", error, "name a file in a folder that you may write"
        ) from error


def _open_to_write(path: str, flags: int) -> int:
    handle = os.open(path, flags | _AT_ONCE, 0o666)
    if _AT_ONCE:
        os.set_blocking(handle, True)
    return handle


def make_folder(path: str | Path) -> Path:
    """The folder ``path``, made with those above it where they are not there; OptionError when that fails."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _failed(
            f"the folder {path} cannot be made", error, "name a folder that you may write"
        ) from error
    return Path(path)


def _failed(what: str, error: OSError, remedy: str | None) -> OptionError:
    return OptionError(f"{what}: {error.strerror or error}", remedy=remedy)
