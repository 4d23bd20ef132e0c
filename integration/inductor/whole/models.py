"""The models: of timm and transformers by their configurations, with random weights, and some of torch.nn alone.

Nothing is downloaded.  Each is made in float32 on the CPU; it has no dropout, so that two runs may be compared.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tri_core.lazy_dataclasses import dataclass

__all__ = ["LIBRARIES", "MODELS", "Model", "names"]

#: what the models come from, most wanted first
LIBRARIES = ("transformers", "timm", "torch")


@dataclass(frozen=True)
class Model:
    """``module`` of ``inputs`` gives logits of shape (..., classes); ``wanted``: the classes, int64, of shape (...)."""

    module: Any
    inputs: tuple[Any, ...]
    wanted: Any

    def loss(self, logits: Any) -> Any:
        """Cross entropy of ``logits`` in float32, a scalar."""
        return F.cross_entropy(logits.float().flatten(0, -2), self.wanted.flatten())


#: name -> the library, and the model in a small size or in that of the card
MODELS: dict[str, tuple[str, Callable[[bool], Model]]] = {}


def names() -> list[str]:
    """Names of the twelve models of timm and transformers; of those of torch.nn where neither is installed."""
    there = {name for name, (library, _) in MODELS.items() if importlib.util.find_spec(library) is not None}
    published = [name for name in MODELS if name in there and MODELS[name][0] != "torch"]
    return published or [name for name in MODELS if name in there]


def _model(library: str) -> Callable[[Callable[[bool], Model]], Callable[[bool], Model]]:
    def entered(function: Callable[[bool], Model]) -> Callable[[bool], Model]:
        MODELS[function.__name__] = (library, function)
        return function

    return entered


class _Logits(nn.Module):
    """The logits of a model of transformers."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *tokens: Any) -> Any:
        keys = ("input_ids", "decoder_input_ids")
        return self.inner(**dict(zip(keys, tokens, strict=False))).logits


def _language(kind: str, task: str, small: bool, *, sequences: int = 1, **settings: Any) -> Model:
    """A model of transformers, ``kind`` and ``task`` as its classes are named, for tokens of shape (batch, length)."""
    library: Any = importlib.import_module("transformers")
    words = 512 if small else 32000
    batch, length = (2, 32) if small else (8, 512)
    config = getattr(library, f"{kind}Config")(
        vocab_size=words, use_cache=False, bos_token_id=0, eos_token_id=1, pad_token_id=0, **settings
    )
    config._attn_implementation = "sdpa"
    module = _Logits(getattr(library, f"{kind}{task}")(config))
    tokens = tuple(torch.randint(2, words, (batch, length)) for _ in range(sequences))
    return Model(module, tokens, torch.randint(2, words, (batch, length)))


@_model("transformers")
def gpt2(small: bool) -> Model:
    """GPT-2: layer norm, tanh gelu, learned positions."""
    width, heads, layers = (64, 4, 2) if small else (768, 12, 6)
    none: dict[str, Any] = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    return _language("GPT2", "LMHeadModel", small, n_embd=width, n_head=heads, n_layer=layers, **none)


def _decoder(kind: str, small: bool, **settings: Any) -> Model:
    width, heads, layers, inner = (64, 4, 2, 96) if small else (1024, 16, 6, 2816)
    return _language(
        kind,
        "ForCausalLM",
        small,
        hidden_size=width,
        num_attention_heads=heads,
        num_key_value_heads=heads // 2,
        num_hidden_layers=layers,
        intermediate_size=inner,
        **settings,
    )


@_model("transformers")
def llama(small: bool) -> Model:
    """Llama: RMS norm, rotary positions, grouped queries, gated silu."""
    return _decoder("Llama", small)


@_model("transformers")
def qwen3(small: bool) -> Model:
    """Qwen3: norms of queries and keys besides."""
    return _decoder("Qwen3", small, head_dim=16 if small else 64)


@_model("transformers")
def gemma2(small: bool) -> Model:
    """Gemma 2: capped logits, norms before and after, windows."""
    return _decoder("Gemma2", small, head_dim=16 if small else 64, sliding_window=16 if small else 256)


