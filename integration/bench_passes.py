"""Worth of a pass: ``python -m integration.bench_passes PASS [--arch 80] [--stages 3]``.

Kernels of ``integration/kernels`` are compiled with the pass and without it; no GPU is needed.  Printed are registers per
thread and bytes spilled, by ptxas; machine instructions and those of the longest loop, by nvdisasm; layout conversions
in TTGIR and barriers in PTX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field, replace
from importlib import import_module
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

import tri
from tri import ASTSource
from tri_backend_nvidia.disassembly import sass
from tri_core import knobs, plugins
from tri_core.api import Anchor, Pipeline, hookimpl
from tri_core.plugins import PluginManager, candidate_of
from tri_gpu_dialect.passes import Prefetch

__all__ = ["CASES", "Case", "Effect", "measure"]

#: what a thread block's barrier is in PTX
_BARRIER = re.compile(r"^\s*(?:@%p\d+ )?(?:bar\.sync|barrier\.sync)", re.M)
_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;", re.M)
_LABEL = re.compile(r"^\s*(\.L_x_\d+):", re.M)


@dataclass(frozen=True)
class Case:
    """A kernel of ``integration.kernels.MODULE``; pointers and strides divisible by 16."""

    module: str
    kernel: str
    types: str
    constants: Mapping[str, object] = field(default_factory=dict)
    warps: int = 4

    def __str__(self) -> str:
        sizes = "x".join(str(v) for v in list(self.constants.values())[:3])
        return f"{self.kernel} {sizes}, {self.warps} warps"

    def source(self) -> ASTSource:
        """Source to compile."""
        kernel = getattr(import_module(f"integration.kernels.{self.module}"), self.kernel)
        given = dict(part.split(": ") for part in self.types.split(", "))
        signature = {name: given.get(name, "constexpr") for name in kernel.arg_names}
        plain = [given.get(name, "fp32") for name in kernel.arg_names]
        divisible = [
            i for i, type_ in enumerate(plain) if type_ != "fp32" and not type_.startswith("tensordesc")
        ]
        attrs: Any = {(i,): [["tt.divisibility", 16]] for i in divisible}
        return ASTSource(kernel, signature, dict(self.constants), attrs)


_TILES = "a: *{0}, b: *{0}, c: *fp32, K: i32, stride_am: i32, stride_bk: i32, stride_cm: i32"


def _tiles(element: str, m: int, n: int, k: int, warps: int = 4) -> Case:
    return Case("loops", "tiles", _TILES.format(element), {"BM": m, "BN": n, "BK": k}, warps)


def _attention(m: int, n: int, d: int, warps: int = 4) -> Case:
    types = "q: *fp16, k: *fp16, v: *fp16, o: *fp32, n_keys: i32, scale: fp32"
    return Case("loops", "attention", types, {"BM": m, "BN": n, "D": d}, warps)


def _masked(m: int, n: int, k: int) -> Case:
    """A dot with masks, of sizes that the compiler knows."""
    types = "a_ptr: *fp16, b_ptr: *fp16, c_ptr: *fp16, stride_am: i32, stride_bk: i32, stride_cm: i32"
    blocks = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}
    ones = dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), 1)
    return Case("matmul", "matmul", types, {**blocks, "M": 1024, "N": 1024, "K": 1024, **ones})


def _gradients(kernel: str, *outputs: str) -> Case:
    """The backward pass of causal attention on blocks of 64 x 64."""
    blocks = ("q_desc", "k_desc", "v_desc", "grad_desc", *outputs)
    types = [*(f"{name}: tensordesc<fp16[64,64]>" for name in blocks), "lse_ptr: *fp32", "delta_ptr: *fp32"]
    constants = {"BLOCK_M": 64, "BLOCK_N": 64, "WIDTH": 64, "CAUSAL": True}
    return Case("attention", kernel, ", ".join([*types, "scale: fp32", "length: i32"]), constants)


def _convolution(m: int, n: int, k: int) -> Case:
    """A filter of 7 x 7 over 128 channels."""
    types = "x_ptr: *fp16, w_ptr: *fp16, out_ptr: *fp16, images: i32, height: i32, width: i32, out_height: i32, out_width: i32"
    filters = {
        "CHANNELS": 128,
        "FILTERS": 128,
        "TAPS_Y": 7,
        "TAPS_X": 7,
        "STRIDE": 1,
        "PADDING": 3,
        "DILATION": 1,
    }
    return Case("convolution", "convolution", types, {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, **filters})


_ROWS = "x: *fp32, out: *fp32, columns: i32"
CASES: Sequence[Case] = (
    _tiles("fp16", 64, 64, 32),
    _tiles("fp16", 128, 128, 32),
    _tiles("fp16", 128, 128, 64, 8),
    _tiles("fp16", 128, 256, 32, 8),
    _attention(64, 64, 64),
    _attention(128, 64, 64, 4),
    _attention(128, 64, 128, 8),
    _masked(128, 128, 32),
    _masked(64, 64, 32),
    _tiles("fp32", 64, 64, 32),
    _tiles("fp8e5", 128, 128, 64),
    _tiles("fp16", 128, 256, 64, 8),
    _gradients("gradients_of_keys", "dk_desc", "dv_desc"),
    _gradients("gradients_of_queries", "dq_desc"),
    _convolution(128, 128, 64),
    Case("loops", "row_sums", _ROWS, {"M": 4, "N": 1024}),
    Case("loops", "row_sums", _ROWS, {"M": 64, "N": 64}),
    Case("loops", "row_maxima", _ROWS, {"M": 16, "N": 256}),
)


@dataclass(frozen=True)
class Effect:
    """Counts of one compiled kernel."""

    registers: int
    spills: int
    instructions: int
    loop: int
    conversions: int
    barriers: int


@contextmanager
def _toggled(name: str, on: bool) -> Iterator[None]:
    """The NVIDIA target with the pass ``name`` over TTGIR, or without."""

    @hookimpl
    def tri_modify_pipeline(pipeline: Pipeline) -> None:
        passes = pipeline["ttgir"].passes
        assert passes is not None
        found = [step for step in passes.steps if not isinstance(step, Anchor) and step.name == name]
        if not found:
            raise typer.BadParameter(f"the stage ttgir has no pass {name}")
        for step in found:
            at = passes.steps.index(step)
            if on and isinstance(step, Prefetch):
                wanted = replace(step.policy.pipeline, prefetch=True)
                passes.steps[at] = replace(step, policy=replace(step.policy, pipeline=wanted))
            elif not on:
                del passes.steps[at]

    @hookimpl
    def tri_cache_key() -> dict[str, str]:
        return {"toggled": f"{name} {on}"}

    changes = ModuleType("toggles")
    changes.__dict__.update(
        TRI_PLUGIN_API=(1, 0), tri_modify_pipeline=tri_modify_pipeline, tri_cache_key=tri_cache_key
    )
    backend = import_module("tri_backend_nvidia.plugin")
    with plugins.use(PluginManager([candidate_of(backend), candidate_of(changes, name="toggles")])):
        yield


def measure(case: Case, arch: str, name: str, *, on: bool, stages: int = 3) -> Effect:
    """Compile ``case`` for ``sm_<arch>`` with or without the pass ``name``, loops in ``stages`` stages, and count."""
    with _toggled(name, on), TemporaryDirectory() as cache, knobs.scope(CACHE_DIR=cache):
        options = {"num_warps": case.warps, "num_stages": stages}
        made = tri.compile(case.source(), target=f"nvidia:sm_{arch}", options=options)
    asm: Mapping[str, Any] = made.asm
    text = sass(asm["cubin"])
    return Effect(
        made.metadata.resources["registers"],
        made.metadata.resources["spills"],
        len(_INSTRUCTION.findall(text)),
        _longest_loop(text),
        asm["ttgir"].count("ttg.convert_layout"),
        len(_BARRIER.findall(asm["ptx"])),
    )


def _longest_loop(text: str) -> int:
    """Instructions between a label and the last jump back to it, of the longest loop; 0 without one."""
    places: dict[str, int] = {}
    longest = number = 0
    for line in text.splitlines():
        if label := _LABEL.match(line):
            places[label[1]] = number
        elif found := _INSTRUCTION.match(line):
            number += 1
            target = re.search(r"BRA.*?(\.L_x_\d+)", found[2])
            # the last instruction of a program jumps to itself
            if target and target[1] in places and number - places[target[1]] > 1:
                longest = max(longest, number - places[target[1]])
    return longest


def main(name: Annotated[str, typer.Argument(metavar="PASS")], arch: str = "80", stages: int = 3) -> None:
    """Print the table."""
    lines = [
        "| kernel | registers | spilled | instructions | loop | conversions | barriers |",
        "| --- " * 7 + "|",
    ]
    for case in track(CASES, console=Console(stderr=True)):
        off, on = (astuple(measure(case, arch, name, on=on, stages=stages)) for on in (False, True))
        cells = [str(a) if a == b else f"{a} -> {b}" for a, b in zip(off, on, strict=True)]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    Console(width=160).print("\n".join(lines), markup=False, highlight=False)


if __name__ == "__main__":
    typer.run(main)
