"""The plugin manager: the one door from core to backends and extensions."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tri_core import __version__, forks
from tri_core.abi import KernelABI
from tri_core.aot import AotLauncher
from tri_core.errors import BackendError, DeviceError, PluginError, TargetError, Unsupported
from tri_core.first_use import alone
from tri_core.image import KernelMetadata
from tri_core.knobs import KnobGroup
from tri_core.loop_estimates import LoopEstimates
from tri_core.options import CommonOptions
from tri_core.pipeline import Pipeline
from tri_core.plugin_records import (
    BackendInfo,
    ConformanceProfile,
    DevicePerformance,
    FrameworkAdapter,
    InductorInfo,
    LanguageExtension,
    Observer,
    Policy,
    Simulation,
)
from tri_core.plugins import validation
from tri_core.plugins.calls import call_for_code, call_owner, in_call_order
from tri_core.plugins.composing import Composition, Touched, noting, rules, shape, touched
from tri_core.plugins.fingerprint import distribution_fingerprint, module_fingerprint, stands_on
from tri_core.plugins.headers import canonical
from tri_core.plugins.records import Candidate, Plugin, PluginRecord, QuarantineRecord
from tri_core.plugins.registry import Registry, of
from tri_core.runtime import Runtime
from tri_core.target import EXACT_LEVEL, SIMULATED_KIND, DeviceInfo, Target, TargetKey

if TYPE_CHECKING:
    from tri_core.mlir import IRRegistry

__all__ = ["PluginManager", "fingerprint_of"]

T = TypeVar("T")

#: a plugin that implements one of these may take part in any compile
_CODE_HOOKS = ("tri_modify_pipeline", "tri_lowering", "tri_cache_key")


class PluginManager:
    """Answers for all plugins of a process.

    Nothing is imported before the first question.  Declarative records are asked once and kept; owner
    hooks go to the owner alone.  All methods are safe to call from any thread.  ``candidates`` replaces
    the installed plugins (for tests and tools).
    """

    def __init__(self, candidates: Iterable[Candidate] | None = None) -> None:
        self._registry = Registry(candidates)
        self._lock = forks.RLock()
        self._owners: tuple[int, dict[str, tuple[BackendInfo, Plugin]]] | None = None
        self._abis: dict[TargetKey, KernelABI] = {}
        self._keys: dict[TargetKey, Mapping[str, Mapping[str, str]]] = {}
        self._runtimes: dict[str, tuple[int, Runtime]] = {}
        self._ir_done: set[str] = set()
        self._dropped: list[Observer] = []
        #: the observers, and the generation and number of dropped ones of which that is true
        self._observing: tuple[tuple[int, int], list[Observer]] | None = None
        self._last_pipeline: dict[str, Pipeline] = {}

    @property
    def generation(self) -> int:
        """Grows whenever a plugin leaves: whoever caches answers keys them by it."""
        return self._registry.generation

    # --- declarative ---------------------------------------------------------------------------------

    def backends(self) -> dict[str, BackendInfo]:
        """Every usable backend by name; warns once of plugins that were set aside."""
        return {name: info for name, (info, _) in self._owned().items()}

    def _owned(self) -> dict[str, tuple[BackendInfo, Plugin]]:
        known = self._owners
        if known is not None and known[0] == self._registry.generation:
            return known[1]
        with alone(), self._lock:
            owned = self._collect_owned()
        self._registry.announce()
        self._owners = (self._registry.generation, owned)
        return owned

    def _collect_owned(self) -> dict[str, tuple[BackendInfo, Plugin]]:
        self._registry.records("tri_backends")
        self._registry.records("tri_knobs")  # may drop a plugin, so the backends are read after it
        plugins = self._registry.plugins()
        records = self._registry.records("tri_backends")
        return {info.name: (info, plugins[name]) for name, found in records.items() for info in found}

    def _declared(self, hook: str, kind: type[T]) -> list[T]:
        self._owned()
        records = self._registry.records(hook)
        self._registry.announce()
        return of(records, kind)

    def knobs(self) -> list[KnobGroup]:
        """The knob groups of all plugins, registered with :mod:`tri_core.knobs`."""
        return self._declared("tri_knobs", KnobGroup)

    def languages(self) -> list[LanguageExtension]:
        """The language extensions of all plugins."""
        return self._declared("tri_language", LanguageExtension)

    def adapters(self) -> list[FrameworkAdapter]:
        """The array adapters of all plugins."""
        return self._declared("tri_adapters", FrameworkAdapter)

    def observers(self) -> list[Observer]:
        """The observers of all plugins, without those that were dropped."""
        known = self._observing
        if known is None or known[0] != (self._registry.generation, len(self._dropped)):
            found = [o for o in self._declared("tri_observers", Observer) if o not in self._dropped]
            known = self._observing = ((self._registry.generation, len(self._dropped)), found)
        return list(known[1])

    def drop_observer(self, observer: Observer) -> None:
        """Never tell ``observer`` anything again: it failed."""
        self._dropped.append(observer)

    def quarantine(self) -> list[QuarantineRecord]:
        """The plugins that are not used, with the reasons."""
        return self._registry.quarantine()

    def plugins(self) -> list[PluginRecord]:
        """Every plugin found, sorted by name: active, disabled or quarantined.  Gives no warning."""
        with alone(), self._lock:
            self._collect_owned()
        backends = self._registry.records("tri_backends")
        lines = [
            _line(p.candidate, "active", p.api, p.hooks, tuple(i.name for i in backends.get(name, ())))
            for name, p in self._registry.plugins().items()
        ]
        lines += [
            _line(c, "disabled", reason="left out by the environment") for c in self._registry.disabled()
        ]
        lines += [_quarantined_line(record) for record in self._registry.quarantine()]
        return sorted(lines, key=lambda r: (r.name, r.dist))

    # --- owners --------------------------------------------------------------------------------------

    def owner(self, backend: str) -> tuple[BackendInfo, Plugin]:
        """The record and plugin of ``backend``; PluginError when it is set aside, TargetError when unknown."""
        found = self._owned().get(backend)
        if found is not None:
            return found
        self.check_set_aside(backend)
        raise TargetError(
            f"unknown backend {backend!r}", remedy=f"known: {', '.join(self._owned()) or 'none'}"
        )

    def check_set_aside(self, backend: str) -> None:
        """PluginError with the original reason when ``backend`` is, or seems to be, that of a plugin set aside."""
        wanted = canonical(backend)
        for record in self._registry.quarantine():
            names = {canonical(n) for n in (record.plugin, *record.backends)}
            if wanted in names or record.dist.endswith(f"-{wanted}"):
                raise record.to_error(f"backend {backend!r} cannot be used, its plugin was set aside")

    def _ask(self, hook: str, backend: str, /, **arguments: Any) -> Any:
        _, plugin = self.owner(backend)
        return call_owner(self._registry.pm, hook, plugin, backend, **arguments)

    def probe(self, backend: str) -> list[DeviceInfo]:
        """The devices present for ``backend``; those of its runtime when its plugin has no probe."""
        info, plugin = self.owner(backend)
        if "tri_probe" in plugin.hooks:
            return validation.check_devices(backend, self._ask("tri_probe", backend, backend=backend))
        return [d for d in self.runtime(info.runtime).devices() if d.kind in info.device_kinds]

    def target(self, key: TargetKey, device: DeviceInfo | None = None) -> Target:
        """The target that ``key``'s backend makes of it; an empty ``key.arch`` means that of ``device``."""
        if key.simulated:
            return self._simulated(key)
        info, _ = self.owner(key.backend)
        made = self._ask("tri_target", key.backend, backend=key.backend, key=key, device=device)
        target = validation.check_target(key.backend, key, made)
        return target if target.device_kind else _with_device_kind(target, info.runtime)

    def _simulated(self, key: TargetKey) -> Target:
        """The target of the simulated device: the code is that of the real one, the runtime is not."""
        real = self.target(key.real)
        simulation = self.simulation(real)
        if key.level not in ("", EXACT_LEVEL) and simulation.level(key.level) is None:
            levels = (EXACT_LEVEL, *simulation.levels, *simulation.assemblers())
            raise TargetError(
                f"{key}: backend {key.backend!r} has no level {key.level!r} to simulate",
                remedy=f"its levels: {', '.join(levels)}; or leave :level= out",
            )
        renamed = dataclasses.replace(real.key, simulated=True, level=key.level)
        return dataclasses.replace(real, key=renamed, device_kind=SIMULATED_KIND)

    def _check_simulated(self, target: Target) -> None:
        if "tri_simulation" not in self.owner(target.key.backend)[1].hooks:
            raise Unsupported(
                f"backend {target.key.backend!r} cannot be simulated: it has no tri_simulation",
                remedy=f"use {target.key} itself",
            )

    def simulation(self, target: Target) -> Simulation:
        """Backend's part of the simulator for ``target``; Unsupported if it has none."""
        self._check_simulated(target)
        simulation: Simulation = self._ask("tri_simulation", target.key.backend, target=target)
        return simulation

    def abi(self, target: Target) -> KernelABI:
        """The kernel ABI of ``target``, asked once; Triton's rules when its plugin says nothing."""
        found = self._abis.get(target.key)
        if found is None:
            found = self._abis.setdefault(target.key, self._new_abi(target))
        return found

    def _new_abi(self, target: Target) -> KernelABI:
        backend = target.key.backend
        if "tri_abi" not in self.owner(backend)[1].hooks:
            return KernelABI()
        return validation.check_abi(backend, self._ask("tri_abi", backend, target=target))

    def policy(self, target: Target, options: CommonOptions) -> Policy | None:
        """The policy of ``target``'s backend; None when it leaves all choices to the shared passes."""
        backend = target.key.backend
        if "tri_policy" not in self.owner(backend)[1].hooks:
            return None
        policy: Policy = self._ask("tri_policy", backend, target=target, options=options)
        return policy

    def conformance(self, target: Target) -> ConformanceProfile:
        """Profile of ``target`` for the conformance kit."""
        profile: ConformanceProfile = self._ask("tri_conformance", target.key.backend, target=target)
        return profile

    def aot(self, target: Target) -> AotLauncher:
        """Launcher for C programs of images of ``target``; Unsupported if its backend has none."""
        backend = target.key.backend
        if target.key.simulated:
            raise Unsupported(
                f"{target} runs in the simulator, which C programs cannot call",
                remedy=f"compile for {target.key.real}",
            )
        if "tri_aot" not in self.owner(backend)[1].hooks:
            raise Unsupported(
                f"backend {backend!r} has no launcher for C programs",
                remedy="load the image through its stage, as in tri compile --emit",
            )
        launcher: AotLauncher = self._ask("tri_aot", backend, target=target)
        return launcher

    def performance(self, device: DeviceInfo) -> DevicePerformance:
        """Peak rates of ``device``; Unsupported when no backend for its kind knows them."""
        for info, plugin in self._owned().values():
            if device.kind in info.device_kinds and "tri_performance" in plugin.hooks:
                found: DevicePerformance = self._ask("tri_performance", info.name, device=device)
                return found
        raise Unsupported(
            f"no backend knows the peak rates of devices of kind {device.kind!r}",
            remedy="compute percentages from the data sheet's numbers",
        )

    def inductor(self, target: Target) -> InductorInfo:
        """Properties and heuristics of ``target`` for PyTorch's Inductor; Unsupported if its backend says none."""
        backend = target.key.backend
        if "tri_inductor" not in self.owner(backend)[1].hooks:
            raise Unsupported(
                f"backend {backend!r} tells PyTorch's Inductor nothing of {target.key}",
                remedy="Inductor's own heuristics hold; a backend of yours says more by the hook tri_inductor",
            )
        return validation.check_inductor(backend, self._ask("tri_inductor", backend, target=target))

    def loop_estimates(
        self, target: Target, metadata: KernelMetadata, asm: Mapping[str, str | bytes]
    ) -> LoopEstimates:
        """Estimates of a compiled kernel's loops by the backend of ``target``; empty if it gives none."""
        backend = target.key.backend
        if "tri_loop_estimates" not in self.owner(backend)[1].hooks:
            return LoopEstimates()
        made = self._ask("tri_loop_estimates", backend, target=target, metadata=metadata, asm=asm)
        return validation.check_loop_estimates(backend, made)

    def runtime(self, device_kind: str) -> Runtime:
        """The runtime of ``device_kind``, made once per process; DeviceError after a fork it does not survive."""
        made = self._runtimes.get(device_kind)
        if made is not None and made[0] == os.getpid():
            return made[1]
        if made is not None and not made[1].fork_safe:
            raise DeviceError(
                f"the runtime of {device_kind!r} was started before this process was forked",
                remedy='start worker processes with multiprocessing.set_start_method("spawn")',
            )
        with alone(), self._lock:
            made = self._runtimes.get(device_kind)
            if made is None or made[0] != os.getpid():
                made = (os.getpid(), self._new_runtime(device_kind))
                self._runtimes[device_kind] = made
        return made[1]

    def _new_runtime(self, device_kind: str) -> Runtime:
        for info, plugin in self._owned().values():
            if info.runtime == device_kind and "tri_runtime" in plugin.hooks:
                runtime: Runtime = self._ask("tri_runtime", info.name, device_kind=device_kind)
                return runtime
        kinds = sorted({info.runtime for info, p in self._owned().values() if "tri_runtime" in p.hooks})
        raise TargetError(
            f"no plugin has a runtime for devices of kind {device_kind!r}",
            remedy=f"kinds with a runtime: {', '.join(kinds) or 'none'}",
        )

    # --- code generation -----------------------------------------------------------------------------

    def pipeline(self, target: Target, options: CommonOptions) -> Pipeline:
        """The stages of ``target``: the owner's pipeline after every ``tri_modify_pipeline``."""
        return self.compose(target, options).pipeline

    def compose(self, target: Target, options: CommonOptions) -> Composition:
        """As :meth:`pipeline`, with the plugins that had a part in it."""
        notes = Touched(self._lowering_always(target))
        with noting(notes):
            pipeline = self._owners_pipeline(target, options)
            inserted = self._modified(pipeline, target, options)
        notes.sealed = True
        return Composition(pipeline, inserted, notes)

    def _lowering_always(self, target: Target) -> set[str]:
        """The plugins whose lowering rules are in the key whether they are asked for or not: see ``composing``."""
        _, owner = self.owner(target.key.backend)
        rules_of = self._implementing("tri_lowering")
        return {owner.name, *(p.name for p in rules_of if not self._has_backend(p))}

    def _owners_pipeline(self, target: Target, options: CommonOptions) -> Pipeline:
        backend = target.key.backend
        if target.key.simulated:
            simulation, level = self.simulation(target), target.key.level
            named = simulation.level(level) if level else None
            pipeline = simulation.pipeline if named is None else named.pipeline
            made = pipeline(target, options)
        else:
            made = self._ask("tri_pipeline", backend, target=target, options=options)
        return validation.check_pipeline(backend, made)

    def _modified(self, pipeline: Pipeline, target: Target, options: CommonOptions) -> dict[str, Plugin]:
        backend = target.key.backend
        modifiers = self._implementing("tri_modify_pipeline")
        if not modifiers:
            return {}
        if self._last_pipeline.get(backend) is pipeline:
            raise BackendError(
                f"tri_pipeline of backend {backend!r} gave one Pipeline object twice; plugins insert passes "
                "into it, so a new one is needed per call",
                backend=backend,
                hook="tri_pipeline",
            )
        self._last_pipeline[backend] = pipeline
        inserted: dict[str, Plugin] = {}
        for plugin in modifiers:
            inserted |= self._modify(plugin, pipeline, target, options)
        return inserted

    def _modify(
        self, plugin: Plugin, pipeline: Pipeline, target: Target, options: CommonOptions
    ) -> dict[str, Plugin]:
        before, known = shape(pipeline), set(_pass_names(pipeline))
        call_for_code(
            self._registry.pm,
            "tri_modify_pipeline",
            plugin,
            pipeline=pipeline,
            target=target,
            options=options,
        )
        if shape(pipeline) != before:
            self._check_modified(plugin, pipeline, target)
            if (notes := touched()) is not None:
                notes.add(plugin)
        return {name: plugin for name in _pass_names(pipeline) if name not in known}

    @staticmethod
    def _check_modified(plugin: Plugin, pipeline: Pipeline, target: Target) -> None:
        """PluginError where ``plugin`` left stages that make no chain to an image."""
        try:
            validation.check_pipeline(target.key.backend, pipeline)
        except BackendError as error:
            raise PluginError(
                f"plugin {plugin.label} left stages in tri_modify_pipeline that make no kernel: {error.message}",
                plugin=plugin.name,
                hook="tri_modify_pipeline",
                remedy="a stage that is put in takes what the one before it yields, and yields what the next one takes",
            ) from error

    def lowering(self, table: T, target: Target, options: CommonOptions) -> T:
        """``table`` after every ``tri_lowering`` added its rules, in the order of plugin names."""
        notes = touched()
        for plugin in self._implementing("tri_lowering"):
            before = rules(table)
            call_for_code(
                self._registry.pm, "tri_lowering", plugin, table=table, target=target, options=options
            )
            if notes is not None and rules(table) != before:
                notes.add(plugin)
        return table

    def register_ir(
        self, registry: IRRegistry, target: Target | None = None, composition: Composition | None = None
    ) -> None:
        """Have dialects registered, once per plugin: those of ``target``'s :meth:`contributors`, else all."""
        wanted = None if target is None else self.contributors(target, composition)
        for plugin in self._implementing("tri_register_ir"):
            if plugin.name in self._ir_done or (wanted is not None and plugin not in wanted):
                continue
            with alone(), self._lock:
                if plugin.name not in self._ir_done:
                    call_for_code(self._registry.pm, "tri_register_ir", plugin, registry=registry)
                    self._ir_done.add(plugin.name)
        self._register_hints()

    def _register_hints(self) -> None:
        """Have what language extensions put on operations known; of other backends too, since it is the frontend that refuses those."""
        hinting = [e for e in self.languages() if e.modifiers or e.scopes]
        if hinting:
            from tri_core.ir.access_hints import register_hints  # a module of MLIR's

            register_hints(hinting)

    def _implementing(self, hook: str) -> list[Plugin]:
        self._owned()
        return in_call_order(self._registry.pm, hook, self._registry.plugins().values())

    def contributors(self, target: Target, composition: Composition | None = None) -> list[Plugin]:
        """The plugins that take part in the compile of ``composition``; without one, all that may for ``target``.

        They are its owner; those that changed the pipeline or its lowering rules, or gave a fact for the key;
        language extensions that are not another backend's.  A plugin that has nothing but dialects counts if one
        of these stands on it.
        """
        _, owner = self.owner(target.key.backend)
        plugins = list(self._registry.plugins().values())
        changing = self._changing(target, composition)
        chosen = [p for p in plugins if p is owner or p.name in changing or self._extends_language(p)]
        return [p for p in plugins if p in chosen or self._brings_dialects(p, chosen)]

    def _changing(self, target: Target, composition: Composition | None) -> set[str]:
        """The names of the plugins that change code in ``composition``, or that may."""
        if composition is not None:
            return composition.touched.names | {name for name, facts in self._facts(target).items() if facts}
        plugins = self._registry.plugins()
        return {name for name, p in plugins.items() if any(hook in p.hooks for hook in _CODE_HOOKS)}

    def _extends_language(self, plugin: Plugin) -> bool:
        return "tri_language" in plugin.hooks and not self._has_backend(plugin)

    def _brings_dialects(self, plugin: Plugin, chosen: list[Plugin]) -> bool:
        if "tri_register_ir" not in plugin.hooks or self._has_backend(plugin):
            return False
        dist = plugin.candidate.dist
        installed = plugin.candidate.distribution is not None
        return not installed or any(p.candidate.dist and stands_on(p.candidate.dist, dist) for p in chosen)

    def _has_backend(self, plugin: Plugin) -> bool:
        return bool(self._registry.records("tri_backends").get(plugin.name))

    def is_installed(self, target: Target) -> bool:
        """True if everything that takes part in compiles for ``target`` is installed, so that its files are
        hashed.
        """
        return all(p.candidate.distribution is not None for p in self.contributors(target))

    def versions(self, target: Target, composition: Composition | None = None) -> dict[str, str]:
        """Version by distribution (or plugin) name of core and of the :meth:`contributors`."""
        plugins = self.contributors(target, composition)
        return {"tri-core": __version__} | {p.candidate.dist or p.name: p.candidate.version for p in plugins}

    def order(self, hook: str) -> list[str]:
        """The names of the plugins that implement ``hook``, in the order in which they are called."""
        return [plugin.name for plugin in self._implementing(hook)]

    def cache_key(self, target: Target) -> Mapping[str, str]:
        """Every ``tri_cache_key`` fact for ``target`` as ``plugin.fact``, asked once, sorted."""
        facts = self._facts(target).items()
        return dict(sorted((f"{name}.{key}", value) for name, given in facts for key, value in given.items()))

    def _facts(self, target: Target) -> Mapping[str, Mapping[str, str]]:
        """Results of each plugin's ``tri_cache_key`` for ``target``, by plugin name."""
        found = self._keys.get(target.key)
        if found is None:
            asked = {p.name: self._asked_facts(p, target) for p in self._implementing("tri_cache_key")}
            found = self._keys.setdefault(target.key, asked)
        return found

    def _asked_facts(self, plugin: Plugin, target: Target) -> Mapping[str, str]:
        given = call_for_code(self._registry.pm, "tri_cache_key", plugin, target=target)
        if not isinstance(given, Mapping) or not all(isinstance(x, str) for kv in given.items() for x in kv):
            raise PluginError(
                f"plugin {plugin.label}: tri_cache_key gave {given!r}; a mapping of text to text is expected",
                plugin=plugin.name,
            )
        return dict(given)


