"""From a compile to what the page shows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tri.explore.encodings import draw, find_uses
from tri.explore.excerpts import excerpts
from tri.explore.records import Column, Fact, Picture, Tab, Version
from tri.kernel_remarks import kernel_remarks
from tri_core import compiler, knobs
from tri_core.compiler import CompiledKernel, IRSource, Source, Trace
from tri_core.errors import ToolchainError
from tri_core.listings import Inlining, Listing, read_listing
from tri_core.loop_estimates import LoopEstimates
from tri_core.pipeline import Stage
from tri_core.plugins import manager
from tri_core.remarks import remarks
from tri_core.resources import resources
from tri_core.target_options import parse_options
from tri_core.target_selection import Spec, resolve

__all__ = ["explore"]

#: names and units of what backends call their resources
_UNITS = {
    "registers": ("registers", "per thread"),
    "spills": ("spills", "bytes per thread"),
    "shared": ("shared memory", "bytes per CTA"),
    "stack": ("stack", "bytes per thread"),
    "tensor_memory": ("tensor memory", "columns per CTA"),
    "scratch": ("scratch", "bytes per thread"),
}


def explore(
    source: Source | IRSource, target: Spec | None = None, options: Mapping[str, Any] | None = None
) -> Tab:
    """Compile ``source`` with line tables, look at every pass, and link all lines to the source's.

    Nothing is taken from the cache.  A TriError for all that a compile refuses; tools that are not installed are notes.
    """
    chosen = resolve(target)
    wanted = parse_options(chosen, options)
    with knobs.scope(LINE_INFO=True), remarks() as declined:
        trace = compiler.trace(source, chosen, wanted)
    stages = manager().compose(chosen, wanted).pipeline.stages
    notes: list[str] = []
    columns = _columns(trace, stages, notes)
    used = resources(trace.kernel.metadata, chosen.spec)
    estimates = trace.kernel.loop_estimates
    given = {source.path: source.content} if isinstance(source, IRSource) else {}
    return Tab(
        name=trace.kernel.name,
        target=str(chosen),
        facts=(*_facts(trace.kernel), *(Fact(f"loop {loop.name}", str(loop)) for loop in estimates.loops)),
        occupancy=used.occupancy,
        sources=excerpts(
            (v.listing for c in columns for v in c.versions),
            {path: text for path, text in given.items() if isinstance(text, str)},
        ),
        columns=columns,
        pictures=_pictures(columns),
        notes=(*notes, *kernel_remarks(trace.kernel, declined), *_assumed(estimates)),
    )


# --- columns ----------------------------------------------------------------------------------------------


def _columns(trace: Trace, stages: Iterable[Stage], notes: list[str]) -> tuple[Column, ...]:
    made = [column for stage in stages for column in _of_stage(stage, trace, notes)]
    inlining = Inlining.of(v.listing for column in made for v in column.versions[-1:])
    return tuple(
        Column(c.name, tuple(Version(v.title, inlining.complete(v.listing), v.layouts) for v in c.versions))
        for c in made
    )


def _of_stage(stage: Stage, trace: Trace, notes: list[str]) -> Iterator[Column]:
    snapshots = [s for s in trace.snapshots if s.stage == stage.name]
    if snapshots:
        yield Column(stage.name, tuple(_module(s.pass_name or "as built", s.text) for s in snapshots))
    elif stage.name in trace.kernel.asm:
        yield from _artifacts(stage, trace.kernel, notes)


def _module(title: str, text: str) -> Version:
    listing = read_listing(text)
    return Version(title, listing, find_uses(listing.text).definitions)


def _artifacts(stage: Stage, kernel: CompiledKernel, notes: list[str]) -> Iterator[Column]:
    """The text that a stage made, and those that its disassemblers make of its bytes."""
    for name in (*stage.disassemblers, stage.name):
        try:
            text = kernel.asm[name]
        except ToolchainError as error:
            notes.append(f"{name} is not shown: {error}")
            continue
        if isinstance(text, str):
            yield Column(name, (Version(name, _read(text, name, stage), {}),))


def _read(text: str, name: str, stage: Stage) -> Listing:
    reader = stage.listings.get(name)
    return read_listing(text) if reader is None else reader(text)


def _pictures(columns: Iterable[Column]) -> tuple[Picture, ...]:
    wanted = {
        use for c in columns for v in c.versions if v.layouts for use in find_uses(v.listing.text).shapes
    }
    return tuple(draw(definition, shape) for definition, shape in sorted(wanted))


# --- facts ------------------------------------------------------------------------------------------------


def _facts(kernel: CompiledKernel) -> tuple[Fact, ...]:
    metadata = kernel.metadata
    threads, lanes = metadata.threads, metadata.threads_per_warp  # the warps of partitions, too
    facts = [Fact("threads", f"{threads} per CTA ({threads // lanes} × {lanes})")]
    for name, value in metadata.resources.items():
        title, unit = _UNITS.get(name, (name, ""))
        if name != "threads":
            facts.append(Fact(title, f"{value} {unit}".strip()))
    defaults = resolve(metadata.target).options_type().to_json()
    changed = {k: v for k, v in metadata.options.items() if defaults.get(k) != v}
    facts.append(Fact("image", f"{len(kernel.image.data)} bytes"))
    facts.append(Fact("options", ", ".join(f"{k}={v}" for k, v in changed.items()) or "defaults"))
    return tuple(facts)


def _assumed(estimates: LoopEstimates) -> Iterator[str]:
    """Assumptions of the loops' cycles, if there are any."""
    if estimates.loops:
        yield f"cycles of loops are an estimate; it assumes: {'; '.join(estimates.assumptions)}"
