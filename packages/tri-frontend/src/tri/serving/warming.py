"""Warming: the versions of a manifest, compiled for targets in worker processes, as one bundle."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tri.serving.indices import files_of, indices
from tri.serving.manifest import Choice, Manifest, Version
from tri_core.errors import BackendError, TriError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.target import Target

__all__ = ["Failure", "Warmed", "warm"]

_DIVISIBILITY, _RANGE = "tt.divisibility", "tt.pointer_range"
_SMALL = 32

Line = Version | Choice
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Made:
    """Result of a line: payloads by key, kernels by key, versions of packages, messages, and the files of its
    functions.
    """

    entries: dict[str, bytes]
    kernels: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Failure:
    """A line that was not compiled for ``target``, and the ``error``."""

    name: str
    target: str
    error: TriError


@dataclass(frozen=True)
class Warmed:
    """Result of warming: ``kernels`` by key, ``failures``, ``warnings``, and the size of the bundle in
    ``bytes``.
    """

    kernels: dict[str, str]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...]
    bytes: int


def warm(
    manifest: Manifest,
    path: str | Path,
    *,
    targets: Sequence[str] = (),
    jobs: int = 1,
    key: str | Path | None = None,
    step: Callable[[int, int], None] | None = None,
    executor: Executor | None = None,
) -> Warmed:
    """Compile ``manifest`` for ``targets`` (``"backend:arch"``; those that were recorded if none) into the bundle ``path``.

    No device is needed.  ``jobs`` processes compile, or ``executor``; ``key``: a file with the key to sign by;
    ``step(done, all)`` is called after each line.  What cannot be compiled is among the failures, and the bundle has the rest.
    OptionError where the file cannot be written.
    """
    from tri_core.cache.bundle import write_bundle
    from tri_core.files import read_bytes

    secret = None if key is None else read_bytes(Path(key).expanduser())
    tasks = list(_tasks(manifest, targets))
    made: list[_Made] = []
    failures: list[Failure] = []
    with _pool(executor, jobs) as pool:
        waiting = {pool.submit(_make, line, target): (line, target) for line, target in tasks}
        for done, future in enumerate(as_completed(waiting), 1):
            line, target = waiting[future]
            try:
                made.append(future.result())
            except TriError as error:
                failures.append(Failure(line.name, target, error))
            except BrokenProcessPool as error:
                failures.append(Failure(line.name, target, _died(line.name, error)))
            if step is not None:
                step(done, len(tasks))
    entries = _merged(m.entries for m in made) | dict(indices(file for m in made for file in m.files))
    kernels = _merged(m.kernels for m in made)
    write_bundle(Path(path), entries, kernels, _merged(m.versions for m in made), secret)
    warnings = tuple(dict.fromkeys(text for m in made for text in m.warnings))
    return Warmed(kernels, tuple(failures), warnings, os.path.getsize(path))


def _died(name: str, error: BaseException) -> TriError:
    return BackendError(
        f"a worker ended while {name} was compiled ({error})",
        remedy="compile it alone, with --jobs 1, to see why",
    )


def _merged(parts: Iterable[dict[str, _T]]) -> dict[str, _T]:
    return {key: value for part in parts for key, value in part.items()}


def _tasks(manifest: Manifest, targets: Sequence[str]) -> Iterator[tuple[Line, str]]:
    """Lines and targets, each once: a version for every target, a choice for the device that it was made on."""
    from tri_core.target_selection import resolve

    named = [str(resolve(target).key) for target in targets]
    seen: set[tuple[str, str]] = set()
    lines: tuple[Line, ...] = (*manifest.versions, *manifest.choices)
    for line in lines:
        for target in named or (line.target,):
            if isinstance(line, Choice) and line.target != target:
                continue
            text = replace(line, target=target).text()
            if (text, target) not in seen:
                seen.add((text, target))
                yield line, target


def _pool(executor: Executor | None, jobs: int) -> _Kept | ProcessPoolExecutor:
    if executor is not None:
        return _Kept(executor)
    # spawned: the modules of kernels are imported where this process and its threads are not
    return ProcessPoolExecutor(max(jobs, 1), multiprocessing.get_context("spawn"))


class _Kept:
    """An executor that is not shut down by the block that uses it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def __enter__(self) -> Executor:
        return self._executor

    def __exit__(self, *_: object) -> None:
        """Leave it as it is."""


# --- in a worker ------------------------------------------------------------------------------------------


def _make(line: Line, target: str) -> _Made:
    """Compile ``line`` for ``target``, or keep the choice that it is, in whichever process this is."""
    from tri_core import knobs
    from tri_core.cache.noting import noting
    from tri_core.compiler import forget

    forget()  # what memory has is not read from the store
    # what records and what is served are the affairs of the program
    with knobs.scope(RECORD=None, BUNDLE=None), noting() as entries:
        made = _keep(line, target) if isinstance(line, Choice) else _compile(line, target)
    return replace(made, entries=dict(entries))


def _compile(line: Version, target: str) -> _Made:
    from tri.compile_reasons import explain
    from tri_core.compiler import compile as compile_source
    from tri_core.target_selection import resolve

    function = line.reference.find()
    kernels: dict[str, str] = {}
    versions: dict[str, str] = {}
    wanted = resolve(target)
    for version in _for_target(line, wanted):
        kernel = compile_source(version.compiled_from(function), wanted, version.read_options())
        kernels[kernel.hash] = f"{line.name} for {target}"
        versions |= kernel.metadata.plugins
    explain(function)  # what it was compiled for goes along, so that a launch that misses says what differs
    known = function.cache_key.startswith(line.source)
    said = (
        ()
        if known
        else (f"{line.name} has another source than when it was recorded: it is compiled as it is now",)
    )
    return _Made({}, kernels, versions, said, files_of(function))


def _keep(line: Choice, target: str) -> _Made:
    from tri.tuning import results
    from tri_core.target_selection import resolve

    key = results.store_key(line.reference.find(), resolve(target), line.key, line.among)
    results.save_texts(key, {line.choice: line.ms})
    return _Made({})


def _for_target(line: Version, target: Target) -> Iterator[Version]:
    """``line`` as launches specialize it for ``target``: two versions where it is not known whether arrays are below 2 GiB."""
    from tri_core.plugins import manager

    if line.target.partition(":")[0] == target.key.backend:
        yield line
        return
    rules = manager().abi(target)
    attrs = {name: dict(facts) for name, facts in line.attrs.items()}
    for facts in attrs.values():
        if facts.get(_DIVISIBILITY, rules.divisibility) % rules.divisibility:
            del facts[_DIVISIBILITY]
        elif _DIVISIBILITY in facts:
            facts[_DIVISIBILITY] = rules.divisibility
    is_known = any(_RANGE in facts for facts in attrs.values())
    without = {name: {k: v for k, v in facts.items() if k != _RANGE} for name, facts in attrs.items()}
    if not rules.small_array or not is_known:
        yield replace(line, attrs=_filled(without))
    if rules.small_array:
        pointers = [name for name, type_ in line.signature.items() if type_.startswith("*")]
        sized = attrs if is_known else without | {n: {**without.get(n, {}), _RANGE: _SMALL} for n in pointers}
        yield replace(line, attrs=_filled(sized))


def _filled(attrs: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    return {name: facts for name, facts in attrs.items() if facts}
