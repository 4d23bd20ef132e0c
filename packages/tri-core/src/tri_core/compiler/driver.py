"""Compiling: look in memory, look in the store, else run the stages, keep and return the kernel."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from tri_core import knobs
from tri_core.cache import Store, default_store
from tri_core.compiler import dump, key, record
from tri_core.compiler.kernel import CompiledKernel
from tri_core.compiler.observe import Observers
from tri_core.compiler.source import Source
from tri_core.errors import OptionError, TriError
from tri_core.options import CommonOptions
from tri_core.plugins import Composition, PluginManager, manager
from tri_core.target import Target
from tri_core.targets import Spec, resolve

__all__ = ["compile", "forget"]

logger = logging.getLogger(__name__)

K = TypeVar("K")

#: kernels kept in memory; the oldest leave first
_MEMORY = 4096
#: how long (seconds) a process waits for another one that compiles the same kernel
_PATIENCE = 60.0

_memory: dict[tuple[object, ...], CompiledKernel] = {}
_environments: dict[tuple[int, int, int], tuple[PluginManager, Target, str]] = {}
_lock = threading.Lock()
_in_flight: dict[str, threading.RLock] = {}
_kernels: dict[str, CompiledKernel] = {}


@dataclass(frozen=True)
class _Request:
    """A compile that missed the memory, with its key."""

    manager: PluginManager
    source: Source
    target: Target
    options: CommonOptions
    composition: Composition
    key: str


def compile(  # noqa: A001  the name that users know
    source: Source,
    target: Spec | None = None,
    options: CommonOptions | Mapping[str, Any] | None = None,
) -> CompiledKernel:
    """Compile ``source`` for ``target`` (see :func:`tri_core.targets.resolve`) under ``options``.

    Needs no device.  Compiled kernels are kept in memory and on disk; what is found there is identified
    by everything that can change it.  Raises a TriError for all that can go wrong.
    """
    target = resolve(target)
    options = _options(target, options)
    always = knobs.get("ALWAYS_COMPILE")
    environment = _environment(manager(), target)
    quick = (source.fingerprint(), type(source), environment, options, *_knob_values())
    if not always:
        found = _memory.get(quick)
        if found is not None:
            return found
    kernel = _compile(source, target, options, environment, always)
    _remember(_memory, quick, kernel)
    return kernel


def _remember(kept: dict[K, CompiledKernel], key: K, kernel: CompiledKernel) -> None:
    with _lock:
        if len(kept) >= _MEMORY and key not in kept:
            del kept[next(iter(kept))]
        kept[key] = kernel


def forget() -> None:
    """Empty the memory cache of this process (the store on disk keeps everything)."""
    with _lock:
        _memory.clear()
        _kernels.clear()
        _environments.clear()


def _options(target: Target, options: CommonOptions | Mapping[str, Any] | None) -> CommonOptions:
    wanted = target.options_type
    if isinstance(options, wanted):
        return options
    if options is None or isinstance(options, Mapping):
        return wanted.parse(options)
    if type(options) is CommonOptions:
        return wanted.parse(options.to_json())
    raise OptionError(
        f"options for {target} are a {type(options).__name__}; {wanted.__name__} is expected",
        remedy="pass a dictionary of options",
    )


def _knob_values() -> tuple[object, ...]:
    return tuple((name, str(value)) for name, value in knobs.codegen_snapshot().items())


def _environment(current: PluginManager, target: Target) -> str:
    """The environment's part of the key, computed once per target object and set of plugins."""
    identity = (id(current), current.generation, id(target))
    found = _environments.get(identity)
    if found is None:
        # manager and target are kept, so that no other object takes their ids
        found = _environments[identity] = (current, target, key.environment(current, target))
    return found[2]


def _compile(
    source: Source, target: Target, options: CommonOptions, environment: str, always: bool
) -> CompiledKernel:
    current = manager()
    composition = current.compose(target, options)
    digest = key.cache_key(source, options, composition.pipeline, environment)
    request = _Request(current, source, target, options, composition, digest)
    observers = Observers(current)
    facts = {"kernel": source.name, "target": str(target), "key": digest}
    observers.tell("compile_start", facts)
    start = time.perf_counter()
    with _alone(digest):
        kernel = None if always else _known(request)
        cached = kernel is not None
        if kernel is None:
            kernel = _made(request, observers, always)
        _remember(_kernels, digest, kernel)
    seconds = time.perf_counter() - start
    logger.debug(
        "%s for %s: %s, %.1f ms", source.name, target, "cached" if cached else "compiled", 1e3 * seconds
    )
    observers.tell("compile_done", {**facts, "seconds": seconds, "cached": cached})
    return kernel


@contextmanager
def _alone(digest: str) -> Iterator[None]:
    """One thread of this process at a time for one key; the later ones find the kernel made."""
    with _lock:
        lock = _in_flight.setdefault(digest, threading.RLock())
    with lock:
        yield
    with _lock:
        _in_flight.pop(digest, None)


def _known(request: _Request) -> CompiledKernel | None:
    """The kernel from this process's memory or from the store; written below ``TRI_DUMP_DIR`` as well."""
    kernel = _kernels.get(request.key) or _stored(default_store(), request.key)
    root = knobs.get("DUMP_DIR")
    if kernel is not None and root is not None:
        dump.dump(root, kernel)
    return kernel


def _stored(store: Store, digest: str) -> CompiledKernel | None:
    payload = store.get(digest)
    if payload is None:
        return None
    try:
        return record.decode(payload)
    except (ValueError, KeyError, TypeError, TriError) as error:
        # a whole file with content of another make: its checksum fits, its fields do not
        logger.warning("cache entry %s cannot be read and is made anew: %s", digest, error)
        store.discard(digest)
        return None


def _made(request: _Request, observers: Observers, always: bool) -> CompiledKernel:
    store = default_store()
    with store.claim(request.key, _PATIENCE):
        kernel = None if always else _stored(store, request.key)
        if kernel is not None:
            return kernel
        kernel, payload = _run(request, observers)
        store.put(request.key, payload)
        return kernel


def _run(request: _Request, observers: Observers) -> tuple[CompiledKernel, bytes]:
    """Run the stages; the kernel and what the store keeps of it."""
    from tri_core import codegen, mlir  # the bindings take 0.15 s to import: not before something is compiled
    from tri_core.compiler import stages
    from tri_core.dialects import tt

    current, target = request.manager, request.target
    if target.spec.llvm is not None:
        codegen.warm_up()
    mlir.registry.add_dialect(tt.TT)
    current.register_ir(mlir.registry, target)
    root = knobs.get("DUMP_DIR")
    job = stages.Job(
        source=request.source,
        target=target,
        options=request.options,
        composition=request.composition,
        key=request.key,
        knobs=knobs.codegen_snapshot(),
        observers=observers,
        verify=knobs.get("VERIFY"),
        dump=None if root is None else dump.folder_of(root, request.source.name, request.key),
    )
    products = stages.run(job)
    metadata = stages.metadata_of(job, products, current.versions(target))
    parts = (
        metadata,
        products.stages,
        frozenset(products.texts),
        products.disassemblers(request.composition.pipeline.stages),
    )
    return record.assemble(*parts), record.encode(*parts)
