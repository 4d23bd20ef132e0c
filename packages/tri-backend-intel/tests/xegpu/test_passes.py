"""What a level of upstream's passes must not leave."""

from __future__ import annotations

import pytest

from tri_backend_intel.xegpu.passes import lower_to_xevm
from tri_core.api import Unsupported
from tri_core.mlir import ir, session

#: a row reduction that nobody deals to sub-groups: the passes leave it as it is, without an error
LEFT = """
module { gpu.module @kernels [#xevm.target<chip = "pvc">] {
  gpu.func @k(%p: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %x = arith.constant dense<1.0> : vector<128x64xf32>
    %y = llvm.load %p : !llvm.ptr<1> -> vector<64xf32>
    %z = vector.broadcast %y : vector<64xf32> to vector<128x64xf32>
    %s = arith.addf %x, %z : vector<128x64xf32>
    %e = vector.extract %s[3] : vector<64xf32> from vector<128x64xf32>
    llvm.store %e, %p : vector<64xf32>, !llvm.ptr<1>
    gpu.return
  }
} }
"""

REFUSED = """
module { gpu.module @kernels [#xevm.target<chip = "pvc">] {
  gpu.func @k(%a: i64) kernel {
    %t = xegpu.create_nd_tdesc %a, shape : [16, 16], strides : [16, 1] : i64 -> !xegpu.tensor_desc<16x16xf16>
    gpu.return
  }
} }
"""


def test_a_vector_that_kept_its_size_is_an_error_with_its_place() -> None:
    with session():
        module = ir.Module.parse(LEFT)
        with pytest.raises(Unsupported, match=r"SIMD path stops at .*vector<128x64xf32>") as caught:
            lower_to_xevm(module)
    assert "path='simt'" in str(caught.value.remedy)


def test_what_needs_nothing_goes_through() -> None:
    with session():
        module = ir.Module.parse(REFUSED)
        lower_to_xevm(module)
        assert "xegpu" not in str(module)
