"""Definitions of a dialect that are made after it was loaded."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tri_core import mlir
from tri_core.mlir import ext, ir


@contextmanager
def loaded(dialect: Any) -> Iterator[None]:
    """``dialect`` is registered and loaded; its namespace is free again afterwards."""
    mlir.registry.add_dialect(dialect)
    try:
        with mlir.session() as context:
            assert context.is_dialect_loaded(dialect.DIALECT_NAMESPACE)
        yield
    finally:
        del mlir.registry.dialects[dialect.DIALECT_NAMESPACE]


class Between(ext.Dialect, name="between"):
    """Grows between two sessions."""


class First(Between.Attribute, name="first"):
    """There from the start."""

    n: Any


def test_the_next_session_knows_what_was_defined_since() -> None:
    with loaded(Between):

        class Second(Between.Attribute, name="second"):
            n: Any

        class Kind(Between.Type, name="kind"):
            n: Any

        class Uses(Between.Operation, name="uses"):
            old: First
            new: Second
            result: ext.Result[Kind]

            def verify_invariants(self) -> bool:
                return str(self.new) != "#between.second<7 : i64>"

        text = (
            '"between.uses"() {{old = #between.{}<1>, new = #between.second<{}>}} : () -> !between.kind<i32>'
        )
        with mlir.session():
            module = ir.Module.parse(text.format("first", 2))
            (op,) = module.body.operations
            assert isinstance(op, Uses)
            assert isinstance(op.attributes["new"].maybe_downcast(), Second)
            assert isinstance(op.attributes["old"].maybe_downcast(), First)
            assert isinstance(op.result.type.maybe_downcast(), Kind)
            with pytest.raises(ir.MLIRError, match="expected base attribute"):
                ir.Module.parse(text.format("second", 2))
            with pytest.raises(ir.MLIRError):
                ir.Module.parse(text.format("first", 7))


class Within(ext.Dialect, name="within"):
    """Grows in a session."""


@pytest.mark.parametrize("again", [False, True], ids=["parsed", "registered"])
def test_an_open_session_learns_it(again: bool) -> None:
    name = f"made{again}".lower()
    with loaded(Within), mlir.session():

        class Made(Within.Attribute, name=name):
            n: Any

        if again:
            mlir.registry.add_dialect(Within)
            assert isinstance(ir.Attribute.parse(f"#within.{name}<1>"), Made)
        assert mlir.parse(f"module attributes {{within.k = #within.{name}<1>}} {{}}").operation.attributes[
            "within.k"
        ]


class Twice(ext.Dialect, name="twice"):
    """Has a name twice."""


def test_a_second_definition_of_a_name_is_refused_once() -> None:
    class Made(Twice.Attribute, name="made"):
        n: Any

    with loaded(Twice):
        type("Other", (Twice.Attribute,), {"__annotations__": {"n": Any}}, name="made")
        with pytest.raises(ValueError, match=r"'#twice\.made' is defined twice"):
            mlir.registry.add_dialect(Twice)
        with mlir.session():
            assert isinstance(ir.Attribute.parse("#twice.made<1>"), Made)


class Held(ext.Dialect, name="held"):
    """Its type is asked for with parameters."""


class Box(Held.Type, name="box"):
    """A type of something."""

    n: Any


def test_what_cannot_be_asked_for_by_name_is_refused() -> None:
    with loaded(Held):

        class Uses(Held.Operation, name="uses"):
            result: ext.Result[Box[ir.IntegerType[32]]]

        with pytest.raises(ValueError, match=r"asks for parameters of !held\.box"):
            mlir.registry.add_dialect(Held)
        assert Uses
