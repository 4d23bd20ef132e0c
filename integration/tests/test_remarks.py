"""Of every pass it is known whether it may decline; one that may says why, at a place, for a kernel that is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from integration.pass_pages import EXAMPLES, FOLDER
from tri_core.api import Pass
from tri_core.compiler.optimize import known_passes, optimize
from tri_core.plugins import manager
from tri_core.remarks import Remark, remarks
from tri_core.target_options import parse_options
from tri_core.target_selection import resolve

_ROOT = Path(__file__).resolve().parents[2]
_INTEL = "packages/tri-backend-intel/tests/filecheck"
_CHAIN = "coalesce,accelerate-matmul,stage-dot-operands,remove-layout-conversions"
_HOPPER, _MI300, _MI355, _PVC = "nvidia:sm_90a", "amd:gfx942", "amd:gfx950", "intel:pvc"


@dataclass(frozen=True)
class Case:
    """An example of the pages, another file, or a text, with ``changes`` of its text, for ``target``; what the pass says has ``said`` in it.

    ``before``: the passes before it; ``call``: it, where its name is not enough; ``shape``: options of the conversion to TTGIR.
    """

    file: str
    said: str
    before: str = ""
    call: str = ""
    target: str = _HOPPER
    changes: Mapping[str, str] = field(default_factory=dict)
    shape: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The kernel."""
        if "\n" in self.file:
            return self.file
        path = _ROOT / self.file if self.file.endswith(".mlir") else FOLDER / "examples" / f"{self.file}.mlir"
        found = path.read_text()
        for old, new in self.changes.items():
            assert old in found, old
            found = found.replace(old, new)
        return found

    def passes(self, name: str) -> str:
        """The passes up to ``name``, as ``tri opt`` takes them."""
        before = self.before.replace("chain", f"gpu,{_CHAIN}").replace(
            "gpu", f"convert-triton-to-tritongpu{self.shape}"
        )
        return ",".join(each for each in (before, self.call or name) if each)


_LARGE = {
    "64x64": "128x128",
    "<64x1x": "<128x1x",
    "<1x64x": "<1x128x",
    "tensor<64x": "tensor<128x",
    "end = 64": "end = 128",
}
#: the wait for the first dot of dot-rows
_AT_END = "    %u = ttng.warp_group_dot_wait %s {pendings = 1 : i32} : (tensor<64x64xf32, #acc>) -> tensor<64x64xf32, #acc>\n"
_ROWS = {"64x1x": "512x1x", "64x128": "512x128", "<64x": "<512x", "= 64": "= 512"}
_HUGE = {
    "64x64": "256x256",
    "64x1x": "256x1x",
    "1x64x": "1x256x",
    "<64x": "<256x",
    "= 64": "= 256",
    "<64>": "<256>",
}
_PLAIN = {", tt.pointer_range = 32 : i32": ""}

#: a tensor in a buffer of 32 KiB, before and after one of 64 KiB
_TWICE = """
#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%x: tensor<128x128xf16, #b>, %y: tensor<256x128xf16, #b>) {
    %a = ttg.local_alloc %x : (tensor<128x128xf16, #b>) -> !ttg.memdesc<128x128xf16, #s, #smem>
    %0 = ttg.local_load %a : !ttg.memdesc<128x128xf16, #s, #smem> -> tensor<128x128xf16, #b>
    %c = ttg.local_alloc %y : (tensor<256x128xf16, #b>) -> !ttg.memdesc<256x128xf16, #s, #smem>
    %1 = ttg.local_load %c : !ttg.memdesc<256x128xf16, #s, #smem> -> tensor<256x128xf16, #b>
    %d = ttg.local_alloc %x : (tensor<128x128xf16, #b>) -> !ttg.memdesc<128x128xf16, #s, #smem>
    %2 = ttg.local_load %d : !ttg.memdesc<128x128xf16, #s, #smem> -> tensor<128x128xf16, #b>
    tt.return
  }
}
"""

