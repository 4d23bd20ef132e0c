from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tri_core.api import HiddenParameters, LaunchDescriptor, LaunchError, LaunchNumber, launch_descriptors
from tri_runtime import DescriptorEncoder
from tri_runtime.simulator.tensor_map import TensorMap, encode_descriptor

ROWS = LaunchDescriptor(
    base=1, shape=(LaunchNumber(0), LaunchNumber(value=40)), strides=(LaunchNumber(2),), element="f32",
    box=(16, 32), swizzle=128, nan=False,
)  # fmt: skip


def no_memory(is_written: bool) -> int:
    raise AssertionError("no tensor is empty")


def test_records_go_through_json() -> None:
    assert launch_descriptors({"descriptors": [ROWS.to_json()], "other": 1}) == (ROWS,)
    assert launch_descriptors({}) == ()
    assert ROWS.parameters == (1, 0, 2)
    for hidden in (
        HiddenParameters(),
        HiddenParameters(grid=True),
        HiddenParameters(grid=True, descriptors=(ROWS,)),
    ):
        plain = json.loads(json.dumps({**hidden.to_attrs(), "other": 1}))
        assert HiddenParameters.from_attrs(plain) == hidden
        assert [p.name for p in hidden.parameters] == (["grid.x", "grid.y", "grid.z"] if hidden.grid else [])
    assert HiddenParameters().to_attrs() == {}


def test_a_descriptor_is_made_of_arguments_and_remembered() -> None:
    calls = []

    def encode(*given):
        calls.append(given)
        return encode_descriptor(*given)

    encoder = DescriptorEncoder((ROWS,), encode, no_memory)
    (made,) = encoder([7, 1 << 40, 48, 0.5])
    assert TensorMap.decode(made) == TensorMap(
        address=1 << 40, element="f32", dims=(40, 7), strides=(192,), box=(32, 16), steps=(1, 1), swizzle=128
    )
    assert encoder([7, 1 << 40, 48, 1.5]) == (made,)  # the last argument is none of its
    assert calls == [(ROWS, 1 << 40, [7, 40], [192])]
    assert encoder([8, 1 << 40, 48, 0.5]) != (made,)
    for i in range(2000):
        encoder([7, i << 4, 48, 0.5])
    assert encoder([7, 1 << 40, 48, 0.5]) == (made,)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([7, 8, 48], "base 0x8 is not a multiple of 16"),
        ([0, 16, 48], "it is empty"),
        ([7, 16, 41], "strides are .164. bytes"),
        ([7, 16, -48], "multiples of 16 are expected"),
    ],
)
def test_tensors_out_of_reach(arguments, text: str) -> None:
    with pytest.raises(LaunchError, match=text):
        DescriptorEncoder((ROWS,), encode_descriptor, no_memory)(arguments)


@pytest.mark.parametrize(("use", "address"), [("read", 64), ("written", 80)])
def test_an_empty_tensor_is_an_element_of_other_memory(use, address) -> None:
    may_be_empty = replace(ROWS, empty=use)
    assert LaunchDescriptor.from_json(json.loads(json.dumps(may_be_empty.to_json()))) == may_be_empty
    encoder = DescriptorEncoder((may_be_empty,), encode_descriptor, lambda is_written: 64 + 16 * is_written)
    (made,) = encoder([0, 7, 41])  # neither its base nor its strides matter
    assert TensorMap.decode(made) == TensorMap(
        address=address, element="f32", dims=(1, 1), strides=(16,), box=(32, 16), steps=(1, 1), swizzle=128
    )
    with pytest.raises(LaunchError, match="it is empty"):
        encoder([-1, 16, 48])
