"""Files of commits: what a release held, and what has changed since."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tri_core.errors import TriError

__all__ = ["History", "HistoryError"]


class HistoryError(TriError):
    """A commit, or a file of it, cannot be had: the clone is shallow, or has no history at all."""


@dataclass(frozen=True)
class History:
    """The history of the repository at ``top``.  Every method raises HistoryError for what it does not hold."""

    top: Path

    def ensure(self, commit: str) -> None:
        """See that ``commit`` is here; when it is not, ask ``origin`` for it alone."""
        if self._has(commit):
            return
        fetched = self._git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit)
        if fetched.returncode != 0 or not self._has(commit):
            raise HistoryError(
                f"commit {commit[:12]} is not in this clone, and origin does not give it: {_complaint(fetched)}",
                remedy="git fetch --unshallow, or clone with the whole history",
            )

    def head(self) -> str:
        """The commit that is checked out."""
        return self._checked("commit", "rev-parse", "HEAD").decode("ascii").strip()

    def read(self, commit: str, path: str) -> str:
        """The text of the file ``path``."""
        self.ensure(commit)
        return self._checked(f"{path} of commit {commit[:12]}", "show", f"{commit}:{path}").decode("utf-8")

    def export(self, commit: str, path: str, into: Path) -> Path:
        """The folder ``path`` as it was, below the folder ``into``."""
        self.ensure(commit)
        packed = self._checked(f"{path} of commit {commit[:12]}", "archive", "--format=tar", commit, path)
        into.mkdir(parents=True, exist_ok=True)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(into, filter="data")
        return into / path

    def changed(self, commit: str, *paths: str) -> tuple[str, ...]:
        """Files below ``paths`` that are not in the tree as they were."""
        self.ensure(commit)
        listed = self._checked(f"changes since {commit[:12]}", "diff", "--name-only", commit, "--", *paths)
        return tuple(listed.decode("utf-8").splitlines())

    def _has(self, commit: str) -> bool:
        return self._git("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0

    def _checked(self, what: str, *arguments: str) -> bytes:
        done = self._git(*arguments)
        if done.returncode != 0:
            raise HistoryError(
                f"there is no {what}: {_complaint(done)}", remedy="check releases.toml against `git log`"
            )
        return done.stdout

    def _git(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(["git", "-C", str(self.top), *arguments], capture_output=True, check=False)
        except FileNotFoundError as error:
            raise HistoryError("there is no git on this machine", remedy="install git") from error


def _complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """The line of git's words that says what is wrong."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (*fatal, *lines[-1:], f"status {done.returncode}")[0]
