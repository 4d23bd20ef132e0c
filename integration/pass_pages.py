"""A page for each pass: ``python -m integration.pass_pages`` writes ``docs/passes``.

A page has what the pass's own documentation says, its options, and an excerpt of an example before and after, made by
running it: the lines that differ, with their neighbours.  The examples are the files of ``docs/passes/examples``; passes
over TTGIR start from what the passes before them made.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tri_core import mlir
from tri_core.compiler.optimize import optimize
from tri_core.plugins import manager

__all__ = ["EXAMPLES", "FOLDER", "Example", "excerpts", "pages"]

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "passes"
_TARGET = "nvidia:sm_80"
#: lines of a text that is shown whole; of an excerpt; around a line that differs
_SHORT, _LONGEST, _CONTEXT = 30, 40, 1
_LEFT_OUT = "    ..."


@dataclass(frozen=True)
class Example:
    """A file of ``examples``, the passes before this one, and how this one is called where its name is not enough.

    ``target`` and ``options`` for passes that do nothing for the usual ones.
    """

    file: str
    before: str = ""
    call: str = ""
    after: str = ""
    target: str = _TARGET
    options: Mapping[str, object] = dataclasses.field(default_factory=dict)


_GPU = "convert-triton-to-tritongpu"
_CHAIN = f"{_GPU},coalesce,accelerate-matmul,stage-dot-operands,remove-layout-conversions"
#: passes of backends over TTIR
_OVER_TTIR = frozenset({"choose-schedule"})
EXAMPLES: dict[str, Example] = {
    "cf-to-scf": Example("branches"),
    "inline": Example("calls"),
    "symbol-dce": Example("calls", "inline"),
    "rewrite-tensor-descriptors": Example("descriptor", after="canonicalize,cse"),
    "decompose-dot-scaled": Example("scaled", after="canonicalize,cse"),
    "decompose-ops": Example("fast-division"),
    "loop-unroll": Example("loop", after="canonicalize,cse"),
    "loop-peel": Example("loop", call="loop-peel{first=1}", after="canonicalize,cse"),
    "loop-aware-cse": Example("loop"),
    "licm": Example("invariant"),
    "cse": Example("repeated"),
    "combine": Example("combine", after="canonicalize,cse"),
    "reorder-broadcast": Example("reorder-broadcast", after="canonicalize,cse"),
    "canonicalize": Example("canonicalize"),
    "scalarize-packed-ops": Example("pack"),
    "promote-pointer-tiles": Example(
        "dot-tiles", after="remove-dead-iter-args,canonicalize,cse", target="nvidia:sm_90a"
    ),
    "choose-schedule": Example("dot-wide", target="nvidia:sm_90a"),
    "remove-dead-iter-args": Example("carried", after="canonicalize"),
    "fold-comparisons": Example("bounded"),
    _GPU: Example("rows"),
    "coalesce": Example("rows", _GPU),
    "accelerate-matmul": Example("dot-f16", f"{_GPU},coalesce"),
    "stage-dot-operands": Example("dot-f32", f"{_GPU},coalesce"),
    "remove-layout-conversions": Example("rows", f"{_GPU},coalesce"),
    "unmask-inner-tiles": Example("edges", f"{_GPU},coalesce,remove-layout-conversions"),
    "optimize-thread-locality": Example("sums", f"{_GPU},coalesce,remove-layout-conversions"),
    "gather-across-cluster": Example("running-sum", f"{_GPU}{{num_ctas=2}},coalesce", target="nvidia:sm_90a"),
    "make-persistent": Example("programs", f"{_GPU},coalesce", options={"persistent": True}),
    "amdg-block-ping-pong": Example(
        "dot-square",
        f"{_CHAIN},pipeline".replace(_GPU, f"{_GPU}{{num_warps=8}}"),
        target="amd:gfx942",
        options={"num_warps": 8, "num_stages": 2},
    ),
    "amdg-accelerate-dot-scaled": Example("scaled-large", f"{_GPU},coalesce", target="amd:gfx950"),
    "amdg-convert-to-buffer-ops": Example("dot-small", target="amd:gfx942"),
    "amdg-lay-out-copies": Example("dot-small", target="amd:gfx950"),
    "amdg-remap-programs": Example("dot-grid", target="amd:gfx942"),
    "amdg-share-peeled-iteration": Example(
        "dot-ragged",
        f"{_CHAIN},split-loops,pipeline,stage-matrix-operands",
        target="amd:gfx942",
        options={"num_stages": 2},
    ),
    "amdg-transpose-in-thread": Example("dot-small", target="amd:gfx942"),
    "amdg-uniform-offsets": Example("dot-small", target="amd:gfx942"),
    "amdg-upcast-scaled-operands": Example("scaled-large", f"{_GPU},coalesce", target="amd:gfx942"),
    "unsigned-divisions": Example("counted", target="intel:pvc"),
    "load-down-columns": Example("dot-bytes", target="intel:pvc"),
    "fold-tiles": Example("dot-blocks", _CHAIN, target="intel:pvc"),
    "version-tiles": Example("dot-blocks", f"{_CHAIN},fold-tiles", target="intel:pvc"),
    "prefetch-tiles": Example("dot-blocks", f"{_CHAIN},fold-tiles,version-tiles", target="intel:pvc"),
    "slice-dots": Example("dot-blocks", f"{_CHAIN},fold-tiles,version-tiles", target="intel:pvc"),
    "buffer-cse": Example("dot-twice", _CHAIN, target="nvidia:sm_90a"),
    "pipeline": Example("dot-loop", _CHAIN),
    "prefetch": Example("dot-loop", f"{_CHAIN},pipeline"),
    "split-loops": Example("dot-masked", _CHAIN, target="nvidia:sm_90a"),
    "warp-specialize": Example("dot-blocks", _CHAIN, target="nvidia:sm_90a"),
    "accumulator-init": Example("dot-restarts", f"{_CHAIN},pipeline", target="nvidia:sm_90a"),
    "pipeline-chained-dots": Example(
        "dot-chain", f"{_CHAIN},warp-specialize,accumulator-init", target="nvidia:sm_90a"
    ),
    "ping-pong": Example(
        "dot-chain",
        f"{_CHAIN},warp-specialize,accumulator-init,pipeline-chained-dots".replace(
            _GPU, f"{_GPU}{{num_warps=8}}"
        ),
        target="nvidia:sm_90a",
        options={"num_warps": 8},
    ),
    "hoist-async-dots": Example("dot-pairs", f"{_CHAIN},warp-specialize", target="nvidia:sm_90a"),
    "preload-accumulator": Example("dot-rows", target="nvidia:sm_90a"),
    "sink-dot-waits": Example("dot-loop", f"{_CHAIN},pipeline", target="nvidia:sm_90a"),
    "stage-matrix-operands": Example("dot-f16", _CHAIN),
    "accelerate-dot-scaled": Example("scaled-large", f"{_GPU},coalesce", target="nvidia:sm_100a"),
    "allocate-tensor-memory": Example("dot-large", f"{_CHAIN},sink-dot-waits", target="nvidia:sm_100a"),
    "place-tensor-memory": Example("reserved", target="nvidia:sm_100a"),
    "insert-tcgen05-barriers": Example(
        "dot-large",
        f"{_CHAIN},sink-dot-waits,allocate-tensor-memory,allocate-shared-memory",
        target="nvidia:sm_100a",
    ),
    "reorder-instructions": Example("dot-f16", f"{_CHAIN},stage-matrix-operands"),
    "turn-loads": Example("dot-pair-words", f"{_GPU},coalesce,accelerate-matmul", target="nvidia:sm_90a"),
    "tma-round-tf32": Example("dot-words", _CHAIN, target="nvidia:sm_90a"),
    "lower-descriptors-to-tma": Example("blocks", f"{_GPU},coalesce", target="nvidia:sm_90a"),
    "create-tensormaps": Example(
        "computed-sizes", f"{_GPU},coalesce,lower-descriptors-to-tma", target="nvidia:sm_90a"
    ),
    "sink-conversions": Example("branch-stores"),
    "subtile-epilogue": Example("large-block", f"{_GPU},lower-descriptors-to-tma", target="nvidia:sm_90a"),
    "fit-shared-memory": Example("dot-f32", _CHAIN),
    "allocate-shared-memory": Example("dot-f32", _CHAIN),
    "insert-barriers": Example("dot-f32", f"{_CHAIN},allocate-shared-memory"),
    "resolve-auto-layouts": Example("open-layouts"),
    "verify-layouts": Example("rows", _GPU),
}


def pages() -> Iterator[tuple[str, str]]:
    """Names of files of :data:`FOLDER` and what they should hold."""
    manager().register_ir(mlir.registry)
    import tri_core.passes  # noqa: F401  registers those over TTIR

    passes = {n: f for n, f in sorted(mlir.registry.passes.items()) if isinstance(f, type)}
    yield "README.md", _index(passes)
    for name, factory in passes.items():
        yield f"{name}.md", _page(name, factory)


def _index(passes: dict[str, type[Any]]) -> str:
    rows = "\n".join(f"| [{n}]({n}.md) | {_layer(f)} | {_summary(f)} |" for n, f in passes.items())
    return (
        "# Passes\n\n"
        "Made by `python -m integration.pass_pages` from the passes themselves. `tri opt --passes NAME FILE` runs any of\n"
        "them; the orders of the stages are in [ttir-passes](../design/ttir-passes.md) and [ttgir](../design/ttgir.md).\n\n"
        f"| pass | over | |\n| --- | --- | --- |\n{rows}\n"
    )


def _layer(factory: type[Any]) -> str:
    return "TTIR" if factory.__module__.startswith("tri_core") or factory.name in _OVER_TTIR else "TTGIR"


def _summary(factory: type[Any]) -> str:
    """The first sentence of the module, on one line."""
    text = inspect.getdoc(inspect.getmodule(factory)) or ""
    return _markdown(" ".join(text.split("\n\n")[0].split()))


def _page(name: str, factory: type[Any]) -> str:
    own = _markdown(inspect.getdoc(factory) or "")
    module = inspect.getdoc(inspect.getmodule(factory)) or ""
    longer = _markdown(module.partition("\n\n")[2]) if own.startswith("See the module") else own
    parts = [f"# {name}", _summary(factory), longer, _options(factory), *_example(name)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _markdown(text: str) -> str:
    """Text of a docstring: roles and double backquotes as single ones."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`")


