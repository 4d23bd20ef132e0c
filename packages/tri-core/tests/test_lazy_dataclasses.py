"""Dataclasses that are made when they are first used are what the standard library makes."""

from __future__ import annotations

import abc
import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import threading
from collections.abc import Hashable
from dataclasses import field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from tri_core.lazy_dataclasses import _Deferred, dataclass
from tri_core.target import Memory

T = TypeVar("T")


def pending(cls: type) -> bool:
    return isinstance(vars(cls).get("__init__"), _Deferred)


@dataclass(frozen=True)
class Tile:
    """Rows and columns."""

    rows: int
    columns: int = 16
    names: tuple[str, ...] = ()
    facts: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
    unit: ClassVar[str] = "elements"

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError(self.rows)


def made(**options: Any) -> tuple[type, type]:
    """The same class by this decorator and by the standard library's."""

    def body() -> type:
        class Pair(Generic[T]):
            first: int
            second: int = 3
            third: list[int] = field(default_factory=list, hash=False)

            def __repr__(self) -> str:
                return "own" if options.get("repr") is False else f"<{self.first}>"

        return Pair

    return dataclass(**options)(body()), dataclasses.dataclass(**options)(body())


OPTIONS = (
    {"frozen": True},
    {"frozen": True, "kw_only": True},
    {"frozen": True, "order": True},
    {},
    {"eq": False},
    {"frozen": True, "eq": False},
    {"eq": True, "unsafe_hash": True},
    {"frozen": True, "slots": True},
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_classes_are_those_of_the_standard_library(options: dict[str, Any]) -> None:
    ours, theirs = made(**options)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert [(f.name, f.type, f.kw_only, f.compare) for f in dataclasses.fields(ours)] == [
        (f.name, f.type, f.kw_only, f.compare) for f in dataclasses.fields(theirs)
    ]
    assert ours.__match_args__ == theirs.__match_args__
    assert repr(ours.__dataclass_params__) == repr(theirs.__dataclass_params__)
    assert vars(ours).keys() == vars(theirs).keys()
    found = []
    for cls in (ours, theirs):
        one, same, other = cls(first=1), cls(first=1), cls(first=2)
        hashed = hash(one) == hash(same) if cls.__hash__ is not None else None
        found.append(
            (
                repr(one),
                one == same,
                one == other,
                hashed,
                dataclasses.asdict(one),
                dataclasses.replace(one, second=5).second,
            )
        )
        if options.get("frozen"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                one.first = 3
            with pytest.raises(dataclasses.FrozenInstanceError):
                del one.first
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c(1),
        lambda c: dataclasses.fields(c),
        dataclasses.is_dataclass,
        lambda c: c.__match_args__,
        inspect.signature,
        lambda c: c.__hash__,
        lambda c: dataclasses.dataclass(frozen=True)(type("Sub", (c,), {"__annotations__": {}})),
    ],
)
def test_what_makes_a_class(use: Any) -> None:
    ours, _ = made(frozen=True)
    assert pending(ours)
    use(ours)
    assert not pending(ours)


def test_a_class_that_may_change_cannot_be_hashed_from_the_beginning() -> None:
    ours, _ = made()
    assert not issubclass(ours, Hashable)
    assert pending(ours)
    with pytest.raises(TypeError, match="unhashable"):
        hash(ours(1))


def test_a_class_is_not_made_by_its_declaration_or_its_subclass() -> None:
    ours, _ = made(frozen=True)

    @dataclass(frozen=True)
    class Wider(ours):  # type: ignore[misc, valid-type]
        fourth: int = 4

    class Plain(Wider):
        pass

    assert pending(ours)
    assert pending(Wider)
    assert (Plain(1).fourth, Plain(1) == Plain(1), Wider(1) == Plain(1)) == (4, True, False)
    assert not pending(ours)
    assert not pending(Wider)


