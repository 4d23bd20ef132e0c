"""Options of a call for a compile: the target's own, and those of others that it may ignore."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
from collections.abc import Collection, Mapping
from typing import Any

from tri_core import knobs
from tri_core.errors import OptionError, TriError
from tri_core.options import CommonOptions
from tri_core.plugin_records import BackendInfo
from tri_core.plugins import manager
from tri_core.target import Target, TargetKey
from tri_core.target_selection import resolve

__all__ = [
    "architecture_of",
    "idle_options",
    "ignored_options",
    "options_elsewhere",
    "parse_options",
    "target_by_options",
]

logger = logging.getLogger(__name__)

#: options of Triton's compilers for which nothing here does anything else: how a vendor's library flushes subnormals, whether native code
#: is made before a kernel is loaded, what its own passes and checks take from one another
_WITHOUT_EFFECT = frozenset(
    (
        "allow_flush_denorm",
        "allowed_dot_input_precisions",
        "backend_name",
        "deprecated_fp8_dot_operand_dtypes",
        "enable_reflect_ftz",
        "generate_native_code",
        "max_num_imprecise_acc_default",
        "schedule_hint",
        "supported_fp8_dtypes",
    )
)
#: options of Triton's compilers that not every target has, installed or not -> the values that ask for nothing; None does, too
_IDLE: Mapping[str, Any] = {
    "advanced_path": False,
    "cluster_dims": (1, 1, 1),
    "enable_persistent": False,
    "enable_warp_specialization": False,
    "grf_mode": "default",
    "instruction_sched_variant": "none",
    "instrumentation_mode": "",
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "maxnreg": None,
    "num_buffers_warp_spec": 0,
    "num_consumer_groups": 0,
    "one_matrix_per_load_for_bT": False,
    "optimize_epilogue": False,
    "reg_dec_producer": 0,
    "reg_inc_consumer": 0,
    "split_barriers_scope": "None",
    "warp_size": 0,
}
#: the architecture that a kernel is compiled for, whatever the device's is
_ARCHITECTURE = ("override_arch", "arch")
#: what ``enable_fp_fusion`` is where nobody says it
_DEFAULT_FUSION = "default_fp_fusion"

#: backends and names of which the log has been told
_noted: set[tuple[str, str]] = set()


def ignored_options(target: Target) -> frozenset[str]:
    """Names that kernels for ``target`` may be given beside its options.

    Tuning options of other backends that are installed, options of Triton's that have no effect here, and those
    which :func:`target_by_options` and :func:`parse_options` understand for every target.
    """
    found = {name for info in manager().backends().values() for name in info.tuning_options}
    further = {*_WITHOUT_EFFECT, *_ARCHITECTURE, _DEFAULT_FUSION}
    return frozenset(found | further) - target.options_type.__dataclass_fields__.keys()


def options_elsewhere() -> dict[str, Any]:
    """Options that other targets have -> what they are when nobody says them: of Triton's compilers, and of the backends that are installed."""
    found = dict(_IDLE)
    for info in manager().backends().values():
        with contextlib.suppress(TriError):  # one that is broken has no say in calls for others
            made = resolve(TargetKey(info.name, info.architectures[0] if info.architectures else ""))
            found |= {f.name: f.default for f in dataclasses.fields(made.options_type)}
    return found


def idle_options(target: Target, given: Mapping[str, Any]) -> frozenset[str]:
    """Those of ``given`` that other targets than ``target`` have and that ask for nothing: None, or the other target's default.

    OptionError for one that asks for something, which ``target`` cannot do.
    """
    foreign = given.keys() - target.options_type.__dataclass_fields__.keys() - ignored_options(target)
    known = options_elsewhere() if foreign else {}
    for name in sorted(foreign & known.keys()):
        value, idle = given[name], known[name]
        if value is not None and (value != idle or isinstance(value, bool) is not isinstance(idle, bool)):
            raise OptionError(
                f"{target.key} cannot do what option {name}={value!r} asks for; other targets can",
                remedy=f"leave {name} out for this target, or pass {name}={idle!r}",
            )
    return frozenset(foreign & known.keys())


def architecture_of(info: BackendInfo, named: object) -> str | None:
    """The architecture of ``info`` that ``named`` means: a number (90, ``"sm90"``) is that with all its features; None for none."""
    if str(named) in info.architectures:
        return str(named)
    number = re.fullmatch(r"(\D*?)_?(\d+)", str(named))
    if number is None:
        return None
    letters = number[1] or r"\D+?"
    numbered = [a for a in info.architectures if re.fullmatch(rf"{letters}_?{number[2]}[a-z]?", a)]
    # the plain one comes first, the one with all features of just this processor next
    return numbered[min(1, len(numbered) - 1)] if numbered else None


def target_by_options(target: Target, given: Mapping[str, Any] | None) -> Target:
    """``target``, or the same backend's for the architecture that option ``arch`` or ``override_arch`` of ``given``, or the knob ``ARCH``, names.

    One that the backend does not know is another vendor's, and has no effect: :func:`parse_options` says so.
    """
    named = _architecture(target, given or {})
    if named is None or named == target.key.arch:
        return target
    return resolve(TargetKey(target.key.backend, named))


def _architecture(target: Target, given: Mapping[str, Any]) -> str | None:
    said = [
        given[name] for name in _ARCHITECTURE if given.get(name) is not None and _is_foreign(target, name)
    ]
    asked = said[0] if said else knobs.get("ARCH")
    if asked is None:
        return None
    number = re.fullmatch(r"\D*(\d+)", str(asked))
    if number and re.fullmatch(rf"\D*{number[1]}[a-z]?", target.key.arch):
        return target.key.arch
    return architecture_of(manager().backends()[target.key.backend], asked)


def _is_foreign(target: Target, name: str) -> bool:
    return name not in target.options_type.__dataclass_fields__


def parse_options(target: Target, given: Mapping[str, Any] | None) -> CommonOptions:
    """``given`` as options of ``target``; what others tune by is left out, and the log says so once.

    OptionError for a name that no backend here has, with the near ones, and for a value of a wrong type.
    """
    named = dict(given or {})
    unknown = named.keys() - target.options_type.__dataclass_fields__.keys()
    if not unknown:
        return target.options_type.parse(named)
    if _DEFAULT_FUSION in unknown:
        named.setdefault("enable_fp_fusion", named[_DEFAULT_FUSION])
    ignored = ignored_options(target)
    _note(target, unknown & ignored - _understood(target, named))
    ignored |= idle_options(target, named)
    return target.options_type.parse(named, ignored)


def _understood(target: Target, given: Mapping[str, Any]) -> frozenset[str]:
    """Options for every target that ``target`` supports, or whose values request nothing."""
    silent = {name for name in (*_ARCHITECTURE, *_WITHOUT_EFFECT) if given.get(name, "") is None}
    known = _ARCHITECTURE if _architecture(target, given) is not None else ()
    return frozenset({_DEFAULT_FUSION, *known, *silent})


def _note(target: Target, names: Collection[str]) -> None:
    for name in sorted(names):
        entry = (target.key.backend, name)
        if entry not in _noted:
            _noted.add(entry)
            whose = "no target has it" if name in _WITHOUT_EFFECT else "other targets have it"
            logger.warning("option %s has no effect on %s: %s", name, target.key, whose)
