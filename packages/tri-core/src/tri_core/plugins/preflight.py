"""Checks of a plugin before any of its hooks runs: versions, hook names, arguments."""

from __future__ import annotations

import difflib
import importlib.metadata
import inspect
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from tri_core import hookspecs
from tri_core.errors import PluginError
from tri_core.plugins.headers import canonical, requirements_of, version_of

__all__ = ["SPECS", "check_api", "check_core", "check_requires", "hooks_of"]

PREFIX = "tri_"
_CORE = "tri-core"
_MARK = "tri_impl"  # the attribute that pluggy's marker of project "tri" leaves on a function
#: a release and a range of releases
_RANGE = re.compile(r"(\d+(?:\.\d+)*) *>= *(\d+(?:\.\d+)*) *, *< *(\d+(?:\.\d+)*) *", re.ASCII)

#: every hook of the contract with its arguments
SPECS: Mapping[str, tuple[str, ...]] = {
    name: tuple(inspect.signature(function).parameters)
    for name, function in vars(hookspecs).copy().items()
    if name.startswith(PREFIX) and hasattr(function, "tri_spec")
}


def _refuse(plugin: str, message: str, remedy: str) -> PluginError:
    return PluginError(message, plugin=plugin, remedy=remedy)


def check_api(name: str, module: ModuleType) -> tuple[int, int]:
    """The plugin's ``TRI_PLUGIN_API``; PluginError unless this core serves it."""
    api = getattr(module, "TRI_PLUGIN_API", None)
    host = hookspecs.HOOKSPEC_API
    well_formed = isinstance(api, tuple) and len(api) == 2 and all(isinstance(n, int) for n in api)
    if api is None or not well_formed:
        raise _refuse(
            name,
            f"TRI_PLUGIN_API is {api!r}; a pair (major, minor) is expected",
            f"set TRI_PLUGIN_API = {host} in {module.__name__}",
        )
    if api[0] != host[0] or api[1] > host[1]:
        newer = api > host
        raise _refuse(
            name,
            f"it is written for hook contract {api[0]}.{api[1]}, this core has {host[0]}.{host[1]}",
            "upgrade tri-core" if newer else "upgrade the plugin",
        )
    return (api[0], api[1])


def check_requires(name: str, module: ModuleType) -> None:
    """PluginError unless every distribution of the plugin's ``TRI_REQUIRES`` is there in a fitting version."""
    requires = getattr(module, "TRI_REQUIRES", None)
    if not requires:
        return
    for dist, text in dict(requires).items():
        _check_requirement(name, dist, text)


def check_core(name: str, distribution: importlib.metadata.Distribution | None) -> None:
    """PluginError where the plugin's ``distribution`` requires another version of tri-core than is installed: installers leave that be."""
    if distribution is None:
        return
    for required, text in requirements_of(distribution):
        ranges, _, marker = text.partition(";")
        parts = sorted(
            (part.strip() for part in ranges.strip(" ()").split(",") if part.strip()), reverse=True
        )
        if canonical(required) == _CORE and parts and not marker and _is_installed(_CORE):
            _check_requirement(name, _CORE, ",".join(parts))


def _is_installed(dist: str) -> bool:
    try:
        importlib.metadata.distribution(dist)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _check_requirement(name: str, dist: str, text: str) -> None:
    try:
        present = version_of(importlib.metadata.distribution(dist))
    except importlib.metadata.PackageNotFoundError:
        raise _refuse(
            name, f"it needs {dist}{text}, which is not installed", f"pip install '{dist}{text}'"
        ) from None
    if _lies_within(present, text):
        return
    # another form of range, or not within; takes 13 ms
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        wanted = SpecifierSet(text)
    except InvalidSpecifier as error:
        raise _refuse(
            name, f"TRI_REQUIRES[{dist!r}] is {text!r}: {error}", "write a version range"
        ) from error
    if not wanted.contains(present, prereleases=True):
        raise _refuse(
            name, f"it needs {dist}{text}, version {present} is installed", f"pip install '{dist}{text}'"
        )


def _lies_within(present: str, text: str) -> bool:
    """True if a release ``present`` lies within ``>=first,<end``, all of numbers; False for any other form."""
    given = _RANGE.fullmatch(f"{present} {text}")
    if given is None:
        return False
    numbers = [[int(n) for n in version.split(".")] for version in given.groups()]
    longest = max(map(len, numbers))
    version, first, end = ([*n, *[0] * (longest - len(n))] for n in numbers)
    return first <= version < end


def hooks_of(name: str, module: ModuleType) -> tuple[str, ...]:
    """The hooks that ``module`` implements, each checked against the contract; else PluginError."""
    found = []
    for attribute, value in vars(module).copy().items():
        mark = getattr(value, _MARK, None) if inspect.isroutine(value) else None
        if mark is None:
            _check_unmarked(name, module, attribute, value)
            continue
        hook = mark.get("specname") or attribute
        if hook not in SPECS:
            near = difflib.get_close_matches(hook, SPECS, n=2)
            raise _refuse(
                name,
                f"there is no hook {hook}",
                f"did you mean {' or '.join(near)}?" if near else f"the hooks are {', '.join(SPECS)}",
            )
        _check_arguments(name, hook, value)
        found.append(hook)
    return tuple(sorted(found))


def _check_unmarked(name: str, module: ModuleType, attribute: str, value: object) -> None:
    ours = inspect.isfunction(value) and value.__module__ == module.__name__
    if ours and attribute.startswith(PREFIX):
        raise _refuse(
            name,
            f"function {attribute} has a hook's name but not the mark",
            "decorate it with tri_core.api.hookimpl, or name it otherwise",
        )


def _check_arguments(name: str, hook: str, function: Callable[..., Any]) -> None:
    spec = SPECS[hook]
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
            raise _refuse(
                name,
                f"{hook}: argument {parameter} would never be filled: hooks take plain arguments without defaults",
                f"write {hook}({', '.join(spec)})",
            )
        if parameter.name not in spec:
            raise _refuse(
                name,
                f"{hook} has no argument {parameter.name!r}",
                f"it may take any of: {', '.join(spec) or '(none)'}",
            )
