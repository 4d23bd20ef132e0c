"""Running the stages of one compile, from the source or from the text of any stage to the image."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

from tri_core import mlir
from tri_core.abi import KernelSignature
from tri_core.compiler.bisection import bisection
from tri_core.compiler.diagnose import explain
from tri_core.compiler.dump import dump_stage
from tri_core.compiler.kernel import Artifacts
from tri_core.compiler.observe import Observers
from tri_core.compiler.readable import readable
from tri_core.compiler.signatures import signature_of
from tri_core.compiler.source import IRSource, Source
from tri_core.compiler.trace import PassListener
from tri_core.errors import BackendError, OptionError, VerificationError
from tri_core.files import decode
from tri_core.foreign import Contained
from tri_core.image import KernelMetadata
from tri_core.ir.verifying import check_module, verify_module
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.options import CommonOptions
from tri_core.pipeline import (
    Artifact,
    CodegenReply,
    CodegenRequest,
    Stage,
    StageContext,
    StageResult,
)
from tri_core.plugins import Composition
from tri_core.progress import Progress
from tri_core.resources import refusals
from tri_core.symbols import rename_functions, symbol_of
from tri_core.target import Target
from tri_core.timing import span

__all__ = ["Job", "Outputs", "metadata_of", "run"]


logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Job:
    """Everything that one compile is made of."""

    source: Source | IRSource
    target: Target
    options: CommonOptions
    composition: Composition
    key: str
    knobs: Mapping[str, object]
    observers: Observers
    verify: bool = False
    #: called with the first module and of those after each pass
    listener: PassListener | None = None
    dump: Path | None = None
    #: files that replace what stages make, by stage
    overrides: Mapping[str, IRSource] = field(default_factory=dict)


@dataclass
class Outputs:
    """Outputs of the stages, in order."""

    signature: KernelSignature = field(default_factory=lambda: KernelSignature(name="", parameters=()))
    stages: dict[str, bytes] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    resources: dict[str, int] = field(default_factory=dict)
    attrs: dict[str, object] = field(default_factory=dict)
    entry_points: tuple[str, ...] = ()

    def disassemblers(self, stages: Sequence[Stage]) -> dict[str, str]:
        """Name of each disassembler and its stage, for the stages that were made."""
        return {name: s.name for s in stages if s.name in self.stages for name in s.disassemblers}


class _Codegen:
    """The codegen service, imported when a stage first asks for it."""

    def compile(self, request: CodegenRequest) -> CodegenReply:
        """As :meth:`tri_core.pipeline.CodegenService.compile`."""
        from tri_core.codegen import service

        return service().compile(request)


def run(job: Job) -> Outputs:
    """Run all stages of ``job``; any failure is a TriError that names stage and kernel."""
    outputs = Outputs()
    context = _context(job)
    artifact, waiting = _start(job, outputs)
    if job.listener is not None and isinstance(artifact, ir.Module):
        read = job.source.stage if isinstance(job.source, IRSource) else None
        with mlir.session():
            job.listener(read or job.composition.pipeline.stages[0].name, "", artifact)
    _check_overrides(job)
    with Progress(f"compiling {job.source.name} for {job.target.key}", len(waiting)) as progress:
        for stage in waiting:
            try:
                with Contained():
                    artifact = _run_stage(job, stage, artifact, context, outputs)
                if stage.name in job.overrides:
                    artifact = _read_in_place(job.overrides[stage.name], stage, outputs, job.target)
            except Exception as error:
                made = explain(error, stage.name, job.source.name, job.target, job.composition.inserted)
                made.asm = _made_so_far(job, outputs)
                raise made from (error if made is not error else error.__cause__)
            progress.step()
    _check_limits(job, outputs)
    return outputs


def _made_so_far(job: Job, outputs: Outputs) -> Artifacts:
    stages = job.composition.pipeline.stages
    metadata = metadata_of(job, outputs, {})
    return Artifacts(dict(outputs.stages), frozenset(outputs.texts), outputs.disassemblers(stages), metadata)


def _context(job: Job) -> StageContext:
    looked_for = bisection(job.source.name, str(job.target.key))
    return StageContext(
        target=job.target,
        options=job.options,
        kernel_name=job.source.name,
        codegen=_Codegen(),
        knobs=job.knobs,
        on_pass=_on_pass(job),
        leaves_out=None if looked_for is None else looked_for.leaves_out,
    )


def _on_pass(job: Job) -> PassListener | None:
    """Action after each pass: verification, notification; None if there is none."""
    listener = job.listener
    if listener is None:
        return _verify if job.verify else None

    def both(stage: str, name: str, module: ir.Module) -> None:
        _verify(stage, name, module)
        listener(stage, name, module)

    return both


def _verify(stage: str, name: str, module: ir.Module) -> None:
    try:
        verify_module(module)
    except ir.MLIRError as error:
        error.__dict__.setdefault("pass_name", name)
        raise


def _in_ir(is_module: bool) -> AbstractContextManager[Any]:
    """An MLIR session for work on modules; text and bytes are worked on outside, in parallel."""
    return mlir.session() if is_module else nullcontext()


# --- the first artifact -----------------------------------------------------------------------------------


def _start(job: Job, outputs: Outputs) -> tuple[Artifact, list[Stage]]:
    from tri_core.weak_waits import warn_of_weak_waits

    stages = list(job.composition.pipeline.stages)
    if isinstance(job.source, IRSource):
        return _enter(job.source, stages, outputs, job.target)
    with mlir.session():
        try:
            module = job.source.build(job.target, job.options)
            rename_functions(module)
            if job.verify:
                mlir.verify(module)
            warn_of_weak_waits(module)
        except ir.MLIRError as error:
            raise explain(error, "source", job.source.name, job.target, {}) from error
    outputs.signature = job.source.kernel_signature()
    return module, stages


def _enter(
    source: IRSource, stages: list[Stage], outputs: Outputs, target: Target
) -> tuple[Artifact, list[Stage]]:
    """Start behind the stage whose output ``source`` holds.

    A module that the first stage could have made goes through it again: it may be written by hand or by another
    frontend, and later stages rely on what the first one takes away (calls, descriptors on targets without them).
    """
    names = [s.name for s in stages]
    if source.stage not in names:
        raise OptionError(
            f"{source.path}: this target has no stage {source.stage!r}",
            remedy=f"a compile may start from: {', '.join(names)}",
        )
    index = names.index(source.stage)
    stage = stages[index]
    outputs.signature = source.kernel_signature()
    again = index == 0 and stage.kind == "module"
    return _read(source, stage, outputs, target), stages[index + (not again) :]


def _read(source: IRSource, stage: Stage, outputs: Outputs, target: Target) -> Artifact:
    """The artifact in ``source``, kept as what ``stage`` made."""
    artifact = _parsed(source, outputs, target) if stage.kind == "module" else source.content
    if stage.kind == "text" and not isinstance(artifact, str):
        artifact = decode(artifact, source.path, f"stage {stage.name!r} is text")
    if stage.kind == "bytes" and isinstance(artifact, str):
        artifact = artifact.encode()
    with _in_ir(stage.kind == "module"):
        _keep(outputs, stage, _content(stage, artifact))
    return artifact


def _check_overrides(job: Job) -> None:
    names = [s.name for s in job.composition.pipeline.stages]
    for stage, file in job.overrides.items():
        if stage not in names:
            raise OptionError(
                f"{file.path}: {job.target} has no stage {stage!r} to override",
                remedy=f"its stages are: {', '.join(names)}",
            )


def _read_in_place(file: IRSource, stage: Stage, outputs: Outputs, target: Target) -> Artifact:
    """The artifact of a file in place of what the stage made; it must have the kernel's parameters."""
    logger.info("stage %s is taken from %s", stage.name, file.path)
    expected = outputs.signature
    artifact = _read(file, stage, outputs, target)
    found = outputs.signature
    outputs.signature = expected
    types = [[p.type for p in s.parameters] for s in (expected, found)]
    if stage.kind == "module" and (symbol_of(found.name), types[1]) != (symbol_of(expected.name), types[0]):
        raise OptionError(
            f"{file.path} holds {found.name}({', '.join(types[1])}); "
            f"{expected.name}({', '.join(types[0])}) is compiled"
        )
    return artifact


