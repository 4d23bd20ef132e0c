"""The folder of a store that is removed, blocked, made read-only and filled up under the processes that use it."""

from __future__ import annotations

import resource
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tri_core.cache.sweep import sweep

__all__ = ["FAULTS", "Ground"]

#: bytes of the file system that is full at once, and of a file where no file system may be mounted
_TINY_DISK, _TINY_FILE = 64 << 10, 1000


@dataclass
class Ground:
    """A folder for a store below ``root``, and what is wrong with it now; ``mend`` ends that."""

    root: Path
    #: undoes what is wrong, the last first
    remedies: list[Callable[[], object]] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The store's."""
        return self.root / "store"

    def mend(self) -> None:
        """Let the store work again, with the entries that it had."""
        while self.remedies:
            self.remedies.pop()()

    def clear(self, pids: Sequence[int]) -> str:
        """Remove the entries, as ``tri cache clear`` does."""
        del pids
        with suppress(OSError):
            sweep(self.folder, 0)
        return "cleared"

    def remove(self, pids: Sequence[int]) -> str:
        """Remove the folder with all that is in it."""
        del pids
        shutil.rmtree(self.folder, ignore_errors=True)
        return "removed"

    def move(self, pids: Sequence[int]) -> str:
        """Rename the folder, so that all of it is gone at once."""
        del pids
        aside = self.root / "moved"
        shutil.rmtree(aside, ignore_errors=True)
        with suppress(FileNotFoundError):
            self.folder.rename(aside)
        return "moved away"

    def block(self, pids: Sequence[int]) -> str:
        """Put a file in the folder's place."""
        aside = self.root / "blocked"
        shutil.rmtree(aside, ignore_errors=True)
        while True:
            with suppress(FileNotFoundError):
                self.folder.rename(aside)
            try:
                self.folder.touch(exist_ok=False)
            except FileExistsError:  # a process has made the folder again
                self.remove(pids)
                continue
            break
        self.remedies.append(lambda: self._unblock(aside))
        return "blocked by a file"

    def _unblock(self, aside: Path) -> None:
        self.folder.unlink()
        if aside.exists():
            aside.rename(self.folder)

    def make_read_only(self, pids: Sequence[int]) -> str:
        """Mount the folder upon itself for reading; without the right to mount, block it."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if not self._mount("--bind", str(self.folder)):
            return self.block(pids)
        _run("mount", "-o", "remount,ro,bind", str(self.folder))
        return "read-only"

    def fill(self, pids: Sequence[int]) -> str:
        """Mount a file system without space over the folder; without the right to mount, forbid processes ``pids`` larger files."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        if self._mount("-t", "tmpfs", "-o", f"size={_TINY_DISK},mode=0700", "tmpfs"):
            return "full"
        _limit(pids, _TINY_FILE)
        self.remedies.append(lambda: _limit(pids, resource.RLIM_INFINITY))
        return "full for files"

    def _mount(self, *arguments: str) -> bool:
        if not _run("mount", *arguments, str(self.folder)):
            return False
        self.remedies.append(lambda: _run("umount", "-l", str(self.folder)))
        return True


def _run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _limit(pids: Sequence[int], size: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


#: by name; each takes the processes that run, and says what it did
FAULTS: dict[str, Callable[[Ground, Sequence[int]], str]] = {
    "clear": Ground.clear,
    "remove": Ground.remove,
    "move": Ground.move,
    "block": Ground.block,
    "read-only": Ground.make_read_only,
    "full": Ground.fill,
}
