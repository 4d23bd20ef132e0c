"""Tensors of PyTorch's whose memory is not what a kernel would read, and NumPy's masked arrays: refused, and nothing is accessed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.launch.arrays import describe
from tri.launch.tensor_memory import is_suspect, spanned_bytes
from tri_core.errors import ArgumentError, LaunchError


@tri.jit
def inc(x, n, B: tl.constexpr = 8):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@pytest.fixture(params=["compiled", "interpreted"])
def launched(request: Any, cpu: None) -> Iterator[None]:
    with nullcontext() if request.param == "compiled" else tri.interpret():
        yield


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def freed(tensor: Any, kept: int = 0) -> Any:
    tensor.untyped_storage().resize_(kept)
    return tensor


def test_a_tensor_whose_storage_was_freed(torch: Any, launched: None) -> None:
    with pytest.raises(ArgumentError, match=r"'x' of inc: .*take 32 bytes of a storage of 0") as refused:
        inc[(1,)](freed(torch.arange(8.0)), 8)
    assert "gather sharded parameters" in str(refused.value.remedy)


def test_a_view_of_it(torch: Any, launched: None) -> None:
    whole = torch.arange(4096.0)
    view = whole[2048:2056]
    freed(whole)
    with pytest.raises(ArgumentError, match="take 8224 bytes of a storage of 0"):
        inc[(1,)](view, 8)


@pytest.mark.parametrize("step", [1, 2])
def test_a_storage_that_is_too_small(torch: Any, launched: None, step: int) -> None:
    with pytest.raises(ArgumentError, match="bytes of a storage of 31"):
        inc[(1,)](freed(torch.arange(8.0 * step)[::step], 31), 8)
    view = torch.arange(8.0)[4:]
    with pytest.raises(ArgumentError, match="bytes of a storage of 16"):
        inc[(1,)](freed(view, 16), 4)


def test_one_that_was_right_before(torch: Any, launched: None) -> None:
    tensor = torch.zeros(8)
    for _ in range(4):  # the last ones by compiled code
        inc[(1,)](tensor, 8)
    whole = torch.zeros(64)
    view = whole[32:40]
    inc[(1,)](view, 8)
    for refused in (freed(tensor), view):
        freed(whole)
        with pytest.raises(ArgumentError, match="storage of 0"):
            inc[(1,)](refused, 8)


def test_fake_and_meta_tensors(torch: Any, launched: None) -> None:
    fakes = pytest.importorskip("torch._subclasses.fake_tensor")
    with fakes.FakeTensorMode():
        fake = torch.zeros(16)
        view = fake[8:]
    for tensor in (fake, view):
        with pytest.raises(ArgumentError, match="a FakeTensor has a shape alone"):
            inc[(1,)](tensor, 8)
    with pytest.raises(LaunchError, match="on meta"):
        inc[(1,)](torch.zeros(8, device="meta"), 8)


def test_tensors_without_elements_and_expanded_ones_are_taken(torch: Any, launched: None) -> None:
    inc[(1,)](torch.zeros(0), 0)
    inc[(1,)](torch.zeros(8)[8:], 0)
    one = torch.zeros(1)
    inc[(1,)](one.expand(8), 1)
    assert one.item() == 1
    inc[(1,)](torch.nn.Parameter(one), 1)
    assert one.item() == 2


@pytest.mark.parametrize("shape", [(8,), (1,), ()], ids=str)
def test_the_negative_bit(torch: Any, launched: None, shape: tuple[int, ...]) -> None:
    z = torch.ones(shape, dtype=torch.complex64) * (3 + 2j)
    n = z.numel()
    inc[(1,)](torch.zeros(shape), n)
    for _ in range(4):  # by compiled code
        inc[(1,)](torch.imag(z), 1)
    negated = torch.imag(torch.conj(z))
    with pytest.raises(ArgumentError, match="negative bit") as refused:
        inc[(1,)](negated, n)
    assert "resolve_neg()" in str(refused.value.remedy)
    resolved = negated.resolve_neg()
    inc[(1,)](resolved.contiguous(), n)
    assert z.flatten()[0].imag == 2 + 4


def test_masked_arrays(launched: None) -> None:
    masked = np.ma.masked_array(np.zeros(8, np.float32), [True] * 8)
    with pytest.raises(ArgumentError, match="'x' of inc: a masked array") as refused:
        inc[(1,)](masked, 8)
    assert ".filled(value)" in str(refused.value.remedy)
    with pytest.raises(ArgumentError, match="a masked array"):
        describe(masked)
    inc[(1,)](masked.data, 8)
    np.testing.assert_array_equal(masked.data, np.ones(8))


def test_spanned_bytes_of_views(torch: Any) -> None:
    whole = torch.zeros(2, 16, 4, 4)
    views = (
        whole,
        whole.to(memory_format=torch.channels_last),
        whole[:, ::3],
        whole.mT[1:],
        whole[:0],
        whole[0, 0].expand(5, 4, 4),
        torch.zeros(()),
    )
    for view in views:
        steps = zip(view.shape, view.stride(), strict=True)
        last = sum((n - 1) * step for n, step in steps)
        assert spanned_bytes(view) == (4 * (last + 1) if view.numel() else 0)


def test_a_tensor_of_another_layout_is_not_suspect(torch: Any) -> None:
    """Convolutions of compiled models pass channels-last tensors in every launch: the long look is for what is wrong."""
    whole = torch.zeros(2, 16, 4, 4)
    for sound in (whole.to(memory_format=torch.channels_last), whole[:, ::3], whole.mT, whole[:0]):
        assert not is_suspect(sound)
    assert is_suspect(freed(torch.zeros(4, 4).mT, 60))
    assert is_suspect(torch.zeros(4, 4, dtype=torch.complex64).mH.imag)