def fingerprint_of(plugin: Plugin) -> str:
    """The content hash of a plugin: its package's files, and its distribution with requirements if it has one."""
    candidate = plugin.candidate
    own = module_fingerprint(plugin.module.__name__)
    if candidate.distribution is None:
        return own
    return f"{own} {distribution_fingerprint(candidate.dist)}"


def _with_device_kind(target: Target, kind: str) -> Target:
    return dataclasses.replace(target, device_kind=kind)


def _pass_names(pipeline: Pipeline) -> Sequence[str]:
    lists = [passes for s in pipeline.stages for passes in (s.passes, s.text_passes) if passes is not None]
    return [step.name for passes in lists for step in passes.steps]


def _line(
    candidate: Candidate,
    state: Any,
    api: tuple[int, int] | None = None,
    hooks: tuple[str, ...] = (),
    backends: tuple[str, ...] = (),
    reason: str = "",
) -> PluginRecord:
    return PluginRecord(
        name=candidate.name,
        module=candidate.module,
        dist=candidate.dist,
        version=candidate.version,
        state=state,
        api=api,
        hooks=hooks,
        backends=backends,
        reason=reason,
    )


def _quarantined_line(record: QuarantineRecord) -> PluginRecord:
    return PluginRecord(
        name=record.plugin,
        module="",
        dist=record.dist,
        version=record.version,
        state="quarantined",
        api=record.api,
        backends=record.backends,
        reason=f"{record.phase}: {record.reason}",
    )
