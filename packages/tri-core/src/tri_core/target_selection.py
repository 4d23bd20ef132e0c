"""Choosing a target: what a user, a tensor, the environment or this machine says, as a :class:`Target`.

The order: what is asked for explicitly, the device of an array argument, ``TRI_TARGET``, the live device
whose backend has the highest priority.  For arrays in host memory the last is the CPU: see :func:`for_host`.
"""

from __future__ import annotations

import difflib

from tri_core import forks, knobs
from tri_core.errors import TargetError, TriError
from tri_core.notices import PluginWarning, warn
from tri_core.plugin_records import BackendInfo
from tri_core.plugins import PluginManager, manager
from tri_core.target import DeviceInfo, Target, TargetKey

__all__ = ["Spec", "default", "for_device", "for_host", "resolve"]

Spec = str | TargetKey | DeviceInfo | Target

_lock = forks.Lock()
_cache: dict[object, Target] = {}
#: the kind of the device whose memory host arrays are in
HOST_KIND = "cpu"

_cached_for: tuple[PluginManager, int] | None = None


def resolve(spec: Spec | None = None, *, device: DeviceInfo | None = None) -> Target:
    """The target that ``spec`` names, or that ``device`` (of an array argument) or the environment chooses.

    ``spec`` is ``"backend:arch[+feature]"``, a backend's name alone (its present device), a key, a device,
    or a target (returned as it is).  Raises TargetError for what is unknown or absent, PluginError for a
    backend whose plugin was set aside.
    """
    if isinstance(spec, Target):
        return spec
    if spec is None:
        spec = device if device is not None else knobs.get("TARGET")
    if spec is None:
        return default()
    cache = _answers()
    found = cache.get(spec)
    if found is None:
        found = cache.setdefault(spec, _resolve(spec))
    return found


def _answers() -> dict[object, Target]:
    """Answers given so far; forgotten when a plugin leaves or the manager is another one."""
    global _cache, _cached_for
    current = manager()
    state = (current, current.generation)
    if state != _cached_for:
        with _lock:
            if state != _cached_for:
                _cache, _cached_for = {}, state
    return _cache


def _resolve(spec: str | TargetKey | DeviceInfo) -> Target:
    if isinstance(spec, DeviceInfo):
        return for_device(spec)
    key = TargetKey.parse(spec) if isinstance(spec, str) else spec
    _check_backend(key.backend)
    if key.arch:
        return manager().target(key)
    return manager().target(key, _present_device(key.backend))


def for_device(device: DeviceInfo) -> Target:
    """The target of an array's or machine's ``device``: of the backends for its kind, the preferred one."""
    backends = [info for info in manager().backends().values() if device.kind in info.device_kinds]
    if not backends:
        raise TargetError(
            f"no backend compiles for devices of kind {device.kind!r} ({device.name or device.arch})",
            remedy=_install_line(device.kind),
        )
    info = _preferred(backends, f"devices of kind {device.kind!r}")
    return manager().target(TargetKey(info.name, device.arch), device)


def for_host() -> Target:
    """The target of arrays in host memory when nothing chooses one.

    TRI_TARGET, else the backend for devices of kind ``"cpu"``, which uses host memory in place; an
    accelerator is never chosen for them on its own.  Without a CPU backend, :func:`default`.
    """
    asked = knobs.get("TARGET")
    if asked is not None:
        return resolve(asked)
    for info in manager().backends().values():
        if HOST_KIND in info.device_kinds:
            return resolve(info.name)
    return default()


def default() -> Target:
    """The target when nothing chooses one: the live device whose backend has the highest priority."""
    cache = _answers()
    found = cache.get(None)
    if found is None:
        found = cache.setdefault(None, _default())
    return found


def _default() -> Target:
    backends = manager().backends()
    live = {name: devices[0] for name in backends if (devices := _devices(name))}
    if not live:
        raise TargetError(
            "no target is chosen and no backend has a device here"
            if backends
            else "no backend is installed, so there is nothing to compile for",
            remedy=f'name a target, as in target="{next(iter(backends))}:<arch>"'
            if backends
            else _install_line("cpu"),
        )
    info = _preferred([backends[name] for name in live], "this machine")
    return manager().target(TargetKey(info.name), live[info.name])


def _devices(backend: str) -> list[DeviceInfo]:
    """The devices of ``backend``, none (with a warning) when asking for them fails: others may be fine."""
    try:
        return manager().probe(backend)
    except TriError as error:
        warn(f"backend {backend!r} cannot say which devices are present: {error}", PluginWarning)
        return []


def _preferred(backends: list[BackendInfo], what: str) -> BackendInfo:
    best = max(info.priority for info in backends)
    names = [info for info in backends if info.priority == best]
    if len(names) > 1:
        candidates = ", ".join(sorted(info.name for info in names))
        raise TargetError(
            f"several backends of equal priority serve {what}: {candidates}",
            remedy=f'choose one, as in target="{min(info.name for info in names)}" or TRI_TARGET',
        )
    return names[0]


def _present_device(backend: str) -> DeviceInfo:
    devices = manager().probe(backend)
    if devices:
        return devices[0]
    architectures = manager().backends()[backend].architectures
    example = architectures[0] if architectures else "<arch>"
    known = f" (known: {', '.join(architectures)})" if architectures else ""
    raise TargetError(
        f"no device of backend {backend!r} is present, so its architecture must be named",
        remedy=f'write target="{backend}:{example}"{known}; for a device that should be here, '
        "check that its driver is installed and that this process may use it",
    )


def _check_backend(name: str) -> None:
    backends = manager().backends()
    if name in backends:
        return
    manager().check_set_aside(name)
    by_kind = [info.name for info in backends.values() if name in info.device_kinds]
    if by_kind:
        raise TargetError(
            f"{name!r} is a kind of device, not a backend",
            remedy=f"its backend is {' or '.join(sorted(by_kind))}",
        )
    near = difflib.get_close_matches(name, backends)
    installed = f"installed: {', '.join(backends)}" if backends else "no backend is installed"
    raise TargetError(
        f"unknown backend {name!r} ({installed})",
        remedy=f"did you mean {' or '.join(near)}?" if near else _install_line(name),
    )


def _install_line(name: str) -> str:
    return f"install its backend: pip install tri-backend-{name}"
