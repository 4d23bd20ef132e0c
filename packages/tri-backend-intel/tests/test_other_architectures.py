"""An image runs on the architecture that it was compiled for, and is refused by another before its driver sees it."""

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_intel.runtime.devices import devices
from tri_core.errors import DeviceError


@tri.jit
def exponential(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.exp(tl.load(x + i)))


@pytest.mark.parametrize("arch", ["pvc", "dg2"])
def test_refused_by_name_with_a_remedy_that_works(arch: str) -> None:
    if not devices():
        pytest.skip("no Intel device: pip install 'tri-backend-intel[cpu]'")
    here = devices()[0].info.arch
    if here == arch:
        pytest.skip("this is the architecture")
    x, out = np.linspace(-2, 2, 64, dtype=np.float32), np.full(64, np.nan, np.float32)
    with (
        tri.target(f"intel:{arch}"),
        pytest.raises(DeviceError, match=f"compiled for intel:{arch}") as caught,
    ):
        exponential[(1,)](x, out, N=64)
    assert np.isnan(out).all()
    assert f'tri.target("intel:{here}")' in str(caught.value)
    for target in (f"intel:{here}", f"sim:intel:{arch}"):
        assert target in str(caught.value)
        with tri.target(target):
            exponential[(1,)](x, out, N=64)
        np.testing.assert_allclose(out, np.exp(x), rtol=1e-5)
