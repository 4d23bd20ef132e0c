"""Arguments of fla-core's operators by the names of their parameters, by family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.operators import recipes
from integration.published.operators.references.sequences import wall_cache

__all__ = ["OPTIONAL", "OPTIONS", "known"]

#: operators that take gates per feature under a name that others give to a gate per head
_FEATURES = ("gla", "gsa", "kda", "rwkv6", "hgrn", "precond_kda", "wall_attn")
#: parameters with defaults that are given where the plain version has them
OPTIONAL = ("g", "gk", "beta", "p", "eta", "block_indices", "g_atk", "beta_atk")
#: operators whose options say what their reference does always
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "linear_attn": {"normalize": False},
    # keys are of length 1 as they are given; what reads the state before it decays is not decayed itself
    "momentum_delta_rule": {"use_qk_l2norm_in_kernel": False, "use_p_times_alpha": False},
    "lightning_attn": {"layer_idx": 1, "num_layers": 4},
    "wall_attn_decode": {"sink_bias": None, "cache_chunk_size": 16},
    "cyfa": {"q_norm_eps": 1e-5, "k_norm_eps": 1e-5},
}


def _heads() -> tuple[int, int, int]:
    return recipes.BATCH, recipes.TIME, recipes.HEADS


def _same(value: Any) -> Any:
    return value


def _rate() -> torch.Tensor:
    return recipes.normal(*_heads()).sigmoid()


def _decay() -> torch.Tensor:
    return F.logsigmoid(recipes.normal(*_heads())) / 4


def _decays() -> torch.Tensor:
    return F.logsigmoid(recipes.normal(*_heads(), recipes.FEATURES)) / 4


def _wall() -> dict[str, Callable[[], Any]]:
    """A cache of keys, and the last four rows of queries."""
    prefix = _decays().cumsum(1)
    keys, anchors = wall_cache(recipes.unit(), prefix, 16)
    return {
        "q": lambda: recipes.unit()[:, -4:].contiguous() * 4,
        "p_curr": lambda: prefix[:, -4:].contiguous(),
        "k_tilde": lambda: keys,
        "r_cache": lambda: anchors,
    }


def _cyfa() -> dict[str, Callable[[], Any]]:
    slots = 15
    return {
        "delta": _rate,
        "readout": lambda: recipes.normal(recipes.HEADS, slots, slots) / 4,
        "q_norm_weight": lambda: recipes.normal(recipes.FEATURES).sigmoid() + 0.5,
        "k_norm_weight": lambda: recipes.normal(recipes.FEATURES).sigmoid() + 0.5,
    }


def _nsa() -> dict[str, Callable[[], Any]]:
    return {
        # groups of 16 queries for a key; every block of keys is chosen
        "q": lambda: recipes.unit(heads=16 * recipes.HEADS),
        "block_indices": lambda: torch.zeros(*_heads(), 1, dtype=torch.int64),
    }


def _attnres() -> dict[str, Callable[[], Any]]:
    return {
        "query": lambda: recipes.normal(recipes.FEATURES),
        # one after the other along the first dimension
        "residuals": lambda: recipes.normal(3, recipes.BATCH, recipes.TIME, recipes.FEATURES),
        "rms_weight": lambda: recipes.normal(recipes.FEATURES).sigmoid() + 0.5,
    }


_FAMILIES: Mapping[str, Callable[[], dict[str, Callable[[], Any]]]] = {
    "gsa": lambda: {"g": lambda: F.logsigmoid(recipes.normal(*_heads(), 16)) / 4},
    "hgrn": lambda: {
        "g": lambda: F.logsigmoid(recipes.normal(recipes.BATCH, recipes.TIME, recipes.FEATURES)) / 4
    },
    "nsa": _nsa,
    "path_attn": lambda: {"w": recipes.unit},
    "cyfa": _cyfa,
    "attnres": _attnres,
    "wall_attn_decode": _wall,
    # a scale for each level of a tree over the time, and for the row itself
    "log_linear_attn": lambda: {
        "level_scales": lambda: recipes.normal(*_heads(), recipes.TIME.bit_length()).sigmoid(),
        # no fewer than features in a block
        **{n: lambda: recipes.unit(features=64) for n in "qk"},
        "v": lambda: recipes.normal(*_heads(), 64),
    },
}


def known(name: str, family: str) -> dict[str, Callable[[], Any]]:
    """Makers of the arguments of the operator ``name``, by argument."""
    made = dict(recipes.attention)
    made["g"] = _decays if family in _FEATURES else _decay
    made["gk"] = made["w"] = _decays
    made["g_atk"], made["beta_atk"] = _decay, _rate
    made["a"] = lambda: -recipes.unit() / 2
    made["b"] = lambda: recipes.unit() / 2
    made |= {option: partial(_same, value) for option, value in OPTIONS.get(family, {}).items()}
    if family in _FAMILIES:
        made |= _FAMILIES[family]()
    if name == "fused_chunk_based":
        made["q"] = made["k"] = lambda: recipes.unit(features=16)
    return made
