"""Configurations by a backend: those that it offers where a kernel has none, and those that it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.tuning.config import Config
from tri_core.errors import BackendError, TriError
from tri_core.plugins import manager

if TYPE_CHECKING:
    from tri.tuning.pruning import Pruning
    from tri_core.target import Target

__all__ = ["choose"]

#: options that a Config has fields for, and that a backend may choose
_FIELDS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


def choose(
    given: Sequence[Config],
    pruning: Pruning,
    target_of: Callable[[Sequence[Config]], Target],
    arguments: dict[str, Any],
    keywords: Mapping[str, Any],
) -> list[Config]:
    """The configurations to try: those ``given``, else the backend's, without what the user and the backend prune.

    ``target_of``: the target of a launch with one of several configurations.
    """
    offered = list(given)
    if not offered:
        usual = [Config({})]
        offered = _offered(target_of(usual)) or usual
    kept = pruning.choose(offered, arguments, keywords)
    return kept if len(kept) == 1 else _pruned(kept, target_of(kept), {**arguments, **keywords})


def _offered(target: Target) -> list[Config]:
    """Configurations that the policy of ``target`` offers; empty where it has none."""
    policy = _policy(target)
    if not hasattr(policy, "configurations"):
        return []
    return [_config(options) for options in _answer(target, policy.configurations)]


def _config(options: Mapping[str, Any]) -> Config:
    fields = {name: options[name] for name in _FIELDS if name in options}
    return Config({name: value for name, value in options.items() if name not in _FIELDS}, **fields)


def _pruned(configs: Sequence[Config], target: Target, arguments: Mapping[str, Any]) -> list[Config]:
    """Those of ``configs`` that the policy of ``target`` leaves for a launch with ``arguments``, in their order.

    BackendError where it leaves none, or one that was not among them.
    """
    policy = _policy(target)
    if not hasattr(policy, "prune"):
        return list(configs)
    offered = [config.all_kwargs() for config in configs]
    left = [dict(each) for each in _answer(target, policy.prune, offered, arguments)]
    if not left or any(each not in offered for each in left):
        raise _failed(target, f"prune left {left or 'nothing'} of {len(offered)} configurations")
    return [config for config, keywords in zip(configs, offered, strict=True) if keywords in left]


def _policy(target: Target) -> Any:
    """The policy of ``target``, or None."""
    return manager().policy(target, target.options_type())


def _answer(target: Target, method: Callable[..., Any], *arguments: Any) -> Any:
    """``method(*arguments)`` of the policy of ``target``; BackendError where it fails."""
    try:
        return method(*arguments)
    except TriError:
        raise
    except Exception as error:
        raise _failed(target, f"{method.__name__} failed: {type(error).__name__}: {error}") from error


def _failed(target: Target, what: str) -> BackendError:
    return BackendError(
        f"the policy of backend {target.key.backend!r}: {what}",
        backend=target.key.backend,
        hook="tri_policy",
        remedy="tell who maintains the backend",
    )