def _options(factory: type[Any]) -> str:
    rows = []
    for field in dataclasses.fields(factory):
        default = "needed" if field.default is dataclasses.MISSING else f"`{field.default!r}`"
        if field.default_factory is not dataclasses.MISSING:
            default = f"`{field.default_factory()!r}`"
        rows.append(f"| `{field.name}` | `{field.type}` | {default} |")
    return "\n".join(["| option | type | default |", "| --- | --- | --- |", *rows]) if rows else "No options."


def _example(name: str) -> list[str]:
    """The example before and after; nothing for a pass without one."""
    example = EXAMPLES.get(name)
    if example is None:
        return []
    text = (FOLDER / "examples" / f"{example.file}.mlir").read_text()
    before = optimize(text, example.before, target=example.target)
    call = example.call or name
    whole = f"{call},{example.after}" if example.after else call
    after = optimize(before, whole, target=example.target, options=example.options)
    if after == before:
        return ["## Example", f"```mlir\n{before}```", "It is right as it is: nothing changes."]
    title = f"## After `{whole}`"
    old, new = excerpts(before, after)
    return [
        "## Before",
        f"```mlir\n{old}\n```",
        title,
        f"```mlir\n{new}\n```",
        *_left_out(old, new, example.file),
    ]


def excerpts(before: str, after: str) -> tuple[str, str]:
    """The lines of both texts that differ but for names of values, with :data:`_CONTEXT` lines around each."""
    sides = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, _shapes(sides[0]), _shapes(sides[1]), autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return (
        _shown(sides[0], [(first, last) for _, first, last, _, _ in changed]),
        _shown(sides[1], [(first, last) for _, _, _, first, last in changed]),
    )


