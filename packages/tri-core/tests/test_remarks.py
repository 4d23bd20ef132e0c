"""What passes say of what they leave as it is."""

from __future__ import annotations

from tri_core.errors import SourceLocation
from tri_core.mlir import ir, session
from tri_core.remarks import Remark, declined, is_listening, remarks

PLACE = SourceLocation("k.py", 3, 4)


class Costly:
    """Nobody may ask for its text."""

    def __format__(self, spec: str) -> str:
        raise AssertionError(spec)

    def __getattr__(self, name: str) -> object:
        raise AssertionError(name)


def test_nothing_is_done_where_nobody_listens() -> None:
    assert not is_listening()
    declined("p", Costly(), "it costs {}", Costly())  # type: ignore[arg-type]


def test_who_listens_gets_each_remark_once() -> None:
    with remarks() as found:
        assert is_listening()
        for count in (2, 3, 2):
            declined("p", PLACE, "{} are too many", count)
    declined("p", PLACE, "nobody hears that")
    assert found == [Remark("p", "2 are too many", PLACE), Remark("p", "3 are too many", PLACE)]
    assert str(found[0]) == "k.py:3: 2 are too many [p]"
    assert str(Remark("p", "of the whole")) == "of the whole [p]"


def test_the_place_is_that_of_the_op() -> None:
    with session(), remarks() as found:
        module = ir.Module.parse('module { } loc("k.py":7:5)')
        declined("p", module.operation, "braces {} as they are")
    assert found[0].location is not None
    assert (found[0].location.file, found[0].location.line) == ("k.py", 7)
    assert found[0].text == "braces {} as they are"


def test_listeners_may_be_inside_of_each_other() -> None:
    with remarks() as outer:
        with remarks() as inner:
            declined("p", None, "one")
        declined("p", None, "two")
    assert [r.text for r in inner] == ["one"]
    assert [r.text for r in outer] == ["two"]