#: sums in all 512 columns of tensor memory, while what one dot gives is multiplied by another
_FULL = """
module {
  tt.func public @k(%a: !tt.ptr<f16>, %o: !tt.ptr<f32>, %n: i32) {
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %xs = tt.splat %a : !tt.ptr<f16> -> tensor<128x64x!tt.ptr<f16>>
    %ys = tt.splat %a : !tt.ptr<f16> -> tensor<64x256x!tt.ptr<f16>>
    %ws = tt.splat %a : !tt.ptr<f16> -> tensor<64x128x!tt.ptr<f16>>
    %cs = tt.splat %a : !tt.ptr<f16> -> tensor<128x128x!tt.ptr<f16>>
    %p = tt.splat %o : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
    %q = tt.splat %o : !tt.ptr<f32> -> tensor<128x256x!tt.ptr<f32>>
    %x = tt.load %xs : tensor<128x64x!tt.ptr<f16>>
    %y = tt.load %ys : tensor<64x256x!tt.ptr<f16>>
    %w = tt.load %ws : tensor<64x128x!tt.ptr<f16>>
    %c = tt.load %cs : tensor<128x128x!tt.ptr<f16>>
    %z = arith.constant dense<0.0> : tensor<128x128xf32>
    %z2 = arith.constant dense<0.0> : tensor<128x256xf32>
    %r:2 = scf.for %i = %first to %n step %one iter_args(%u = %z2, %v = %z) -> (tensor<128x256xf32>, tensor<128x128xf32>)  : i32 {
      %e = tt.dot %x, %y, %u : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
      %f = tt.dot %x, %w, %v : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
      %d = tt.dot %x, %w, %z : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
      %t = arith.truncf %d : tensor<128x128xf32> to tensor<128x128xf16>
      %g = tt.dot %t, %c, %z : tensor<128x128xf16> * tensor<128x128xf16> -> tensor<128x128xf32>
      tt.store %p, %g : tensor<128x128x!tt.ptr<f32>>
      scf.yield %e, %f : tensor<128x256xf32>, tensor<128x128xf32>
    }
    tt.store %q, %r#0 : tensor<128x256x!tt.ptr<f32>>
    tt.store %p, %r#1 : tensor<128x128x!tt.ptr<f32>>
    tt.return
  }
}
"""