def _parsed(source: IRSource, outputs: Outputs, target: Target) -> ir.Module:
    from tri_core.text import parse_module

    content = source.content.encode() if isinstance(source.content, str) else source.content
    with mlir.session():
        module = parse_module(decode(content, source.path), source.path)
        check_module(module, target)
        if source.given is None:
            outputs.signature = signature_of(module, source.path)
        rename_functions(module)
        return module


# --- one stage --------------------------------------------------------------------------------------------


def _run_stage(
    job: Job, stage: Stage, artifact: Artifact, context: StageContext, outputs: Outputs
) -> Artifact:
    start = time.perf_counter()
    takes_module = isinstance(artifact, ir.Module)
    with span(stage.name):
        with _in_ir(takes_module or stage.kind == "module"):
            here = replace(context, resources=dict(outputs.resources))
            result = _checked(stage, stage.run(artifact, here))
            if stage.kind == "text":
                result = replace(result, artifact=stage.text_passes.run(stage.name, result.artifact, here))
            content = _content(stage, result.artifact)
        _keep(outputs, stage, content)
        _note(job, stage, result, outputs)
    seconds = time.perf_counter() - start
    if job.dump is not None:
        dump_stage(
            job.dump, job.source.name, stage.name, readable(content) if stage.kind == "module" else content
        )
    if job.observers.listeners:
        facts = {"kernel": job.source.name, "target": str(job.target), "key": job.key, "stage": stage.name}
        job.observers.tell("stage", {**facts, "seconds": seconds, "bytes": len(content)})
    return result.artifact