def test_a_frozen_subclass_may_have_attributes_that_are_no_fields() -> None:
    """As with the standard library: the class itself is closed, of a subclass the fields."""

    @dataclass(frozen=True)
    class Base:
        first: int

    class Open(Base):
        pass

    open_ = Open(1)
    open_.more = 2  # type: ignore[attr-defined]
    assert open_.more == 2  # type: ignore[attr-defined]
    for target, name in ((open_, "first"), (Base(1), "first"), (Base(1), "more")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(target, name, 3)


def test_frozen_and_others_do_not_mix() -> None:
    @dataclass(frozen=True)
    class Base:
        first: int

    @dataclass
    class Thawed(Base):  # type: ignore[misc]
        second: int = 2

    with pytest.raises(TypeError, match="frozen"):
        Thawed(1)


def test_several_bases() -> None:
    def family(decorator: Any) -> tuple[Any, ...]:
        @decorator(frozen=True)
        class A:
            first: int = 1
            shared: int = 5

        @decorator(frozen=True)
        class B:
            shared: int = 6
            second: int = 2

        @decorator(frozen=True)
        class C(A, B):
            third: tuple[int, ...] = field(default_factory=tuple)

        return tuple((f.name, f.default) for f in dataclasses.fields(C)), repr(C()), C.__match_args__

    assert repr(family(dataclass)) == repr(family(dataclasses.dataclass))


def test_what_is_inherited() -> None:
    """Checks after ``__init__``, of a base that is a dataclass and of one that is not, and defaults."""

    def family(decorator: Any) -> list[Any]:
        found: list[Any] = []

        class Checked:
            limit = 7

            def __post_init__(self) -> None:
                found.append(vars(self))

        @decorator(frozen=True)
        class A(Checked):
            first: int = 1

        @decorator(frozen=True)
        class B(A):
            first: int
            limit: int
            second: int = 2

        @decorator(frozen=True)
        class C(B):
            pass

        for cls in (A, B, C):
            cls(first=5)
        return [*found, B().first, C(3), inspect.signature(C)]

    assert repr(family(dataclass)) == repr(family(dataclasses.dataclass))


def test_abstract_classes_and_methods_of_ones_own() -> None:
    @dataclass(frozen=True)
    class Pass(abc.ABC):
        level: int = 1

        @abc.abstractmethod
        def apply(self) -> int: ...

    @dataclass(frozen=True)
    class Fold(Pass):
        more: int = 2

        def apply(self) -> int:
            return self.level + self.more

    with pytest.raises(TypeError, match="abstract"):
        Pass()  # type: ignore[abstract]
    assert Fold(3).apply() == 5


def test_equality_of_ones_own_is_kept() -> None:
    @dataclass(frozen=True)
    class Name:
        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Name) and self.text.lower() == other.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

    assert Name("A") == Name("a")
    assert len({Name("A"), Name("a")}) == 1


def test_matching_copying_pickling() -> None:
    tile = Tile(1, names=("a",))
    match tile:
        case Tile(rows, 16):
            assert rows == 1
        case _:
            pytest.fail("no match")
    for other in (copy.copy(tile), copy.deepcopy(tile), pickle.loads(pickle.dumps(tile))):
        assert other == tile
        assert hash(other) == hash(tile)
    with pytest.raises(ValueError, match="-1"):
        Tile(-1)


def test_what_comes_from_another_process_is_equal() -> None:
    """The class is pending there when an instance of it is loaded, which runs none of its methods."""
    program = """
import pickle, sys
from tri_core.target import Memory
from tri_core.lazy_dataclasses import _Deferred
data = sys.stdin.buffer.read()
assert any(isinstance(v, _Deferred) for v in vars(Memory).values())
memory = pickle.loads(data)
assert memory == Memory(name="shared", address_space=3), memory
"""
    data = pickle.dumps(Memory(name="shared", address_space=3))
    subprocess.run([sys.executable, "-c", program], input=data, check=True, timeout=60)


def test_many_threads_make_it_once(request: pytest.FixtureRequest) -> None:
    switch = sys.getswitchinterval()
    request.addfinalizer(lambda: sys.setswitchinterval(switch))
    sys.setswitchinterval(1e-6)
    for _ in range(60):
        ours, _ = made(frozen=True)
        start, results = threading.Barrier(8), []

        def use(cls: type = ours, start: threading.Barrier = start, results: list[Any] = results) -> None:
            start.wait()
            results.append(hash(cls(first=1, third=())))

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 8
        assert len(set(results)) == 1


def test_a_mistake_in_the_fields_is_reported_at_the_first_use() -> None:
    @dataclass(frozen=True)
    class Wrong:
        first: int = 1
        second: int  # type: ignore[misc]

    for _ in range(2):
        with pytest.raises(TypeError, match="second"):
            Wrong(1, 2)


def test_most_classes_are_not_made_for_a_compile() -> None:
    program = """
import gc
import tri_backend_nvidia.pipeline
from tri_core.lazy_dataclasses import _Deferred
waiting = [d for d in gc.get_objects() if isinstance(d, _Deferred) and d.name == '__init__']
print(len(waiting))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, capture_output=True, text=True
    )
    assert int(done.stdout) > 100
