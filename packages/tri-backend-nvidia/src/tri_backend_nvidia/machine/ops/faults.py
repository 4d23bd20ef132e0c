"""The machine op with which a kernel leaves a record of what stopped it.

A context that a fault has ended can no longer be read; memory of the host that it wrote to can.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence

from tri_backend_nvidia.fault_records import RECORD_SYMBOL
from tri_backend_nvidia.machine.base import NVM, Array
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["RecordFaultOp"]

#: polls of the threads that come second; then they go on, and the record may be lost
_POLLS = 1 << 16

_ASSEMBLY = f"""{{
.reg .pred no, more;
.reg .b32 taken, low, x, y, z, left;
.reg .b64 host, word;
ld.global.b64 host, [$0];
setp.eq.b64 no, host, 0;
@no bra finished;
atom.global.cas.b32 taken, [$0+8], 0, 1;
setp.ne.b32 no, taken, 0;
@no bra second;
mov.u32 low, %tid.x;
shl.b32 low, low, 16;
or.b32 low, low, $1;
mov.u32 x, %ctaid.x;
mov.b64 word, {{low, x}};
mov.u32 y, %ctaid.y;
add.u32 y, y, 1;
mov.u32 z, %ctaid.z;
add.u32 z, z, 1;
shl.b32 z, z, 16;
or.b32 y, y, z;
st.volatile.global.b32 [host+8], y;
st.volatile.global.b64 [host], word;
membar.sys;
st.volatile.global.b32 [$0+12], 1;
second:
mov.u32 left, {_POLLS};
again:
ld.volatile.global.b32 taken, [$0+12];
sub.u32 left, left, 1;
setp.eq.u32 more, taken, 0;
setp.ne.and.u32 more, left, 0, more;
@more bra again;
finished:
}}"""


class RecordFaultOp(MachineOp, dialect=NVM, name="record_fault"):
    """The first thread that comes here writes ``site``, its program and itself to the record; the others wait for it."""

    site: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Inline assembly, at the end of a kernel's life: what it costs does not matter, its size hardly."""
        _declare(b)
        symbol = {"global_name": ir.FlatSymbolRefAttr.get(RECORD_SYMBOL)}
        place = b.op("llvm.mlir.addressof", (), b.ptr(1), symbol)
        site = b.int_(ir.IntegerAttr(self.site).value + 1)
        return b.inline_asm(_ASSEMBLY, "l,r,~{memory}", [place, site])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Nothing: the simulator knows where it stopped."""
        return []


def _declare(b: Builder) -> None:
    if RECORD_SYMBOL in b.symbols():
        return
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(RECORD_SYMBOL),
        "global_type": ir.TypeAttr.get(ir.Type.parse("!llvm.array<2 x i64>")),
        "addr_space": ir.IntegerAttr.get(b.i32, 1),
        "linkage": ir.Attribute.parse("#llvm.linkage<external>"),
        "value": ir.Attribute.parse("dense<0> : tensor<2xi64>"),
        "alignment": ir.IntegerAttr.get(b.i64, 16),
    }
    ip = ir.InsertionPoint.at_block_begin(b.module.body)
    ir.Operation.create("llvm.mlir.global", attributes=attributes, regions=1, ip=ip)
    b.symbols().add(RECORD_SYMBOL)
