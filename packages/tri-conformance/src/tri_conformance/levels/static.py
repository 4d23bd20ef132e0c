"""Checks without compiling: the plug-in module, the hooks' results, the target's description."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tri_conformance.case import Case, require
from tri_conformance.dtypes import canonical
from tri_conformance.subject import Subject
from tri_core import hookspecs
from tri_core.api import BackendInfo, CommonOptions, DeviceInfo, KernelABI, Target, TargetError, TargetKey
from tri_core.errors import OptionError
from tri_core.plugins import manager
from tri_core.target_selection import resolve

__all__ = ["CHECKS", "IMPORT_SECONDS", "cases"]

#: a plug-in module's own import, beyond that of tri_core.api
IMPORT_SECONDS = 0.05
#: hooks without which a backend is none
OWED = ("tri_backends", "tri_target", "tri_pipeline", "tri_runtime", "tri_conformance")
#: limits that every target has
LIMITS = ("grid_x", "grid_y", "grid_z")


def cases() -> Iterator[Case]:
    """The cases of this level."""
    for name, check in CHECKS.items():
        yield Case("static", name, "", check)


def _module(subject: Subject) -> ModuleType:
    return manager().owner(subject.target.key.backend)[1].module


def _tree(subject: Subject) -> ast.Module:
    return ast.parse(Path(inspect.getfile(_module(subject))).read_text(encoding="utf-8"))


def _entry_point(subject: Subject) -> None:
    """The plug-in is active, from an installed distribution with a version."""
    _, plugin = manager().owner(subject.target.key.backend)
    record = next(r for r in manager().plugins() if r.name == plugin.name)
    require(record.state == "active", f"the plug-in is {record.state}: {record.reason}")
    require(record.dist and record.version, "the entry point belongs to no distribution with a version")


def _top_imports(subject: Subject) -> None:
    """At its top the plug-in module imports the standard library and tri_core.api only."""
    allowed = sys.stdlib_module_names | {"__future__"}
    for node in _tree(subject).body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "." * node.level]
        for name in names:
            require(
                name == "tri_core.api" or name.split(".")[0] in allowed,
                f"line {node.lineno} imports {name} at the top; import it inside of the hook that needs it",
            )


_PROBE = """
import json, sys, time
import tri_core.api
before = set(sys.modules)
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
print(json.dumps([seconds, sorted(set(sys.modules) - before)]))
"""


def _import_budget(subject: Subject) -> None:
    """Importing the plug-in module brings its own package and the standard library, and takes no time."""
    module = _module(subject).__name__
    command = [sys.executable, "-c", _PROBE.format(module=module)]
    found = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    ]
    seconds, names = min(found)
    own = module.split(".")[0]
    foreign = [n for n in names if n.split(".")[0] not in sys.stdlib_module_names | {own}]
    require(not foreign, f"importing {module} brings {', '.join(foreign[:5])}")
    require(
        seconds < IMPORT_SECONDS,
        f"importing {module} takes {1e3 * seconds:.0f} ms; {1e3 * IMPORT_SECONDS:.0f} ms is the budget",
    )


def _hooks(subject: Subject) -> None:
    """The hooks that a backend owes are there; the module states the contract that it is written for."""
    _, plugin = manager().owner(subject.target.key.backend)
    absent = [name for name in OWED if name not in plugin.hooks]
    require(not absent, f"the plug-in has no {', '.join(absent)}")
    api = getattr(plugin.module, "TRI_PLUGIN_API", None)
    require(api is not None and api[0] == hookspecs.HOOKSPEC_API[0], f"TRI_PLUGIN_API is {api!r}")


def _hook_documents(subject: Subject) -> None:
    """Each hook says in a docstring what it gives."""
    _, plugin = manager().owner(subject.target.key.backend)
    silent = [name for name in plugin.hooks if not inspect.getdoc(getattr(plugin.module, name, None))]
    require(not silent, f"no docstring: {', '.join(silent)}")


def _types(subject: Subject) -> None:
    """Hooks give what the contract says."""
    current, target = manager(), subject.target
    require(isinstance(subject.backend, BackendInfo), "tri_backends gave no BackendInfo")
    require(subject.backend.description, "the backend's record has no description")
    require(isinstance(current.abi(target), KernelABI), "tri_abi gave no KernelABI")
    require(
        all(isinstance(d, DeviceInfo) for d in current.probe(target.key.backend)),
        "tri_probe gave no DeviceInfo",
    )
    require(
        all(d.kind in subject.backend.device_kinds for d in current.probe(target.key.backend)),
        "a device of a foreign kind",
    )


def _runtime_protocol(subject: Subject) -> None:
    """The runtime has every member of the protocol, and states its device kind."""
    from tri_core.api import Runtime

    members = [name for name in (*vars(Runtime), *Runtime.__annotations__) if not name.startswith("_")]
    absent = [name for name in members if not hasattr(subject.runtime, name)]
    require(not absent, f"the runtime has no {', '.join(absent)}")
    require(
        subject.runtime.device_kind == subject.target.device_kind, "the runtime is of another device kind"
    )
    require(
        subject.runtime.host_memory in ("direct", "staged", "refused"), "host_memory is none of the three"
    )


def _spec(subject: Subject) -> None:
    """The description is JSON, the same each time, and has the limits of every target."""
    spec = subject.target.spec
    text = json.dumps(spec.to_json(), sort_keys=True)
    again = manager().target(subject.target.key).spec
    require(json.dumps(again.to_json(), sort_keys=True) == text, "asked again, the description differs")
    absent = [name for name in LIMITS if spec.limits.get(name, 0) < 1]
    require(not absent, f"no limit {', '.join(absent)}")
    warps = spec.threads_per_warp
    require(all(w > 0 and not w & (w - 1) for w in warps), f"threads_per_warp is {warps}")
    require(not warps or "threads" in spec.limits, "a target with warps has a limit of threads")


def _dtypes(subject: Subject) -> None:
    """Types are named as the language names them."""
    import tri.language as tl

    spec = subject.target.spec
    known = {canonical(n) for n in ("i1", *tl.dtype.SINT_TYPES, *tl.dtype.UINT_TYPES, *tl.dtype.FP_TYPES)}
    foreign = sorted(n for n in spec.dtypes | spec.emulated_dtypes if canonical(n) not in known)
    require(not foreign, f"the language has no type {', '.join(foreign)}")
    required = {"int1", "int8", "int16", "int32", "int64", "fp32"}
    absent = required - {canonical(n) for n in spec.dtypes | spec.emulated_dtypes}
    require(not absent, f"every target has {', '.join(sorted(absent))}")


def _matmuls(subject: Subject) -> None:
    """Matrix instructions are of declared types and of sizes above 0."""
    known = {canonical(n) for n in subject.target.spec.dtypes | subject.target.spec.emulated_dtypes} | {
        "int4",
        "tf32",
    }
    for mma in subject.target.spec.dot:
        names = {canonical(n) for n in (mma.a, mma.b, mma.acc)} - known
        # types of 8 bits and below come in formats that are no types of the language
        foreign = sorted(
            n for n in names if not n.startswith(("fp8", "fp4", "fp6", "e", "s8", "u8", "b1", "s4", "u4"))
        )
        require(
            not foreign, f"{mma.name} computes on {', '.join(foreign)}, which the target does not declare"
        )
        require(min(mma.m, mma.n, mma.k) > 0, f"{mma.name} has no size")


def _target_without_device(subject: Subject) -> None:
    """A target exists without a device: by key, for every known architecture, the same each time."""
    backend = subject.target.key.backend
    for arch in subject.backend.architectures:
        made = resolve(f"{backend}:{arch}")
        require(isinstance(made, Target) and made.key.arch == arch, f"{backend}:{arch} gives {made.key}")
        require(TargetKey.parse(str(made.key)) == made.key, f"the key {made.key} does not read back")


def _unknown_architecture(subject: Subject) -> None:
    """An unknown architecture is a TargetError that says what is known."""
    backend = subject.target.key.backend
    try:
        resolve(f"{backend}:no-such-architecture")
    except TargetError as error:
        require(error.remedy, "the error has no remedy")
        return
    raise AssertionError(f"{backend}:no-such-architecture is taken for a target")


def _options(subject: Subject) -> None:
    """Options of the backend's own have types, defaults, and words in the class's docstring or above the field."""
    own = subject.target.options_type
    common = {f.name for f in dataclasses.fields(CommonOptions)}
    said = "\n".join(inspect.getdoc(c) or "" for c in own.__mro__ if issubclass(c, CommonOptions))
    said += "\n".join(
        inspect.getsource(c) for c in own.__mro__ if issubclass(c, CommonOptions) and c is not CommonOptions
    )
    for field in dataclasses.fields(own):
        if field.name in common:
            continue
        require(
            f"``{field.name}``" in said or _commented(said, field.name),
            f"option {field.name} is not documented",
        )
        require(field.default is not dataclasses.MISSING, f"option {field.name} has no default")
    require(own.parse({}) == own(), "options without arguments are not the defaults")


def _commented(source: str, name: str) -> bool:
    lines = [line.strip() for line in source.splitlines()]
    return any(line.startswith(f"{name}:") and lines[i - 1].startswith("#:") for i, line in enumerate(lines))


def _wrong_option(subject: Subject) -> None:
    """An option that is not there, or of a wrong type, is an OptionError."""
    for given in ({"no_such_option": 1}, {"num_warps": "many"}, {"num_warps": 3}):
        try:
            subject.options(**given)
        except OptionError:
            continue
        raise AssertionError(f"options {given} are taken")


def _profile(subject: Subject) -> None:
    """Every declaration has a reason, and a date that is not past."""
    from tri_conformance.judge import faults_of

    entries: tuple[Any, ...] = (*subject.profile.gaps, *subject.profile.known_failures)
    faults = [fault for fault in map(faults_of, entries) if fault]
    require(not faults, "; ".join(faults))


def _claims(subject: Subject) -> None:
    """Every level that the profile claims is one of the kit's."""
    from tri_conformance.levels import LEVELS

    unknown = [name for name in subject.profile.levels if name not in LEVELS]
    require(not unknown, f"unknown levels {', '.join(unknown)}; known: {', '.join(LEVELS)}")


#: question -> check
CHECKS: dict[str, Callable[[Subject], None]] = {
    "entry-point": _entry_point,
    "top-imports": _top_imports,
    "import-budget": _import_budget,
    "hooks": _hooks,
    "hook-documents": _hook_documents,
    "hook-types": _types,
    "runtime-protocol": _runtime_protocol,
    "spec": _spec,
    "dtypes": _dtypes,
    "matmuls": _matmuls,
    "target-without-device": _target_without_device,
    "unknown-architecture": _unknown_architecture,
    "options": _options,
    "wrong-option": _wrong_option,
    "profile": _profile,
    "claims": _claims,
}
