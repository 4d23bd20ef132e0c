"""Contraction of products and sums by a driver (to fused multiply-adds), which SPIR-V permits for a whole
kernel.

LLVM says it for each operation (the flag ``contract``), and its SPIR-V target forbids it in all kernels
(``ContractionOff``) unless the module has the named metadata ``opencl.enable.FP_CONTRACT``.
"""

from __future__ import annotations

import re

__all__ = ["may_contract", "with_contraction"]

#: name, operation, flags, operands
_OPERATION = re.compile(
    r"^\s+(%\S+) = (fmul|fadd|fsub|fneg) ((?:[a-z]+ )*)(?:<\d+ x \w+>|\w+) ([^,\n]+?)(?:, ([^,\n]+?))?(?:, ![^\n]*)?$",
    re.MULTILINE,
)
_ALLOWING = frozenset(("contract", "fast"))
_ALLOWED = "\n!opencl.enable.FP_CONTRACT = !{}\n"


def may_contract(llvm_ir: str) -> bool:
    """True if each sum or difference of a product in ``llvm_ir`` is allowed to be one operation with it.

    One that is not (of an error-free transformation, say) forbids it for the kernel.
    """
    products: dict[str, bool] = {}
    negated: dict[str, str] = {}
    sums: list[tuple[bool, tuple[str, ...]]] = []
    for name, operation, flags, *operands in _OPERATION.findall(llvm_ir):
        allowed = not _ALLOWING.isdisjoint(flags.split())
        if operation == "fmul":
            products[name] = allowed
        elif operation == "fneg":
            negated[name] = operands[0]
        else:
            sums.append((allowed, tuple(operands)))
    return all(
        allowed and products[value]
        for allowed, operands in sums
        for value in (negated.get(operand, operand) for operand in operands)
        if value in products
    )


def with_contraction(llvm_ir: str) -> str:
    """``llvm_ir`` with leave for the driver to contract, where :func:`may_contract` holds."""
    return llvm_ir + _ALLOWED if may_contract(llvm_ir) else llvm_ir
