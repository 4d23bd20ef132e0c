"""What the tests of this package share: kernels written with the lowering's builder, and their assembly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import llvmlite.binding as llvm

from tri_backend_nvidia import disassembly
from tri_backend_nvidia.architectures import target as make_target
from tri_backend_nvidia.machine import NVM
from tri_backend_nvidia.options import NvidiaOptions
from tri_backend_nvidia.primitives import NvidiaPrimitives
from tri_backend_nvidia.ptxas import architectures_of_ptxas, assemble, ptxas
from tri_core.api import Pass, StageContext, TargetKey
from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, registry, run_passes, session, verify
from tri_core.plugins import manager
from tri_core.text import parse_module, print_module
from tri_gpu_dialect.lowering import Builder, EmitMachineOps

if "nvm" not in registry.dialects:
    registry.add_dialect(NVM)
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


def target(arch: str = "sm_90a"):
    return make_target(TargetKey("nvidia", arch), None)


def primitives(arch: str = "sm_90a", num_warps: int = 4, **options):
    options = NvidiaOptions(num_warps=num_warps, **options)
    return NvidiaPrimitives(target(arch), options, threads_per_warp=32, num_warps=num_warps)


def after_pass(pass_: Pass, text: str, arch: str, num_warps: int = 4) -> str:
    """The module ``text`` after a pass for ``arch``; its text says all there is."""
    manager().register_ir(registry, target(arch))
    with session():
        module = parse_module(text)
        options = NvidiaOptions(num_warps=num_warps)
        context = StageContext(target=target(arch), options=options, kernel_name="k", codegen=None)
        pass_.apply(module, context)
        verify(module)
        made = print_module(module, locations=False)
        assert print_module(parse_module(made), locations=False) == made
    return made


Body = Callable[[Builder, NvidiaPrimitives, Sequence[ir.Value]], None]


def llvm_text(body: Body, parameters: str, hw: NvidiaPrimitives) -> str:
    """A kernel ``k`` whose body emits with builder and primitives, as LLVM text."""
    with session():
        module = ir.Module.create()
        function = ir.Operation.create("llvm.func", regions=1, ip=ir.InsertionPoint(module.body))
        types = [ir.Type.parse(t) for t in parameters.split(";") if t]
        entry = function.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
        with ir.InsertionPoint(entry):
            builder = Builder(module, entry)
            body(builder, hw, list(entry.arguments))
            ir.Operation.create("llvm.return")
        signature = ir.Type.parse(f"!llvm.func<void ({', '.join(map(str, types))})>")
        function.attributes["sym_name"] = ir.StringAttr.get("k")
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        for key, value in hw.kernel_attributes("k").items():
            function.attributes[key] = value
        run_passes(module, ("convert-scf-to-cf", "convert-cf-to-llvm"))
        EmitMachineOps().apply(module)
        return to_llvm_text(module)


def ptx_of(text: str, arch: str = "sm_90a") -> str:
    spec = target(arch).spec.llvm
    machine = llvm.Target.from_triple(spec.triple).create_target_machine(
        cpu=spec.cpu, features=spec.features, opt=3
    )
    module = llvm.parse_assembly(text)
    module.triple = spec.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(3)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


def kernel_ptx(body: Body, parameters: str, arch: str = "sm_90a", **options) -> str:
    return ptx_of(llvm_text(body, parameters, primitives(arch, **options)), arch)


def assembled(ptx: str, arch: str = "sm_90a"):
    return assemble(ptx, arch, program=ptxas(), kernel="k")


def known_to_ptxas(arch: str) -> bool:
    """Whether the installed ptxas knows ``arch``: the one that the package brings (12.9) is too old for sm_110."""
    return arch in architectures_of_ptxas(ptxas())


def loops(sass: str) -> list[list[str]]:
    """The instructions of each innermost piece of code that ends in a branch back and multiplies."""
    return [body for body in disassembly.loops(sass) if any("GMMA" in x for x in body)]
