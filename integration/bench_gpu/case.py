"""Cases to measure: a kernel of ``integration/kernels`` with its data, its library's counterpart, and the
goal.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

__all__ = ["Case", "Config", "Run", "load"]

TOP = Path(__file__).resolve().parents[2]
KERNELS = TOP / "integration" / "kernels"

#: keyword arguments of a launch: blocks, warps, stages
Config = Mapping[str, int]
#: launches the kernels of a module (tri's or Triton's copy of the same source)
Run = Callable[[ModuleType, Config], object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the table.

    ``outputs`` are poisoned before each check; ``oracle`` gives what they should hold, in float64.  ``nbytes`` are the
    bytes that must move at least, ``flops`` the operations.  ``goal`` is the least speed relative to ``against``
    (``library`` or ``triton``); ``bound`` the largest relative error that is right.
    """

    name: str
    module: str
    run: Run
    configs: Sequence[Config]
    outputs: Sequence[torch.Tensor]
    oracle: Callable[[], Sequence[torch.Tensor]]
    library: Callable[[], object] | None
    goal: float = 1.0
    against: str = "library"
    bound: float = 1e-2
    nbytes: int = 0
    flops: float = 0
    #: kernels that only the first launch needs, such as the forward pass before the backward one
    prepare: Run | None = None
    #: whether it has loops of dots that warps of their own may feed
    specialized: bool = False
    #: whether few CTAs may take one tile after the other (the kernel does not do so itself)
    persistent: bool = False
    #: whether a dot of its loops reads what another one gave
    chained: bool = False

    def rate(self, seconds: float) -> str:
        """Rate reached, in the unit of the case."""
        if self.nbytes:
            return f"{self.nbytes / seconds / 1e9:.0f} GB/s"
        return f"{self.flops / seconds / 1e12:.0f} TFLOP/s"


def load(name: str, compiler: str, folder: Path) -> ModuleType:
    """The kernel module ``name``, its imports of tri transposed into those of ``compiler``."""
    text = (KERNELS / f"{name}.py").read_text()
    if compiler != "tri":
        text = text.replace("import tri.language as tl", f"import {compiler}.language as tl")
        text = text.replace("\nimport tri\n", f"\nimport {compiler}\n").replace(
            "@tri.jit", f"@{compiler}.jit"
        )
    place = folder / f"{compiler}_{name}.py"
    place.write_text(text)
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = module
    spec.loader.exec_module(module)
    return module


def descriptor_of(module: ModuleType) -> Any:
    """The ``TensorDescriptor`` of the compiler that ``module`` is written for."""
    name = "tri" if module.__name__.startswith("tri_") else "triton"
    return importlib.import_module(f"{name}.tools.tensor_descriptor").TensorDescriptor
