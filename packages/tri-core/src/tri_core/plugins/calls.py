"""Calling hooks: one plugin at a time, so that a failure has a name."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from typing import Any

import pluggy

from tri_core import hookspecs, knobs
from tri_core.errors import BackendError, PluginError, TriError
from tri_core.first_use import first_use
from tri_core.foreign import Contained, describe
from tri_core.plugins.records import Plugin

__all__ = ["call_for_code", "call_one", "call_owner", "in_call_order", "new_pluggy"]

logger = logging.getLogger("tri.hooks")


def new_pluggy() -> pluggy.PluginManager:
    """A pluggy manager that knows tri's hooks; logs every call when ``TRI_TRACE_HOOKS`` is set."""
    pm = pluggy.PluginManager("tri")
    pm.add_hookspecs(hookspecs)
    if knobs.get("TRACE_HOOKS"):
        _show_trace()
        pm.add_hookcall_monitoring(_before, _after)
    return pm


def _show_trace() -> None:
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler(sys.stderr))
    logger.setLevel(logging.INFO)


def _before(name: str, implementations: list[pluggy.HookImpl], arguments: dict[str, Any]) -> None:
    plugins = ", ".join(i.plugin_name for i in reversed(implementations))
    given = ", ".join(f"{k}={_short(v)}" for k, v in arguments.items())
    logger.info("%s(%s) -> %s", name, given, plugins)


def _after(
    outcome: pluggy.Result[Any], name: str, implementations: list[pluggy.HookImpl], arguments: dict[str, Any]
) -> None:
    error = outcome.exception
    logger.info(
        "%s: %s", name, f"raised {describe(error)}" if error is not None else _short(outcome.get_result())
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def in_call_order(pm: pluggy.PluginManager, hook: str, plugins: Iterable[Plugin]) -> list[Plugin]:
    """Those of ``plugins`` that implement ``hook``, in pluggy's order (``tryfirst``, ``trylast``)."""
    by_module = {id(p.module): p for p in plugins}
    order = reversed(getattr(pm.hook, hook).get_hookimpls())
    return [by_module[id(i.plugin)] for i in order if id(i.plugin) in by_module and not _wraps(i)]


def _wraps(implementation: pluggy.HookImpl) -> bool:
    return bool(implementation.hookwrapper or implementation.wrapper)


def _call(pm: pluggy.PluginManager, hook: str, plugin: Plugin, arguments: dict[str, Any]) -> Any:
    """Call ``hook`` on ``plugin`` alone; wrappers of other plugins (tracers) still surround it."""
    others = [
        i.plugin
        for i in getattr(pm.hook, hook).get_hookimpls()
        if i.plugin is not plugin.module and not _wraps(i)
    ]
    with first_use((hook, plugin.name)), Contained():
        result = pm.subset_hook_caller(hook, others)(**arguments)
    return result if _is_firstresult(pm, hook) else (result[0] if result else None)


def _is_firstresult(pm: pluggy.PluginManager, hook: str) -> bool:
    spec = getattr(pm.hook, hook).spec
    return bool(spec is not None and spec.opts.get("firstresult"))


def call_one(pm: pluggy.PluginManager, hook: str, plugin: Plugin) -> tuple[Any, ...]:
    """The records that ``plugin`` contributes through a declarative hook; its exceptions pass through."""
    result = _call(pm, hook, plugin, {})
    if isinstance(result, str) or not isinstance(result, Iterable):
        raise PluginError(f"{hook} gave {result!r}; a sequence of records is expected", plugin=plugin.name)
    return tuple(result)


def call_for_code(pm: pluggy.PluginManager, hook: str, plugin: Plugin, /, **arguments: Any) -> Any:
    """Call a code generation hook: any failure is a PluginError that names the plugin and its version."""
    try:
        return _call(pm, hook, plugin, arguments)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(
            f"plugin {plugin.label} failed in {hook}: {describe(error)}",
            plugin=plugin.name,
            hook=hook,
            remedy=f"code is never generated without a plugin that takes part in it; "
            f"leave it out with TRI_DISABLE_PLUGINS={plugin.name}",
        ) from error


def call_owner(pm: pluggy.PluginManager, hook: str, plugin: Plugin, backend: str, /, **arguments: Any) -> Any:
    """Call an owner hook; TriErrors pass through, anything else (also None) is a BackendError."""
    if hook not in plugin.hooks:
        raise BackendError(
            f"backend {backend!r} of plugin {plugin.label} has no {hook}", backend=backend, hook=hook
        )
    try:
        result = _call(pm, hook, plugin, arguments)
    except TriError:
        raise
    except Exception as error:
        raise BackendError(
            f"backend {backend!r} of plugin {plugin.label} failed in {hook}: {describe(error)}",
            backend=backend,
            hook=hook,
        ) from error
    if result is None:
        raise BackendError(
            f"backend {backend!r} of plugin {plugin.label} gave None in {hook}", backend=backend, hook=hook
        )
    return result
