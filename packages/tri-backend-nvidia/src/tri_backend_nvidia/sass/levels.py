"""Levels of the simulator below the text: what each ptxas at hand makes of it, at two levels of optimisation."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from tri_backend_nvidia.disassembly import sass
from tri_backend_nvidia.ptx import entry_points
from tri_backend_nvidia.ptxas import PTXAS, Installed, assemble, sound, version_of_ptxas
from tri_backend_nvidia.ptxas.version import architectures_of_ptxas
from tri_backend_nvidia.sass.lanes import Layout
from tri_backend_nvidia.sass.program import SassProgram, image_of
from tri_backend_nvidia.text.syntax import read_kernel
from tri_backend_nvidia.tools import find_all, version_of
from tri_core import knobs
from tri_core.api import SimulatedLevel, Stage, StageContext, StageResult, Target, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["assemblers", "identity_of_level"]

_NAME = "ptxas-"
#: as users get it, and with little done
_OPTIMISATIONS = ("O3", "O1")


def _places() -> dict[str, Path]:
    """Each ptxas at hand, by its version."""
    named = [Path(each) for each in str(knobs.get("NVIDIA_PTXAS_OTHERS") or "").split(os.pathsep) if each]
    override = knobs.get("NVIDIA_PTXAS")
    found = [Path(str(override))] if override else []
    places: dict[str, Path] = {}
    for place in (*found, *find_all(PTXAS), *named):
        version = version_of_ptxas(place)
        if version is not None:
            places.setdefault(".".join(map(str, version)), place)
    return places


def _knows(place: Path, architecture: str) -> bool:
    return Installed(place, version_of_ptxas(place), architectures_of_ptxas(place)).knows(architecture)


def assemblers(target: Target) -> Mapping[str, SimulatedLevel]:
    """Levels by name: ``ptxas-12.9.86-O3``, for each version here that knows the architecture."""
    from tri_backend_nvidia.pipeline import assembled_level

    made = {}
    for version, place in _places().items():
        if not _knows(place, target.key.arch):
            continue
        for optimisation in _OPTIMISATIONS:
            stage = Assembler(place, optimisation).stage()
            made[f"{_NAME}{version}-{optimisation}"] = SimulatedLevel(
                pipeline=partial(assembled_level, last=stage), decode=_decoded
            )
    return made


def _decoded(image: bytes, entry: str) -> SassProgram:
    return SassProgram(image.decode(), entry)


def identity_of_level(level: str, architecture: str) -> dict[str, str]:
    """Cache-key entries of a level: the file of its ptxas, and what is rewritten for it."""
    if not level.startswith(_NAME):
        return {}
    place = _places().get(level.removeprefix(_NAME).rpartition("-")[0])
    if place is None:
        return {"ptxas": "none"}
    return {"ptxas": version_of(PTXAS, place), "ptx rewritings": sound(place, architecture).text()}


@dataclass(frozen=True)
class Assembler:
    """ptxas at ``place`` with ``optimisation``."""

    place: Path
    optimisation: str

    def stage(self) -> Stage:
        """From PTX text to machine code as text, with the layout of parameters."""
        return Stage(name="sass", kind="text", run=self._run, final=True)

    def _run(self, ptx: str, context: StageContext) -> StageResult:
        from tri_backend_nvidia.cubin import arguments

        architecture = context.target.key.arch
        text, rewritten = sound(self.place, architecture).apply(ptx)
        made = assemble(
            text,
            architecture,
            program=self.place,
            kernel=context.kernel_name,
            options=(*arguments(context.options, lines=False), f"-{self.optimisation}"),
            timeout=knobs.get("NVIDIA_PTXAS_TIMEOUT"),
        )
        kernels = entry_points(text)
        image = image_of(sass(made.cubin), {name: _layout(text, name, architecture) for name in kernels})
        for name in kernels:
            SassProgram(image, name)  # an instruction that is not known is refused here
        attrs = {"ptx_rewritings": list(rewritten)} if rewritten else {}
        return StageResult(artifact=image, entry_points=kernels, attrs=attrs)


def _layout(text: str, name: str, architecture: str) -> Layout:
    parameters = read_kernel(text, name).parameters
    if any(each.nbytes for each in parameters):
        raise Unsupported("machine code of a kernel with a parameter of several words is not evaluated")
    return Layout(tuple(each.type for each in parameters), int(re.sub(r"\D", "", architecture)))
