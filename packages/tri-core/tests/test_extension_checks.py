"""What language extensions may declare."""

from __future__ import annotations

from typing import Any

import pytest

from tri_core.api import AccessModifier, LanguageExtension, PluginError, Scope

_CACHE = AccessModifier(values=("near", "far"))
_HOT = Scope(ops=("tt.load",))


def test_a_whole_extension() -> None:
    made = LanguageExtension(
        namespace="acme",
        module="",
        modifiers={"cache": _CACHE},
        scopes={"hot": _HOT},
        types={"Ring": "a.b:C"},
    )
    assert made.modifiers["cache"].accesses == ("load", "store")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"modifiers": {"hot": _CACHE}, "scopes": {"hot": _HOT}}, "'hot' is declared twice"),
        ({"modifiers": {"a-b": _CACHE}}, "'a-b' is no identifier"),
        ({"modifiers": {"cache": _CACHE}, "namespace": "gluon.acme"}, "not named as a dialect"),
        ({"modifiers": {"cache": AccessModifier(values=())}}, r"acme.cache has the values \(\)"),
        ({"modifiers": {"cache": AccessModifier(values=("a", 1))}}, "acme.cache has the values"),
        ({"modifiers": {"cache": AccessModifier(values=(2**31,))}}, "beyond 32 bits"),
        ({"modifiers": {"cache": AccessModifier(values=("a",), accesses=("atomic",))}}, "is for"),
        ({"scopes": {"hot": Scope(ops=())}}, "marks no operation"),
        ({"scopes": {"hot": Scope(ops=("tt.load",), values=(1.5,))}}, "acme.hot has the values"),  # type: ignore[arg-type]
        ({"types": {"Ring": "a.b.C"}}, "acme.Ring is at 'a.b.C'"),
    ],
)
def test_what_no_kernel_could_use_is_refused(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message) as refused:
        LanguageExtension(**{"namespace": "acme", "module": "", **declared})
    assert refused.value.remedy
