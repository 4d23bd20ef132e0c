"""The SPIR-V extensions that LLVM's target knows and that mean something to a kernel."""

from __future__ import annotations

import difflib

from tri_core.api import TargetError

__all__ = ["KNOWN", "check_extensions"]

#: by their names in the registry of SPIR-V (SPV_ left out); LLVM 22 says nothing of a name that it does not know
KNOWN: frozenset[str] = frozenset(
    f"SPV_{name}"
    for name in (
        "EXT_arithmetic_fence", "EXT_optnone", "EXT_relaxed_printf_string_address_space",
        "EXT_shader_atomic_float16_add", "EXT_shader_atomic_float_add", "EXT_shader_atomic_float_min_max",
        "INTEL_16bit_atomics", "INTEL_2d_block_io", "INTEL_bfloat16_arithmetic", "INTEL_bfloat16_conversion",
        "INTEL_cache_controls", "INTEL_float_controls2", "INTEL_fp_max_error", "INTEL_function_pointers",
        "INTEL_global_variable_host_access", "INTEL_inline_assembly", "INTEL_int4", "INTEL_joint_matrix",
        "INTEL_kernel_attributes", "INTEL_long_composites", "INTEL_media_block_io",
        "INTEL_memory_access_aliasing", "INTEL_optnone", "INTEL_predicated_io", "INTEL_split_barrier",
        "INTEL_subgroup_matrix_multiply_accumulate", "INTEL_subgroups", "INTEL_tensor_float32_conversion",
        "INTEL_ternary_bitwise_function", "INTEL_unstructured_loop_controls", "INTEL_usm_storage_classes",
        "INTEL_variable_length_array", "KHR_16bit_storage", "KHR_8bit_storage", "KHR_bfloat16",
        "KHR_bit_instructions", "KHR_cooperative_matrix", "KHR_expect_assume", "KHR_float_controls",
        "KHR_float_controls2", "KHR_integer_dot_product", "KHR_linkonce_odr",
        "KHR_no_integer_wrap_decoration", "KHR_non_semantic_info", "KHR_shader_clock",
        "KHR_subgroup_rotate", "KHR_uniform_group_instructions",
    )
)  # fmt: skip


def check_extensions(architecture: str, names: tuple[str, ...]) -> None:
    """TargetError for a name in the row of ``architecture`` that LLVM would silently leave out."""
    for name in names:
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, n=1)
            raise TargetError(
                f"architecture {architecture or 'of Intel'} names {name}, which is no SPIR-V extension that LLVM knows",
                remedy=f"did you mean {near[0]}?"
                if near
                else "name one of tri_backend_intel.spirv.extensions.KNOWN",
            )
