"""Entries of a store in one file that is only read: what a program needs so that it compiles nothing.

A zip file without compression: ``index.json``, ``signature`` and an entry under each key.  The index has the SHA-256
of every entry and the signature is the HMAC of the index, so that a key vouches for all of the file.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import logging
import os
import struct
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from tri_core.cache import trust
from tri_core.errors import BundleError
from tri_core.files import replace, write

__all__ = ["Bundle", "write_bundle"]

logger = logging.getLogger(__name__)

_FORMAT = 1
_INDEX, _SIGNATURE, _FOLDER = "index.json", "signature", "entries/"
#: a member's own header: 26 bytes, then the lengths of its name and of what is added to it
_LENGTHS = struct.Struct("<26xHH")
#: the same bytes for the same entries
_DATE = (1980, 1, 1, 0, 0, 0)
_MAKE_AGAIN = "make it again with `tri warm`"


def write_bundle(
    path: Path,
    entries: Mapping[str, bytes],
    kernels: Mapping[str, str],
    versions: Mapping[str, str],
    secret: bytes | None = None,
) -> None:
    """Write payloads by key to ``path``, as a whole or not at all; OptionError where that fails.

    ``kernels``: what kernel a key is of, for people; ``versions``: those of the packages that made it; ``secret``: what it is signed with.
    """
    index = {
        "format": _FORMAT,
        "python": list(sys.version_info[:2]),
        "versions": dict(sorted(versions.items())),
        "kernels": dict(sorted(kernels.items())),
        "entries": {key: _digest(key, payload) for key, payload in sorted(entries.items())},
    }
    text = json.dumps(index, indent=1).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(zipfile.ZipInfo(_INDEX, _DATE), text)
        if secret is not None:
            file.writestr(zipfile.ZipInfo(_SIGNATURE, _DATE), _signature(text, secret))
        for key, payload in sorted(entries.items()):
            file.writestr(zipfile.ZipInfo(f"{_FOLDER}{key}", _DATE), payload)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        write(temporary, made.getvalue())
        replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


class Bundle:
    """The bundle in the file ``path``.  BundleError for a file that is none, whose index is damaged, or that is not trusted.

    With a ``secret`` it has to be signed by it; without one nobody but the user (or root) may be able to write it, unless ``shared``.
    ``kernels`` maps keys to names, ``used`` has the keys of those that were found here.
    """

    def __init__(self, path: Path, secret: bytes | None = None, *, shared: bool = False) -> None:
        self.path = Path(path).absolute()
        self._name = str(self.path)
        self.used: set[str] = set()
        self._warned = False
        try:
            with open(self.path, "rb") as opened, zipfile.ZipFile(opened) as file:
                self._check_owner(os.fstat(opened.fileno()), secret, shared=shared)
                text = file.read(_INDEX)
                names = set(file.namelist())
                signature = file.read(_SIGNATURE) if _SIGNATURE in names else None
                self._places = {
                    info.filename.removeprefix(_FOLDER): (info.header_offset, info.file_size)
                    for info in file.infolist()
                    if info.filename.startswith(_FOLDER) and info.compress_type == zipfile.ZIP_STORED
                }
        except OSError as error:
            raise BundleError(
                f"the bundle {self.path} cannot be read ({error.strerror or error})",
                remedy="name a file that `tri warm` wrote",
            ) from error
        except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, ValueError) as error:
            raise self._bad(f"is damaged, or no bundle ({error})") from error
        self._check_signature(text, signature, secret)
        self._read_index(text)

    def _bad(self, what: str) -> BundleError:
        return BundleError(f"the bundle {self.path} {what}", remedy=_MAKE_AGAIN)

    def _check_owner(self, status: os.stat_result, secret: bytes | None, *, shared: bool) -> None:
        found = None if shared or secret is not None else trust.objection_to(status)
        if found is not None:
            raise BundleError(
                f"the bundle {self.path} {found}, so others could have programs of theirs run here",
                remedy="take the rights from others (chmod go-w), or sign it: tri warm --key FILE, and TRI_BUNDLE_KEY=FILE",
            )

    def _check_signature(self, text: bytes, signature: bytes | None, secret: bytes | None) -> None:
        if secret is None:
            return
        if signature is None or not hmac.compare_digest(signature, _signature(text, secret)):
            raise BundleError(
                f"the bundle {self.path} is {'not signed' if signature is None else 'signed by another key'}",
                remedy="sign it with this key: tri warm --key FILE",
            )

    def _read_index(self, text: bytes) -> None:
        try:
            index: Any = json.loads(text)
            if index["format"] != _FORMAT:
                raise self._bad(f"has format {index['format']}, and this version of tri reads {_FORMAT}")
            self.python = tuple(map(int, index["python"]))
            self.versions: dict[str, str] = dict(index["versions"])
            self.kernels: dict[str, str] = dict(index["kernels"])
            self._digests: dict[str, str] = dict(index["entries"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._bad(f"has an index that cannot be read ({type(error).__name__})") from error

    def objection(self) -> str | None:
        """Reason that none of its entries can be used here: another Python, other versions; None if they can."""
        if self.python != sys.version_info[:2]:
            here = ".".join(map(str, sys.version_info[:2]))
            return f"was made under Python {'.'.join(map(str, self.python))}, and this is {here}"
        for name, version in self.versions.items():
            try:
                here = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue  # a backend for targets of other machines
            if here != version:
                return f"was made by {name} {version}, and {here} is installed"
        return None

    def __len__(self) -> int:
        return len(self._digests)

    def entries(self) -> Iterator[tuple[str, bytes | None]]:
        """Payloads by key; None for what is damaged."""
        return ((key, self.get(key)) for key in self._digests)

    def get(self, key: str) -> bytes | None:
        """The payload of ``key``; None where there is none, or where the file is not what it was."""
        digest = self._digests.get(key)
        if digest is None:
            return None
        payload = self._payload(key)
        if payload is None or _digest(key, payload) != digest:
            self._warn_once()
            return None
        self.used.add(key)
        return payload

    def _payload(self, key: str) -> bytes | None:
        place = self._places.get(key)
        if place is None:
            return None
        offset, size = place
        usual = _LENGTHS.size + len(_FOLDER) + len(key)
        try:
            # opened anew: a position that forked children share is nobody's, and a file that was replaced is not read on
            descriptor = os.open(self._name, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            try:
                os.lseek(descriptor, offset, os.SEEK_SET)
                found = os.read(descriptor, usual + size)
                if len(found) < _LENGTHS.size:
                    return None
                begin = _LENGTHS.size + sum(_LENGTHS.unpack_from(found))
                while (
                    len(found) < begin + size
                ):  # more was added to its header, or the system gives less at a time
                    more = os.read(descriptor, begin + size - len(found))
                    if not more:
                        return None
                    found += more
            finally:
                os.close(descriptor)
        except OSError:
            return None
        return found[begin : begin + size]

    def _warn_once(self) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "the bundle %s is damaged, or was replaced or removed since it was opened: %s",
                self.path,
                _MAKE_AGAIN,
            )


def _digest(key: str, payload: bytes) -> str:
    return hashlib.sha256(key.encode() + b"\0" + payload).hexdigest()


def _signature(text: bytes, secret: bytes) -> bytes:
    return hmac.new(secret, text, hashlib.sha256).hexdigest().encode()
