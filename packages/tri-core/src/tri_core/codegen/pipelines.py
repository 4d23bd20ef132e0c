"""LLVM's middle end: the default pipelines by level, or a list of passes by LLVM's names."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from tri_core.codegen.jobs import Job, JobError

__all__ = ["PASSES", "optimise"]

#: LLVM's name of a pass to the method that adds it
PASSES: dict[str, str] = {
    "adce": "add_aggressive_dce_pass",
    "aggressive-instcombine": "add_aggressive_instcombine_pass",
    "always-inline": "add_always_inliner_pass",
    "argpromotion": "add_argument_promotion_pass",
    "break-crit-edges": "add_break_critical_edges_pass",
    "constmerge": "add_constant_merge_pass",
    "dce": "add_dead_code_elimination_pass",
    "deadargelim": "add_dead_arg_elimination_pass",
    "dse": "add_dead_store_elimination_pass",
    "function-attrs": "add_post_order_function_attributes_pass",
    "globaldce": "add_global_dead_code_eliminate_pass",
    "globalopt": "add_global_opt_pass",
    "instcombine": "add_instruction_combine_pass",
    "instnamer": "add_instruction_namer_pass",
    "ipsccp": "add_ipsccp_pass",
    "jump-threading": "add_jump_threading_pass",
    "lcssa": "add_lcssa_pass",
    "loop-deletion": "add_loop_deletion_pass",
    "loop-reduce": "add_loop_strength_reduce_pass",
    "loop-rotate": "add_loop_rotate_pass",
    "loop-simplify": "add_loop_simplify_pass",
    "loop-unroll": "add_loop_unroll_pass",
    "loop-unroll-and-jam": "add_loop_unroll_and_jam_pass",
    "lower-atomic": "add_lower_atomic_pass",
    "lower-switch": "add_lower_switch_pass",
    "memcpyopt": "add_mem_copy_opt_pass",
    "mergefunc": "add_merge_functions_pass",
    "mergereturn": "add_unify_function_exit_nodes_pass",
    "newgvn": "add_new_gvn_pass",
    "partial-inliner": "add_partial_inliner_pass",
    "reassociate": "add_reassociate_pass",
    "reg2mem": "add_register_to_memory_pass",
    "rpo-function-attrs": "add_rpo_function_attrs_pass",
    "sccp": "add_sccp_pass",
    "simplifycfg": "add_simplify_cfg_pass",
    "sink": "add_sinking_pass",
    "sroa": "add_sroa_pass",
    "strip": "add_strip_symbols_pass",
    "strip-dead-prototypes": "add_strip_dead_prototype_pass",
    "tailcallelim": "add_tail_call_elimination_pass",
    "verify": "add_verifier",
}

_DEFAULT = re.compile(r"default<O([0-3])>")


def optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine, job: Job) -> None:
    """Run the job's passes on ``module``: ``default<On>`` of its level when it names none."""
    text = f"default<O{job.opt_level}>" if job.passes is None else job.passes
    for step in filter(None, (part.strip() for part in text.split(","))):
        level = _DEFAULT.fullmatch(step)
        if level is not None:
            _run_default(module, machine, job, int(level[1]))
        elif step in PASSES:
            _run_one(module, machine, PASSES[step])
        else:
            raise JobError(
                "optimise", f"unknown pass {step!r}; known: default<O0> to <O3>, {', '.join(PASSES)}"
            )


def _run_default(module: llvm.ModuleRef, machine: llvm.TargetMachine, job: Job, level: int) -> None:
    tuning = llvm.create_pipeline_tuning_options(level)
    tuning.loop_vectorization = job.loop_vectorize
    tuning.loop_interleaving = job.loop_vectorize
    tuning.slp_vectorization = job.slp_vectorize
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _run_one(module: llvm.ModuleRef, machine: llvm.TargetMachine, method: str) -> None:
    passes = llvm.create_new_module_pass_manager()
    getattr(passes, method)()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))