def _shapes(lines: list[str]) -> list[str]:
    """Lines without the names of values, which are numbered anew where an op is added."""
    return [re.sub(r"%[\w#]+", "%", line) for line in lines]


def _shown(lines: list[str], ranges: list[tuple[int, int]]) -> str:
    """At most :data:`_LONGEST` lines in and around ``ranges``, and ``...`` for what is left out."""
    if len(lines) <= _SHORT:
        return "\n".join(lines)
    near = {i for first, last in ranges for i in range(first - _CONTEXT, last + _CONTEXT)}
    kept = [i for i, line in enumerate(lines) if i in near or "tt.func" in line][:_LONGEST]
    shown: list[str] = []
    following = 0
    for i in kept:
        shown += [_LEFT_OUT] * (i > following) + [lines[i]]
        following = i + 1
    return "\n".join([*shown, *[_LEFT_OUT] * (following < len(lines))])


def _left_out(old: str, new: str, file: str) -> list[str]:
    """Pointer to the rest, if something is left out."""
    if _LEFT_OUT not in (*old.splitlines(), *new.splitlines()):
        return []
    return [f"Excerpts, of [{file}.mlir](examples/{file}.mlir); `tri opt` prints the whole."]


def main() -> None:
    """Write the pages, and remove those of passes that are gone."""
    made = dict(pages())
    for path in FOLDER.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
