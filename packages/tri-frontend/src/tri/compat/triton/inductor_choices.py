"""Inductor's choices with those of backends: the object that PyTorch's ``config.inductor_choices_class`` makes."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tri.compat.triton.inductor_heuristics import pytorch
from tri_core.errors import PluginError
from tri_core.lazy_dataclasses import dataclass
from tri_core.plugin_records import InductorKernel

if TYPE_CHECKING:
    from tri_core.plugin_records import InductorInfo

__all__ = ["Contribution", "choices", "choose"]


@dataclass(frozen=True)
class Contribution:
    """Record of the target of that name, with the class of its heuristics for templates, or None."""

    target: str
    info: InductorInfo
    heuristics: type[Any] | None


#: by PyTorch's types of devices
_contributions: dict[str, Contribution] = {}
#: what made the choices before the first contribution; None: PyTorch's own
_before: Callable[[], Any] | None = None


def choose(contribution: Contribution) -> None:
    """Have Inductor ask ``contribution`` about its type of device, and whom it asked before about all others."""
    global _before
    config: Any = importlib.import_module("torch._inductor.config")
    pytorch("torch._inductor.config", "_cache_config_factory_keys")  # where keys of graphs know the choices
    if config.inductor_choices_class is not choices:
        _before = config.inductor_choices_class
        config.inductor_choices_class = choices
    _contributions[contribution.info.device_type] = contribution
    # this thread may have made its choices, which PyTorch keeps
    pytorch("torch._inductor.virtualized", "V").set_choices_handler(choices())


def choices() -> Any:
    """New choices: of the contributions so far, then of what the program or PyTorch has."""
    base = type(_before()) if _before else pytorch("torch._inductor.choices", "InductorChoices")
    return type("TriChoices", (_Choices, base), {})()


class _Choices:
    """Part of PyTorch's ``InductorChoices``: questions that a backend may answer."""

    def uuid(self) -> str:
        """Text that changes with what is contributed, for PyTorch's keys of graphs."""
        from tri.compat.triton.cache import triton_key

        base: Any = super()
        said = [(c.target, c.info.device_type, repr(c.info.properties), repr(dict(c.info.templates)))
                for c in _contributions.values()]  # fmt: skip
        parts = [base.uuid() if hasattr(base, "uuid") else "", triton_key(), repr(sorted(said))]
        return hashlib.sha256("-".join(parts).encode()).hexdigest()

    def get_config_heuristics(self, device_type: str | None = "cuda") -> Any:
        """Configurations of templates for ``device_type``."""
        found = _contributions.get(device_type or "")
        if found is None or found.heuristics is None:
            base: Any = super()
            return base.get_config_heuristics(device_type)
        return found.heuristics()

    def triton_kernel_kwargs(
        self, kernel_cls: type[Any], features: Any, groups: list[Any], kernel_kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Arguments of the object that writes a kernel, with the backend's configuration where it has one for it."""
        base: Any = super()
        arguments: dict[str, Any] = base.triton_kernel_kwargs(kernel_cls, features, groups, kernel_kwargs)
        graph = pytorch("torch._inductor.virtualized", "V").graph
        device = graph.get_current_device_or_throw()
        found = _contributions.get(device.type)
        if found is None or found.info.configuration is None or "fixed_config" in arguments:
            return arguments
        kernel = self._kernel(graph, device, kernel_cls, features, groups[0], arguments)
        said = None if kernel is None else found.info.configuration(kernel)
        if kernel is None or said is None:
            return arguments
        _check(found.target, kernel, said)
        fixed = pytorch("torch._inductor.codegen.triton", "FixedTritonConfig")
        return {**arguments, "fixed_config": fixed(dict(said))}

    def _kernel(
        self,
        graph: Any,
        device: Any,
        kernel_cls: type[Any],
        features: Any,
        tiling: Any,
        given: Mapping[str, Any],
    ) -> InductorKernel | None:
        """The kernel as backends see it; None where PyTorch takes no fixed configuration: split scans, CTAs that share a
        reduction, several kernels that are measured against each other.
        """
        config = importlib.import_module("torch._inductor.config")
        split = pytorch("torch._inductor.codegen.triton_split_scan", "TritonSplitScanKernel")
        asked: Any = self
        if issubclass(kernel_cls, split) or config.triton.multi_kernel:
            return None
        kind = "pointwise"
        if features.is_reduction():
            cooperative = given.get("override_cooperative_reduction")
            if cooperative is None:
                cooperative = asked.should_use_cooperative_reduction(
                    device, features.numel, features.reduction_numel
                )
            if cooperative:
                return None
            persistent = given.get("override_persistent_reduction")
            if persistent is None:
                persistent = asked.should_use_persistent_reduction(features, False)
            kind = "persistent_reduction" if persistent else "reduction"
        sizes = {name: int(graph.sizevars.optimization_hint(size)) for name, size in tiling.items()}
        return InductorKernel(
            kind=kind, sizes={n: s for n, s in sizes.items() if kind != "pointwise" or n[0] != "r"}
        )


def _check(target: str, kernel: InductorKernel, said: Mapping[str, int]) -> None:
    """Raise PluginError for a configuration without a block that the kernel has, or with one that is no power of two."""
    looped = [
        name for name in kernel.sizes if kernel.kind != "persistent_reduction" or not name.startswith("r")
    ]
    blocks = [f"{name.upper()}BLOCK" for name in looped]
    for name in blocks:
        block = said.get(name)
        if not isinstance(block, int) or block < 1 or block & (block - 1):
            raise PluginError(
                f"tri_inductor of {target}: the configuration of a {kernel.kind} kernel of {dict(kernel.sizes)} has {name} = {block!r}",
                remedy=f"give powers of two for {', '.join(blocks)}, or None for the whole",
            )