def _encoder(kind: str, small: bool, **settings: Any) -> Model:
    width, heads, layers = (64, 4, 2) if small else (768, 12, 6)
    none: dict[str, Any] = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return _language(
        kind,
        "ForMaskedLM",
        small,
        hidden_size=width,
        num_attention_heads=heads,
        num_hidden_layers=layers,
        intermediate_size=4 * width,
        **none,
        **settings,
    )


@_model("transformers")
def bert(small: bool) -> Model:
    """BERT: norms behind, gelu by erf, embeddings of segments."""
    return _encoder("Bert", small)


@_model("transformers")
def t5(small: bool) -> Model:
    """T5: encoder and decoder, biases by relative position in buckets."""
    width, heads, layers = (64, 4, 2) if small else (512, 8, 4)
    sizes = {
        "d_model": width,
        "d_kv": width // heads,
        "d_ff": 4 * width,
        "num_heads": heads,
        "num_layers": layers,
    }
    return _language(
        "T5",
        "ForConditionalGeneration",
        small,
        sequences=2,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        **sizes,
    )


def _vision(name: str, small: bool, batch: int, **settings: Any) -> Model:
    """A model of timm for images of shape (batch, 3, side, side); ``settings``: those of its small size."""
    library: Any = importlib.import_module("timm")
    side, count = (64, 2) if small else (224, batch)
    sized = {**settings, "num_classes": 10} if small else {}
    module = library.create_model(name, pretrained=False, drop_rate=0.0, drop_path_rate=0.0, **sized)
    return Model(module, (torch.randn(count, 3, side, side),), torch.randint(0, 10, (count,)))


@_model("timm")
def resnet50(small: bool) -> Model:
    """ResNet: convolutions, batch norm, pooling."""
    return _vision("resnet18" if small else "resnet50", small, 64)


@_model("timm")
def vit(small: bool) -> Model:
    """Vision transformer."""
    sizes = {"img_size": 64, "embed_dim": 64, "depth": 2, "num_heads": 4}
    return _vision("vit_base_patch16_224", small, 64, **sizes)


@_model("timm")
def convnext(small: bool) -> Model:
    """ConvNeXt: depthwise convolutions, layer norm over channels, layer scale."""
    return _vision("convnext_tiny", small, 64, depths=(1, 1, 2, 1), dims=(16, 32, 48, 64))


@_model("timm")
def efficientnet(small: bool) -> Model:
    """EfficientNet: squeeze and excitation, silu."""
    return _vision("efficientnet_b0", small, 64)


@_model("timm")
def swin(small: bool) -> Model:
    """Swin: windows that are rolled, biases by relative position."""
    sizes = {"img_size": 64, "window_size": 4, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4)}
    return _vision("swin_tiny_patch4_window7_224", small, 64, **sizes)


@_model("timm")
def mixer(small: bool) -> Model:
    """MLP-Mixer: a GEMM over patches and one over channels."""
    return _vision("mixer_s32_224" if small else "mixer_b16_224", small, 64, img_size=64)


@_model("torch")
def torch_transformer(small: bool) -> Model:
    """An encoder of torch.nn with an embedding and a head."""
    width, words, layers = (64, 512, 2) if small else (768, 32000, 6)
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    module = nn.Sequential(nn.Embedding(words, width), encoder, nn.Linear(width, words))
    shape = (2, 32) if small else (8, 512)
    return Model(module, (torch.randint(0, words, shape),), torch.randint(0, words, shape))


@_model("torch")
def torch_convolutions(small: bool) -> Model:
    """Convolutions, group norm and pooling of torch.nn."""
    wide, side, count = (16, 16, 2) if small else (128, 56, 32)
    layers: list[Any] = [nn.Conv2d(3, wide, 3, padding=1)]
    for _ in range(3):
        layers += [nn.GroupNorm(8, wide), nn.SiLU(), nn.Conv2d(wide, wide, 3, padding=1)]
    module = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, 10))
    return Model(module, (torch.randn(count, 3, side, side),), torch.randint(0, 10, (count,)))
