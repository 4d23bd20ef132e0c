"""Cache policies are checked when they are made."""

from __future__ import annotations

from typing import Any

import pytest

from tri_backend_nvidia.language.gluon.cache_policies import CachePolicy, FractionalEvictionPolicy
from tri_core.api import TriError


def test_a_policy_keeps_what_it_says() -> None:
    policy = CachePolicy(".cg", l2=FractionalEvictionPolicy("evict_first", 0.5))
    assert policy.cache_modifier == "cg"
    assert policy.l2.secondary == "evict_unchanged"
    assert policy.mangle() != CachePolicy("ca").mangle()


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (CachePolicy, {}),
        (CachePolicy, {"cache_modifier": "xx"}),
        (CachePolicy, {"l1": "evict_never"}),
        (CachePolicy, {"l2": "evict_first"}),
        (CachePolicy, {"l2_prefetch_size": 32}),
        (FractionalEvictionPolicy, {"primary": "evict_first", "fraction": 0.0}),
        (FractionalEvictionPolicy, {"primary": "evict_first", "fraction": 1.0, "secondary": "evict_last"}),
        (FractionalEvictionPolicy, {"primary": "no_allocate", "fraction": 1.0}),
    ],
)
def test_a_policy_that_says_nothing_known_is_refused(make: Any, given: dict[str, Any]) -> None:
    with pytest.raises(TriError) as caught:
        make(**given)
    assert caught.value.remedy
