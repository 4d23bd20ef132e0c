"""Choosing what to try: the user's own pruning, then a model of the time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tri.tuning.config import Config
from tri_core.errors import AutotuneError, OptionError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Pruning"]


@dataclass(frozen=True)
class Pruning:
    """``prune_configs_by`` of autotune.

    ``early_config_prune(configs, arguments, **keywords)`` gives those worth a compile; ``perf_model(**all)``
    estimates a time, and the best ``top_k`` stay: a number of them, or as a float a share of all.  What spills more than
    ``most_spills`` bytes per thread, where compiling tells it, is not run, unless all configurations do.
    """

    early_config_prune: Callable[..., Sequence[Config]] | None = None
    perf_model: Callable[..., float] | None = None
    top_k: int | float = 1.0
    most_spills: int | None = None

    @classmethod
    def parse(cls, given: Mapping[str, Any] | None) -> Pruning:
        """From the dictionary that users write; OptionError for an unknown word or a wrong ``top_k``."""
        given = dict(given or {})
        unknown = sorted(set(given) - set(cls.__dataclass_fields__))
        if unknown:
            raise OptionError(
                f"prune_configs_by has {', '.join(map(repr, unknown))}",
                remedy=f"known: {', '.join(cls.__dataclass_fields__)}",
            )
        top_k = given.get("top_k", 1.0)
        if isinstance(top_k, bool) or not (isinstance(top_k, int) or 0 <= top_k <= 1.0):
            raise OptionError(
                f"top_k is {top_k!r}; a number of configurations or a share up to 1.0 is expected"
            )
        most = given.get("most_spills")
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
            raise OptionError(f"most_spills is {most!r}; a number of bytes is expected")
        return cls(**given)

    def choose(
        self, configs: Sequence[Config], arguments: dict[str, Any], keywords: Mapping[str, Any]
    ) -> list[Config]:
        """The configurations to try, in their order, or by estimate when there are more than ``top_k``."""
        kept = list(configs)
        if self.early_config_prune is not None:
            kept = list(self.early_config_prune(kept, arguments, **keywords))
            if not kept:
                raise AutotuneError(
                    "early_config_prune left no configuration",
                    remedy="keep at least one for every key",
                    reasons={str(c): "pruned" for c in configs},
                )
        most = int(len(configs) * self.top_k) if isinstance(self.top_k, float) else self.top_k
        if self.perf_model is not None and len(kept) > max(most, 1):
            kept = self.by_estimate(kept, arguments, keywords)[: max(most, 1)]
        return kept

    def by_estimate(
        self, configs: Sequence[Config], arguments: Mapping[str, Any], keywords: Mapping[str, Any]
    ) -> list[Config]:
        """The configurations by estimated time, the fastest first; as they are without a model."""
        model = self.perf_model
        if model is None:
            return list(configs)
        return sorted(configs, key=lambda config: model(**{**arguments, **keywords, **config.all_kwargs()}))
