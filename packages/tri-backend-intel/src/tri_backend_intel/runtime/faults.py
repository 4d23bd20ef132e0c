"""Known miscompilations of a driver, searched for in a module before it is built."""

from __future__ import annotations

from tri_backend_intel.spirv.reader import instructions_of

__all__ = ["wrong_on_cpu"]

#: opcodes of the SPIR-V specification, section 3.52
_EXT_INST, _TYPE_INT, _TYPE_VECTOR = 12, 21, 23
#: the high half of a product, in "OpenCL Extended Instruction Set" (section 2.2): signed and unsigned
_HIGH_HALF = {153: "mad_hi", 160: "mul_hi", 203: "mul_hi", 204: "mad_hi"}


def wrong_on_cpu(data: bytes) -> str | None:
    """The builtin in SPIR-V module ``data`` that Intel's OpenCL CPU runtime computes wrong; None when there is none.

    The high half of a 64-bit product has garbage in some lanes when it is vectorised under a mask.
     ToolchainError when the module is damaged.
    """
    wide: set[int] = set()
    for opcode, operands in instructions_of(data):
        if (opcode == _TYPE_INT and operands[1] == 64) or (opcode == _TYPE_VECTOR and operands[1] in wide):
            wide.add(operands[0])
        elif opcode == _EXT_INST and operands[0] in wide and operands[3] in _HIGH_HALF:
            return _HIGH_HALF[operands[3]]
    return None
