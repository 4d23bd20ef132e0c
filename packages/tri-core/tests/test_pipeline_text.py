"""A pipeline's text, which is in keys, is the same in every process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tri_core.pipeline import PassList


def double(x: int) -> int:
    return 2 * x


def within() -> Callable[[int], int]:
    def local(x: int) -> int:
        return x

    return local


@dataclass(frozen=True)
class Choice:
    factor: int = 2

    def __call__(self, x: int) -> int:
        return self.factor * x

    def method(self, x: int) -> int:
        return x


@dataclass(frozen=True)
class Step:
    name = "step"
    chosen: Any

    def apply(self, module: Any, context: Any) -> None: ...


def text(chosen: Any) -> str:
    return PassList([Step(chosen)]).text()


def test_functions_are_named() -> None:
    assert text(double) == "Step(chosen=<function double>)"
    assert text((double, Choice.method)) == "Step(chosen=(<function double>, <function Choice.method>))"
    assert text(functools.partial(double, x=1)) == "Step(chosen=functools.partial(<function double>, x=1))"


def test_objects_have_their_own_text() -> None:
    assert text(Choice(3)) == "Step(chosen=Choice(factor=3))"
    assert text(Choice(3).method) == "Step(chosen=<bound method Choice.method of Choice(factor=3)>)"


def test_what_nobody_can_tell_apart_keeps_its_address() -> None:
    """A function within another may hold anything: two of them are never taken for each other."""
    one, other = within(), within()
    assert text(one) != text(other)
    assert text(object()).count(" at 0x") == 1
