"""A machine op's kernel, run in the simulator, or assembled and run on a GPU."""

from __future__ import annotations

import numpy as np

from machine_cases import Arrays, MachineCase
from nvidia_support import assembled, ptx_of
from tri_core.llvm_text import to_llvm_text
from tri_core.mlir import ir, run_passes, session
from tri_gpu_dialect.lowering import Builder, EmitMachineOps

__all__ = ["cubin_of", "difference", "ptx_text", "simulated"]


def module_of(case: MachineCase) -> ir.Module:
    """Kernel ``k``: the llvm dialect and machine ops."""
    hw = case.hardware()
    module = ir.Module.create()
    function = ir.Operation.create("llvm.func", regions=1, ip=ir.InsertionPoint(module.body))
    types = [ir.Type.parse(t) for t in case.parameters.split(";") if t]
    entry = function.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
    with ir.InsertionPoint(entry):
        case.emit(Builder(module, entry), hw, list(entry.arguments))
        ir.Operation.create("llvm.return")
    signature = ir.Type.parse(f"!llvm.func<void ({', '.join(map(str, types))})>")
    function.attributes["sym_name"] = ir.StringAttr.get("k")
    function.attributes["function_type"] = ir.TypeAttr.get(signature)
    for key, value in hw.kernel_attributes("k").items():
        function.attributes[key] = value
    run_passes(module, ("convert-scf-to-cf", "convert-cf-to-llvm"))
    return module


def simulated(case: MachineCase) -> Arrays:
    """What the simulator makes of the case: changed inputs, then outputs."""
    from tri_runtime.simulator.launch import simulate

    inputs, outputs = case.arguments()
    with session():
        simulate(
            module_of(case),
            "k",
            case.grid,
            [*inputs, *outputs],
            num_threads=32 * case.warps,
            threads_per_warp=32,
            shared_bytes=case.shared,
            cluster=case.cluster,
            # an order that the hardware keeps within a warp
            check_races="warp_barrier" not in case.name,
        )
    return [inputs[i] for i in case.changes] + outputs


def ptx_text(case: MachineCase) -> str:
    """The kernel for the assembler."""
    with session():
        module = module_of(case)
        EmitMachineOps().apply(module)
        text = to_llvm_text(module)
    return ptx_of(text, case.arch)


def cubin_of(case: MachineCase) -> bytes:
    """The kernel for the driver."""
    made: bytes = assembled(ptx_text(case), case.arch).cubin
    return made


def difference(case: MachineCase, got: Arrays, expected: Arrays) -> str:
    """What of ``got`` is not as ``expected``, empty if all is: the same bits, or within the case's bound."""
    inputs, _ = case.arguments()
    for i, (a, e) in enumerate(zip(got, expected, strict=True)):
        if a.tobytes() == e.tobytes():
            continue
        if case.bound is None:
            wrong = a.view(f"u{a.itemsize}") != e.view(f"u{e.itemsize}")
        else:
            error = np.abs(a.astype("f8") - e.astype("f8"))
            wrong = ~((error <= case.bound(inputs, e)) | (np.isnan(a) & np.isnan(e)) | (a == e))
        if wrong.any():
            at = tuple(int(x[0]) for x in np.nonzero(wrong))
            return f"array {i}: {int(wrong.sum())} of {wrong.size} differ, first at {at}: {a[at]!r}, expected {e[at]!r}"
    return ""
