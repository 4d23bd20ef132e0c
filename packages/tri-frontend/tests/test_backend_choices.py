"""Configurations that a backend offers to autotune, and those that it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import tri
from tri_core.errors import BackendError
from tri_core.plugins import manager
from tuning_kernels import grid, scale_kernel

pytestmark = pytest.mark.usefixtures("cpu")

Configs = Sequence[Mapping[str, Any]]


class Choices:
    """A policy with configurations ``offered``, of which it leaves what ``left`` says."""

    def __init__(
        self, offered: Configs = (), left: Callable[[Configs], Configs] = lambda configs: configs
    ) -> None:
        self.offered, self.left = offered, left
        self.arguments: Mapping[str, Any] = {}

    def prune(self, configs: Configs, arguments: Mapping[str, Any]) -> Configs:
        self.arguments = arguments
        return self.left(configs)

    def configurations(self) -> Configs:
        return self.offered


def tuned(
    monkeypatch: pytest.MonkeyPatch, policy: object, configs: list[tri.Config], **options: Any
) -> tuple[list[tri.Config], np.ndarray[Any, Any]]:
    """Configurations that were timed, and the result of a launch on ones."""
    monkeypatch.setattr(type(manager()), "policy", lambda *_: policy)

    def bench(call: Callable[[], object], quantiles: object) -> list[float]:
        del quantiles
        call()
        return [1.0, 1.0, 1.0]

    out, x = np.zeros(1000, np.float32), np.ones(1000, np.float32)
    kernel = tri.autotune(configs=configs, key=["n"], do_bench=bench)(scale_kernel())
    kernel[grid](x, out, 1000, **options)
    return list(kernel.configs_timings), out


BLOCKS = [tri.Config({"BLOCK": block}) for block in (16, 64, 256)]


def test_a_backend_leaves_out_what_is_not_worth_a_try(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Choices(left=lambda configs: [each for each in configs if each["BLOCK"] != 64])
    tried, out = tuned(monkeypatch, policy, BLOCKS)
    assert [config.kwargs["BLOCK"] for config in tried] == [16, 256]
    assert policy.arguments["n"] == 1000
    assert (out == 2).all()


def test_a_backend_offers_what_to_try_where_nothing_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, out = tuned(monkeypatch, Choices([{"num_warps": 1}, {"num_warps": 2}]), [], BLOCK=64)
    assert [config.num_warps for config in tried] == [1, 2]
    assert (out == 2).all()


@pytest.mark.parametrize("policy", [None, Choices(), object()])
def test_a_backend_that_offers_nothing_gets_the_usual_options(
    monkeypatch: pytest.MonkeyPatch, policy: object
) -> None:
    tried, out = tuned(monkeypatch, policy, [], BLOCK=64)
    assert not tried
    assert (out == 2).all()


@pytest.mark.parametrize("left", [lambda _: [], lambda _: [{"BLOCK": 7}]])
def test_a_backend_that_leaves_nothing_or_something_else_is_named(
    monkeypatch: pytest.MonkeyPatch, left: Callable[[Configs], Configs]
) -> None:
    with pytest.raises(BackendError, match="policy of backend 'cpu': prune left"):
        tuned(monkeypatch, Choices(left=left), BLOCKS)


def test_a_backend_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def left(configs: Configs) -> Configs:
        raise ZeroDivisionError("one")

    with pytest.raises(BackendError, match="prune failed: ZeroDivisionError: one") as failed:
        tuned(monkeypatch, Choices(left=left), BLOCKS)
    assert failed.value.remedy
