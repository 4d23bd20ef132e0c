"""Named passes on the text of a module: what ``tri opt`` does.

A pass list is ``name,name{option=value},...``.  A name is that of a registered pass; ``mlir:name`` is a pass of MLIR,
options as MLIR writes them.  For a target, a pass that its pipeline has starts from the pipeline's options.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tri_core import mlir
from tri_core.compiler.signatures import signature_of
from tri_core.errors import OptionError, TriError, VerificationError
from tri_core.ir.verifying import check_module, verify_module
from tri_core.locations import refusal
from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.pipeline import CodegenReply, CodegenRequest, Pass, StageContext
from tri_core.plugins import manager
from tri_core.target import Target, TargetKey, TargetSpec
from tri_core.target_options import parse_options
from tri_core.target_selection import resolve
from tri_core.text import parse_module, print_module
from tri_core.text.scan import split

__all__ = ["Upstream", "known_passes", "optimize", "parse_passes"]

_UPSTREAM = "mlir:"


@dataclasses.dataclass(frozen=True)
class Upstream:
    """A pass of MLIR, with its options, by the name that MLIR's pass manager knows."""

    name: str

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Run it; OptionError when MLIR has no such pass or option."""
        try:
            mlir.run_passes(module, self.name)
        except ValueError as error:
            raise OptionError(f"{_UPSTREAM}{self.name}: {str(error).splitlines()[0]}") from error


Step = Pass | Upstream
Listener = Callable[[str, str], None]


def optimize(
    text: str,
    passes: str,
    *,
    path: str = "-",
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    after: Listener | None = None,
    locations: bool = False,
) -> str:
    """The text of the module in ``text`` after ``passes``; verified after each.

    ``after`` is called with name and text after each pass.  A TriError for what is wrong with text, passes or module;
    places are in the text, which is called ``path``, unless it has locations of its own.
    """
    chosen = resolve(target) if target is not None else None
    manager().register_ir(mlir.registry, chosen)
    made = chosen or Target(key=TargetKey("none"), spec=TargetSpec(threads_per_warp=(32,)))
    with mlir.session():
        module = parse_module(text, path)
        check_module(module, chosen)
        mine = parse_options(made, options)
        context = StageContext(
            target=made, options=mine, kernel_name=_name(module), codegen=_NoCodegen(), knobs={}
        )
        for step in parse_passes(passes, _of_pipeline(chosen, mine)):
            _apply(step, module, context)
            if after is not None:
                after(step.name, print_module(module, locations=locations))
        return print_module(module, locations=locations)


class _NoCodegen:
    """No pass over modules generates code."""

    def compile(self, request: CodegenRequest) -> CodegenReply:
        """Refused."""
        raise OptionError("a pass asked for code generation", remedy="use `tri compile` for a whole pipeline")


def _name(module: ir.Module) -> str:
    try:
        return signature_of(module).name
    except VerificationError:
        return "module"


def _of_pipeline(target: Target | None, options: CommonOptions) -> dict[str, Pass]:
    """The passes of the target's pipeline by name, the first of each name."""
    if target is None:
        return {}
    found: dict[str, Pass] = {}
    for stage in manager().compose(target, options).pipeline.stages:
        for step in stage.passes.steps if stage.passes is not None else ():
            if isinstance(step, Pass):
                found.setdefault(step.name, step)
    return found


def _apply(step: Step, module: ir.Module, context: StageContext) -> None:
    try:
        step.apply(module, context)
        verify_module(module, context.target if context.target.spec.limits else None)
    except TriError as error:
        error.during = error.during or f"pass {step.name!r}"
        raise
    except ir.MLIRError as error:
        made = refusal(error)
        made.during = f"pass {step.name!r}"
        raise made from error


# --- pass lists -------------------------------------------------------------------------------------------


def known_passes() -> dict[str, str]:
    """Every registered pass by name, with its options and their defaults as text."""
    manager().register_ir(mlir.registry)
    return {name: _options_of(factory) for name, factory in sorted(_registered().items())}


def _registered() -> dict[str, type[Any]]:
    import tri_core.passes  # noqa: F401  registers those over TTIR

    return {n: f for n, f in mlir.registry.passes.items() if isinstance(f, type)}


def _options_of(factory: type[Any]) -> str:
    parts = []
    for field in dataclasses.fields(factory):
        default = "" if field.default is dataclasses.MISSING else f"={field.default!r}"
        parts.append(field.name + default)
    return ", ".join(parts)


def parse_passes(text: str, prepared: Mapping[str, Pass] | None = None) -> Sequence[Step]:
    """The passes of a list; OptionError for an unknown name or option, with those that are known."""
    steps: list[Step] = []
    for entry in split(text):
        name, brace, rest = entry.partition("{")
        if entry.startswith(_UPSTREAM):
            steps.append(Upstream(entry.removeprefix(_UPSTREAM)))
            continue
        if brace and not rest.endswith("}"):
            raise OptionError(f"{entry!r}: `}}` is missing", remedy="write name{option=value}")
        steps.append(_make(name.strip(), _read_options(rest[:-1] if brace else ""), prepared or {}))
    return steps


def _read_options(text: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in text.replace(",", " ").split():
        name, equals, value = part.partition("=")
        if not equals:
            raise OptionError(f"{part!r} is not an option of a pass", remedy="write name{option=value}")
        try:
            options[name] = ast.literal_eval({"true": "True", "false": "False"}.get(value, value))
        except (ValueError, SyntaxError):
            options[name] = value
    return options


def _current_name(name: str, known: Mapping[str, type[Any]]) -> str:
    """Name of the pass ``name`` in this version."""
    for current, factory in known.items():
        if name not in known and name in factory.former_names:
            warnings.warn(f"pass {name!r} is called {current!r}", DeprecationWarning, stacklevel=2)
            return current
    return name


def _make(name: str, options: Mapping[str, Any], prepared: Mapping[str, Pass]) -> Pass:
    known = _registered()
    name = _current_name(name, known)
    base = prepared.get(name)
    if base is None and name not in known:
        near = difflib.get_close_matches(name, known) or sorted(known)
        raise OptionError(
            f"there is no pass {name!r}",
            remedy=f"known: {', '.join(near)}; a pass of MLIR is written {_UPSTREAM}{name}",
        )
    fields = {f.name: f for f in dataclasses.fields(base if base is not None else known[name])}  # type: ignore[arg-type]  # passes are dataclasses by contract
    if unknown := set(options) - set(fields):
        raise OptionError(
            f"pass {name!r} has no option {sorted(unknown)[0]!r}",
            remedy=f"its options are: {', '.join(fields) or 'none'}",
        )
    if base is not None:
        return dataclasses.replace(base, **options)  # type: ignore[type-var]  # as above
    needed = [
        n
        for n, f in fields.items()
        if n not in options and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if needed:
        example = ", ".join(f"{n}=..." for n in needed)
        raise OptionError(
            f"pass {name!r} needs {', '.join(needed)}",
            remedy=f"write {name}{{{example}}}, or give a target whose pipeline has the pass",
        )
    made: Pass = known[name](**options)
    return made
