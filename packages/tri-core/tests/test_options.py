"""Options under names that they had before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest

from tri_core.api import CommonOptions, OptionError


@dataclass(frozen=True, kw_only=True)
class MadeUpOptions(CommonOptions):
    former_names: ClassVar[Mapping[str, str]] = {"brightness": "luminance"}

    luminance: int = 1


def test_a_former_name_is_understood_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="option 'brightness' is called 'luminance'"):
        assert MadeUpOptions.parse({"brightness": 3}) == MadeUpOptions(luminance=3)


def test_the_table_of_former_names_is_no_option() -> None:
    with pytest.raises(OptionError, match="unknown option 'former_names'"):
        MadeUpOptions.parse({"former_names": {}})
    assert "former_names" not in MadeUpOptions().to_json()
