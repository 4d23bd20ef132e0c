"""The names of Gluon: what works does not become less, and what is absent says why."""

from __future__ import annotations

import importlib

import pytest

import tri.compat.triton as compat
from integration import gluon_names

#: names that work; raise it with each wave
LEAST = 236


def test_names_work_or_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert gluon_names.main(["--absent"]) == 0
    *absent, last = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("|")]
    assert int(last.split()[0]) >= LEAST
    assert all(line.partition(": ")[2].strip() for line in absent)


def test_the_language_is_there() -> None:
    with compat.installed():
        language = "triton.experimental.gluon.language"
        assert gluon_names.reason(language, "BlockedLayout", ("rank", "size_per_thread")) is None
        assert gluon_names.reason(language, "warp_specialize", ()) is None
        assert "8 or 16 bits" in str(gluon_names.reason(language, "fp4_to_fp", ()))


def test_extra_has_the_functions_of_libdevice() -> None:
    with compat.installed():
        extra = importlib.import_module("triton.experimental.gluon.language.extra")
        assert extra.libdevice.tanh is importlib.import_module("triton.language.extra").libdevice.tanh
        assert (
            importlib.import_module("triton.experimental.gluon.language").extra.libdevice.tanh
            is extra.libdevice.tanh
        )
