"""``triton.knobs``: Triton's settings, those with a counterpart as tri's, the others at Triton's defaults."""

from __future__ import annotations

import os
from typing import Any

from tri import knobs as tri_knobs
from tri.knobs import HookChain
from tri_core import knobs as core_knobs
from tri_core.errors import Unsupported

__all__ = [
    "HookChain",
    "Knobs",
    "amd",
    "autotuning",
    "build",
    "cache",
    "compilation",
    "language",
    "nvidia",
    "proton",
    "redis",
    "runtime",
]

#: group -> knob -> what Triton has when nobody sets it, and tri always does
_DEFAULTS: dict[str, dict[str, Any]] = {
    "build": {"cc": None, "impl": None},
    "cache": {"override_dir": None, "home_dir": os.path.expanduser("~"), "manager_class": None},
    "compilation": {
        "allow_non_constexpr_globals": False,
        "dump_ir": False,
        "enable_asan": False,
        "front_end_debugging": False,
        "instrumentation_mode": "",
        "listener": None,
        "override": False,
        "store_binary_only": False,
        "use_ir_loc": None,
    },
    "amd": {"libhip_path": None, "use_buffer_ops": True, "use_async_copy": None},
    "nvidia": {"libdevice_path": None, "libcuda_path": None, "ptxas": None, "ptxas_options": None},
    "proton": {"disable": False},
    "redis": {"host": "localhost", "port": 6379},
    "language": {"default_fp_fusion": True, "force_disable_fp_fusion": False, "fp32_default": None},
    "runtime": {
        "add_stages_inspection_hook": None,
        "kernel_load_end_hook": None,
        "kernel_load_start_hook": None,
        "override_arch": None,
    },
}

#: the opposite of tri's setting; tri has no lines unless they are asked for
_LINES = ("compilation", "disable_line_info")


class Knobs:
    """A group of settings: those that ``tri.knobs`` has, the others at Triton's defaults and not to be changed."""

    def __init__(self, group: str) -> None:
        self.__dict__["_group"] = group

    def _own(self, name: str) -> Any:
        """The group of ``tri.knobs`` that has ``name``; None when it has not."""
        own = getattr(tri_knobs, self.__dict__["_group"], None)
        return own if own is not None and name in dir(own) else None

    def __getattr__(self, name: str) -> Any:
        own, group = self._own(name), self.__dict__["_group"]
        if own is not None:
            return getattr(own, name)
        if (group, name) == ("runtime", "interpret"):
            return core_knobs.get("INTERPRET")
        if (group, name) == _LINES:
            return not core_knobs.get("LINE_INFO")
        try:
            return _DEFAULTS.get(group, {})[name]
        except KeyError:
            raise AttributeError(f"triton.knobs.{group} has no {name}", name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        own, group = self._own(name), self.__dict__["_group"]
        if own is not None:
            setattr(own, name, value)
            return
        if (group, name) == _LINES:
            core_knobs.assign("LINE_INFO", None if value is None else not value)
            return
        current = getattr(self, name)
        if value != current and not (value is None and not current):
            raise Unsupported(
                f"triton.knobs.{group}.{name} = {value!r} has no effect on tri",
                remedy="leave it as it is; docs/compat.md lists the settings with a counterpart",
            )


amd = Knobs("amd")
autotuning = Knobs("autotuning")
build = Knobs("build")
cache = Knobs("cache")
compilation = Knobs("compilation")
language = Knobs("language")
nvidia = Knobs("nvidia")
proton = Knobs("proton")
redis = Knobs("redis")
runtime = Knobs("runtime")
