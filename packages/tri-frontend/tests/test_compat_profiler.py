"""``triton.profiler``: scopes have names and times in the log; the rest says what to use."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tri.compat import triton as compat
from tri_core.errors import ArgumentError


@pytest.fixture(name="profiler")
def _profiler() -> Iterator[Any]:
    with compat.installed():
        yield importlib.import_module("triton.profiler")


def test_scopes_are_nested_and_named(profiler: Any, caplog: pytest.LogCaptureFixture) -> None:
    @profiler.scope("inner", {"flops": 3})
    def work(depth: int) -> int:
        return depth if depth == 0 else work(depth - 1)

    with caplog.at_level(logging.DEBUG, "tri.compat.triton.profiler"):
        with profiler.cpu_timed_scope("outer"):
            work(1)
        profiler.enter_scope("last")
        profiler.exit_scope("last")
    names = [r.getMessage().partition(":")[0] for r in caplog.records]
    assert names == ["outer/inner/inner", "outer/inner", "outer", "last"]
    assert all(r.getMessage().endswith("ms on the host") for r in caplog.records)


def test_scopes_are_left_in_order(profiler: Any) -> None:
    with pytest.raises(ArgumentError, match="none was entered"):
        profiler.exit_scope()
    with profiler.scope("a"), pytest.raises(ArgumentError, match="the innermost is 'a'"):
        profiler.exit_scope("b")


@pytest.mark.parametrize("name", ["start", "finalize", "profile"])
def test_sessions_say_what_to_use(profiler: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=r"tri\.testing\.do_bench"):
        getattr(profiler, name)


PARTS = ["context", "data", "flags", "hooks", "language", "metric", "mode", "proton", "specs", "state"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.usefixtures("profiler")
def test_its_modules_import_and_say_what_to_use(part: str) -> None:
    module = importlib.import_module(f"triton.profiler.{part}")
    with pytest.raises(AttributeError, match=r"tri\.testing\.do_bench"):
        module.Anything  # noqa: B018


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("triton.tools.triton_to_gluon_translator", "write the kernel in triton.language"),
        ("triton.profiler.scope", "in triton.profiler"),
        ("triton.profiler.profile", "tri.testing.do_bench"),
        ("triton.tools.gsan", "tri.interpret"),
        ("triton.tools.build_extern", "triton.language.extra.libdevice"),
        ("triton.tools.compile", "tri compile --aot"),
        ("triton.tools.link", "tri link"),
        ("triton.tools.disasm", "kernel.asm"),
    ],
)
@pytest.mark.usefixtures("profiler")
def test_what_is_absent_names_what_tri_has(name: str, advice: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=advice) as caught:
        importlib.import_module(name)
    assert "\n" not in str(caught.value)
