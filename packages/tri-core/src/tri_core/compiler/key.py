"""The cache key: a hash of everything that can change what a compile makes.

Nobody has to remember to bump anything: the files of core, of the source's package and of every plugin
that took part are hashed, together with the target's spec, the options, the pipeline with the options of
its passes, the order in which plugins contribute, and the knobs that affect code.  Who took part is seen
when the pipeline is made; the shortcut, which does without one, holds all plugins that may take part.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from tri_core import knobs
from tri_core.compiler.source import IRSource, Source
from tri_core.errors import OptionError
from tri_core.options import CommonOptions
from tri_core.pipeline import Pipeline
from tri_core.plugins import Composition, PluginManager, fingerprint_of
from tri_core.plugins.fingerprint import core_fingerprint, package_fingerprint
from tri_core.target import Target

__all__ = ["cache_key", "environment", "of_environment", "shortcut"]


def cache_key(source: Source | IRSource, options: CommonOptions, pipeline: Pipeline, environment: str) -> str:
    """The key of compiling ``source``, 64 hexadecimal digits; ``environment`` as :func:`environment` gives it."""
    facts = _request(source, options, environment)
    return _hash({**facts, "pipeline": pipeline.text(), "knobs": _texts(knobs.codegen_snapshot())})


def shortcut(source: Source | IRSource, options: CommonOptions, environment: str) -> str:
    """A key of the same compile without its pipeline, for installed plugins: making one imports a compiler.

    The pipeline follows from the plugins' files, the target, the options and knobs, which all are hashed
    here; and, since a plugin may have forgotten to mark one, every knob that is set counts.
    """
    return _hash({**_request(source, options, environment), "knobs": _texts(knobs.plugin_snapshot())})


def _request(source: Source | IRSource, options: CommonOptions, environment: str) -> dict[str, Any]:
    return {
        "environment": environment,
        "frontend": _package_of(type(source)),
        "source": source.fingerprint(),
        "options": options.to_json(),
    }


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def environment(manager: PluginManager, target: Target, composition: Composition | None = None) -> str:
    """The part of the key that no kernel changes: core, plugins and target.  Milliseconds; callers keep it.

    The plugins are those that took part in ``composition``; without one, all that may take part.
    """
    contributors = manager.contributors(target, composition)
    names = {plugin.name for plugin in contributors}
    facts = {
        "core": core_fingerprint(),
        "python": list(sys.version_info[:2]),
        "plugins": [[p.name, p.candidate.dist, p.candidate.version, fingerprint_of(p)] for p in contributors],
        "order": {
            hook: [name for name in manager.order(hook) if name in names]
            for hook in ("tri_modify_pipeline", "tri_lowering")
        },
        "facts": dict(manager.cache_key(target)),
        "target": str(target.key),
        "spec": target.spec.to_json(),
        "device_kind": target.device_kind,
        "module_attrs": dict(sorted(target.module_attrs.items())),
        "options_type": f"{target.options_type.__module__}.{target.options_type.__qualname__}",
    }
    return _hash(facts)


def of_environment(environment: str) -> str:
    """The key under which the environment of those that take part is kept for that of all that may."""
    return _hash({"takes part in": environment})


def _package_of(source: type) -> str:
    """The hash of the package that builds the module; core's own is in the environment's part."""
    package = source.__module__.partition(".")[0]
    return "" if package == "tri_core" else package_fingerprint(package)


def _hash(facts: dict[str, Any]) -> str:
    try:
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    except TypeError as error:
        raise OptionError(
            f"an option has a value that cannot enter a cache key: {error}",
            remedy="use numbers, text, booleans, and tuples of these",
        ) from error
    return hashlib.sha256(text.encode()).hexdigest()
