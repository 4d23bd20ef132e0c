"""Checks of what owner hooks return: core refuses a malformed answer where it is given."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable

from tri_core.abi import KernelABI
from tri_core.errors import BackendError
from tri_core.loop_estimates import LoopEstimates
from tri_core.options import CommonOptions
from tri_core.pipeline import Anchor, PassList, Pipeline, Stage
from tri_core.plugin_records import InductorInfo, InductorProperties
from tri_core.target import DeviceInfo, Target, TargetKey, TargetSpec

__all__ = [
    "check_abi",
    "check_devices",
    "check_inductor",
    "check_loop_estimates",
    "check_pipeline",
    "check_target",
]

KINDS = ("module", "text", "bytes")
#: anchors that a stage must have, by the stage's name
ANCHORS = {"ttir": ("ttir.begin", "ttir.end")}

Refuse = Callable[[str], BackendError]


def _refuser(backend: str, hook: str) -> Refuse:
    def refuse(message: str) -> BackendError:
        return BackendError(f"{hook} of backend {backend!r}: {message}", backend=backend, hook=hook)

    return refuse


def check_target(backend: str, key: TargetKey, target: object) -> Target:
    """``target`` if it is a complete target of ``backend`` for ``key``; BackendError otherwise."""
    refuse = _refuser(backend, "tri_target")
    if not isinstance(target, Target):
        raise refuse(f"gave {target!r}; a Target is expected")
    if target.key.backend != key.backend or (key.arch and target.key.arch != key.arch):
        raise refuse(f"was asked for {key} and gave {target.key}")
    if not isinstance(target.spec, TargetSpec):
        raise refuse(f"spec is {target.spec!r}; a TargetSpec is expected")
    try:
        json.dumps(target.spec.to_json())
    except (TypeError, ValueError) as error:
        raise refuse(f"the spec of {target.key} is not JSON-able: {error}") from error
    options = target.options_type
    frozen = dataclasses.is_dataclass(options) and options.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if not (isinstance(options, type) and issubclass(options, CommonOptions) and frozen):
        raise refuse(
            f"options_type is {options!r}; a frozen dataclass that extends CommonOptions is expected"
        )
    return target


def check_abi(backend: str, abi: object) -> KernelABI:
    """``abi`` if it is one; BackendError otherwise."""
    if not isinstance(abi, KernelABI):
        raise _refuser(backend, "tri_abi")(f"gave {abi!r}; a KernelABI is expected")
    return abi


def check_loop_estimates(backend: str, made: object) -> LoopEstimates:
    """``made`` if it is a record of estimates with their assumptions; BackendError otherwise."""
    refuse = _refuser(backend, "tri_loop_estimates")
    if not isinstance(made, LoopEstimates):
        raise refuse(f"gave {made!r}; LoopEstimates are expected")
    if made.loops and not made.assumptions:
        raise refuse("estimates of loops do not say what they assume")
    return made


def check_inductor(backend: str, made: object) -> InductorInfo:
    """``made`` if it names a type of device and its numbers are positive; BackendError otherwise."""
    refuse = _refuser(backend, "tri_inductor")
    if not isinstance(made, InductorInfo) or not isinstance(made.properties, InductorProperties):
        raise refuse(f"gave {made!r}; an InductorInfo is expected")
    if not made.device_type.isidentifier():
        raise refuse(f"device_type is {made.device_type!r}; PyTorch's name of a type of device is expected")
    for name in ("multi_processor_count", "warp_size", "max_threads_per_block"):
        number = getattr(made.properties, name)
        if not isinstance(number, int) or number < 1:
            raise refuse(f"{name} is {number!r}; a number of at least 1 is expected")
    if empty := [name for name, configurations in made.templates.items() if not configurations]:
        raise refuse(f"template {empty[0]!r} has no configuration; leave its name out")
    return made


def check_devices(backend: str, devices: object) -> list[DeviceInfo]:
    """``devices`` as a list; BackendError unless it holds DeviceInfo records only."""
    refuse = _refuser(backend, "tri_probe")
    if not isinstance(devices, Iterable):
        raise refuse(f"gave {devices!r}; a sequence of DeviceInfo is expected")
    found = list(devices)
    for device in found:
        if not isinstance(device, DeviceInfo):
            raise refuse(f"gave {device!r}; a DeviceInfo is expected")
    return found


def check_pipeline(backend: str, pipeline: object) -> Pipeline:
    """``pipeline`` if its stages make a chain to one final image; BackendError otherwise."""
    refuse = _refuser(backend, "tri_pipeline")
    if not isinstance(pipeline, Pipeline):
        raise refuse(f"gave {pipeline!r}; a Pipeline is expected")
    stages = list(pipeline.stages)
    for stage in stages:
        _check_stage(stage, refuse)
    names = [s.name for s in stages]
    if len(set(names)) != len(names):
        raise refuse(f"two stages have one name: {', '.join(names)}")
    if not stages or names[0] != "ttir" or stages[0].kind != "module":
        raise refuse(f"the first stage is not 'ttir' of kind 'module': {', '.join(names) or 'no stages'}")
    final = [s.name for s in stages if s.final]
    if final != names[-1:]:
        raise refuse(
            f"exactly the last stage, {names[-1]!r}, must be final; final are: {', '.join(final) or 'none'}"
        )
    _check_kinds(stages, refuse)
    return pipeline


def _check_stage(stage: object, refuse: Refuse) -> None:
    if not isinstance(stage, Stage):
        raise refuse(f"{stage!r} is not a Stage")
    if stage.kind not in KINDS or not stage.name.isidentifier() or not callable(stage.run):
        raise refuse(
            f"stage {stage.name!r}: the name must be an identifier, kind one of {', '.join(KINDS)}, run callable"
        )
    if stage.passes is not None and not isinstance(stage.passes, PassList):
        raise refuse(f"stage {stage.name!r}: passes is not a PassList")
    steps = stage.passes.steps if stage.passes is not None else ()
    anchors = [s.name for s in steps if isinstance(s, Anchor)]
    missing = [a for a in ANCHORS.get(stage.name, ()) if a not in anchors]
    if missing:
        raise refuse(f"stage {stage.name!r} lacks anchor {' and '.join(missing)}")


def _check_kinds(stages: list[Stage], refuse: Refuse) -> None:
    kinds = [s.kind for s in stages]
    left_ir = next((i for i, kind in enumerate(kinds) if kind != "module"), len(kinds))
    if "module" in kinds[left_ir:]:
        raise refuse(f"a stage makes a module after the IR was left: {', '.join(kinds)}")
    if kinds[-1] == "module":
        raise refuse("the final stage must make text or bytes, not a module")
