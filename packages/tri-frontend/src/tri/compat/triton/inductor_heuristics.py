"""Configurations of Inductor's templates that a backend names, in the classes of PyTorch's registry of heuristics."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType, new_class
from typing import TYPE_CHECKING, Any

from tri_core.errors import PluginError, Unsupported
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.plugin_records import InductorInfo

__all__ = ["TEMPLATES", "Template", "heuristics", "pytorch", "register_templates"]

_MODULE = "torch._inductor.template_heuristics.triton"


@dataclass(frozen=True)
class Template:
    """A family of Inductor's templates: how PyTorch holds its configurations.

    ``attribute``: the list of a ``BaseConfigHeuristic``; ``record``: the class of its elements; ``uses``: templates that look in
    PyTorch's registry instead, with the operation ("" for any) and the classes from which their heuristics derive.
    """

    attribute: str
    record: str
    uses: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


_MM, _ADD = ("MMTemplateConfigMixin",), ("AddMMConfigMixin", "MMTemplateConfigMixin")
#: names that ``InductorInfo.templates`` may have
TEMPLATES = MappingProxyType(
    {
        "mm": Template(
            "mm_configs",
            "GemmConfig",
            (
                ("mm_template", "", _MM),
                ("bmm_template", "", _MM),
                ("mm_template", "addmm", _ADD),
                ("bmm_template", "baddbmm", _ADD),
            ),
        ),
        "int8_mm": Template(
            "int8_mm_configs", "GemmConfig", (("mm_template", "int_mm", ("INT8MMTemplateConfigMixin",)),)
        ),
        "scaled_mm": Template(
            "scaled_mm_configs", "GemmConfig", (("mm_template", "scaled_mm", ("ScaledMMConfigMixin",)),)
        ),
        "mm_plus_mm": Template(
            "mm_plus_mm_configs",
            "GemmConfig",
            (("mm_plus_mm_template", "", ("MMPlusMMTemplateConfigMixin",)),),
        ),
        "conv": Template("conv_configs", "ConvConfig"),
        "depthwise_conv": Template("depthwise_conv_configs", "DepthwiseConvConfig"),
        "flex_attention": Template("flex_attn_fwd_autotune_configs", "FlexConfig"),
        "flex_attention_backward": Template("flex_attn_bwd_autotune_configs", "FlexBwDConfig"),
        "flex_decoding": Template("flex_decode_autotune_configs", "FlexDecodeConfig"),
    }
)


def pytorch(module: str, name: str) -> Any:
    """``name`` of PyTorch's ``module``; Unsupported where this version of PyTorch has no such thing."""
    found = getattr(importlib.import_module(module), name, None)
    if found is None:
        version = importlib.import_module("torch").__version__
        raise Unsupported(
            f"PyTorch {version} has no {module}.{name}, by which a backend would contribute to Inductor",
            remedy="use PyTorch 2.13, or leave that out of what tri_inductor says",
        )
    return found


class _Contributed:
    """Part of a ``BaseConfigHeuristic``: ``lists`` in place of PyTorch's, ``main`` where a template looks for its own."""

    lists: Mapping[str, Sequence[Any]]
    main: str = ""

    def __init__(self) -> None:
        super().__init__()
        for name, configurations in self.lists.items():
            setattr(self, TEMPLATES[name].attribute, list(configurations))
        if self.main:
            self.mm_configs = list(self.lists[self.main])

    def _chosen(self, name: str, otherwise: Any) -> list[Any]:
        """All configurations where Inductor tunes, else the first; PyTorch's where the backend has none."""
        if name not in self.lists:
            made: list[Any] = otherwise()
            return made
        tunes = importlib.import_module("torch._inductor.config").max_autotune
        return list(self.lists[name]) if tunes else list(self.lists[name][:1])

    def get_flex_attn_fwd_configs(self, head_dim: int, dtype: Any) -> list[Any]:
        """Configurations of flex attention."""
        base: Any = super()
        return self._chosen("flex_attention", lambda: base.get_flex_attn_fwd_configs(head_dim, dtype))

    def get_flex_attn_bwd_configs(self, head_dim: int, dtype: Any) -> list[Any]:
        """Configurations of its gradient."""
        base: Any = super()
        return self._chosen(
            "flex_attention_backward", lambda: base.get_flex_attn_bwd_configs(head_dim, dtype)
        )

    def get_flex_decode_configs(self, head_dim: int, dtype: Any) -> list[Any]:
        """Configurations of flex attention with few queries."""
        base: Any = super()
        return self._chosen("flex_decoding", lambda: base.get_flex_decode_configs(head_dim, dtype))


def heuristics(info: InductorInfo) -> type[Any] | None:
    """A subclass of PyTorch's ``BaseConfigHeuristic`` with the templates of ``info``; None where it names none.

    Raises PluginError for a template or a field that PyTorch does not have.
    """
    if not info.templates:
        return None
    lists = {name: [_record(name, each) for each in found] for name, found in info.templates.items()}
    base = pytorch(_MODULE, "BaseConfigHeuristic")
    made: type[Any] = _derived(f"Contributed_{info.device_type}", (_Contributed, base), lists=lists)
    return made


def _record(name: str, configuration: Mapping[str, int]) -> Any:
    template = TEMPLATES.get(name)
    if template is None:
        raise PluginError(
            f"tri_inductor names the template {name!r}, which Inductor does not have",
            remedy=f"templates: {', '.join(TEMPLATES)}",
        )
    record = pytorch(_MODULE, template.record)
    try:
        return record(**configuration)
    except TypeError as error:
        fields = ", ".join(field.name for field in dataclasses.fields(record))
        raise PluginError(
            f"tri_inductor: {dict(configuration)} is no configuration of {name!r}: {error}",
            remedy=f"fields in this PyTorch: {fields}",
        ) from error


def register_templates(info: InductorInfo, made: type[Any]) -> None:
    """Enter ``made``, of :func:`heuristics`, in PyTorch's registry for the templates of ``info`` that look there."""
    register = pytorch("torch._inductor.template_heuristics.registry", "register_template_heuristic")
    for name in info.templates:
        for template, op, mixins in TEMPLATES[name].uses:
            bases = (*(pytorch(_MODULE, mixin) for mixin in mixins), made)
            derived = _derived(f"{made.__name__}_{name}_{op or template}", bases, main=name)
            register(pytorch(_MODULE, template).uid, info.device_type, op_name=op or None)(derived)


def _derived(name: str, bases: tuple[type[Any], ...], **attributes: Any) -> type[Any]:
    made: type[Any] = new_class(name, bases, exec_body=lambda namespace: namespace.update(attributes))
    return made
