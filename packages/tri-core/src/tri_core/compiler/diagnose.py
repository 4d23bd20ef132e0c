"""Turning what goes wrong in a stage into an error that says whose fault it is, where, and in which stage."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.errors import (
    BackendError,
    CompilationError,
    OutOfResources,
    PluginError,
    TriError,
    Unsupported,
)
from tri_core.foreign import describe
from tri_core.locations import refusal
from tri_core.mlir import ir
from tri_core.plugins.records import Plugin
from tri_core.target import Target

__all__ = ["explain"]

#: what a pass says about the user's program is not a failure of the pass
_FOR_THE_USER = (CompilationError, Unsupported, OutOfResources, PluginError)


def explain(
    error: Exception, stage: str, kernel: str, target: Target, inserted: Mapping[str, Plugin]
) -> TriError:
    """The TriError to raise for ``error`` of ``stage``: itself when it is one, with the place filled in.

    ``inserted`` gives the plugin of each pass that one put into the pipeline, by pass name.
    """
    step = getattr(error, "pass_name", None)
    plugin = inserted.get(step) if step is not None else None
    made = _translate(error, step, target, plugin)
    if made.during is None and (isinstance(made, Unsupported) or not isinstance(made, CompilationError)):
        of_plugin = f" of plugin {plugin.label}" if plugin is not None else ""
        where = f"stage {stage!r}" + (f", pass {step!r}{of_plugin}," if step else "")
        made.during = f"{where} of kernel {kernel!r} for {target}"
    made.__dict__.setdefault("stage", stage)
    made.__dict__.setdefault("kernel", kernel)
    return made


def _translate(error: Exception, step: str | None, target: Target, plugin: Plugin | None) -> TriError:
    if isinstance(error, _FOR_THE_USER) or (plugin is None and isinstance(error, TriError)):
        return error
    if plugin is not None:
        return PluginError(
            f"pass {step!r} of plugin {plugin.label} failed: {_first_line(error)}",
            plugin=plugin.name,
            remedy=f"leave the plugin out with TRI_DISABLE_PLUGINS={plugin.name}",
        )
    if isinstance(error, ir.MLIRError):
        return refusal(error)
    backend = target.key.backend
    return BackendError(
        f"backend {backend!r} failed: {describe(error)}", backend=backend, hook="tri_pipeline"
    )


def _first_line(error: Exception) -> str:
    if isinstance(error, TriError | ir.MLIRError):
        text = f"{type(error).__name__}: {error.message}"
    else:
        text = describe(error)
    return text.partition("\n")[0]
