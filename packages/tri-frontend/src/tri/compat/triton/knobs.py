"""``triton.knobs``: Triton's settings, those with a counterpart as tri's, the others at Triton's defaults."""

from __future__ import annotations

import os
from typing import Any

from tri_core import knobs as tri_knobs
from tri_core.errors import Unsupported

__all__ = ["Knobs", "autotuning", "build", "cache", "compilation", "language", "runtime"]

#: group -> knob -> the knob of tri that it is
_COUNTERPARTS: dict[str, dict[str, str]] = {
    "cache": {"dir": "CACHE_DIR", "dump_dir": "DUMP_DIR"},
    "compilation": {"always_compile": "ALWAYS_COMPILE"},
    "runtime": {"interpret": "INTERPRET"},
}
#: group -> knob -> what Triton has when nobody sets it, and tri always does
_DEFAULTS: dict[str, dict[str, Any]] = {
    "autotuning": {"cache": False, "print": False, "listener": None},
    "build": {"cc": None, "impl": None},
    "cache": {"override_dir": None, "home_dir": os.path.expanduser("~"), "manager_class": None},
    "compilation": {
        "allow_non_constexpr_globals": False,
        "disable_line_info": False,
        "dump_ir": False,
        "enable_asan": False,
        "front_end_debugging": False,
        "instrumentation_mode": "",
        "listener": None,
        "override": False,
        "store_binary_only": False,
        "use_ir_loc": None,
    },
    "language": {"default_fp_fusion": True, "force_disable_fp_fusion": False, "fp32_default": None},
    "runtime": {
        "add_stages_inspection_hook": None,
        "debug": False,
        "jit_cache_hook": None,
        "jit_post_compile_hook": None,
        "kernel_load_end_hook": None,
        "kernel_load_start_hook": None,
        "launch_enter_hook": None,
        "launch_exit_hook": None,
        "override_arch": None,
    },
}


class Knobs:
    """A group of settings; reading gives the value in force, writing one that tri lacks is refused."""

    def __init__(self, group: str) -> None:
        self.__dict__["_group"] = group

    def __getattr__(self, name: str) -> Any:
        group = self.__dict__["_group"]
        counterpart = _COUNTERPARTS.get(group, {}).get(name)
        if counterpart is not None:
            return tri_knobs.get(counterpart)
        try:
            return _DEFAULTS.get(group, {})[name]
        except KeyError:
            raise AttributeError(f"triton.knobs.{group} has no {name}", name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        group = self.__dict__["_group"]
        current = getattr(self, name)
        if value == current or (value is None and not current):
            return
        counterpart = _COUNTERPARTS.get(group, {}).get(name)
        raise Unsupported(
            f"triton.knobs.{group}.{name} = {value!r} has no effect on tri",
            remedy=f"set TRI_{counterpart}, or use tri_core.knobs.scope({counterpart}=...)"
            if counterpart
            else "leave it as it is; docs/compat.md lists the settings with a counterpart",
        )


autotuning = Knobs("autotuning")
build = Knobs("build")
cache = Knobs("cache")
compilation = Knobs("compilation")
language = Knobs("language")
runtime = Knobs("runtime")
