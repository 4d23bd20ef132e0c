"""Kernels for the passes that place accumulators, as text."""

from __future__ import annotations

import re

from nvidia_support import target
from tri_backend_nvidia.options import NvidiaOptions
from tri_backend_nvidia.tcgen05.allocate_tensor_memory import AllocateTensorMemory
from tri_backend_nvidia.tcgen05.insert_barriers import InsertTcgen05Barriers
from tri_core.api import StageContext
from tri_core.mlir import ir, registry, session
from tri_core.plugins import manager
from tri_core.text import parse_module, print_module
from tri_gpu_dialect.dialect.markers import TENSOR_MEMORY

HEAD = """
#rows = #ttng.tensor_memory_rows<{warpsPerCTA = [4, 1], columns = 64}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%a: !ttg.memdesc<128x64xf16, #shared, #smem>, %b: !ttg.memdesc<64x64xf16, #shared, #smem>, %n: i32) {
    %zeros = arith.constant dense<0.000000e+00> : tensor<128x64xf32, #rows>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
"""


DOT = "!ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<128x64xf32, #rows>"


WAIT = "{pendings = 0 : i32} : (tensor<128x64xf32, #rows>) -> tensor<128x64xf32, #rows>"


TAIL = """
    tt.return
  }
}
"""


def placed(body: str, head: str = HEAD) -> list[str]:
    """The ops of the kernel after the pass, without their types."""
    manager().register_ir(registry, target("sm_100a"))
    body = body.replace("DOT", DOT).replace("WAIT", WAIT).replace("SUM", "tensor<128x64xf32, #rows>")
    with session():
        module = parse_module(head + body + TAIL)
        context = StageContext(
            target=target("sm_100a"), options=NvidiaOptions(num_warps=4), kernel_name="kernel", codegen=None
        )
        AllocateTensorMemory().apply(module, context)
        InsertTcgen05Barriers().apply(module, context)
        module.operation.verify()
        size = ir.IntegerAttr(module.operation.attributes[TENSOR_MEMORY]).value
        text = print_module(module, locations=False)
    found = re.findall(
        r"(ttng\.(?:tm|tc|w)\w+|ttg\.w\w+|ttg\.barrier|scf\.\w+|math\.\w+|column = \d+)",
        text.partition("tt.func")[2],
    )
    return [str(size), *[x for x in found if x not in ("ttng.tensor_memory",)]]


SHORT = {
    "ttng.tmem_alloc": "alloc", "ttng.tmem_view": "view", "ttng.tmem_load": "load", "ttng.tmem_store": "store",
    "ttng.tmem_dealloc": "dealloc", "ttng.tc_gen5_commit": "commit", "ttng.warp_group_dot": "dot",
    "ttng.warp_group_dot_wait": "wait", "ttng.wait_barrier": "phase", "ttg.barrier": "synchronize",
}  # fmt: skip
