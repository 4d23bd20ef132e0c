"""transformers: its Trainer's steps of a model whose layers are Liger's kernels, against the same steps without them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from typing import Any

import torch

from integration.published.cases import Bench, Check, case


def _trained(bench: Bench, *, liger: bool) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Losses and parameters of two steps."""
    transformers: Any = bench.load("transformers", "transformers")
    torch.manual_seed(0)
    shape = transformers.LlamaConfig(
        vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(shape)
    if liger:
        bench.load("liger-kernel", "liger_kernel.transformers")._apply_liger_kernel_to_instance(model=model)
    tokens = torch.randint(0, 128, (8, 33), generator=torch.Generator().manual_seed(1))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder, per_device_train_batch_size=4, max_steps=2, learning_rate=1e-3, report_to=[],
            use_cpu=bench.device == "cpu", save_strategy="no", logging_steps=1, disable_tqdm=True,
        )  # fmt: skip
        rows = [{"input_ids": row, "labels": row.clone()} for row in tokens]
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=rows)
        trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return losses, {name: value.detach().cpu() for name, value in model.named_parameters()}


@case("transformers", "trainer_steps", "training")
def trainer_steps(bench: Bench) -> Iterable[Check]:
    """Forward, backward and AdamW twice: RMS norm, rotary embedding, SwiGLU, and the loss of the last layer are kernels."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    losses, want = _trained(bench, liger=False)
    made, got = _trained(bench, liger=True)
    yield Check("losses", torch.tensor(made), torch.tensor(losses), 1e-5)
    for name, value in want.items():
        yield Check(name.removeprefix("model."), got[name], value, 1e-3)
