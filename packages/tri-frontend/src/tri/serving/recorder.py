"""Recording: every version of a kernel that a launch needs, and every choice of a tuner, becomes a line of a manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tri.serving.manifest import Choice, LeftOut, Version
from tri.serving.references import Reference
from tri_core import forks, knobs
from tri_core.errors import OptionError
from tri_core.notices import TriWarning, warn

if TYPE_CHECKING:
    from tri.compiler.source import ASTSource
    from tri.kernel import Kernel
    from tri_core.target import Target

__all__ = ["add_choice", "add_version", "record"]

_lock = forks.Lock()
#: the lines that this process has added, by file
_added: dict[Path, set[str]] = {}
#: the files whose indices are in the store
_indexed: set[str] = set()


@contextmanager
def record(path: str | Path) -> Iterator[None]:
    """Add the versions that are launched inside the ``with`` block, in this process and those that it starts, to the manifest ``path``.

    Versions that were launched before are known to their kernels and are not recorded.  Launches go on where ``path``
    cannot be written: that is a TriWarning, which ``warnings.simplefilter("error")`` makes one that raises.
    """
    before = knobs.assigned("RECORD")
    knobs.assign("RECORD", Path(path).absolute())
    try:
        yield
    finally:
        knobs.assign("RECORD", before)


def add_version(path: Path, source: ASTSource, target: Target, options: Mapping[str, Any]) -> None:
    """Add what a launch compiles to the manifest ``path``, and the indices of its files to the store, from which bundles are packed."""
    try:
        line: Version | LeftOut = Version.of(source, str(target.key), options)
    except OptionError as error:
        line = LeftOut(f"{source.fn.__module__}:{source.fn.__qualname__}", str(target.key), error.message)
    _add(path, line.text())
    _keep_indices(source.fn)


def _keep_indices(function: Kernel) -> None:
    from tri.serving.indices import files_of, indices
    from tri_core.cache.default import default_store

    with _lock:
        new = files_of(function) - _indexed
        _indexed.update(new)
    for key, payload in indices(new):
        default_store().put(key, payload)


def add_choice(
    path: Path, function: Kernel, target: Target, key: str, among: str, choice: str, ms: Sequence[float]
) -> None:
    """Add what a tuner chose to the manifest ``path``."""
    try:
        reference = Reference.of(function)
    except OptionError:
        return  # the version that is launched says why
    line = Choice(reference.name, reference.file, str(target.key), key, among, choice, list(ms))
    _add(path, line.text())


def _add(path: Path, text: str) -> None:
    import filelock

    with _lock:
        added = _added.setdefault(path, set())
        if text in added:
            return
        added.add(text)
        try:
            # other processes add to it, too
            with filelock.FileLock(f"{path}.lock", timeout=10), open(path, "a", encoding="utf-8") as file:
                file.write(f"{text}\n")
        except (OSError, filelock.Timeout) as error:
            warn(
                f"the manifest {path} cannot be written ({error}): what is launched is not recorded",
                TriWarning,
            )


def forget() -> None:
    """Add lines that were added before again: the files may be gone."""
    with _lock:
        _added.clear()
        _indexed.clear()
