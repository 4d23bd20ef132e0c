"""Compiling: look in memory, look in the store, else run the stages, keep and return the kernel."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tri_core import forks, knobs
from tri_core.cache import Store, default_store
from tri_core.compiler import dump, gates, key, record
from tri_core.compiler.kernel import CompiledKernel
from tri_core.compiler.observe import Observers
from tri_core.compiler.override import Overridden, origin, with_overrides
from tri_core.compiler.source import IRSource, Source
from tri_core.compiler.trace import PassListener, Recorder, Trace
from tri_core.errors import OptionError, TriError
from tri_core.first_use import first_use
from tri_core.forks import cached_property
from tri_core.garbage import collected_seldom
from tri_core.lazy_dataclasses import dataclass
from tri_core.options import CommonOptions
from tri_core.plugins import Composition, PluginManager, manager
from tri_core.target import Target
from tri_core.target_options import parse_options, target_by_options
from tri_core.target_selection import Spec, resolve

__all__ = ["adopt", "compile", "environment_of", "forget", "lookup", "trace"]

logger = logging.getLogger(__name__)

#: kernels kept in memory; the oldest leave first
_MEMORY = 4096
#: targets of which the environment's hash is kept
_TARGETS = 256
_DIGEST = re.compile(rb"[0-9a-f]{64}")
#: how long (seconds) a process waits for another one that compiles the same kernel
_PATIENCE = 60.0

_memory: dict[tuple[object, ...], CompiledKernel] = {}
_environments: dict[tuple[object, ...], tuple[PluginManager, Target, str]] = {}
#: whether all that takes part is installed, by manager, its generation and target, which the first two keep
_installed: dict[tuple[object, ...], tuple[PluginManager, Target, bool]] = {}
_lock = forks.Lock()
_in_flight: dict[tuple[object, ...], forks.RLock] = {}


@dataclass(frozen=True)
class _Request:
    """A compile that missed the memory; ``environment`` holds all plugins that may take part in it."""

    manager: PluginManager
    source: Source | IRSource
    target: Target
    options: CommonOptions
    environment: str

    @cached_property
    def composition(self) -> Composition:
        """The pipeline; making it imports the backend's compiler."""
        return self.manager.compose(self.target, self.options)

    @cached_property
    def key(self) -> str:
        """The key of the kernel."""
        environment = _environment(self.manager, self.target, self.composition)
        return key.cache_key(self.source, self.options, self.composition.pipeline, environment)

    @cached_property
    def shortcut(self) -> str | None:
        """A key that needs no pipeline, and under which the store holds :attr:`key`; None when not safe."""
        if not _is_installed(self.manager, self.target):
            return None
        return key.shortcut(self.source, self.options, self.environment)


def compile(  # noqa: A001  the name that users know
    source: Source | IRSource,
    target: Spec | None = None,
    options: CommonOptions | Mapping[str, Any] | None = None,
) -> CompiledKernel:
    """Compile ``source`` for ``target`` (see :func:`tri_core.target_selection.resolve`) under ``options``.

    Needs no device.  Compiled kernels are kept in memory and on disk; what is found there is identified
    by everything that can change it.  Raises a TriError for all that can go wrong.
    """
    target = _target(target, options)
    options = _options(target, options)
    source = with_overrides(source, options)
    always = knobs.get("ALWAYS_COMPILE")
    environment = _environment(manager(), target)
    key = (source.fingerprint(), type(source), environment, options, *_knob_values())
    if not always:
        found = _memory.get(key)
        if found is not None:
            return found
    with _alone(key), collected_seldom():
        if not always and key in _memory:
            return _memory[key]
        made = _compile(_Request(manager(), source, target, options, environment), always)
        kernel = made.from_source(origin(source))
        _remember(key, kernel)
    return kernel


def trace(
    source: Source | IRSource,
    target: Spec | None = None,
    options: CommonOptions | Mapping[str, Any] | None = None,
) -> Trace:
    """Compile ``source`` as :func:`compile` does, and keep the module after each pass of stages that yield modules.

    Everything is made anew, verified after each pass, and not put into the cache.
    """
    target = _target(target, options)
    options = _options(target, options)
    source = with_overrides(source, options)
    request = _Request(manager(), source, target, options, _environment(manager(), target))
    gates.pass_all(gates.Attempt(source, target=target, options=options))
    recorder = Recorder([s.name for s in request.composition.pipeline.stages if s.kind == "module"])
    with first_use(("compile", str(request.target))):
        kernel, _ = _run(request, Observers(request.manager), recorder)
    return Trace(kernel.from_source(origin(source)), tuple(recorder.snapshots))


