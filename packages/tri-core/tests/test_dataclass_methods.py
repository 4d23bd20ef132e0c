"""Constructors, representations and refusals of dataclasses do what the standard library's do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import operator
import sys
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tri_core.dataclass_methods import shared_representation
from tri_core.lazy_dataclasses import dataclass

FIELDS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["plain", "default", "factory"]),
        "init": st.booleans(),
        "repr": st.booleans(),
        "compare": st.booleans(),
        "hash": st.sampled_from([None, True, False]),
        "kw_only": st.booleans(),
    }
)
ORDERINGS = (operator.lt, operator.le, operator.gt, operator.ge)
OPTIONS = st.fixed_dictionaries({}, optional={n: st.booleans() for n in ("frozen", "kw_only", "eq", "order")})


def declared(specs: list[dict[str, Any]], checks: bool) -> type:
    """A class that declares a field for each of ``specs``."""
    own: dict[str, Any] = {"__annotations__": {}, "unit": 3}
    for i, spec in enumerate(specs):
        more = {k: v for k, v in spec.items() if k != "kind"}
        if spec["kind"] == "default":
            more["default"] = i
        elif spec["kind"] == "factory":
            more["default_factory"] = list
        own["__annotations__"][f"f{i}"] = int
        own[f"f{i}"] = dataclasses.field(**more)
    own["__annotations__"]["unit"] = ClassVar[int]
    if checks:
        own["__post_init__"] = lambda self: object.__setattr__(self, "checked", len(vars(self)))
    return type("Some", (), own)


def outcome(function: Any) -> Any:
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


def changed(made: Any, name: str) -> Any:
    """A copy with another value of the field ``name``."""
    copied = copy.copy(made)
    object.__setattr__(copied, name, getattr(copied, name, 0) * 2 or "another")
    return copied


def behaviour(cls: Any, arguments: list[int], keywords: dict[str, int]) -> list[Any]:
    """What ``cls`` does, as values that can be compared."""
    made = outcome(lambda: cls(*arguments, **keywords))
    if not isinstance(made, cls):
        return [made]
    again = cls(*arguments, **keywords)
    others = [changed(made, f.name) for f in dataclasses.fields(cls)]
    return [
        inspect.signature(cls),
        vars(made),
        outcome(lambda: repr(made)),
        outcome(lambda: made == again),
        [outcome(lambda other=other: made == other) for other in others],
        made == 3,
        [outcome(lambda m=m, o=o: m(made, o)) for o in (again, *others, 3) for m in ORDERINGS],
        [outcome(lambda other=other: hash(made) == hash(other)) for other in (again, *others)],
        outcome(lambda: setattr(made, "f0", 5)),
        outcome(lambda: setattr(made, "more", 5)),
        outcome(lambda: delattr(made, "f0")),
        cls.__match_args__,
        repr(cls.__dataclass_params__),
        [(f.name, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(cls)],
    ]


@given(
    specs=st.lists(FIELDS, max_size=5),
    options=OPTIONS,
    checks=st.booleans(),
    arguments=st.lists(st.integers(0, 3), max_size=5),
    names=st.lists(st.integers(0, 5), max_size=3, unique=True),
)
def test_classes_do_what_the_standard_librarys_do(
    specs: list[dict[str, Any]],
    options: dict[str, bool],
    checks: bool,
    arguments: list[int],
    names: list[int],
) -> None:
    keywords = {f"f{i}": i + 100 for i in names}
    theirs = outcome(lambda: dataclasses.dataclass(**options)(declared(specs, checks)))
    ours = outcome(lambda: dataclass(**options)(declared(specs, checks)))
    if isinstance(theirs, type):
        assert behaviour(ours, arguments, keywords) == behaviour(theirs, arguments, keywords)
    else:
        # the same mistake, at the first use; at once where options contradict each other
        assert (outcome(lambda: ours(*arguments, **keywords)) if isinstance(ours, type) else ours) == theirs


@pytest.mark.parametrize("decorator", [dataclass, dataclasses.dataclass], ids=["ours", "theirs"])
def test_arguments_that_are_no_fields(decorator: Any) -> None:
    @decorator(frozen=True)
    class Scaled:
        value: int
        scale: dataclasses.InitVar[int] = 2

        def __post_init__(self, scale: int) -> None:
            object.__setattr__(self, "value", self.value * scale)

    assert (Scaled(3).value, Scaled(3, 5).value) == (6, 15)


@pytest.mark.parametrize("decorator", [dataclass, dataclasses.dataclass], ids=["ours", "theirs"])
def test_a_class_that_shows_itself(decorator: Any) -> None:
    @decorator
    class Node:
        me: Any = None

    node = Node()
    node.me = node
    assert repr(node).endswith("Node(me=...)")


@pytest.mark.parametrize("decorator", [dataclass, dataclasses.dataclass], ids=["ours", "theirs"])
def test_a_field_called_self(decorator: Any) -> None:
    made = decorator(type("Odd", (), {"__annotations__": {"self": int, "name": str}}))
    assert vars(made(1, "a")) == {"self": 1, "name": "a"}


@pytest.mark.parametrize("decorator", [dataclass, dataclasses.dataclass], ids=["ours", "theirs"])
def test_a_value_that_does_not_equal_itself(decorator: Any) -> None:
    @decorator(frozen=True)
    class Measured:
        figure: float

    @decorator(frozen=True)
    class Pair:
        figure: float
        other: float

    nan = float("nan")
    by_each = sys.version_info >= (3, 13)
    assert (Measured(nan) == Measured(nan)) is not by_each
    assert (Pair(1.0, nan) == Pair(1.0, nan)) is not by_each
    assert Measured(0.0) == Measured(-0.0)
    assert Measured(1.0) != Pair(1.0, 1.0)


@dataclass(frozen=True)
class Policy:
    rows: tuple[int, ...]
    name: str = "p"


class Named(Policy):
    """With the representation that it inherits."""


class Written(Policy):
    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(frozen=True)
class Step:
    policy: Any
    others: Any = ()
    hidden: int = dataclasses.field(default=1, repr=False)


@pytest.mark.parametrize("cls", [Policy, Named, Written])
def test_what_several_share_is_written_once(cls: type[Policy]) -> None:
    policy = cls((1, 2))
    steps = [Step(policy), Step(policy, (policy, "x")), Step({"a": policy}), policy, 3, "text", Policy]
    known: dict[int, tuple[Any, str]] = {}
    assert [shared_representation(step, known) for step in steps] == [*map(repr, steps)]
    assert [shared_representation(step, known) for step in steps] == [*map(repr, steps)]
    if cls is not Written:
        assert known[id(policy)] == (policy, repr(policy))