def _keep(outputs: Outputs, stage: Stage, content: bytes) -> None:
    outputs.stages[stage.name] = content
    if stage.kind != "bytes":
        outputs.texts.add(stage.name)


def _checked(stage: Stage, result: object) -> StageResult:
    if not isinstance(result, StageResult):
        raise TypeError(f"gave {result!r}; a StageResult is expected")
    expected = {"module": ir.Module, "text": str, "bytes": bytes}[stage.kind]
    if not isinstance(result.artifact, expected):
        raise TypeError(
            f"kind {stage.kind!r} promises {expected.__name__}, got {type(result.artifact).__name__}"
        )
    return result


def _content(stage: Stage, artifact: Artifact) -> bytes:
    if stage.kind == "bytes":
        return bytes(artifact)
    if stage.kind == "text":
        return str(artifact).encode()
    # A wrong module must not go on, and cannot even be printed: MLIR's printers trust what they print.
    mlir.verify(artifact)
    text: str = artifact.operation.get_asm(
        enable_debug_info=True, use_name_loc_as_prefix=True, assume_verified=True
    )
    return text.encode()


def _note(job: Job, stage: Stage, result: StageResult, outputs: Outputs) -> None:
    outputs.resources |= {name: int(value) for name, value in result.resources.items()}
    outputs.entry_points = tuple(result.entry_points) or outputs.entry_points
    try:
        # what is read from the cache later must be what is seen now: lists for tuples, text keys
        attrs = json.loads(json.dumps(dict(result.attrs)))
        if "remarks" in attrs and "remarks" in outputs.attrs:
            attrs["remarks"] = [*cast(list[str], outputs.attrs["remarks"]), *attrs["remarks"]]
        outputs.attrs |= attrs
    except (TypeError, ValueError) as error:
        raise BackendError(
            f"stage {stage.name!r}: attrs are not JSON-able: {error}",
            backend=job.target.key.backend,
            hook="tri_pipeline",
        ) from error


# --- the end ----------------------------------------------------------------------------------------------


def _check_limits(job: Job, outputs: Outputs) -> None:
    """Refuse, before anything is loaded, what could not be launched."""
    spec = job.target.spec
    for refused in refusals(metadata_of(job, outputs, {}), spec.limits, spec.unit):
        refused.asm = _made_so_far(job, outputs)
        raise refused


def metadata_of(job: Job, outputs: Outputs, plugins: Mapping[str, str]) -> KernelMetadata:
    """The record of what was compiled; ``plugins`` gives the version of every distribution that took part."""
    warps = job.target.spec.threads_per_warp
    threads = outputs.attrs.get("threads_per_warp", warps[0] if warps else 1)
    # text that was given says this itself, whatever the options are
    made = outputs.attrs.get("num_warps")
    total = outputs.attrs.get("total_num_warps", 0)
    if not outputs.signature.name:
        raise VerificationError("the kernel has no name")
    return KernelMetadata(
        name=outputs.signature.name,
        target=job.target.key,
        signature=outputs.signature,
        options=json.loads(json.dumps(job.options.to_json())),
        num_warps=made if isinstance(made, int) else job.options.num_warps,
        total_num_warps=total if isinstance(total, int) else 0,
        threads_per_warp=threads if isinstance(threads, int) else 1,
        shared=outputs.resources.get("shared", 0),
        entry_points=outputs.entry_points or (outputs.signature.name,),
        resources=dict(outputs.resources),
        attrs=dict(outputs.attrs),
        plugins=dict(plugins),
        hash=job.key,
    )
