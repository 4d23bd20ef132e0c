"""``GPUTarget``: Triton's names of targets and tri's mean each other."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import tri
import tri.compat.triton as compat
import tri.language as tl
from tri_core.errors import TargetError

#: a target of tri, and what Triton calls it
NAMES = {
    "nvidia:sm_80": ("cuda", 80, 32),
    "nvidia:sm_90a": ("cuda", 90, 32),
    "nvidia:sm_100a": ("cuda", 100, 32),
    "amd:gfx942": ("hip", "gfx942", 64),
    "amd:gfx1100": ("hip", "gfx1100", 32),
}


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with compat.installed():
        yield


def module(name: str) -> Any:
    return importlib.import_module(name)


@tri.jit
def double(x_ptr: Any, B: tl.constexpr) -> None:
    i = tl.arange(0, B)
    tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_target_of_triton_is_the_one_with_all_features(name: str) -> None:
    target = module("triton.backends.compiler").GPUTarget(*NAMES[name])
    source = module("triton.compiler").ASTSource(double, {"x_ptr": "*fp32", "B": "constexpr"}, {"B": 64})
    kernel = module("triton").compile(source, target=target)
    assert str(kernel.metadata.target) == name


@pytest.mark.parametrize("name", NAMES)
def test_the_target_in_use_is_taken_back(name: str) -> None:
    active = module("triton.runtime").driver.active
    with tri.target(name):
        given = active.get_current_target()
        assert given == module("triton.backends.compiler").GPUTarget(*NAMES[name])
        backend = module("triton.compiler").make_backend(given)
    assert type(backend).supports_target(given)
    assert backend.hash().endswith(name) or name in backend.hash()
    assert backend.parse_options({"num_warps": 8}).num_warps == 8


def test_an_architecture_that_there_is_not_is_refused() -> None:
    with pytest.raises(TargetError, match="12"):
        module("triton.compiler").make_backend(module("triton.backends.compiler").GPUTarget("cuda", 12, 32))