def lookup(
    source: Source | IRSource,
    target: Spec | None = None,
    options: CommonOptions | Mapping[str, Any] | None = None,
) -> CompiledKernel | None:
    """The kernel of ``source`` if memory or the store has it; None when it would be compiled."""
    target = _target(target, options)
    options = _options(target, options)
    source = with_overrides(source, options)
    if knobs.get("ALWAYS_COMPILE"):
        return None
    environment = _environment(manager(), target)
    key = (source.fingerprint(), type(source), environment, options, *_knob_values())
    found = _memory.get(key)
    if found is None:
        stored = _known(_Request(manager(), source, target, options, environment))
        if stored is not None:
            found = stored.from_source(origin(source))
            _remember(key, found)
    return found


def adopt(
    kernel: CompiledKernel,
    source: Source | IRSource,
    target: Spec | None = None,
    options: CommonOptions | Mapping[str, Any] | None = None,
) -> CompiledKernel:
    """Keep ``kernel``, which another process made of ``source``, as if it had been compiled here.

    The kernel is refused with an OptionError when its key is not that of this compile: the other process
    had other versions of tri or of its plugins.
    """
    target = _target(target, options)
    options = _options(target, options)
    source = with_overrides(source, options)
    request = _Request(manager(), source, target, options, _environment(manager(), target))
    if kernel.hash != request.key:
        raise OptionError(
            f"kernel {kernel.name} was compiled by another version of tri or of its plugins",
            remedy="install the same packages where kernels are compiled and where they run",
        )
    store = default_store()
    if store.get(request.key) is None and store.put(request.key, record.encode_kernel(kernel)):
        _put_shortcut(store, request)
    adopted = kernel.from_source(origin(source))
    key = (source.fingerprint(), type(source), request.environment, options, *_knob_values())
    _remember(key, adopted)
    return adopted


def environment_of(target: Target) -> str:
    """A hash of core, of the plugins that take part in compiles for ``target`` under default options, and of the target.

    Plugins that are installed beside these, and change nothing, leave it as it is.  The store remembers it, so that a
    backend's compiler is imported once per set of plugins.
    """
    current, store = manager(), default_store()
    wide = _environment(current, target)
    kept = key.of_environment(wide) if current.is_installed(target) else None
    found = _word(store.get(kept)) if kept is not None else None
    if found is None:
        composition = current.compose(target, target.options_type.parse(None))
        found = _environment(current, target, composition)
        if kept is not None:
            store.put(kept, found.encode())
    return found


def _remember(key: tuple[object, ...], kernel: CompiledKernel) -> None:
    with _lock:
        if len(_memory) >= _MEMORY and key not in _memory:
            del _memory[next(iter(_memory))]
        _memory[key] = kernel


# in a forked child the threads that compile these kernels are not there
forks.in_child(_in_flight.clear)


def forget() -> None:
    """Empty the memory cache of this process (the store on disk keeps everything)."""
    with _lock:
        _memory.clear()
        _environments.clear()
        _installed.clear()


def _target(target: Spec | None, options: CommonOptions | Mapping[str, Any] | None) -> Target:
    """The target that is named, or that of the architecture which the options name."""
    found = resolve(target)
    return target_by_options(found, options) if options is None or isinstance(options, Mapping) else found


def _options(target: Target, options: CommonOptions | Mapping[str, Any] | None) -> CommonOptions:
    wanted = target.options_type
    if isinstance(options, wanted):
        return options
    if options is None or isinstance(options, Mapping):
        return parse_options(target, options)
    if type(options) is CommonOptions:
        return wanted.parse(options.to_json())
    raise OptionError(
        f"options for {target} are a {type(options).__name__}; {wanted.__name__} is expected",
        remedy="pass a dictionary of options",
    )


def _knob_values() -> tuple[object, ...]:
    return tuple((name, str(value)) for name, value in knobs.codegen_snapshot().items())


def _environment(current: PluginManager, target: Target, composition: Composition | None = None) -> str:
    """The environment's part of the key, computed once per target object and set of plugins."""
    names = None if composition is None else frozenset(composition.touched.names)
    identity = (id(current), current.generation, id(target), names)
    found = _environments.get(identity)
    if found is None:
        if len(_environments) >= _TARGETS:
            _environments.clear()
        # manager and target are kept, so that no other object takes their ids
        made = key.environment(current, target, composition)
        found = _environments[identity] = (current, target, made)
    return found[2]


