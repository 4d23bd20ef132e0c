"""Keys of kernels are the same in every process, whatever the target: nothing in them is an address."""

from __future__ import annotations

import contextlib

import pytest

from tri_core.errors import OptionError, OutOfResources
from tri_core.plugins import manager
from tri_core.target_selection import resolve

_OPTIONS: tuple[dict[str, object], ...] = (
    {},
    {"num_warps": 8, "num_stages": 3},
    {"num_ctas": 2},
    {"debug": True},
)


def _targets() -> list[str]:
    return sorted(
        f"{info.name}:{arch}"
        for info in manager().backends().values()
        for arch in info.architectures or ("",)
    )


@pytest.mark.parametrize("name", _targets())
def test_pipelines_are_texts_of_no_process(name: str) -> None:
    target = resolve(name.rstrip(":"))
    for given in _OPTIONS:
        with contextlib.suppress(OptionError, OutOfResources):
            options = target.options_type.parse(given)
            made = [manager().compose(target, options).pipeline.text() for _ in range(2)]
            assert made[0] == made[1]
            assert " at 0x" not in made[0]
    assert manager().compose(target, target.options_type.parse({})).pipeline.text()
