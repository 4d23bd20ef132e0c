"""The packages: which, in which version, and how to import their kernels without all that they import."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["PROJECTS", "Project", "load", "requirements"]


@dataclass(frozen=True)
class Project:
    """A distribution on PyPI.

    ``parents``: packages whose ``__init__`` imports far more than kernels; they become empty packages.
    ``requires``: what its kernels' modules import besides PyTorch.
    """

    name: str
    version: str
    parents: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


PROJECTS = {
    p.name: p
    for p in (
        Project("liger-kernel", "0.8.5", ("liger_kernel", "liger_kernel.ops"), ("packaging",)),
        Project(
            "fla-core",
            "0.6.0",
            ("fla.ops", "fla.modules", "fla.modules.norm", "fla.modules.rotary", "fla.modules.activations"),
            ("einops", "packaging"),
        ),
        Project("conch-triton-kernels", "1.3", ("conch", "conch.kernels")),
        Project("flag-gems", "5.0.2"),
        Project("cut-cross-entropy", "25.1.1", ("cut_cross_entropy",)),
        Project("sageattention", "1.0.6", ("sageattention",)),
        Project("torchao", "0.18.0", ("torchao", "torchao.kernel")),
    )
}


def requirements() -> list[str]:
    """What pip installs, without dependencies, into the folder of packages."""
    needed = {r for p in PROJECTS.values() for r in p.requires}
    return [f"{p.name}=={p.version}" for p in PROJECTS.values()] + sorted(needed)


def _empty_parent(name: str, folder: Path) -> None:
    """``name`` as a package with nothing of its own: its modules import each other by path."""
    if name in sys.modules:
        return
    module: Any = ModuleType(name)
    module.__path__ = [str(folder / name.replace(".", "/"))]
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(importlib.import_module(parent), child, module)


def load(project: str, module: str, folder: Path) -> Any:
    """The module ``module`` of ``project``, from ``folder``; ``import triton`` means tri already."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    for name in PROJECTS[project].parents:
        _empty_parent(name, folder)
    return importlib.import_module(module)