def _is_installed(current: PluginManager, target: Target) -> bool:
    """:meth:`PluginManager.is_installed`, asked once per target object and set of plugins."""
    identity = (id(current), current.generation, id(target))
    found = _installed.get(identity)
    if found is None:
        if len(_installed) >= _TARGETS:
            _installed.clear()
        found = _installed[identity] = (current, target, current.is_installed(target))
    return found[2]


@contextmanager
def _alone(key: tuple[object, ...]) -> Iterator[None]:
    """One thread of this process at a time for one kernel; the later ones find it made."""
    with _lock:
        lock = _in_flight.setdefault(key, forks.RLock(waits=False))
    try:
        with lock:
            yield
    finally:
        with _lock:
            _in_flight.pop(key, None)


def _compile(request: _Request, always: bool) -> CompiledKernel:
    name, target = request.source.name, str(request.target)
    observers = Observers(request.manager)
    observers.tell("compile_start", {"kernel": name, "target": target})
    start = time.perf_counter()
    kernel = None if always else _known(request)
    cached = kernel is not None
    if kernel is None:
        kernel = _made(request, observers, always)
    seconds = time.perf_counter() - start
    logger.debug("%s for %s: %s, %.1f ms", name, target, "cached" if cached else "compiled", 1e3 * seconds)
    facts = {"kernel": name, "target": target, "key": kernel.metadata.hash}
    observers.tell("compile_done", {**facts, "seconds": seconds, "cached": cached})
    return kernel


def _known(request: _Request) -> CompiledKernel | None:
    """The kernel from the store, if it is there; written below ``TRI_DUMP_DIR`` as well."""
    store = default_store()
    kernel = _by_shortcut(store, request.shortcut)
    if kernel is None:
        kernel = _stored(store, request.key)
        if kernel is not None:
            _put_shortcut(store, request)
    root = knobs.get("DUMP_DIR")
    if kernel is not None and root is not None:
        dump.dump(root, kernel)
    return kernel


def _by_shortcut(store: Store, shortcut: str | None) -> CompiledKernel | None:
    digest = _word(store.get(shortcut)) if shortcut is not None else None
    return _stored(store, digest) if digest is not None else None


def _word(payload: bytes | None) -> str | None:
    """The hash that an entry of the store holds; None for anything else, which another program has put there."""
    if payload is None or not _DIGEST.fullmatch(payload):
        return None
    return payload.decode("ascii")


def _put_shortcut(store: Store, request: _Request) -> None:
    if request.shortcut is not None:
        store.put(request.shortcut, request.key.encode())


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
        gates.pass_all(gates.Attempt(request.source, target=request.target, options=request.options))
        with first_use(("compile", str(request.target))):
            kernel, payload = _run(request, observers)
        if store.put(request.key, payload):
            _put_shortcut(store, request)
        return kernel


def _run(
    request: _Request, observers: Observers, listener: PassListener | None = None
) -> tuple[CompiledKernel, bytes]:
    """Run the stages; the kernel and what the store keeps of it."""
    from tri_core import codegen, mlir  # the bindings take 0.15 s to import: not before something is compiled
    from tri_core.compiler import stages
    from tri_core.dialects import tt

    current, target = request.manager, request.target
    if target.spec.llvm is not None:
        codegen.warm_up()
    mlir.registry.add_dialect(tt.TT)
    current.register_ir(mlir.registry, target, request.composition)
    root = knobs.get("DUMP_DIR")
    folder = None if root is None else dump.folder_of(root, request.source.name, request.key)
    if listener is None and folder is not None and knobs.get("DUMP_PASSES"):
        listener = dump.PassDump(folder, request.source.name)
    source = request.source
    job = stages.Job(
        source=origin(source),
        overrides={f.stage: f for f in source.files} if isinstance(source, Overridden) else {},
        target=target,
        options=request.options,
        composition=request.composition,
        key=request.key,
        knobs=knobs.codegen_snapshot(),
        observers=observers,
        verify=knobs.get("VERIFY"),
        listener=listener,
        dump=folder,
    )
    with request.composition.running():
        outputs = stages.run(job)
    metadata = stages.metadata_of(job, outputs, current.versions(target, request.composition))
    parts = (
        metadata,
        outputs.stages,
        frozenset(outputs.texts),
        outputs.disassemblers(request.composition.pipeline.stages),
    )
    return record.assemble(*parts), record.encode(*parts)