DECLINES: dict[str, Case] = {
    "accelerate-matmul": Case("dot-f32", "no matrix instruction computes 64x64xf32", "gpu,coalesce", target="nvidia:sm_80"),
    "accumulator-init": Case("dot-restarts", "some elements of it may be kept", "chain,pipeline", changes={
        "%new = arith.cmpi eq, %i, %tile : i32": "%at = tt.splat %i : i32 -> tensor<64x64xi32>\n      %new = arith.cmpi eq, %at, %5 : tensor<64x64xi32>",
        "%acc : tensor<64x64xf32>\n": "%acc : tensor<64x64xi1>, tensor<64x64xf32>\n",
    }),
    "amdg-block-ping-pong": Case("dot-small", "the block has 4 wavefronts", "chain,pipeline", target=_MI300, options={"num_stages": 2}),
    "amdg-convert-to-buffer-ops": Case("dot-small", "neither the array nor", target=_MI300, changes=_PLAIN | {"dense<64>": "dense<67108864>"}),
    "amdg-lay-out-copies": Case("dot-small", "accesses of 128 bits along k", "gpu,coalesce,accelerate-matmul", target=_MI355),
    "amdg-remap-programs": Case("programs", "the kernel has no dot", target=_MI300),
    "amdg-share-peeled-iteration": Case("dot-ragged", "the loop does more than load", "chain,split-loops,pipeline,stage-matrix-operands", target=_MI300, options={"num_stages": 2}, changes={
        "scf.yield %d,": "tt.print \" x\" {hex = false, isSigned = array<i32: 1>} : %i : i32\n      scf.yield %d,",
    }),
    "amdg-transpose-in-thread": Case("dot-small", "neighbours along k at once", "gpu,coalesce,accelerate-matmul", target=_MI300),
    "amdg-uniform-offsets": Case("dot-small", "not known to be below 2 GiB", target=_MI300, changes=_PLAIN),
    "coalesce": Case("rows", "in runs of 1, not 4", "gpu", target="nvidia:sm_80", changes={"tt.divisibility = 16": "tt.divisibility = 4"}),
    "decompose-dot-scaled": Case("scaled", "is done by conversions and a plain one", target="nvidia:sm_100a"),
    "fit-shared-memory": Case("dot-f32", "reads its operands in parts", "gpu,coalesce,stage-dot-operands,remove-layout-conversions", target=_MI300, changes=_LARGE),
    "fold-tiles": Case(f"{_INTEL}/fold_tiles.mlir", "block loads give no transposed operand 0 of 8 bits", target=_PVC),
    "licm": Case("invariant", "something in it may write memory", changes={"%2 =": "tt.store %q, %1 : tensor<8x!tt.ptr<f32>>\n      %2 ="}),
    "pipeline": Case("dot-loop", "it may write what it loads", "chain", changes={"%15 =": "tt.store %x, %13 : tensor<64x64x!tt.ptr<f16>>\n      tt.store %y, %13 : tensor<64x64x!tt.ptr<f16>>\n      %15 ="}),
    "rewrite-tensor-descriptors": Case("descriptor", "is accessed by pointers", changes={"!tt.tensordesc<8xf32>": "!tt.tensordesc<2xf32>", "tensor<8x": "tensor<2x"}),
    "promote-pointer-tiles": Case("dot-tiles", "masked-off elements are not 0", changes={"dense<0.0> : tensor<64x32xf16>": "dense<1.0> : tensor<64x32xf16>"}),
    "buffer-cse": Case(_TWICE, "the tensor has two buffers", target=_MI300),
    "choose-schedule": Case("dot-loop", "not warp-specialized"),
    "hoist-async-dots": Case("dot-rows", "would take more than 48 registers", changes={_AT_END: "", "    %t =": _AT_END.replace("1 : i32", "0 : i32") + "    %t ="}, options={"maxnreg": 64}),
    "make-persistent": Case("programs", "cannot be persistent", "gpu,coalesce", changes={"module {": "module attributes {tt.persistent} {", "tt.store %6": "gpu.barrier\n    tt.store %6"}),
    "optimize-thread-locality": Case("sums", "their parts would take 128 registers, 32 at most", "gpu,coalesce,remove-layout-conversions", changes=_ROWS),
    "ping-pong": Case("dot-chain", "two take num_warps=8", "chain,warp-specialize"),
    "pipeline-chained-dots": Case("dot-chain", "registers of a thread, which has 64", "chain,warp-specialize,accumulator-init", options={"maxnreg": 64}),
    "prefetch": Case("dot-large", "slices take", "chain,pipeline", target="nvidia:sm_80", shape="{num_warps=2}"),
    "preload-accumulator": Case("dot-rows", "starts from zeros", changes={"* !ttg.memdesc<64x64": "* !ttg.memdesc<64x256", "%b: !ttg.memdesc<64x64": "%b: !ttg.memdesc<64x256", "tensor<64x64x": "tensor<64x256x", "<64xf32": "<256xf32", "<1x64xf32": "<1x256xf32"}),
    "reorder-instructions": Case("dot-f16", "operands are read early", "chain,stage-matrix-operands", target="nvidia:sm_80", changes=_HUGE),
    "sink-dot-waits": Case("packages/tri-gpu-dialect/tests/filecheck/sink_dot_waits.mlir", "is waited for in its own iteration"),
    "split-loops": Case("dot-masked", "is none of indices in steps that are known", "chain", changes={"%key = arith.addi %at, %range": "%key = arith.xori %at, %range"}),
    "stage-matrix-operands": Case("dot-f16", "converted piece by piece", "chain", target=_MI300, changes=_HUGE),
    "subtile-epilogue": Case("large-block", "the tile is stored in pieces", "gpu,lower-descriptors-to-tma"),
    "tma-round-tf32": Case("dot-words", "the kernel makes the descriptor itself", "chain", changes={"%da = tt.make_tensor_descriptor %a": "%moved = tt.addptr %a, %k : !tt.ptr<f32>, i32\n    %da = tt.make_tensor_descriptor %moved"}),
    "warp-specialize": Case("dot-blocks", "it writes memory that blocks may be loaded from", "chain", changes={"%d = tt.dot": "%v = arith.constant 0.0 : f16\n      tt.store %a, %v : !tt.ptr<f16>\n      %d = tt.dot"}),
    "lower-descriptors-to-tma": Case("dot-twice", "the block goes through registers", "chain"),
    "allocate-tensor-memory": Case(_FULL, "512 columns of tensor memory have no room", "chain,sink-dot-waits", target="nvidia:sm_100a"),
    "prefetch-tiles": Case(f"{_INTEL}/prefetch_tiles.mlir", "is not brought to the cache", target=_PVC, changes={"!tt.ptr<i32, 1>": "!tt.ptr<i32>"}),
    "version-tiles": Case(f"{_INTEL}/version_tiles.mlir", "is accessed by elements", target=_PVC, changes={"!tt.ptr<f16, 1>": "!tt.ptr<f16>"}),
    "slice-dots": Case(f"{_INTEL}/slice_dots.mlir", "takes whole operands", target=_PVC),
}  # fmt: skip

