"""Kernels written with primitives and machine ops, and their way to a code object."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tri_backend_amd.architectures import target
from tri_backend_amd.dialect import AMDG
from tri_backend_amd.hsaco import CodeObject, read_code_object
from tri_backend_amd.hsaco.stages import assembly_and_object_stages
from tri_backend_amd.lowering import AmdPrimitives, make_primitives
from tri_backend_amd.options import AmdOptions
from tri_core.api import StageContext, Target, TargetKey
from tri_core.codegen import service
from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, registry, run_passes, session
from tri_gpu_dialect.lowering import Builder, EmitMachineOps

TARGETS = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")

Body = Callable[[Builder, AmdPrimitives, Sequence[ir.Value]], None]

#: what the stage `llir` runs between the lowering and the machine ops
FLATTEN = importlib.import_module("tri_gpu_dialect.lowering.convert").FLATTEN

if "amdg" not in registry.dialects:  # a plugin manager may have been here first
    registry.add_dialect(AMDG)


def target_of(arch: str) -> Target:
    return target(TargetKey.parse(f"amd:{arch}"), None)


@dataclass(frozen=True)
class Made:
    llvm_ir: str
    assembly: str
    data: bytes
    code: CodeObject
    resources: dict[str, int]


def llvm_of(
    arch: str,
    body: Body,
    pointers: int = 2,
    options: AmdOptions | None = None,
    parameters: Sequence[str] = (),
) -> str:
    """LLVM text of a kernel ``k`` of ``parameters`` (types as MLIR writes them), or ``pointers`` and one i32."""
    made_for, options = target_of(arch), options or AmdOptions()
    with session():
        module = ir.Module.create()
        words = make_primitives(made_for, options, made_for.spec.threads_per_warp[0], options.num_warps)
        function = ir.Operation.create(
            "llvm.func", regions=1, attributes={}, ip=ir.InsertionPoint(module.body)
        )
        entry = function.regions[0].blocks.append()
        with ir.InsertionPoint(entry):
            b = Builder(module, entry)
            types = [ir.Type.parse(p) for p in parameters] or [b.ptr(1)] * pointers + [b.i32]
            body(b, words, [entry.add_argument(t, ir.Location.unknown()) for t in types])
            ir.Operation.create("llvm.return")
        signature = ir.Type.parse(f"!llvm.func<void ({', '.join(map(str, types))})>")
        function.attributes["sym_name"] = ir.StringAttr.get("k")
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        for name, value in words.kernel_attributes("k").items():
            function.attributes[name] = value
        run_passes(module, FLATTEN)
        EmitMachineOps().apply(module)
        return to_llvm_text(module)


def context_of(arch: str, options: AmdOptions | None = None, **knobs: object) -> StageContext:
    return StageContext(
        target=target_of(arch),
        options=options or AmdOptions(),
        kernel_name="k",
        codegen=service(),
        knobs=knobs,
    )


def compile_text(arch: str, llvm_ir: str) -> Made:
    amdgcn, hsaco = assembly_and_object_stages()
    context = context_of(arch)
    assembly = amdgcn.run(llvm_ir, context).artifact
    linked = hsaco.run(assembly, context)
    return Made(llvm_ir, assembly, linked.artifact, read_code_object(linked.artifact), dict(linked.resources))


def compile_body(arch: str, body: Body, options: AmdOptions | None = None) -> Made:
    return compile_text(arch, llvm_of(arch, body, options=options))
