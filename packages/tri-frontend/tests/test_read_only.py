"""Read-only arrays: kernels that only read take them, others refuse them and say which one."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core.errors import LaunchError

N = 16


@tri.jit
def copied(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i))


@tri.jit
def inner(p, q, i):
    tl.store(q + i, tl.load(p + i))
    return q


@tri.jit(noinline=True)
def apart(p, q, i):
    tl.store(q + i, tl.load(p + i))


@tri.jit
def through_loops(x, y, steps, N: tl.constexpr):
    i = tl.arange(0, N // 2)
    p, q = x, y
    for _ in range(steps):
        q = inner(p, q, i)
        p += N // 2
        q += N // 2


@tri.jit
def through_while(x, y, steps, N: tl.constexpr):
    i = tl.arange(0, N // 2)
    p, q = x, y
    while steps > 0:
        apart(p, q, i)
        p += N // 2
        q += N // 2
        steps -= 1


@tri.jit
def through_branch(x, y, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    q = y if steps == 2 else y + 0 * N
    tl.atomic_xchg(q + i, tl.load(x + i))


@tri.jit
def through_integers(x, y, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    q = (y.to(tl.int64) + 0).to(tl.pointer_type(tl.float32))
    tl.store(q + i, tl.load(x + i))


@tri.jit
def swapped(x, y, steps, N: tl.constexpr):
    i = tl.arange(0, N)
    p, q = x, y
    for _ in range(steps):
        p, q = q, p
    tl.store(q + i, 1.0)


@tri.jit
def described(x, y, N: tl.constexpr):
    y.store([0], x.load([0]))


def frozen(values: Any) -> Any:
    values.flags.writeable = False
    return values


def pair() -> tuple[Any, Any]:
    return np.arange(N, dtype=np.float32), np.zeros(N, np.float32)


KERNELS = [through_loops, through_while, through_branch, through_integers]


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("interpreted", [False, True], ids=["cpu", "interpreter"])
def test_only_what_is_written_is_refused(
    kernel: Any, interpreted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "interpreted", interpreted)
    x, y = pair()
    kernel[(1,)](frozen(x), y, 2, N=N)
    np.testing.assert_array_equal(x, y)
    with pytest.raises(LaunchError if not interpreted else tri.errors.TriError, match="'y'") as caught:
        kernel[(1,)](x + 1, frozen(y), 2, N=N)
    np.testing.assert_array_equal(x, y)
    assert "writable" in str(caught.value.remedy)
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


@pytest.mark.usefixtures("cpu")
def test_what_may_be_written_is_refused() -> None:
    x, y = pair()
    swapped[(1,)](x, y, 2, N=N)
    with pytest.raises(LaunchError, match="argument 'x' of swapped is a read-only array"):
        swapped[(1,)](frozen(x), y, 2, N=N)


def types_of(kernel: Any) -> dict[str, Any]:
    return {"x": "*fp32", "y": "*fp32", **({"steps": "i32"} if "steps" in kernel.arg_names else {})}


@pytest.mark.usefixtures("cpu")
@pytest.mark.parametrize(("kernel", "written"), [(copied, ("y",)), *((k, ("y",)) for k in KERNELS), (swapped, ("x", "y"))],
                         ids=lambda v: getattr(v, "__name__", None))  # fmt: skip
def test_what_is_written_is_data_of_the_compiled_kernel(kernel: Any, written: Any) -> None:
    made = tri.compile(tri.ASTSource(kernel, types_of(kernel), {"N": N}), "cpu")
    assert made.module is None
    assert made.written_parameters == written
    again = pickle.loads(pickle.dumps(made))
    assert again.written_parameters == written
    assert again.resources == made.resources
    assert [p.name for p in again.metadata.signature.parameters if p.name in written] == list(written)


@pytest.mark.usefixtures("cpu")
def test_bytes_and_maps_of_files(tmp_path: Path) -> None:
    data = np.arange(N, dtype=np.float32).tobytes()
    (tmp_path / "data").write_bytes(data)
    mapped = np.memmap(tmp_path / "data", np.float32, "r")
    for array in (np.frombuffer(data, np.float32), mapped):
        y = np.zeros(N, np.float32)
        copied[(1,)](array, y, N=N)
        np.testing.assert_array_equal(array, y)
        with pytest.raises(LaunchError, match="argument 'y' of copied is a read-only array") as caught:
            copied[(1,)](y + 1, array, N=N)
        assert caught.value.location.file == __file__
    assert np.frombuffer(data, np.float32).tolist() == list(range(N))


@pytest.mark.usefixtures("cpu")
def test_descriptors_and_tuples() -> None:
    x, y = pair()
    made = [TensorDescriptor(a, [N], [1], [N]) for a in (frozen(x), y)]
    described[(1,)](*made, N=N)
    np.testing.assert_array_equal(x, y)
    with pytest.raises(LaunchError, match="argument 'y' of described is a read-only array"):
        described[(1,)](made[1], made[0], N=N)

    @tri.jit
    def of_tuple(arrays, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(arrays[1] + i, tl.load(arrays[0] + i))

    of_tuple[(1,)]((x, y), N=N)
    with pytest.raises(LaunchError, match=r"argument 'arrays.1' of of_tuple is a read-only array"):
        of_tuple[(1,)]((y, x), N=N)


@pytest.mark.usefixtures("cpu")
def test_a_launch_of_the_compiled_kernel() -> None:
    x, y = pair()
    compiled = copied[(1,)](x, y, N=N)
    compiled[(1,)](frozen(x), y, N)
    with pytest.raises(LaunchError, match="argument 'y' of copied is a read-only array"):
        compiled[(1,)](y, x, N)


class Exported:
    """An array that only DLPack describes."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.usefixtures("cpu")
@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy says it from 2.1 on")
def test_flags_of_dlpack() -> None:
    x, y = pair()
    copied[(1,)](Exported(frozen(x)), Exported(y), N=N)
    np.testing.assert_array_equal(x, y)
    with pytest.raises(LaunchError, match="argument 'y' of copied is a read-only array"):
        copied[(1,)](Exported(y), Exported(x), N=N)
