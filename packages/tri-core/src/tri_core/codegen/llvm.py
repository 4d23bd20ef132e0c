"""One job of the worker: parse, link, optimise, emit.  Runs in the worker process only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import llvmlite.binding as llvm

from tri_core.codegen import libraries, pipelines
from tri_core.codegen.jobs import Job, JobError
from tri_core.codegen.options import set_options

__all__ = ["run", "start"]

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
llvm.initialize_native_asmparser()


def start(options: Sequence[str]) -> dict[str, Any]:
    """Set LLVM's global options; the worker's greeting, which holds an error when one is unknown."""
    try:
        set_options(options)
    except JobError as error:
        return {"phase": error.phase, "error": error.message}
    return {"llvm": ".".join(map(str, llvm.llvm_version_info))}


def run(fields: dict[str, Any]) -> dict[str, Any]:
    """The reply to a job: ``texts``, ``objects``, ``seconds``; or ``phase`` and ``error``."""
    start = time.perf_counter()
    try:
        texts, objects = _compile(Job(fields))
    except JobError as error:
        return {"phase": error.phase, "error": error.message}
    except Exception:  # a bug of ours: reported to the parent, which raises it as an InternalError
        import traceback

        return {"phase": "internal", "error": traceback.format_exc()}
    return {"texts": texts, "objects": objects, "seconds": time.perf_counter() - start}


def _compile(job: Job) -> tuple[dict[str, str], dict[str, bytes]]:
    # a context per job: types of one name in two kernels are not each other's, and memory is given back; a machine
    # per job (0.2 ms), because some targets keep pointers to types of the contexts that they have served
    with llvm.create_context() as context, _machine(job) as machine, _parse(job, context) as module:
        module.triple = job.triple
        module.data_layout = str(machine.target_data)
        libraries.link(module, job.libraries, context)
        pipelines.optimise(module, machine, job)
        return _emit(module, machine, job.emit)


def _machine(job: Job) -> llvm.TargetMachine:
    try:
        target = llvm.Target.from_triple(job.triple)
        return target.create_target_machine(
            cpu=job.cpu,
            features=job.features,
            opt=job.opt_level,
            reloc=job.relocation,
            codemodel=job.code_model,
        )
    except (RuntimeError, AssertionError) as error:
        raise JobError("target", f"no target machine for {job.triple!r}, cpu {job.cpu!r}: {error}") from None


def _parse(job: Job, context: llvm.ContextRef) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(job.llvm_ir, context=context)
    except RuntimeError as error:
        raise JobError("parse", str(error)) from None
    try:
        module.verify()
    except RuntimeError as error:
        module.close()  # now: it must not outlive its context
        raise JobError("verify", str(error)) from None
    return module


def _emit(
    module: llvm.ModuleRef, machine: llvm.TargetMachine, wanted: Sequence[str]
) -> tuple[dict[str, str], dict[str, bytes]]:
    texts: dict[str, str] = {}
    objects: dict[str, bytes] = {}
    for kind in wanted:
        # code generators rewrite the module, and make other code of a clone (its uses are in another order): several outputs are of clones
        with nullcontext(module) if len(wanted) == 1 else module.clone() as own:
            made = _emit_one(own, machine, kind)
        if isinstance(made, str):
            texts[kind] = made
        else:
            objects[kind] = made
    return texts, objects


def _emit_one(module: llvm.ModuleRef, machine: llvm.TargetMachine, kind: str) -> str | bytes:
    try:
        match kind:
            case "llvm-ir":
                return str(module)
            case "asm":
                return str(machine.emit_assembly(module))
            case "object":
                return bytes(machine.emit_object(module))
    except RuntimeError as error:
        raise JobError("emit", str(error)) from None
    raise JobError("emit", f"cannot emit {kind!r}; known: llvm-ir, asm, object")
