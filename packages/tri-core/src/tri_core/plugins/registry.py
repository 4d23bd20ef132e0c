"""The set of active plugins and what they declared: loading, contributions, duplicates, quarantine."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from tri_core import forks, knobs
from tri_core.errors import PluginError
from tri_core.first_use import alone
from tri_core.foreign import Contained, Watch
from tri_core.knobs import KnobGroup
from tri_core.lazy_dataclasses import dataclass
from tri_core.notices import PluginWarning, warn
from tri_core.plugin_records import BackendInfo, FrameworkAdapter, LanguageExtension, Observer
from tri_core.plugins import discovery
from tri_core.plugins.calls import call_one, new_pluggy
from tri_core.plugins.loading import Refused, load, quarantined
from tri_core.plugins.records import Candidate, Phase, Plugin, QuarantineRecord

__all__ = ["Registry"]

logger = logging.getLogger(__name__)

R = TypeVar("R")


@dataclass(frozen=True)
class _Declaration:
    """A declarative hook: the type of its records, and the names in them that only one plugin may claim."""

    record: type
    claims: Callable[[Plugin, Any], Iterable[str]]


def _backend_claims(plugin: Plugin, info: BackendInfo) -> list[str]:
    # A second compiler for a device kind is welcome; a second runtime for it is not.
    owns_runtime = "tri_runtime" in plugin.hooks
    return [f"backend {info.name!r}", *([f"device kind {info.runtime!r}"] if owns_runtime else [])]


DECLARATIONS: Mapping[str, _Declaration] = {
    "tri_backends": _Declaration(BackendInfo, _backend_claims),
    "tri_knobs": _Declaration(KnobGroup, lambda _, group: [f"knob prefix {group.prefix!r}"]),
    "tri_language": _Declaration(LanguageExtension, lambda _, e: [f"language namespace {e.namespace!r}"]),
    "tri_adapters": _Declaration(FrameworkAdapter, lambda _, adapter: [f"adapter {adapter.name!r}"]),
    "tri_observers": _Declaration(Observer, lambda _, observer: [f"observer {observer.name!r}"]),
}
#: what a plugin with a backend must answer
BACKEND_HOOKS = ("tri_target", "tri_pipeline")


class Registry:
    """Loads plugins when first asked and keeps their records; a plugin that fails leaves with all of them."""

    def __init__(self, candidates: Iterable[Candidate] | None = None) -> None:
        self._candidates = None if candidates is None else list(candidates)
        self._lock = forks.RLock()
        self._plugins: dict[str, Plugin] | None = None
        self._records: dict[str, dict[str, tuple[Any, ...]]] = {}
        self._disabled: list[Candidate] = []
        self._quarantine: list[QuarantineRecord] = []
        self._announced = 0
        self.generation = 0
        self.pm = new_pluggy()

    # --- loading -------------------------------------------------------------------------------------

    def plugins(self) -> dict[str, Plugin]:
        """The active plugins by name, loaded now if they were not."""
        if self._plugins is None:
            with alone(), self._lock:
                if self._plugins is None:
                    self._plugins = self._load()
        return self._plugins

    def _load(self) -> dict[str, Plugin]:
        self.pm = new_pluggy()  # what an earlier attempt, broken off by the user, has left is gone
        self._quarantine.clear()
        found = discovery.candidates() if self._candidates is None else self._candidates
        selected = [c for c in found if discovery.is_selected(c)]
        self._disabled = [c for c in found if not discovery.is_selected(c)]
        loaded: dict[str, Plugin] = {}
        # pluggy calls the latest registered first: hooks run in the order of names
        with Watch().running() as watch:
            for candidate in sorted(self._unique(selected), key=lambda c: c.name, reverse=True):
                try:
                    with watch.at(candidate.label, "being imported"):
                        loaded[candidate.name] = load(candidate, self.pm)
                except Refused as refused:
                    self._refuse(candidate, refused.phase, refused.__cause__ or refused)
        return dict(sorted(loaded.items()))

    def _unique(self, selected: list[Candidate]) -> list[Candidate]:
        by_name: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in selected:
            by_name[candidate.name].append(candidate)
        for same in by_name.values():
            for candidate in same if len(same) > 1 else ():
                dists = " and ".join(c.dist or c.module for c in same)
                self._refuse(
                    candidate,
                    "duplicate",
                    _duplicate(candidate.name, f"plugin name {candidate.name!r}", dists),
                )
        return [same[0] for same in by_name.values() if len(same) == 1]

    def disabled(self) -> list[Candidate]:
        """The plugins that the environment leaves out."""
        self.plugins()
        return list(self._disabled)

    # --- contributions -------------------------------------------------------------------------------

    def records(self, hook: str) -> dict[str, tuple[Any, ...]]:
        """Declarations of each active plugin through ``hook``, by plugin name; called once."""
        if hook not in self._records:
            with alone(), self._lock:
                if hook not in self._records:
                    self._records[hook] = self._collect(hook)
                    self._part_duplicates(hook)
        return self._records[hook]

    def _collect(self, hook: str) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        asked = [plugin for plugin in self.plugins().values() if hook in plugin.hooks]
        with Watch().running() as watch:
            for plugin in asked:
                try:
                    with watch.at(plugin.label, f"in {hook}"), Contained():
                        found[plugin.name] = self._checked(hook, plugin)
                except Exception as error:
                    self.drop(plugin, "hook", error)
        return found

    def _checked(self, hook: str, plugin: Plugin) -> tuple[Any, ...]:
        records = call_one(self.pm, hook, plugin)
        declaration = DECLARATIONS[hook]
        for record in records:
            if not isinstance(record, declaration.record):
                raise PluginError(
                    f"{hook} gave {record!r}; {declaration.record.__name__} is expected", plugin=plugin.name
                )
        self._check_claims(plugin, [c for r in records for c in set(declaration.claims(plugin, r))], hook)
        if hook == "tri_backends" and records:
            self._check_backend_hooks(plugin)
        if hook == "tri_knobs":
            for group in records:
                knobs.register(group)
        return records

    def _check_backend_hooks(self, plugin: Plugin) -> None:
        missing = [hook for hook in BACKEND_HOOKS if hook not in plugin.hooks]
        if missing:
            raise PluginError(f"it has a backend but no {' and no '.join(missing)}", plugin=plugin.name)

    def _check_claims(self, plugin: Plugin, claims: list[str], hook: str) -> None:
        for claim in claims:
            shared = hook == "tri_backends" and claim.startswith("device kind")
            if claims.count(claim) > 1 and not shared:
                raise PluginError(f"it declares {claim} twice", plugin=plugin.name)

    def _part_duplicates(self, hook: str) -> None:
        """Quarantine every plugin whose claim another one makes too: neither is the obvious winner."""
        claimants: dict[str, list[Plugin]] = defaultdict(list)
        for name, records in self._records[hook].items():
            plugin = self.plugins()[name]
            for claim in {c for r in records for c in DECLARATIONS[hook].claims(plugin, r)}:
                claimants[claim].append(plugin)
        for claim, plugins in claimants.items():
            for plugin in plugins if len(plugins) > 1 else ():
                dists = " and ".join(p.label for p in plugins)
                self.drop(plugin, "duplicate", _duplicate(plugin.name, claim, dists))

    # --- quarantine ----------------------------------------------------------------------------------

    def drop(self, plugin: Plugin, phase: Phase, error: BaseException) -> None:
        """Take an active plugin and all its records out of use, because of ``error``."""
        with alone(), self._lock:
            active = self.plugins()
            if active.get(plugin.name) is not plugin:
                return
            backends = tuple(i.name for i in self._records.get("tri_backends", {}).get(plugin.name, ()))
            # new dictionaries, so that whoever iterates over an old one is not disturbed
            self._plugins = {n: p for n, p in active.items() if n != plugin.name}
            self._records = {
                hook: {n: r for n, r in found.items() if n != plugin.name}
                for hook, found in self._records.items()
            }
            self.pm.unregister(plugin.module)
            self.generation += 1
            self._refuse(plugin.candidate, phase, error, backends=backends, api=plugin.api)

    def _refuse(self, candidate: Candidate, phase: Phase, error: BaseException, **known: Any) -> None:
        record = quarantined(candidate, phase, error, **known)
        logger.debug("plugin set aside: %s\n%s", record, record.traceback)
        self._quarantine.append(record)

    def quarantine(self) -> list[QuarantineRecord]:
        """The plugins that are set aside, with the reasons, in the order in which they failed."""
        self.plugins()
        return list(self._quarantine)

    def announce(self) -> None:
        """Warn, once, of plugins set aside since the last warning; PluginError with ``TRI_PLUGINS_STRICT``."""
        if self._announced == len(self._quarantine):
            return
        with alone(), self._lock:
            fresh = self._quarantine[self._announced :]
            self._announced = len(self._quarantine)
        if not fresh:
            return
        if knobs.get("PLUGINS_STRICT"):
            self._announced = 0  # strict mode refuses every time, not only the first
            raise fresh[0].to_error(f"plugin {fresh[0].plugin!r} is refused")
        lines = "".join(f"\n  {record}" for record in fresh)
        warn(f"plugins that cannot be used are quarantined (`tri plugins` lists them):{lines}", PluginWarning)


def _duplicate(name: str, claim: str, claimants: str) -> PluginError:
    return PluginError(
        f"{claim} is claimed by {claimants}",
        plugin=name,
        remedy="uninstall one of them, or name the plugins to load in TRI_PLUGINS",
    )


def of(records: Mapping[str, tuple[Any, ...]], kind: type[R]) -> list[R]:
    """The records of all plugins, in the order of plugin names."""
    return [cast(R, record) for found in records.values() for record in found]
