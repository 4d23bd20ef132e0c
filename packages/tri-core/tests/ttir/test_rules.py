"""Rules by the class of op, and what has none is refused at its line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tri_core import mlir
from tri_core.api import Rules, Unsupported, located, read_kernel
from tri_core.dialects import tt
from tri_core.text import parse_module
from tri_core.ttir import Op

SOURCE = """
module {
  tt.func public @k(%out: !tt.ptr<f32>, %x: f32) {
    tt.store %out, %x : !tt.ptr<f32> loc("kernel.py":4:5)
    tt.return loc("kernel.py":5:1)
  }
}
"""


def ops() -> list[Op]:
    with mlir.session():
        return read_kernel(parse_module(SOURCE)).body.ops


def test_a_rule_is_that_of_the_class() -> None:
    rules: Rules[Callable[[Op], str]] = Rules("a test")
    made = rules.on(tt.StoreOp, tt.LoadOp)(lambda op: op.operand("ptr").type.dtype.name)
    store = ops()[0]
    assert rules.of(store) is made
    assert rules.of(store)(store) == "ptr"
    assert rules.names == {"tt.store", "tt.load"}


def test_an_op_without_a_rule_is_refused_at_its_line() -> None:
    rules: Rules[Callable[[Op], str]] = Rules("the Acme backend")
    with pytest.raises(Unsupported, match=r"the Acme backend has no rule for tt\.store") as refused:
        rules.of(ops()[0])
    assert refused.value.location is not None
    assert (refused.value.location.file, refused.value.location.line) == ("kernel.py", 4)
    assert refused.value.remedy


def test_a_second_rule_for_a_class_is_refused() -> None:
    rules: Rules[Callable[[Op], str]] = Rules("a test")
    rules.on(tt.StoreOp)(str)
    with pytest.raises(ValueError, match=r"tt\.store"):
        rules.on(tt.LoadOp, tt.StoreOp)(str)


def test_an_error_without_a_place_has_none() -> None:
    error = located(Unsupported, None, "what", "how else")
    assert (error.message, error.remedy, error.location) == ("what", "how else", None)
