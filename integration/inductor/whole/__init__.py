"""Whole models of timm and transformers through ``torch.compile``, by Triton and by tri: ``python -m integration.inductor.whole``."""

__all__ = ["__doc__"]
