from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nvidia_fake_driver import forget, install
from tri_backend_nvidia.adapters import ADAPTERS, describe
from tri_core.api import LaunchError


@pytest.fixture(autouse=True)
def _driver(monkeypatch):
    install(monkeypatch)
    yield
    forget()


def array(typestr="<f4", shape=(4,), strides=None, data=(4096, False)):
    interface = {"typestr": typestr, "shape": shape, "strides": strides, "data": data, "version": 3}
    return SimpleNamespace(__cuda_array_interface__=interface)


def test_a_plain_array():
    given_ = array(shape=(3, 5))
    made = describe(given_)
    assert (made.pointer, made.dtype, made.nbytes, made.writable) == (4096, "fp32", 60, True)
    assert made.device.kind == "cuda"
    assert made.owner is given_
    assert describe(array(data=(4096, True))).writable is False


@pytest.mark.parametrize(
    ("typestr", "dtype"), [("|b1", "i1"), ("<i8", "i64"), ("|u1", "u8"), ("<f2", "fp16")]
)
def test_element_types(typestr, dtype):
    assert describe(array(typestr)).dtype == dtype


@pytest.mark.parametrize("typestr", [">f4", "<c8", "|V2"])
def test_elements_that_kernels_do_not_have(typestr):
    with pytest.raises(LaunchError, match="elements of type") as caught:
        describe(array(typestr))
    assert "fp32" in caught.value.remedy


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 9)), min_size=1, max_size=3))
def test_the_span_ends_with_the_last_element(dimensions):
    shape = tuple(n for n, _ in dimensions)
    strides = tuple(4 * s for _, s in dimensions)
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    assert describe(array(shape=shape, strides=strides)).nbytes == last + 4


def test_an_empty_array():
    made = describe(array(shape=(0, 5), data=(0, False)))
    assert (made.pointer, made.nbytes) == (0, 0)


def test_adapters_have_their_own_modules():
    assert len({a.module for a in ADAPTERS}) == len(ADAPTERS)


def test_any_library_may_show_the_interface():
    """The last adapter goes by the interface; an array that lacks it is left to other readers."""
    assert [a.protocol for a in ADAPTERS][-1] == "__cuda_array_interface__"
    assert not any(a.protocol for a in ADAPTERS[:-1])

    class OnTheHost:
        @property
        def __cuda_array_interface__(self):
            raise AttributeError("in host memory")

    assert describe(OnTheHost()) is None
