"""The machine op of reads of LDS that transpose, which gfx950 has.

Sources: AMD's instruction set guide of CDNA4, section "MFMA Transpose Load from LDS"; where it leaves open which lane gets what, Triton's
lowering, which its tests hold to the hardware (triton-lang/triton pull requests 6018 and 8525), and AMD's emulator (ROCm/rocm-systems
pull requests 10175 and 10589).
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.dialect.amdg import AMDG
from tri_core.errors import DeviceError
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["OTHERS", "ReadTransposedOp", "transposed"]

Array = npt.NDArray[np.generic]

#: scopes of what an access does not alias: an attribute that this op and LLVM's have
OTHERS = "noalias_scopes"

_SHARED = 3
#: lanes that exchange what they read, and bytes that a lane reads
_LANES, _BYTES = 16, 8


class ReadTransposedOp(MachineOp, dialect=AMDG, name="ds_read_tr"):
    """64 bits a lane of LDS at ``pointer``, transposed among 16 lanes: ``ds_read_b64_tr_b16`` and ``ds_read_b64_tr_b8``, by ``bits`` of an element.

    What lanes 0 to 15 read, one after the other, are the rows of a matrix of 4 x 16 elements of 16 bits, or 8 x 16 of 8; lane i gets column i.
    The result has four i16, or two i32.  All lanes of a wavefront take part; addresses are multiples of 8 bytes.
    """

    pointer: ext.Operand[Any]
    bits: ir.IntegerAttr
    result: ext.Result[Any]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """The op that becomes the intrinsic and may carry alias scopes."""
        given = self.operation.attributes
        attributes = {OTHERS: given[OTHERS]} if OTHERS in given else {}
        name = f"rocdl.ds.read.tr{self.bits.value}.b64"
        return list(b.run(name, [self.pointer], [self.result.type], attributes))

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The matrices of all groups, transposed."""
        (pointer,) = operands
        active = np.asarray(cta.active)
        waves = active.reshape(-1, cta.threads_per_warp)
        if (waves.any(axis=1) != waves.all(axis=1)).any():
            raise DeviceError("a transposing read of LDS that some lanes of a wavefront do not take part in")
        if (pointer.astype(np.int64)[active] % _BYTES).any():
            raise DeviceError("a transposing read of LDS at an address that is no multiple of 8 bytes")
        made = transposed(cta.memory(_SHARED).load(pointer, np.dtype(np.uint64), active), self.bits.value)
        kind = np.int16 if self.bits.value == 16 else np.int32
        return [made.view(kind).reshape(cta.num_threads, -1)]


def transposed(words: Array, bits: int) -> Array:
    """Results of lanes whose reads were ``words`` (u64, one a lane): of elements of ``bits``, every 16 lanes'
    columns.
    """
    element = np.dtype(f"u{bits // 8}")
    rows = np.ascontiguousarray(words).view(element).reshape(-1, _BYTES // element.itemsize, _LANES)
    return np.ascontiguousarray(rows.swapaxes(1, 2)).view(np.uint64).reshape(words.shape)