#: passes that never leave anything to a kernel's author -> why
NEVER: dict[str, str] = {
    **dict.fromkeys(("canonicalize", "combine", "cse", "loop-aware-cse", "reorder-broadcast"), "rules hold or do not: none is held back"),
    **dict.fromkeys(("remove-dead-iter-args", "symbol-dce"), "what is used stays"),
    **dict.fromkeys(("inline", "cf-to-scf", "decompose-ops", "scalarize-packed-ops", "convert-triton-to-tritongpu"), "all of them are, or it is an error"),
    **dict.fromkeys(("loop-peel", "loop-unroll"), "a loop's attribute asks for it, and gets it"),
    **dict.fromkeys(("allocate-shared-memory", "create-tensormaps", "insert-barriers", "insert-tcgen05-barriers", "place-tensor-memory"), "needed for right code"),
    **dict.fromkeys(("accelerate-dot-scaled", "amdg-accelerate-dot-scaled", "amdg-upcast-scaled-operands"), "decompose-dot-scaled has told of those that are not"),
    "fold-comparisons": "a comparison whose answer is not known is computed: that is its meaning",
    "gather-across-cluster": "ops that need it get it",
    "load-down-columns": "a load that fits vectors along rows stays as it is",
    "unsigned-divisions": "what may be negative is signed: that is its meaning",
    "remove-layout-conversions": "a conversion that stays is needed by layouts that others chose",
    "sink-conversions": "a conversion that two places need is made before both",
    "stage-dot-operands": "a dot that stays in registers is small",
    "resolve-auto-layouts": "leaves no layout open: what nothing determines is an error",
    "turn-loads": "a load that needs no turning stays as it is",
    "unmask-inner-tiles": "what has other ops than those of elements goes through no array by itself",
    "verify-layouts": "changes nothing",
}  # fmt: skip


def said(name: str) -> list[Remark]:
    """Remarks of the pass about its case."""
    case = DECLINES[name]
    with remarks() as found:
        optimize(case.text, case.passes(name), path="kernel.py", target=case.target, options=case.options)
    return [each for each in found if each.pass_name == name]


def test_every_pass_is_known() -> None:
    assert set(DECLINES) | set(NEVER) == set(known_passes())
    assert not set(DECLINES) & set(NEVER)
    assert set(DECLINES) <= set(EXAMPLES)


@pytest.mark.parametrize("name", sorted(DECLINES))
def test_a_pass_that_declines_says_why_and_where(name: str) -> None:
    found = said(name)
    assert any(DECLINES[name].said in each.text for each in found), found
    assert all(each.location is not None for each in found)


def test_passes_without_a_name_in_tri_opt() -> None:
    """They belong to a stage: what they do is no choice."""
    for target in (_HOPPER, _MI300, _PVC, "intel:dg2"):
        known = resolve(target)
        manager().compose(known, parse_options(known, None))
    ours = {each for each in _all_of(Pass) if each.__module__.startswith("tri_")}
    assert {each.name for each in ours} - set(known_passes()) == {
        "emit-machine-ops",
        "keep-machine-level",
        "refuse-fp64",
    }


def _all_of(kind: Any) -> set[type[Pass]]:
    return {each for sub in kind.__subclasses__() for each in (sub, *_all_of(sub))}
