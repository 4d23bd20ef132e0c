"""``#ttg.nvmma_shared``: atoms, panels, stages; against the address bits that the hardware permutes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_backend_nvidia.mma import NvmmaShared
from tri_backend_nvidia.mma.memory import FourBitShared
from tri_core import mlir, text
from tri_core.errors import Unsupported, VerificationError
from tri_core.mlir import ir
from tri_core.plugins import manager
from tri_gpu_dialect.encodings import Blocked, decode
from tri_gpu_dialect.layouts import OFFSET, bank_conflicts, layout_for
from tri_gpu_dialect.plans.views import permuted


@pytest.fixture(scope="module", autouse=True)
def _dialects():  # type: ignore[no-untyped-def]
    manager().register_ir(mlir.registry)
    with mlir.session():
        yield


WIDTHS = st.sampled_from([32, 64, 128])
BITS = st.sampled_from([8, 16, 32])
SIZES = st.sampled_from([8, 16, 64, 128, 256])


def swizzled(address: int, width: int) -> int:
    """Where the hardware finds what lies at ``address`` unswizzled: bits 4 and up xor bits 7 and up."""
    bits = {128: 3, 64: 2, 32: 1}[width]
    return address ^ ((address >> 7) & ((1 << bits) - 1)) << 4


@given(WIDTHS, BITS, SIZES, st.sampled_from([1, 2, 4]), st.booleans())
def test_elements_lie_where_the_hardware_looks(width, bits, rows, panels, transposed) -> None:  # type: ignore[no-untyped-def]
    panel = width * 8 // bits
    columns = panel * panels
    shape = (columns, rows) if transposed else (rows, columns)
    layout = layout_for(NvmmaShared(width, transposed, bits), shape)
    assert layout.is_invertible
    inverse = layout.pseudo_invert()
    for row in {0, 1, 2, 5, 7, rows - 1, rows // 2}:
        for column in {0, 1, 3, panel // 2, panel - 1, columns - 1, columns // 2}:
            plain = (column // panel * rows + row) * width + column % panel * bits // 8
            place = (column, row) if transposed else (row, column)
            offset = inverse.apply({"dim0": place[0], "dim1": place[1]})[OFFSET]
            assert offset * bits // 8 == swizzled(plain, width)


@given(WIDTHS, BITS)
def test_slots_follow_each_other(width, bits) -> None:  # type: ignore[no-untyped-def]
    encoding = NvmmaShared(width, transposed=False, element_bit_width=bits)
    shape = (16, 2 * encoding.panel)
    one, ring = layout_for(encoding, shape), layout_for(encoding, (4, *shape))
    size = 16 * 2 * encoding.panel
    for offset in (0, 1, size // 2, size - 1):
        own = one.apply({OFFSET: offset})
        place = ring.apply({OFFSET: 3 * size + offset})
        assert place == {"dim0": 3, "dim1": own["dim0"], "dim2": own["dim1"]}


@given(BITS, st.booleans())
def test_a_transposed_tile_is_the_transpose(bits, transposed) -> None:  # type: ignore[no-untyped-def]
    given_, other = (NvmmaShared(64, t, bits) for t in (transposed, not transposed))
    seen = layout_for(other, (128, 64)).rename_outs({"dim0": "dim1", "dim1": "dim0"})
    assert layout_for(given_, (64, 128)) == seen.transpose_outs(["dim0", "dim1"])


@pytest.mark.parametrize(
    ("shape", "bits", "transposed", "width"),
    [
        ((128, 64), 16, False, 128),
        ((128, 32), 16, False, 64),
        ((128, 16), 16, False, 32),
        ((128, 8), 16, False, 0),
        ((64, 128), 8, True, 64),
        ((16, 64), 32, True, 64),
        ((256,), 16, False, 0),
    ],
)
def test_the_widest_swizzle_that_a_tile_fills(shape, bits, transposed, width) -> None:  # type: ignore[no-untyped-def]
    encoding = NvmmaShared.widest(shape, bits, transposed=transposed)
    assert encoding == NvmmaShared(width, transposed, bits)
    assert layout_for(encoding, shape).is_invertible
    assert encoding.alignment == max(8 * width, 128)


def test_rows_without_a_swizzle_are_cut_where_a_copy_is() -> None:
    layout = layout_for(NvmmaShared(0, transposed=False, element_bit_width=16), (4, 512))
    assert layout.apply({OFFSET: 256}) == {"dim0": 1, "dim1": 0}
    assert layout.apply({OFFSET: 1024}) == {"dim0": 0, "dim1": 256}


def test_writing_rows_has_no_conflicts() -> None:
    writer = layout_for(Blocked((1, 8), (4, 8), (4, 1), (1, 0)), (128, 64))
    assert bank_conflicts(writer, layout_for(NvmmaShared(128, False, 16), (128, 64)), 16) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("swizzlingByteWidth = 16, transposed = false, elementBitWidth = 16", "0, 32, 64 or 128"),
        ("swizzlingByteWidth = 128, transposed = false, elementBitWidth = 4", "8, 16, 32 or 64"),
        ("swizzlingByteWidth = 128, elementBitWidth = 16", "transposed"),
    ],
)
def test_refusals(fields: str, message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        decode(ir.Attribute.parse(f"#ttng.nvmma_shared<{{{fields}}}>"))


@pytest.mark.parametrize("shape", [(128, 32), (64,)])
def test_a_row_fills_the_swizzle(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="does not fill rows of 128 bytes"):
        layout_for(NvmmaShared(128, False, 16), shape)


MMA = "tensor<128x64xf32, #mma>"
MATMUL = """#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module {
  tt.func public @dot(%a: !ttg.memdesc<128x64xf16, #shared, #smem>, %b: !ttg.memdesc<64x64xf16, #shared, #smem>, %c: tensor<128x64xf32, #mma>, %first: i1) {
    %started = ttng.warp_group_dot %a, %b, %c {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
    %again = ttng.warp_group_dot %a, %b, %started, %first {inputPrecision = 0 : i32} : !ttg.memdesc<128x64xf16, #shared, #smem> * !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<128x64xf32, #mma>
    %done:2 = ttng.warp_group_dot_wait %started, %again {pendings = 1 : i32} : (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>) -> (tensor<128x64xf32, #mma>, tensor<128x64xf32, #mma>)
    tt.return
  }
}"""


def test_dots_that_run_on_their_own_are_read_and_printed() -> None:
    module = text.parse_module(MATMUL, "dot.ttgir")
    mlir.verify(module)
    printed = text.print_module(module).strip()
    again = text.print_module(text.parse_module(printed, "again.ttgir")).strip()
    assert printed == again
    assert [line for line in printed.splitlines() if line.startswith("#shared")] == [MATMUL.splitlines()[1]]
    assert printed.count("ttng.warp_group_dot %") == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (MATMUL.replace("64x64xf16", "32x64xf16"), "cannot multiply"),
        (MATMUL.replace(f"-> ({MMA}, {MMA})", "-> (f32, f32)"), "gives what it takes"),
        (MATMUL.replace("%first: i1", "%first: i32"), "i1"),
    ],
)
def test_malformed_dots_are_refused(changed: str, message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        mlir.verify(text.parse_module(changed, "dot.ttgir"))


@pytest.mark.parametrize("encoding", [NvmmaShared(64, False, 8), FourBitShared(64, False)])
def test_rows_keep_their_elements_where_the_last_two_dimensions_change_places(encoding) -> None:  # type: ignore[no-untyped-def]
    turned = encoding.permuted((0, 2, 1))
    assert turned.transposed
    assert turned == encoding.permuted((1, 0))
    assert encoding.permuted((0, 1, 2)) == encoding
    shape = (2, 16, 64)
    straight = layout_for(encoding, shape)
    assert permuted(straight, (0, 2, 1)) == layout_for(turned, (2, 64, 16))
    with pytest.raises(Unsupported, match="permuted"):
        encoding.permuted((0, 3, 2, 1, 4))
